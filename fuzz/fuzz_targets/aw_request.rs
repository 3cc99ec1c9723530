//! See `cetp_conformance::fuzz::targets::aw_request`.
#![cfg_attr(feature = "libfuzzer", no_main)]
cetp_fuzz::target!(cetp_conformance::fuzz::targets::aw_request);
