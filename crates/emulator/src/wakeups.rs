//! How late this machine wakes an emulator.

use paceline_cc::Span;
use paceline_os::RealTimeError;

use super::clock::{Clock as _, Monotonic};
use super::lateness::Lateness;
use super::reactor::Reactor;
use super::run::EmulatorOptions;
use super::summary::LatenessSummary;

/// Waits `count` times for `interval`, as an emulator waits for the next release, and returns how
/// late the waits ended.
///
/// # Errors
/// The system refuses a timer.
pub fn measure_wakeups(count: u32, interval: Span) -> Result<LatenessSummary, RealTimeError> {
    let (clock, _) = Monotonic::start();
    let mut reactor = Reactor::new(EmulatorOptions::default().lead)?;
    let mut lateness = Lateness::default();
    for _ in 0..count {
        let deadline = clock.now() + interval;
        // A wait may end early, as after a signal.
        while clock.now() < deadline {
            reactor.wait(deadline, &clock)?;
        }
        lateness.record(clock.now().since(deadline), 1);
    }
    Ok(lateness.summary())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wait_is_counted_and_ends_after_its_deadline() {
        let seen = measure_wakeups(5, Span::from_millis(1)).expect("a timer");
        assert_eq!(seen.count, 5);
        assert!(seen.p50 <= seen.p99 && seen.p99 <= seen.max.max(seen.p99), "{seen:?}");
    }
}
