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
//! **The test side**: [`target`] (what the suite asks of each), [`switches`] (ways to break or bend them).

pub mod admission;
pub mod config;
pub mod host;
pub mod message;
pub mod policy;
pub mod process;
pub mod selector;
pub mod switches;
pub mod target;
pub mod vocabulary;
