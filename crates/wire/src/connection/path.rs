//! The address of the other end, which may change.
//!
//! An authentic packet from another address is weak evidence that the other end has moved: a host
//! that sees packets may have sent a copy of it that arrived first. So both addresses are
//! challenged, with separate tokens, and the present address stays if it answers (RFC 9000 §9.3.3).
//! The new address is used only when it has answered and the present one has been silent for as
//! long as its answer may take. For half a minute after the change, the former address is
//! challenged again, in case it was unreachable for a short time only.
//!
//! The answer of an address in use counts even in a packet whose copy arrived before: a copier can
//! be faster than a packet, but cannot stop it.

use core::net::SocketAddr;
use std::collections::VecDeque;

use paceline_cc::{Span, Time};

use super::Connection;
use crate::frame::{Frame, Frames};
use crate::key::random;
use crate::mtu::ip_udp;

/// Minimum time between two challenges of an address.
const CHALLENGE_INTERVAL: Span = Span::from_millis(50);
/// Shortest and longest time for which a new address that has answered waits for the answer of the
/// present one.
const GRACE: (Span, Span) = (Span::from_millis(25), Span::from_secs(1));
/// Time after an answer of the present address during which no other address is challenged.
const SETTLED: Span = Span::from_secs(1);
/// First interval after which a former address is challenged again. Each further interval is twice
/// as long.
const FORMER_INTERVAL: Span = Span::from_millis(250);
/// Number of challenges of a former address: over 32 s in all.
const FORMER_CHALLENGES: u32 = 7;
/// Largest number of challenges waiting to be answered.
const MOST_ANSWERS: usize = 4;

type Token = [u8; 8];

/// The address of the other end, and addresses that may replace it.
#[derive(Debug)]
pub(super) struct Path {
    current: SocketAddr,
    candidate: Option<Candidate>,
    /// The former address, as long as it is challenged.
    former: Option<Former>,
    /// Time until which no other address is challenged, since the present one has just answered.
    settled_until: Time,
    /// Challenges to be answered, and the addresses that they came from.
    answers: VecDeque<(SocketAddr, Token)>,
    changes: u64,
}

/// An address from which the newest packet came.
#[derive(Debug)]
struct Candidate {
    address: SocketAddr,
    token: Token,
    /// The token for the present address.
    current_token: Token,
    /// When both addresses were challenged first and last; `None` before the first challenge.
    challenged: Option<(Time, Time)>,
    is_due: bool,
    is_current_due: bool,
    /// When it replaces the present address; never before it has answered.
    follow_at: Time,
}

/// A former address.
#[derive(Debug)]
struct Former {
    address: SocketAddr,
    token: Token,
    /// When it was last challenged; when it is challenged next without a packet from it; how often
    /// it was challenged so.
    challenged: Time,
    challenge_at: Time,
    challenges: u32,
    /// True if a packet came from it: it is challenged now.
    is_due: bool,
}

impl Path {
    pub(super) fn new(current: SocketAddr) -> Path {
        Path {
            current,
            candidate: None,
            former: None,
            settled_until: Time::ZERO,
            answers: VecDeque::new(),
            changes: 0,
        }
    }
    pub(super) fn current(&self) -> SocketAddr {
        self.current
    }
    /// Returns the number of times that the address has changed.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// Returns when there is next a datagram to send or a change to make.
    pub(super) fn wake(&self) -> Time {
        if !self.answers.is_empty() {
            return Time::ZERO;
        }
        let candidate = self.candidate.as_ref().map_or(Time::NEVER, |candidate| {
            let is_due = candidate.is_due || candidate.is_current_due;
            if is_due { Time::ZERO } else { candidate.follow_at }
        });
        let former = self.former.as_ref().map_or(Time::NEVER, |former| {
            if former.is_due { Time::ZERO } else { former.challenge_at }
        });
        candidate.min(former)
    }

    /// Notes that the newest packet came from this address. Each such packet allows at most one
    /// challenge to that address, so that an attacker cannot flood a third party.
    pub(super) fn on_newest(&mut self, now: Time, from: SocketAddr) {
        if from == self.current {
            return;
        }
        if let Some(former) = self.former.as_mut().filter(|former| former.address == from) {
            former.is_due |= former.challenged + CHALLENGE_INTERVAL <= now;
            return;
        }
        if now < self.settled_until {
            return;
        }
        if self.candidate.as_ref().is_none_or(|candidate| candidate.address != from) {
            let (Ok(token), Ok(current_token)) = (random(), random()) else { return };
            self.candidate = Some(Candidate {
                address: from,
                token,
                current_token,
                challenged: None,
                is_due: false,
                is_current_due: false,
                follow_at: Time::NEVER,
            });
        }
        if let Some(candidate) = &mut self.candidate
            && candidate.challenged.is_none_or(|(_, last)| last + CHALLENGE_INTERVAL <= now)
        {
            candidate.is_due = candidate.follow_at == Time::NEVER;
            candidate.is_current_due = true;
        }
    }

    pub(super) fn on_challenge(&mut self, from: SocketAddr, token: Token) {
        if self.answers.len() < MOST_ANSWERS {
            self.answers.push_back((from, token));
        }
    }

    /// Returns true if a packet from this address may carry an answer to a challenge that counts
    /// even if a copy of the packet arrived before.
    #[inline]
    pub(super) fn awaits_answer_of(&self, from: SocketAddr) -> bool {
        let former = self.former.as_ref().is_some_and(|former| former.address == from);
        former || (self.candidate.is_some() && from == self.current)
    }

    /// Takes in an answer from a present or former address, which counts even if its packet's copy
    /// arrived before. Returns true if it is a valid answer; then this address is in use.
    pub(super) fn on_answer_of_known(&mut self, now: Time, from: SocketAddr, token: Token) -> bool {
        let candidate = self.candidate.as_ref();
        let stays = from == self.current
            && candidate.is_some_and(|candidate| candidate.current_token == token);
        let is_former = |former: &Former| former.address == from && former.token == token;
        let returns = self.former.as_ref().is_some_and(is_former);
        if returns {
            self.current = from;
            self.former = None;
            self.changes += 1;
        }
        if stays || returns {
            self.candidate = None;
            self.settled_until = now + SETTLED;
        }
        stays || returns
    }

    /// Takes in an answer from an address that may come into use. `rtt` is the smoothed RTT of the
    /// present path, zero if unknown.
    pub(super) fn on_answer(&mut self, now: Time, from: SocketAddr, token: Token, rtt: Span) {
        let Some(candidate) = &mut self.candidate else { return };
        let Some((challenged, _)) = candidate.challenged else { return };
        if candidate.address != from || candidate.token != token {
            return;
        }
        // The present address was challenged at the same time. Its answer may take as long again.
        let elapsed = now.since(challenged);
        let wait = elapsed.max(rtt * 2 - elapsed).clamp(GRACE.0, GRACE.1);
        candidate.follow_at = candidate.follow_at.min(now + wait);
    }

    /// Changes to the address that has answered, if the present one has been silent for long
    /// enough. Returns true if the address has changed.
    pub(super) fn follow(&mut self, now: Time) -> bool {
        let Some(candidate) = self.candidate.take_if(|candidate| candidate.follow_at <= now) else {
            return false;
        };
        // Keeps the first of several former addresses: an attacker who has diverted the connection
        // cannot make it forget the real address by diverting it again.
        self.former.get_or_insert_with(|| Former {
            address: self.current,
            token: candidate.current_token,
            challenged: now,
            challenge_at: now + FORMER_INTERVAL,
            challenges: 0,
            is_due: false,
        });
        self.current = candidate.address;
        self.changes += 1;
        true
    }

    /// Returns an answer to a challenge that is to be sent.
    pub(super) fn pop_answer(&mut self) -> Option<(SocketAddr, Token)> {
        self.answers.pop_front()
    }

    /// Returns a challenge that is to be sent.
    pub(super) fn pop_challenge(&mut self, now: Time) -> Option<(SocketAddr, Token)> {
        if let Some(candidate) = &mut self.candidate {
            if std::mem::take(&mut candidate.is_due) {
                return Some((candidate.address, candidate.token));
            }
            if std::mem::take(&mut candidate.is_current_due) {
                let (first, _) = candidate.challenged.unwrap_or((now, now));
                candidate.challenged = Some((first, now));
                return Some((self.current, candidate.current_token));
            }
        }
        let former = self.former.as_mut()?;
        if former.challenge_at <= now {
            if former.challenges == FORMER_CHALLENGES {
                self.former = None;
                return None;
            }
            former.challenges += 1;
            former.challenge_at = now + FORMER_INTERVAL * (1 << former.challenges);
        } else if !former.is_due {
            return None;
        }
        (former.challenged, former.is_due) = (now, false);
        Some((former.address, former.token))
    }
}

impl Connection {
    /// Takes in the answer to a challenge. Returns false if it is ignored.
    pub(super) fn on_path_answer(&mut self, now: Time, from: SocketAddr, token: Token) -> bool {
        let before = self.path.current();
        let is_known = self.path.on_answer_of_known(now, from, token);
        if is_known {
            self.look_at_path(now, before);
        } else {
            let rtt = self.rtt();
            self.path.on_answer(now, from, token, rtt);
        }
        is_known
    }

    /// Takes answers to challenges out of an authentic packet whose copy arrived before. Returns
    /// true if one of them counts.
    #[cold]
    pub(super) fn take_repeated(&mut self, now: Time, from: SocketAddr, payload: &[u8]) -> bool {
        let mut taken = false;
        for frame in Frames::new(payload) {
            if let Ok(Frame::Answer(token)) = frame {
                taken |= self.on_path_answer(now, from, token);
            }
        }
        taken
    }

    /// Changes to another address if it is time to.
    #[inline]
    pub(super) fn follow_path(&mut self, now: Time) {
        let before = self.path.current();
        if self.path.follow(now) {
            self.look_at_path(now, before);
        }
    }

    /// Resets the state that depends on the path, if the other end is no longer at the address
    /// `before`.
    fn look_at_path(&mut self, now: Time, before: SocketAddr) {
        let after = self.path.current();
        if before == after {
            return;
        }
        self.black_hole.on_new_path(now);
        // RFC 9000 §9.4: address translators change the port alone, and the path stays.
        if before.ip().to_canonical() != after.ip().to_canonical() {
            self.ip_udp = ip_udp(&after);
            if let Some(outgoing) = &mut self.outgoing {
                outgoing.on_new_path(self.ip_udp);
            }
        }
        if let Some(incoming) = &mut self.incoming {
            incoming.repeat();
        }
    }
}
