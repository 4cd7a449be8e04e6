//! Distributes the aggregate feedback of an interval among the packets of the next one.

use paceline_cc::{Span, XcpHeader, xcp_feedback::clamp_feedback};

/// Largest RTT in seconds; longer ones count as this.
const LONGEST_RTT: f64 = 1.0;

/// The allocator of XCP, in ns-2's form: feedback is a change of throughput, in bytes per second,
/// until it is written into a header as a change of the window.
///
/// Increases are equal for all flows, whatever their rates and RTTs: a packet's share is
/// proportional to the time to its flow's next packet. Decreases are proportional to a flow's rate:
/// a packet's share is proportional to its size. In addition to the aggregate, a part of the
/// traffic is taken from all flows and given to all flows, so that shares become equal even without
/// an aggregate.
#[derive(Clone, Debug)]
pub(crate) struct FairnessController {
    /// Share of the traffic that is redistributed.
    gamma: f64,
    /// Traffic of this interval: bytes; the sum of the packets' intervals in seconds; and the sum
    /// of their intervals times their RTTs.
    input: f64,
    intervals: f64,
    weighted: f64,
    /// Remaining increase and remaining decrease, in bytes per second.
    positive: f64,
    negative: f64,
    /// Shares: increase per second of a packet's interval, and decrease per byte.
    per_interval: f64,
    per_byte: f64,
}

impl FairnessController {
    /// Returns an allocator that redistributes the share `gamma` of the traffic.
    pub(crate) fn new(gamma: f64) -> FairnessController {
        FairnessController {
            gamma,
            input: 0.0,
            intervals: 0.0,
            weighted: 0.0,
            positive: 0.0,
            negative: 0.0,
            per_interval: 0.0,
            per_byte: 0.0,
        }
    }

    /// Counts an arriving packet of `size` bytes. All traffic counts, with a header or without.
    #[inline]
    pub(crate) fn count(&mut self, size: u32, header: Option<&XcpHeader>) {
        self.input += f64::from(size);
        if let Some(header) = header.filter(|header| !header.rtt.is_zero()) {
            let interval = header.interval.as_secs_f64();
            self.intervals += interval;
            self.weighted += interval * header.rtt.as_secs_f64().min(LONGEST_RTT);
        }
    }

    /// Returns the bytes that arrived in this interval.
    pub(crate) fn input(&self) -> f64 {
        self.input
    }

    /// Returns the mean RTT of the packets that arrived, in seconds, weighted so that every flow
    /// counts equally; `None` if none had an RTT.
    pub(crate) fn rtt(&self) -> Option<f64> {
        (self.intervals > 0.0).then(|| self.weighted / self.intervals)
    }

    /// Ends the interval, of length `span`, and prepares `aggregate`, in bytes per second, for
    /// distribution in the next one. Without traffic nothing is distributed.
    pub(crate) fn share_out(&mut self, aggregate: f64, span: Span) {
        let rate = self.input / span.as_secs_f64().max(1e-9);
        let shuffled = (self.gamma * rate - aggregate.abs()).max(0.0);
        if self.input > 0.0 {
            self.positive = aggregate.max(0.0) + shuffled;
            self.negative = (-aggregate).max(0.0) + shuffled;
            // As in ns-2, the sum is a second if no packet had an interval.
            let intervals = if self.intervals > 0.0 { self.intervals } else { 1.0 };
            self.per_interval = self.positive / intervals;
            self.per_byte = self.negative / self.input;
        } else {
            self.positive = 0.0;
            self.negative = 0.0;
            self.per_interval = 0.0;
            self.per_byte = 0.0;
        }
        self.input = 0.0;
        self.intervals = 0.0;
        self.weighted = 0.0;
    }

    /// Lowers the header of a departing packet of `size` bytes to its share.
    pub(crate) fn grant(&mut self, size: u32, header: &mut XcpHeader) {
        let rtt = header.rtt.as_secs_f64();
        if rtt == 0.0 {
            header.feedback = 0.0;
            return;
        }
        header.feedback = clamp_feedback(header.feedback);
        let asked = header.feedback / rtt;
        let mut positive = (self.per_interval * header.interval.as_secs_f64()).min(self.positive);
        let mut negative = (self.per_byte * f64::from(size)).min(self.negative);
        let granted = positive - negative;
        if asked >= granted {
            header.feedback = clamp_feedback(granted * rtt).min(header.feedback);
        } else {
            // Another router, or the sender, wants less: the difference counts as a decrease.
            negative = (negative + (granted - asked)).min(self.negative);
            positive = asked + negative;
        }
        self.positive = (self.positive - positive).max(0.0);
        self.negative = (self.negative - negative).max(0.0);
        if self.positive == 0.0 {
            self.per_interval = 0.0;
        }
        if self.negative == 0.0 {
            self.per_byte = 0.0;
        }
    }

    /// Returns the remaining increase and the remaining decrease, in bytes per second.
    #[cfg(test)]
    pub(crate) fn residues(&self) -> (f64, f64) {
        (self.positive, self.negative)
    }
}
