//! TODO
pub mod adapter;
pub mod check;
pub mod engine;
pub mod execute;
pub mod guard;
pub mod harness;
pub mod inprocess;
pub mod limits;
pub mod protocol;
pub mod stdio;
pub mod target;
