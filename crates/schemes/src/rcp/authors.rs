//! The law as the ABC authors' routers evaluate it: when packets leave, with sliding windows.

use std::collections::VecDeque;

use paceline_cc::{LinkView, Rate, Span, Time};

use super::RcpParams;
use super::law::{IntervalMeasurement, Law, believable};
use crate::parts::RateMeter;

/// The initial rate and the smallest one (authors' code: 0.5 and 0.05 packets per ms).
const INITIAL: Rate = Rate::from_bps(6_000_000);
const FLOOR: Rate = Rate::from_bps(600_000);
/// Largest rate that their header can carry: 20 bits of thousandths of a packet per ms.
const MOST: Rate = Rate::from_bps((1 << 20) * 12_000);

/// The rate of one link, evaluated when a packet leaves `t` or longer after the last evaluation.
#[derive(Debug)]
pub(super) struct DepartureEvaluation {
    law: Law,
    t: Span,
    empty_rtt: Span,
    floor: f64,
    /// In bytes per second.
    pub(super) rate: f64,
    /// The mean RTT.
    pub(super) d0: Span,
    evaluated: Time,
    /// Bytes that have arrived. The window ends at the last arrival, so that an outage does not
    /// empty it.
    arrived: RateMeter,
    /// Times and sojourn times of packets that left over the last `d0`; and the sum of the latter.
    sojourns: VecDeque<(Time, Span)>,
    sum: Span,
}

impl DepartureEvaluation {
    pub(super) fn new(params: &RcpParams) -> DepartureEvaluation {
        let or = |rate: Rate, own: Rate| if rate > Rate::ZERO { rate } else { own };
        DepartureEvaluation {
            law: Law::new(params),
            t: params.t,
            empty_rtt: params.rtt,
            floor: or(params.floor, FLOOR).bytes_per_sec(),
            rate: or(params.initial_rate, INITIAL).bytes_per_sec(),
            d0: params.rtt,
            evaluated: Time::ZERO,
            arrived: RateMeter::new(params.t),
            sojourns: VecDeque::with_capacity(64),
            sum: Span::ZERO,
        }
    }

    pub(super) fn on_arrival(&mut self, now: Time, size: u32) {
        self.arrived.record(now, size);
    }

    pub(super) fn on_departure(&mut self, now: Time, sojourn: Span, link: &LinkView<'_>) {
        while let Some(&(left, waited)) = self.sojourns.front()
            && now.since(left) > self.d0
        {
            self.sum -= waited;
            self.sojourns.pop_front();
        }
        self.sojourns.push_back((now, sojourn));
        self.sum += sojourn;
        if now.since(self.evaluated) <= self.t {
            return;
        }
        self.evaluated = now;
        self.d0 = self.empty_rtt + self.sum / self.sojourns.len() as u64;
        let t = self.t.as_secs_f64();
        let measured = IntervalMeasurement {
            t: t.min(believable(self.d0)),
            d0: believable(self.d0),
            capacity: link.capacity.offered(now - self.t, now) as f64 / t,
            traffic: self.arrived.bytes() as f64 / t,
            queue: link.queue_bytes as f64,
        };
        let rate = self.rate * self.law.factor(&measured);
        self.rate = rate.clamp(self.floor, self.floor.max(MOST.bytes_per_sec()));
    }
}
