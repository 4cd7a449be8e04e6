//! The address of the other end, which may change.

use core::net::SocketAddr;

use paceline_cc::{Span, Time};

use crate::key::random;

/// The least time between two challenges.
const BETWEEN: Span = Span::from_millis(50);

/// The address that packets go to, and one that may become it.
#[derive(Debug)]
pub(super) struct Path {
    current: SocketAddr,
    candidate: Option<Candidate>,
    /// A challenge that is to be answered, and where it came from.
    answer: Option<(SocketAddr, [u8; 8])>,
    changes: u64,
}

#[derive(Debug)]
struct Candidate {
    address: SocketAddr,
    token: [u8; 8],
    challenged: Option<Time>,
    due: bool,
}

impl Path {
    pub(super) fn new(current: SocketAddr) -> Path {
        Path { current, candidate: None, answer: None, changes: 0 }
    }
    pub(super) fn current(&self) -> SocketAddr {
        self.current
    }
    /// How often the address has changed.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }
    pub(super) fn is_due(&self) -> bool {
        self.answer.is_some() || self.candidate.as_ref().is_some_and(|candidate| candidate.due)
    }

    /// The newest packet so far has come from this address. A challenge goes there at most once for
    /// each such packet, so that nobody can have a third party flooded.
    pub(super) fn on_newest(&mut self, now: Time, from: SocketAddr) {
        if from == self.current {
            return;
        }
        if self.candidate.as_ref().is_none_or(|candidate| candidate.address != from) {
            let Ok(token) = random() else { return };
            self.candidate = Some(Candidate { address: from, token, challenged: None, due: false });
        }
        if let Some(candidate) = &mut self.candidate {
            candidate.due |= candidate.challenged.is_none_or(|at| at + BETWEEN <= now);
        }
    }

    pub(super) fn on_challenge(&mut self, from: SocketAddr, token: [u8; 8]) {
        self.answer = Some((from, token));
    }

    /// True if the address has changed.
    pub(super) fn on_answer(&mut self, from: SocketAddr, token: [u8; 8]) -> bool {
        let good = |candidate: &Candidate| candidate.address == from && candidate.token == token;
        let changed = self.candidate.as_ref().is_some_and(good);
        if changed {
            self.current = from;
            self.candidate = None;
            self.changes += 1;
        }
        changed
    }

    /// An answer to a challenge that is to be sent.
    pub(super) fn pop_answer(&mut self) -> Option<(SocketAddr, [u8; 8])> {
        self.answer.take()
    }

    /// A challenge that is to be sent.
    pub(super) fn pop_challenge(&mut self, now: Time) -> Option<(SocketAddr, [u8; 8])> {
        let candidate = self.candidate.as_mut().filter(|candidate| candidate.due)?;
        candidate.due = false;
        candidate.challenged = Some(now);
        Some((candidate.address, candidate.token))
    }
}
