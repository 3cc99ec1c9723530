//! See `cetp_conformance::fuzz::targets::bundle`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| cetp_conformance::fuzz::targets::bundle(data));
