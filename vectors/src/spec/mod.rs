//! The specification as a small state machine: sessions, executions, confirmations, operations, the records of
//! deduplication, the clock, and the end of the process. The main function is [`step()`].
//!
//! It is pure and knows nothing of wire formats: a [`State`], an [`Action`], the state after it and what a conforming
//! provider answers. [`explore()`] looks at the states breadth first, [`render::vector`] makes a vector of a sequence of
//! actions, and the fuzzers use it as their oracle. It is written from the ledger and not from the reference, and the
//! reference is checked against it.

pub mod action;
pub mod answer;
pub mod explore;
pub mod render;
pub mod state;
pub mod step;

pub use action::Action;
pub use answer::Answer;
pub use explore::explore;
pub use state::State;
pub use step::{Step, step};
