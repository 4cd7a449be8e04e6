//! The law evaluated by a timer, as in the thesis and in RCP's ns-2 model.

use paceline_cc::{LinkView, Packet, Rate, RcpHeader, Span, Time};

use super::RcpParams;
use super::law::{IntervalMeasurement, Law, believable};

/// Most intervals evaluated after a silence; earlier ones are skipped, since by then the rate
/// stands at one of its bounds.
const MOST_INTERVALS: u64 = 4096;
/// Initial rate as a share of the capacity (ns-2 model).
const INITIAL_SHARE: f64 = 0.05;
/// Smallest number of bytes that a flow sends per RTT: a packet, so that it learns the rate. The
/// ns-2 model has a hundredth of one, but asks for the rate in separate packets.
const FLOOR_BYTES: f64 = 1500.0;
/// Largest RTT of the floor beside the wait of the present queue, in smallest RTTs of headers. For long after an outage
/// `d0` contains its wait, and a flow that sends a packet per such RTT learns no other rate.
const FLOOR_RTTS: f64 = 2.0;

/// The rate of one link, evaluated every min(`t`, `d0`).
///
/// Nothing changes between two packets, so intervals that have ended in the meantime are evaluated
/// when the next packet arrives or leaves. The result is that of a timer.
#[derive(Debug)]
pub(super) struct TimerEvaluation {
    law: Law,
    longest: Span,
    /// The user's floor; zero for the rule's own.
    floor: f64,
    /// True until the capacity has set the initial rate.
    fresh: bool,
    /// In bytes per second.
    pub(super) rate: f64,
    /// The mean RTT in seconds.
    pub(super) d0: f64,
    /// The smallest RTT in headers, in seconds; infinite before the first.
    least_rtt: f64,
    /// How long the queue would wait at the last capacity above zero, in seconds.
    wait: f64,
    /// The last capacity above zero, in bytes per second.
    capacity: f64,
    /// When RTTs were last averaged into `d0`.
    averaged: Time,
    /// Beginning and end of the present interval.
    began: Time,
    ends: Time,
    /// Its traffic so far; the traffic of packets with an RTT; and the sum of those packets' bytes
    /// times their RTT.
    bytes: u64,
    told: u64,
    rtt_bytes: f64,
}

impl TimerEvaluation {
    pub(super) fn new(params: &RcpParams) -> TimerEvaluation {
        let mut timed = TimerEvaluation {
            law: Law::new(params),
            longest: params.t,
            floor: params.floor.bytes_per_sec(),
            fresh: params.initial_rate == Rate::ZERO,
            rate: params.initial_rate.bytes_per_sec(),
            d0: believable(params.rtt),
            least_rtt: f64::INFINITY,
            wait: 0.0,
            capacity: 0.0,
            averaged: Time::ZERO,
            began: Time::ZERO,
            ends: Time::ZERO,
            bytes: 0,
            told: 0,
            rtt_bytes: 0.0,
        };
        timed.rate = timed.rate.max(timed.floor());
        timed.ends = timed.began + timed.step();
        timed
    }

    /// Returns the length of the next interval.
    fn step(&self) -> Span {
        self.longest.min(Span::from_secs_f64(self.d0))
    }

    fn floor(&self) -> f64 {
        let rtt = self.d0.min(FLOOR_RTTS * self.least_rtt + self.wait);
        if self.floor > 0.0 { self.floor } else { FLOOR_BYTES / rtt }
    }

    /// Evaluates the intervals that have ended by `now`, during which `queue` bytes waited.
    pub(super) fn catch_up(&mut self, now: Time, queue: u64, link: &LinkView<'_>) {
        while self.ends <= now {
            self.evaluate(queue, link);
            let step = self.step();
            let behind = now.since(self.ends).as_nanos() / step.as_nanos().max(1);
            let skipped = step * behind.saturating_sub(MOST_INTERVALS);
            self.began = self.ends + skipped;
            self.ends = self.began + step;
        }
    }

    fn evaluate(&mut self, queue: u64, link: &LinkView<'_>) {
        let t = self.ends.since(self.began).as_secs_f64();
        self.average();
        let measured = IntervalMeasurement {
            t,
            d0: self.d0,
            capacity: link.capacity.offered(self.began, self.ends) as f64 / t,
            traffic: self.bytes as f64 / t,
            queue: queue as f64,
        };
        if measured.capacity > 0.0 {
            self.capacity = measured.capacity;
        }
        self.wait = if self.capacity > 0.0 { measured.queue / self.capacity } else { 0.0 };
        if std::mem::take(&mut self.fresh) {
            self.rate = self.rate.max(INITIAL_SHARE * measured.capacity);
        }
        let most = self.law.aim(measured.capacity);
        let rate = self.rate * self.law.factor(&measured);
        self.rate = rate.min(most).max(self.floor());
        self.bytes = 0;
    }

    /// Averages the RTTs of the interval, with a time constant of one RTT. Intervals before it in which
    /// no header had an RTT count as its part.
    fn average(&mut self) {
        if self.told == 0 {
            return;
        }
        let mean = self.rtt_bytes / self.told as f64;
        let gain = self.ends.since(self.averaged).as_secs_f64() / self.d0;
        self.d0 += gain.min(1.0) * (mean - self.d0);
        (self.told, self.rtt_bytes, self.averaged) = (0, 0.0, self.ends);
    }

    /// Counts an arriving packet, with or without a header.
    pub(super) fn count(&mut self, packet: &Packet, header: Option<&RcpHeader>) {
        self.bytes += packet.size as u64;
        if let Some(header) = header.filter(|header| !header.rtt.is_zero()) {
            let rtt = believable(header.rtt);
            self.told += packet.size as u64;
            self.rtt_bytes += packet.size as f64 * rtt;
            self.least_rtt = self.least_rtt.min(rtt);
        }
    }
}
