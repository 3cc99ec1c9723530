//! Drives implementations through vectors.
//!
//! Begin with [`engine::Run`], which runs many vectors on several sessions, and [`execute::execute`], which runs one. A target
//! is reached by an [`adapter::Adapter`]: [`stdio`] for programs, [`inprocess`] for values, [`spawn`] for programs that are
//! started once a question. [`guard`] ends what a target leaves behind, [`limits`] holds every limit. [`harness`] runs the
//! suite inside of others' `cargo test`.

#[cfg(not(target_os = "linux"))]
compile_error!(
    "the runner needs Linux: elsewhere nothing makes sure that every process of a target is ended (docs/robustness.md)"
);

pub mod adapter;
pub mod adb;
pub mod check;
pub mod engine;
pub mod exchange;
pub mod execute;
pub mod guard;
pub mod harness;
pub mod hosting;
pub mod inprocess;
pub mod jsonrpc;
pub mod limits;
pub mod profile;
pub mod protocol;
pub mod scripted;
pub mod spawn;
pub mod stdio;
pub mod target;
