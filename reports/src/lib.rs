//! Reports of conformance runs.
//!
//! Begin with [`model::Report`], which is `report.json`. [`claims::conclude`] says what follows from results, [`check`] judges
//! a report again from its transcripts, [`verify`] adds signature and demands. Every other form is made from a
//! [`view::View`]: [`html`], [`junit`], [`ctrf`], [`markdown`], [`badge`]; [`text`] shows it on a terminal.

pub mod badge;
pub mod baseline;
pub mod check;
pub mod claims;
pub mod ctrf;
pub mod diff;
pub mod dsse;
pub mod error;
pub mod html;
mod html_about;
mod html_broken;
mod html_diff;
mod html_matrix;
mod html_sequence;
mod html_vector;
pub mod journal;
pub mod json;
pub mod junit;
pub mod key;
pub mod markdown;
pub mod merge;
pub mod model;
mod outline;
mod patterns;
pub mod read;
pub mod redact;
mod sequence;
pub mod statement;
pub mod text;
pub mod verify;
pub mod view;
pub mod words;
