//! CoDel: controlled delay.
//!
//! # What it does
//! Watches how long each departing packet has waited. Once every packet of an `interval` has
//! waited for `target` or longer, it drops the packet at the head, and drops again after
//! `interval`/√count, count growing with each drop, until a packet has waited for less. When it
//! must start again within 16 intervals, it starts near the rate at which it stopped. While one
//! MTU or less is left in the queue it never drops.
//!
//! # Signals it needs
//! None; the senders must react to loss, or to CE marks if `ecn` is set.
//!
//! # Parameters
//! `target` 5 ms and `interval` 100 ms, about a round-trip time (RFC 8289 §4.2, §4.3); `ecn` off;
//! `mtu` 1514 bytes. ABC's authors ran it with a target of 50 ms on cellular links.
//!
//! # Where it fails
//! Links slower than one packet per `target`; many or unresponsive flows, for which √count grows
//! too slowly; links whose rate falls faster than its control law reacts.
//!
//! # Source
//! RFC 8289; Nichols and Jacobson, "Controlling Queue Delay", ACM Queue 10(5), 2012.

use paceline_cc::params::Params;
use paceline_cc::{Ecn, Packet, Span, Time};

use super::{DropReason, Dropped, Fifo, Limit, Queue, QueueInfo};

paceline_cc::params! {
    /// Parameters of CoDel.
    pub struct CodelParams {
        /// The waiting time that is acceptable as a standing queue (RFC 8289 §4.2).
        target: Span = Span::from_millis(5),
        /// How long the waiting time must stay above the target; about a worst-case round trip
        /// (RFC 8289 §4.3).
        interval: Span = Span::from_millis(100),
        /// Marks ECN-capable packets CE instead of dropping them.
        ecn: bool = false,
        /// Bytes: never drops while this or less is queued (RFC 8289 §5.4, MAXPACKET).
        mtu: u32 = 1514,
    }
}

/// The line of the registry.
pub(super) const QUEUE: QueueInfo = QueueInfo {
    name: "codel",
    summary: "Drops at the head when packets have waited too long for an interval",
    source: "RFC 8289",
    params: CodelParams::infos,
    build: |spec, limit| {
        let params: CodelParams = spec.params()?;
        spec.require(!params.interval.is_zero(), "interval", "must be above zero")?;
        Ok(Box::new(Codel::new(params, limit)))
    },
};

/// CoDel over a first-in-first-out buffer. Names of fields as in RFC 8289 §5.
#[derive(Clone, Debug)]
pub struct Codel {
    params: CodelParams,
    fifo: Fifo,
    /// When the waiting time will have been above target for an interval; `None` while below.
    first_above: Option<Time>,
    drop_next: Time,
    count: u64,
    last_count: u64,
    dropping: bool,
    marks: u64,
}

impl Codel {
    /// An empty queue.
    pub fn new(params: CodelParams, limit: Limit) -> Codel {
        Codel {
            params,
            fifo: Fifo::new(limit),
            first_above: None,
            drop_next: Time::ZERO,
            count: 0,
            last_count: 0,
            dropping: false,
            marks: 0,
        }
    }

    /// The RFC's `dodequeue`: the next packet, and whether the waiting time has been above the
    /// target for an interval.
    fn take(&mut self, now: Time, drops: &mut Vec<Dropped>) -> Option<(Packet, bool)> {
        let Some(packet) = self.fifo.pop(now, drops) else {
            self.first_above = None;
            return None;
        };
        let below = now.since(packet.queued) < self.params.target
            || self.fifo.bytes() <= u64::from(self.params.mtu);
        let ok_to_drop = match self.first_above {
            _ if below => {
                self.first_above = None;
                false
            }
            None => {
                self.first_above = Some(now + self.params.interval);
                false
            }
            Some(first_above) => now >= first_above,
        };
        Some((packet, ok_to_drop))
    }

    fn control_law(&self, from: Time) -> Time {
        from + self.params.interval.mul_f64(1.0 / (self.count.max(1) as f64).sqrt())
    }

    /// Tells the sender: marks the packet if that is allowed, and hands it back; else drops it.
    fn signal(&mut self, mut packet: Packet, drops: &mut Vec<Dropped>) -> Option<Packet> {
        if self.params.ecn && packet.ecn.is_capable() {
            self.marks += u64::from(packet.ecn != Ecn::Ce);
            packet.ecn = Ecn::Ce;
            return Some(packet);
        }
        drops.push(Dropped { packet, reason: DropReason::Aqm });
        None
    }

    /// In the dropping state, the packet at hand still above target: the drops that are due.
    fn keep_dropping(
        &mut self,
        now: Time,
        mut packet: Packet,
        drops: &mut Vec<Dropped>,
    ) -> Option<Packet> {
        // At high drop rates the next drop may be due at once: hence the loop.
        while now >= self.drop_next {
            self.count += 1;
            if let Some(marked) = self.signal(packet, drops) {
                self.drop_next = self.control_law(self.drop_next);
                return Some(marked);
            }
            let (next, ok_to_drop) = match self.take(now, drops) {
                Some((next, ok_to_drop)) => (Some(next), ok_to_drop),
                None => (None, false),
            };
            if !ok_to_drop {
                self.dropping = false;
                return next;
            }
            self.drop_next = self.control_law(self.drop_next);
            packet = next?;
        }
        Some(packet)
    }

    fn start_dropping(
        &mut self,
        now: Time,
        packet: Packet,
        drops: &mut Vec<Dropped>,
    ) -> Option<Packet> {
        let next = match self.signal(packet, drops) {
            Some(marked) => Some(marked),
            None => self.take(now, drops).map(|(next, _)| next),
        };
        self.dropping = true;
        // If it stopped dropping only lately, the rate of then is a good one to start with.
        let delta = self.count.saturating_sub(self.last_count);
        let lately = now.since(self.drop_next) < self.params.interval * 16;
        self.count = if delta > 1 && lately { delta } else { 1 };
        self.drop_next = self.control_law(now);
        self.last_count = self.count;
        next
    }
}

impl Queue for Codel {
    fn push(&mut self, now: Time, packet: &Packet, drops: &mut Vec<Dropped>) {
        self.fifo.push(now, packet, drops);
    }

    fn pop(&mut self, now: Time, drops: &mut Vec<Dropped>) -> Option<Packet> {
        let Some((packet, ok_to_drop)) = self.take(now, drops) else {
            self.dropping = false;
            return None;
        };
        match (self.dropping, ok_to_drop) {
            (_, false) => {
                self.dropping = false;
                Some(packet)
            }
            (true, true) => self.keep_dropping(now, packet, drops),
            (false, true) => self.start_dropping(now, packet, drops),
        }
    }

    fn packets(&self) -> usize {
        self.fifo.packets()
    }

    fn bytes(&self) -> u64 {
        self.fifo.bytes()
    }

    fn marks(&self) -> u64 {
        self.marks
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("dropping", f64::from(u8::from(self.dropping)));
        see("count", self.count as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::testing::packet;

    fn micros(n: u64) -> Time {
        Time::ZERO + Span::from_micros(n)
    }

    /// Pops every 10 us, at the times given in microseconds, from a queue whose head has waited
    /// for `sojourn` microseconds. The times of drops and of marks.
    fn run(
        codel: &mut Codel,
        times: std::ops::Range<u64>,
        sojourn: u64,
        ecn: Ecn,
    ) -> (Vec<u64>, Vec<u64>) {
        let (mut dropped, mut marked, mut drops) = (Vec::new(), Vec::new(), Vec::new());
        for time in times.step_by(10) {
            // The queue holds just what this pop needs, and a backlog above the MTU.
            codel.fifo = Fifo::new(Limit::NONE);
            for number in 0..40 {
                let mut packet = packet(number, 1000, micros(time) - Span::from_micros(sojourn));
                packet.ecn = ecn;
                codel.push(packet.queued, &packet, &mut drops);
            }
            let out = codel.pop(micros(time), &mut drops).expect("held");
            dropped.extend(drops.drain(..).map(|_| time));
            marked.extend((out.ecn == Ecn::Ce).then_some(time));
        }
        (dropped, marked)
    }

    fn codel(ecn: bool) -> Codel {
        Codel::new(CodelParams { ecn, ..CodelParams::default() }, Limit::NONE)
    }

    /// The times of the fact sheet, from the first packet above target on, on the grid of 10 us.
    const DROPS: [u64; 5] = [100_000, 200_000, 270_720, 328_450, 378_450];

    #[test]
    fn drops_follow_the_control_law() {
        let start = 1_000_000;
        let (drops, marks) = run(&mut codel(false), start..start + 400_000, 20_000, Ecn::NotEct);
        assert_eq!(drops, DROPS.map(|time| start + time));
        assert!(marks.is_empty());
    }

    #[test]
    fn marks_instead_of_drops() {
        let mut queue = codel(true);
        let start = 1_000_000;
        let (drops, marks) = run(&mut queue, start..start + 400_000, 20_000, Ecn::Ect0);
        assert_eq!(marks, DROPS.map(|time| start + time));
        assert!(drops.is_empty());
        assert_eq!(queue.marks(), 5);
        let (drops, _) = run(&mut codel(true), start..start + 400_000, 20_000, Ecn::NotEct);
        assert_eq!(drops.len(), 5);
    }

    #[test]
    fn below_target_nothing_is_dropped() {
        let (drops, _) = run(&mut codel(false), 1_000_000..2_000_000, 4_999, Ecn::NotEct);
        assert!(drops.is_empty());
        let (drops, _) = run(&mut codel(false), 1_000_000..1_100_010, 5_000, Ecn::NotEct);
        assert_eq!(drops, [1_100_000]);
    }

    #[test]
    fn it_starts_again_near_the_rate_at_which_it_stopped() {
        let mut queue = codel(false);
        run(&mut queue, 1_000_000..1_400_000, 20_000, Ecn::NotEct);
        assert_eq!((queue.count, queue.last_count, queue.dropping), (5, 1, true));
        run(&mut queue, 1_400_000..1_410_000, 1_000, Ecn::NotEct);
        assert!(!queue.dropping);
        // Within 16 intervals: count goes on from 5 - 1.
        let (drops, _) = run(&mut queue, 1_410_000..1_610_000, 20_000, Ecn::NotEct);
        assert_eq!(drops, [1_510_000, 1_560_000, 1_604_730]);
        assert_eq!((queue.count, queue.last_count), (6, 4));
        // After more than 16 intervals: from 1.
        run(&mut queue, 1_610_000..1_620_000, 1_000, Ecn::NotEct);
        let (drops, _) = run(&mut queue, 4_000_000..4_210_000, 20_000, Ecn::NotEct);
        assert_eq!(drops, [4_100_000, 4_200_000]);
    }

    #[test]
    fn an_mtu_of_backlog_is_left_alone() {
        let mut queue = codel(false);
        let mut drops = Vec::new();
        for number in 0..200 {
            queue.push(Time::ZERO, &packet(number, 1514, Time::ZERO), &mut drops);
        }
        // Each pop finds the next packet 20 ms older, far above target.
        let mut out = 0;
        let mut last = 0;
        let mut now = Time::from_millis(20);
        while let Some(packet) = queue.pop(now, &mut drops) {
            (out, last) = (out + 1, packet.number());
            now += Span::from_millis(20);
        }
        assert_eq!(out + drops.len(), 200);
        assert!(!drops.is_empty());
        // The last two packets leave: at most one MTU was left behind them.
        assert_eq!(last, 199);
        assert!(drops.iter().all(|dropped| dropped.packet.number() < 198));
        assert_eq!((queue.packets(), queue.bytes(), queue.dropping), (0, 0, false));
    }

    #[test]
    fn late_pops_drop_several_at_once() {
        let mut queue = codel(false);
        run(&mut queue, 1_000_000..1_210_000, 20_000, Ecn::NotEct);
        // Next drops were due at 1270.7, 1328.4, 1378.4 ms.
        let (drops, _) = run(&mut queue, 1_380_000..1_380_010, 20_000, Ecn::NotEct);
        assert_eq!(drops, [1_380_000; 3]);
    }
}
