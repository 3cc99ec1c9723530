//! See `cetp_conformance::fuzz::targets::provider`.
#![cfg_attr(feature = "libfuzzer", no_main)]
cetp_fuzz::target!(cetp_conformance::fuzz::targets::provider);
