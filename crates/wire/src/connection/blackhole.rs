//! Detects that the path carries only smaller packets than before, and finds their size (RFC 8899:
//! black hole detection and probing).
//!
//! Probing starts when packets are lost and no large packet is acknowledged: with two pings, padded
//! to the present size and to the least. In an outage neither is answered; they are sent again after
//! one second, two, four and so on, because everything that is sent into an outage waits in the
//! path's queues afterwards. If only the smaller one is answered, rounds of pings of several sizes
//! follow, the largest first. If in three rounds smaller sizes are answered and the present size is
//! not, the largest answered size becomes the connection's. Every ten minutes, and when the other
//! end's address has changed, larger sizes are tried again, up to the connection's initial size.

use paceline_cc::{Span, Time};
use paceline_flow::SenderStats;

use crate::mtu::{BASE_MTU, SMALLER};

/// Bytes acknowledged at once from which on an acknowledgement counts as one of large packets.
const LARGE: u64 = 1000;
/// Number of losses, or expiries of the retransmission timer, without an acknowledgement of a large
/// packet that starts probing.
const LOSSES: u64 = 8;
const TIMEOUTS: u64 = 2;
/// Number of rounds that must agree (RFC 8899 MAX_PROBES).
const ROUNDS: u32 = 3;
/// Minimum time for which the answers to other sizes are awaited after the first answer.
const GRACE: Span = Span::from_millis(100);
/// Length of a round without any answer. It doubles with each such round, five times at most.
const PAUSE: Span = Span::from_millis(1000);
const DOUBLINGS: u32 = 5;

/// Time after which larger sizes are tried again (RFC 8899, section 5.1.1: PMTU_RAISE_TIMER).
const RAISE: Span = Span::from_millis(600_000);

/// Number of rounds in which larger sizes are tried until one is answered (RFC 8899 §5.1.2:
/// MAX_PROBES), since a full queue drops pings, too.
const RAISE_ROUNDS: u32 = 3;

/// What a round of pings tries.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// The present size and the least: whether the path has become a black hole.
    Suspects,
    /// The present size and smaller ones.
    Searches,
    /// Larger sizes.
    Raises,
}

/// A round of pings, the largest first.
#[derive(Debug)]
struct Round {
    kind: Kind,
    sizes: Vec<u16>,
    /// Number of the first ping; the others follow in the order of `sizes`.
    first: u32,
    /// Number of pings sent.
    sent: usize,
    /// Largest size answered.
    answered: u16,
    /// Time for which the round continues after the first answer.
    grace: Span,
    end: Time,
}

/// State of the search for the sizes that the path carries.
#[derive(Debug)]
pub(super) struct BlackHole {
    mtu: u16,
    /// The connection's initial size.
    most: u16,
    /// When larger sizes are tried next.
    raise: Time,
    /// Number of unanswered rounds of larger sizes since then.
    raise_rounds: u32,
    /// Losses and timeouts counted when a large packet was last acknowledged.
    losses: u64,
    timeouts: u64,
    round: Option<Round>,
    /// Number of rounds of two pings without an answer, one after the other.
    silent: u32,
    /// Number of rounds in which only smaller sizes were answered, and the largest of these sizes.
    agreed: u32,
    largest: u16,
}

impl BlackHole {
    pub(super) fn new(mtu: u16) -> BlackHole {
        BlackHole {
            mtu,
            most: mtu,
            raise: Time::NEVER,
            raise_rounds: 0,
            losses: 0,
            timeouts: 0,
            round: None,
            silent: 0,
            agreed: 0,
            largest: 0,
        }
    }

    /// Returns the size of the largest packets.
    pub(super) fn mtu(&self) -> u16 {
        self.mtu
    }

    /// Takes in an acknowledgement of `bytes` bytes, with the counters after it.
    #[inline]
    pub(super) fn on_ack(&mut self, bytes: u64, stats: &SenderStats) {
        if bytes >= LARGE {
            (self.losses, self.timeouts) = (stats.lost, stats.timeouts);
        }
    }

    /// Starts or ends a round if it is time to. Returns the new size if it changes. `number` is
    /// the number of the next ping.
    pub(super) fn update(
        &mut self,
        now: Time,
        rtt: Span,
        stats: &SenderStats,
        number: u32,
    ) -> Option<u16> {
        let Some(round) = &self.round else {
            if self.is_suspicious(stats) {
                self.suspect(now, rtt, number);
            }
            if self.round.is_none() && now >= self.raise {
                self.begin_raise(now, rtt, number);
            }
            return None;
        };
        if now < round.end {
            return None;
        }
        let (kind, answered) = (round.kind, round.answered);
        self.round = None;
        if kind == Kind::Raises {
            // The path carries every size that was answered.
            if answered > self.mtu {
                return Some(self.settle(now, answered, stats));
            }
            self.raise_rounds += 1;
            if self.raise_rounds < RAISE_ROUNDS {
                self.begin_raise(now, rtt, number);
            } else {
                (self.raise, self.raise_rounds) = (now + RAISE, 0);
            }
            return None;
        }
        if answered >= self.mtu {
            // The losses have another cause than the packet size.
            (self.losses, self.timeouts, self.agreed) = (stats.lost, stats.timeouts, 0);
            self.silent = 0;
        } else if answered == 0 {
            self.silent = (self.silent + 1).min(DOUBLINGS);
            // A large packet may have been acknowledged meanwhile.
            match kind == Kind::Searches || self.is_suspicious(stats) {
                true => self.suspect(now, rtt, number),
                false => (self.silent, self.agreed) = (0, 0),
            }
        } else {
            self.silent = 0;
            if kind == Kind::Searches {
                self.agreed += 1;
                self.largest = self.largest.max(answered);
            }
            if self.agreed >= ROUNDS {
                return Some(self.settle(now, self.largest, stats));
            }
            self.search(now, rtt, number);
        }
        None
    }

    /// Returns whether [`LOSSES`] packets were lost, or the retransmission timer expired [`TIMEOUTS`] times, since a large
    /// packet was last acknowledged.
    fn is_suspicious(&self, stats: &SenderStats) -> bool {
        stats.lost >= self.losses + LOSSES || stats.timeouts >= self.timeouts + TIMEOUTS
    }

    /// Makes `mtu` the size of the largest packets.
    fn settle(&mut self, now: Time, mtu: u16, stats: &SenderStats) -> u16 {
        let raise = if mtu < self.most { now + RAISE } else { Time::NEVER };
        let (losses, timeouts) = (stats.lost, stats.timeouts);
        *self = BlackHole { most: self.most, raise, losses, timeouts, ..BlackHole::new(mtu) };
        mtu
    }

    /// Handles a change of the other end's address, and so possibly of the path.
    pub(super) fn on_new_path(&mut self, now: Time) {
        if self.mtu < self.most {
            self.raise = self.raise.min(now);
        }
    }

    /// Handles the system's report that packets are too large, which starts a round at once.
    pub(super) fn on_too_large(&mut self, now: Time, rtt: Span, number: u32) {
        if self.round.is_none() {
            self.search(now, rtt, number);
        }
    }

    /// Starts a round of the present size and the least, if that is smaller.
    fn suspect(&mut self, now: Time, rtt: Span, first: u32) {
        if self.mtu > BASE_MTU {
            let longest = PAUSE * (1 << self.silent);
            self.begin(Kind::Suspects, now, (rtt, longest), first, vec![self.mtu, BASE_MTU]);
        }
    }

    /// Starts a round of smaller sizes, if there are any.
    fn search(&mut self, now: Time, rtt: Span, first: u32) {
        if self.mtu > BASE_MTU {
            let smaller = SMALLER.into_iter().filter(|&size| size < self.mtu && size >= BASE_MTU);
            let sizes = std::iter::once(self.mtu).chain(smaller).collect();
            self.begin(Kind::Searches, now, (rtt, PAUSE), first, sizes);
        }
    }

    /// Starts a round of larger sizes.
    fn begin_raise(&mut self, now: Time, rtt: Span, first: u32) {
        let between = SMALLER.into_iter().filter(|&size| size < self.most && size > self.mtu);
        let sizes = std::iter::once(self.most).chain(between).collect();
        self.begin(Kind::Raises, now, (rtt, PAUSE), first, sizes);
    }

    /// Starts a round, which without an answer ends after two RTTs or `longest`.
    fn begin(
        &mut self,
        kind: Kind,
        now: Time,
        (rtt, longest): (Span, Span),
        first: u32,
        sizes: Vec<u16>,
    ) {
        let (end, grace) = (now + (rtt * 2).max(longest), rtt.max(GRACE));
        self.round = Some(Round { kind, sizes, first, sent: 0, answered: 0, grace, end });
    }

    /// Returns when the search next has something to do; `Time::ZERO` if a ping is to be sent.
    #[inline]
    pub(super) fn wake(&self) -> Time {
        match &self.round {
            None => self.raise,
            Some(round) if round.sent < round.sizes.len() => Time::ZERO,
            Some(round) => round.end,
        }
    }

    /// Returns the number and the size of the next ping, IP and UDP headers included.
    pub(super) fn pop_ping(&mut self) -> Option<(u32, u16)> {
        let round = self.round.as_mut()?;
        let size = *round.sizes.get(round.sent)?;
        let number = round.first.wrapping_add(round.sent as u32);
        round.sent += 1;
        Some((number, size))
    }

    /// Takes in the answer to a ping.
    pub(super) fn on_pong(&mut self, now: Time, number: u32) {
        let Some(round) = &mut self.round else { return };
        let index = number.wrapping_sub(round.first) as usize;
        let Some(&size) = round.sizes.get(index).filter(|_| index < round.sent) else { return };
        // The largest ping was sent first, so its answer normally arrives first.
        let more = if index == 0 { Span::ZERO } else { round.grace };
        round.end = round.end.min(now + more);
        round.answered = round.answered.max(size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(lost: u64, timeouts: u64) -> SenderStats {
        let mut stats = SenderStats::default();
        (stats.lost, stats.timeouts) = (lost, timeouts);
        stats
    }

    /// Answers all pings of a round up to this size. Returns the resulting size, if it changes.
    fn round(
        hole: &mut BlackHole,
        now: &mut Time,
        carried: u16,
        stats: &SenderStats,
    ) -> Option<u16> {
        let rtt = Span::from_millis(50);
        while let Some((number, size)) = hole.pop_ping() {
            if size <= carried {
                hole.on_pong(*now, number);
            }
        }
        *now = hole.wake();
        hole.update(*now, rtt, stats, 100)
    }

    #[test]
    fn three_rounds_in_which_only_smaller_packets_pass_make_a_new_size() {
        let mut hole = BlackHole::new(1500);
        let (mut now, rtt) = (Time::from_secs(1), Span::from_millis(50));
        assert_eq!((hole.update(now, rtt, &stats(7, 1), 1), hole.wake()), (None, Time::NEVER));
        assert_eq!((hole.update(now, rtt, &stats(7, 2), 1), hole.wake()), (None, Time::ZERO));
        let stats = stats(20, 3);
        // Of the present size and the least, one is answered: several sizes are tried.
        assert_eq!(round(&mut hole, &mut now, 1450, &stats), None);
        assert_eq!(round(&mut hole, &mut now, 1450, &stats), None);
        // Nothing is answered, as in an outage: the size stays.
        assert_eq!(round(&mut hole, &mut now, 0, &stats), None);
        assert_eq!(round(&mut hole, &mut now, 1450, &stats), None);
        assert_eq!(round(&mut hole, &mut now, 1450, &stats), None);
        assert_eq!(round(&mut hole, &mut now, 1300, &stats), Some(1440));
        let later = now + RAISE;
        assert_eq!((hole.mtu(), hole.wake()), (1440, later));
        assert_eq!(hole.update(now, rtt, &stats, 200), None);
        assert_eq!(hole.wake(), later);
    }

    #[test]
    fn an_outage_gets_two_pings_at_growing_intervals() {
        let mut hole = BlackHole::new(1500);
        let (mut now, rtt) = (Time::from_secs(1), Span::from_millis(50));
        let mut seen = stats(0, 2);
        hole.update(now, rtt, &seen, 1);
        let mut sent = Vec::new();
        while now < Time::from_secs(100) {
            let sizes: Vec<u16> =
                std::iter::from_fn(|| hole.pop_ping()).map(|ping| ping.1).collect();
            assert_eq!(sizes, [1500, BASE_MTU]);
            sent.push(now.as_nanos() / 1_000_000_000);
            now = hole.wake();
            assert_eq!(hole.update(now, rtt, &seen, 1), None);
        }
        assert_eq!(sent, [1, 2, 4, 8, 16, 32, 64, 96]);
        // The outage is over: a large packet is acknowledged, and no ping follows.
        hole.on_ack(1500, &seen);
        now = Time::from_secs(200);
        assert_eq!((hole.update(now, rtt, &seen, 1), hole.wake()), (None, Time::NEVER));
        // The next one begins with the shortest interval.
        seen.timeouts += 2;
        hole.update(now, rtt, &seen, 1);
        assert_eq!(hole.pop_ping().map(|ping| ping.1), Some(1500));
        hole.pop_ping();
        assert_eq!(hole.wake(), Time::from_secs(201));
    }

    #[test]
    fn larger_sizes_are_tried_again_up_to_the_first() {
        let mut hole = BlackHole::new(1470);
        let (mut now, rtt, none) = (Time::from_secs(1), Span::from_millis(50), stats(0, 0));
        hole.on_too_large(now, rtt, 1);
        for _ in 0..3 {
            round(&mut hole, &mut now, 1320, &none);
        }
        assert_eq!((hole.mtu(), hole.wake()), (1320, now + RAISE));
        // Ten minutes later larger sizes are tried in three rounds, and none passes.
        now = hole.wake();
        assert_eq!(hole.update(now, rtt, &none, 1), None);
        for _ in 0..RAISE_ROUNDS {
            assert_eq!(hole.wake(), Time::ZERO);
            assert_eq!(round(&mut hole, &mut now, 1359, &none), None);
        }
        assert_eq!((hole.mtu(), hole.wake()), (1320, now + RAISE));
        // The other end's address has changed: larger sizes are tried at once, and one passes.
        hole.on_new_path(now);
        assert_eq!((hole.update(now, rtt, &none, 1), hole.wake()), (None, Time::ZERO));
        assert_eq!(round(&mut hole, &mut now, 1450, &none), Some(1440));
        assert_eq!((hole.mtu(), hole.wake()), (1440, now + RAISE));
        // Later the initial size passes, too.
        now = hole.wake();
        hole.update(now, rtt, &none, 1);
        assert_eq!(round(&mut hole, &mut now, 9000, &none), Some(1470));
        assert_eq!((hole.mtu(), hole.wake()), (1470, Time::NEVER));
        hole.on_new_path(now);
        assert_eq!(hole.wake(), Time::NEVER);
    }

    #[test]
    fn losses_on_a_path_that_carries_the_size_change_nothing() {
        let mut hole = BlackHole::new(1500);
        let (mut now, rtt) = (Time::from_secs(1), Span::from_millis(50));
        let seen = stats(100, 5);
        hole.update(now, rtt, &seen, 1);
        assert_eq!(round(&mut hole, &mut now, 1500, &seen), None);
        assert_eq!((hole.mtu(), hole.wake()), (1500, Time::NEVER));
        // Acknowledgements of large packets end the suspicion.
        hole.on_ack(1500, &stats(120, 9));
        hole.update(now, rtt, &stats(121, 10), 1);
        assert_eq!(hole.wake(), Time::NEVER);
        let mut least = BlackHole::new(1280);
        least.update(now, rtt, &stats(1000, 100), 1);
        assert_eq!(least.wake(), Time::NEVER, "there is nothing smaller");
    }
}
