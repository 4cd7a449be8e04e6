//! Series of rates as CSV: no panic, and written series can be read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use paceline_cc::Span;
use paceline_trace::csv;

fuzz_target!(|bytes: &[u8]| {
    match csv::parse("t.csv", bytes) {
        Ok(trace) => {
            let bin = Span::from_millis(100);
            // Long or fast traces are valid, and take long to write.
            if trace.period().as_secs_f64() < 600.0 && trace.len() < 1_000_000 {
                let written = csv::write(&trace, bin);
                assert!(written.starts_with("time_ms,mbps\n"));
                // A single bin does not say how long it is. A last bin that is cut short counts as
                // a whole one when it is read, which can be too many opportunities.
                if trace.period() > bin && trace.len() < 100_000 {
                    let again = csv::parse("t.csv", written.as_bytes()).expect("as written");
                    assert!(again.period() >= trace.period(), "{written}");
                    assert!(again.len() >= trace.len(), "{written}");
                }
            }
        }
        Err(error) => assert!(error.to_string().len() < 400),
    }
});
