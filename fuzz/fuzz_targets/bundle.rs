//! See `cetp_conformance::fuzz::targets::bundle`.
#![cfg_attr(feature = "libfuzzer", no_main)]
cetp_fuzz::target!(cetp_conformance::fuzz::targets::bundle);
