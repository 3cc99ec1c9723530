//! See `cetp_conformance::fuzz::targets::aw_response`.
#![cfg_attr(feature = "libfuzzer", no_main)]
cetp_fuzz::target!(cetp_conformance::fuzz::targets::aw_response);
