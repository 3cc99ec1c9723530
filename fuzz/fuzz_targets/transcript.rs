//! See `cetp_conformance::fuzz::targets::transcript`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| cetp_conformance::fuzz::targets::transcript(data));
