//! Traces in Mahimahi's format: no panic, and what is accepted comes back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use paceline_trace::{Stats, mahimahi};

fuzz_target!(|bytes: &[u8]| {
    match mahimahi::parse("t", bytes) {
        Ok(trace) => {
            let written = mahimahi::write(&trace);
            assert_eq!(mahimahi::parse("t", written.as_bytes()).as_ref(), Ok(&trace));
            // Statistics take bins of the whole lap: a long one has many.
            if trace.period().as_secs_f64() < 600.0 {
                let stats = Stats::of(&trace);
                assert!(stats.columns().iter().all(|column| column.1.is_finite()));
            }
        }
        Err(error) => {
            let shown = error.to_string();
            assert!(shown.len() < 400 && !shown.contains(char::is_control));
        }
    }
});
