//! Schemes as users write them: no panic, and what is accepted comes back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use paceline_cc::SchemeSpec;
use paceline_path::BufferSize;
use paceline_sim::scenario::check_scheme;

fuzz_target!(|text: &str| {
    if let Ok(spec) = SchemeSpec::parse(text) {
        assert_eq!(SchemeSpec::parse(&spec.to_string()).as_ref(), Ok(&spec));
    }
    if let Err(error) = check_scheme(text) {
        assert!(!error.to_string().is_empty());
    }
    for part in paceline_cc::spec::split_list(text) {
        assert!(text.contains(part));
    }
    if let Ok(size) = BufferSize::parse(text) {
        assert!(BufferSize::parse(&size.to_string()).is_ok(), "{size}");
    }
});
