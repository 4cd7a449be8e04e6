//! A controller: the window is the delivery rate of the last ten round trips times the least RTT, times a
//! constant.

use paceline_cc::{Controller, Feedback, Plan, Rate, Signals, Span};

/// Number of round trips over which the largest delivery rate counts.
const ROUNDS: u64 = 10;

/// Window before the first sample of the delivery rate, in packets.
const INITIAL_WINDOW: u64 = 10;

/// The sender's half of `mine`.
pub(crate) struct Mine {
    mss: u64,
    rtts: f64,
    /// Largest delivery rate, and the round trip in which it was measured.
    rate: (Rate, u64),
    min_rtt: Span,
}

impl Mine {
    /// Makes a controller for packets of `mss` bytes whose window is `rtts` round trips' worth.
    pub(crate) fn new(mss: u32, rtts: f64) -> Mine {
        Mine { mss: mss.into(), rtts, rate: (Rate::ZERO, 0), min_rtt: Span::ZERO }
    }
}

impl Controller for Mine {
    fn needs(&self) -> Signals {
        Signals::DELIVERY_RATE
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        self.min_rtt = feedback.min_rtt;
        let Some(sample) = feedback.sample else { return };
        let (largest, round) = self.rate;
        if sample.rate >= largest || feedback.round > round + ROUNDS {
            self.rate = (sample.rate, feedback.round);
        }
    }

    fn plan(&self) -> Plan {
        let in_flight = self.rate.0.mul_f64(self.rtts).bytes_in(self.min_rtt);
        Plan::window(in_flight.max(INITIAL_WINDOW * self.mss)).without_prr()
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("rate_mbps", self.rate.0.as_mbps());
        see("min_rtt_ms", self.min_rtt.as_millis_f64());
    }
}
