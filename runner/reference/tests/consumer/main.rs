//! The consumer against worlds that are played here, without the vectors.

#![allow(missing_docs, reason = "tests")]

mod calls;
mod discovery;
mod files;
mod following;
mod piped;
mod rig;
mod screens;
