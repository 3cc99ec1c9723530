//! Shared test vectors.
pub mod bundle;
pub mod compact;
pub mod expr;
pub mod fixture;
pub mod json;
pub mod judge;
pub mod ledger;
pub mod load;
pub mod machine;
pub mod model;
pub mod normalise;
pub mod parcel;
pub mod parse;
pub mod pattern;
pub mod protocol;
pub mod schema;
pub mod transcript;
