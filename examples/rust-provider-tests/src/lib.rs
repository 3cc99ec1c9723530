//! Nothing here: `tests/conformance.rs` is the example. It tests the reference where you would test your own provider.
