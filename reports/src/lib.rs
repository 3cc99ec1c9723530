//! Reports of conformance runs.
//!
//! Begin with [`model::Report`], which is `report.json`; [`claims::conclude`] says what follows from results, [`text`]
//! shows it on a terminal.

pub mod claims;
pub mod model;
pub mod text;
