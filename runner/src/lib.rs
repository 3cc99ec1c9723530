//! TODO
pub mod adapter;
pub mod check;
pub mod engine;
pub mod exchange;
pub mod execute;
pub mod guard;
pub mod harness;
pub mod hosting;
pub mod inprocess;
pub mod limits;
pub mod profile;
pub mod protocol;
pub mod scripted;
pub mod spawn;
pub mod stdio;
pub mod target;
