//! A barrier at which connections wait for each other.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Instant;

/// A barrier at which the connections of a measurement wait for each other, so that they begin
/// together.
#[derive(Debug)]
pub struct StartGate {
    expected: usize,
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Copy, Clone, Debug, Default)]
struct GateState {
    arrived: usize,
    failed: bool,
    began: Option<Instant>,
}

impl StartGate {
    /// Creates a gate that opens when `expected` connections are established.
    pub fn new(expected: usize) -> StartGate {
        StartGate { expected, state: Mutex::default(), changed: Condvar::new() }
    }

    fn change(&self, change: impl FnOnce(&mut GateState)) -> GateState {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        self.changed.notify_all();
        *state
    }

    /// Waits for all other connections. Returns false if one of them has failed.
    pub(super) fn pass(&self) -> bool {
        let state = self.change(|state| state.arrived += 1);
        if state.arrived >= self.expected {
            self.change(|state| state.began = Some(Instant::now()));
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.arrived < self.expected && !state.failed {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        !state.failed
    }

    /// Notes that a connection could not be established: the others stop waiting.
    pub(super) fn fail(&self) {
        self.change(|state| state.failed = true);
    }

    /// Returns when the gate opened, if it has.
    pub(super) fn began(&self) -> Option<Instant> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).began
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn the_gate_opens_when_all_have_come_and_fails_for_all() {
        for fails in [false, true] {
            let gate = StartGate::new(3);
            let passed = thread::scope(|scope| {
                let first = scope.spawn(|| gate.pass());
                let second = scope.spawn(|| gate.pass());
                if fails {
                    gate.fail();
                } else {
                    assert!(gate.pass());
                }
                [first, second].map(|one| one.join().expect("no panic"))
            });
            assert_eq!(passed, [!fails; 2]);
            assert_eq!(gate.began().is_some(), !fails);
        }
    }
}
