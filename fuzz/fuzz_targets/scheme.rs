//! Schemes as users write them: no panic, accepted text is written back equal, and the scheme's
//! halves and queue can be built.
#![no_main]

use libfuzzer_sys::fuzz_target;
use paceline_cc::{Rate, RouterSetup, SchemeSpec, Setup, Span, Spec, Stream};
use paceline_path::BufferSize;
use paceline_sim::scenario::check_scheme;

fuzz_target!(|text: &str| {
    if let Ok(spec) = SchemeSpec::parse(text) {
        assert_eq!(SchemeSpec::parse(&spec.to_string()).as_ref(), Ok(&spec));
    }
    match check_scheme(text) {
        Ok(spec) => make(&spec),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    for part in paceline_cc::spec::split_list(text) {
        assert!(text.contains(part));
    }
    if let Ok(size) = BufferSize::parse(text) {
        assert!(BufferSize::parse(&size.to_string()).is_ok(), "{size}");
        for (rate, rtt) in [(Rate::ZERO, Span::ZERO), (Rate::from_mbps(12.0), Span::MAX)] {
            let limit = size.resolve(rate, rtt);
            assert!(limit.packets != Some(0) && limit.bytes != Some(0), "{size}");
        }
    }
});

/// Builds all parts of a scheme.
fn make(spec: &SchemeSpec) {
    // Sprout's forecasts take long to compute; the target `scenario` runs them.
    if spec.sender.name != "sprout" {
        let halves = paceline_schemes::registry::build(&spec.sender).expect("checked");
        let _ = (halves.controller)(&Setup::default());
        let _ = halves.reporter.map(|make| make(&Setup::default()));
        let _ = halves.router.map(|make| make(&RouterSetup::default()));
    }
    let droptail = Spec { name: "droptail".into(), args: Vec::new() };
    let queue = spec.queue.as_ref().unwrap_or(&droptail);
    for size in [BufferSize::Packets(1), BufferSize::Bytes(u64::MAX), BufferSize::Unlimited] {
        let limit = size.resolve(Rate::ZERO, Span::ZERO);
        assert!(
            paceline_path::queue::build(queue, limit, Stream::new(1, "queue")).is_ok(),
            "{queue:?}"
        );
    }
}
