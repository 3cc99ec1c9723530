//! See `cetp_conformance::fuzz::targets::consumer_case`.
#![cfg_attr(feature = "libfuzzer", no_main)]
cetp_fuzz::target!(cetp_conformance::fuzz::targets::consumer_case);
