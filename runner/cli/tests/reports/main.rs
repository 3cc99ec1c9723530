//! Reports from end to end: the commands as a user types them, over real runs.

mod baseline;
mod ci;
mod forms;
mod interrupt;
mod page;
mod rig;
mod secrets;
mod size;
mod tampering;
mod verify;
