//! `aw-provider/v1alpha1` to read and to run: a checker of messages, the admission, a policy provider and a host.
//!
//! The protocol is one process per method: a JSON object in, a JSON object out. Read it in this order:
//!
//! | module | what it shows |
//! |---|---|
//! | [`message`] | a request and a response, from bytes to checked values; `input_digest` |
//! | [`vocabulary`] | the 16 events, the 5 effects, the shapes of names |
//! | [`policy`] | a provider: blocks tools by name, redacts results |
//! | [`selector`] | which tools a step is for |
//! | [`config`], [`admission`] | the configuration, and what of it may be run |
//! | [`process`], [`host`] | a provider's process within its limits; preparing providers and carrying out events |
//!
//! **The test side**: [`switches`] (ways to break or bend them), and what the suite asks of each: [`policy::serve`] of a
//! provider, [`host::run`] of a host, [`admission::decide`] of an admission.

pub mod admission;
pub mod config;
pub mod host;
mod host_faults;
pub mod message;
pub mod policy;
pub mod process;
pub mod selector;
pub mod switches;
pub mod vocabulary;
