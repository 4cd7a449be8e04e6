//! Series of rates as CSV: no panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use paceline_cc::Span;
use paceline_trace::csv;

fuzz_target!(|bytes: &[u8]| {
    match csv::parse("t.csv", bytes) {
        Ok(trace) => {
            // Long or fast traces are valid, and take long to write.
            if trace.period().as_secs_f64() < 600.0 && trace.len() < 1_000_000 {
                let written = csv::write(&trace, Span::from_millis(100));
                assert!(written.starts_with("time_ms,mbps\n"));
            }
        }
        Err(error) => assert!(error.to_string().len() < 400),
    }
});
