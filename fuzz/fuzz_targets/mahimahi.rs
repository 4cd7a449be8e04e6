//! Traces in Mahimahi's format: no panic, accepted traces are written back equal, and their
//! opportunities can be found and counted at any time.
#![no_main]

use libfuzzer_sys::fuzz_target;
use paceline_cc::{Span, Time};
use paceline_trace::{Stats, Trace, mahimahi};

/// Checks the opportunities around `from`, and those of the first period.
fn ask(trace: &Trace, from: Time) {
    let next = trace.next_after(from);
    assert!(next > from || next == Time::NEVER);
    assert!(trace.count_in(from, next) >= 1 || next == Time::NEVER);
    assert_eq!(trace.count_in(from, next - Span::from_nanos(1)), 0);
    assert_eq!(trace.cursor_after(from).peek(), next);
    assert_eq!(trace.count_in(Time::ZERO, Time::ZERO + trace.period()), trace.len() as u64);
}

fuzz_target!(|bytes: &[u8]| {
    match mahimahi::parse("t", bytes) {
        Ok(trace) => {
            let written = mahimahi::write(&trace);
            assert_eq!(mahimahi::parse("t", written.as_bytes()).as_ref(), Ok(&trace));
            // A time many periods later, one within the first period, and both ends of the range of
            // times.
            let mix = |sum: u64, &byte: &u8| sum.wrapping_mul(257).wrapping_add(u64::from(byte));
            let sum = bytes.iter().fold(1, mix);
            let lap = trace.period().as_nanos();
            for nanos in [sum, sum % lap, 0, lap, u64::MAX] {
                ask(&trace, Time::from_nanos(nanos));
            }
            // Statistics have bins over the whole period, of which a long period has many.
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
