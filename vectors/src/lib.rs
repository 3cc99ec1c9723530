//! Shared test vectors.
pub mod bundle;
pub mod json;
pub mod parcel;
