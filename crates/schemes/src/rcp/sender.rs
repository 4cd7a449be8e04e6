//! The sender's half: asks for a rate, then sends at it.

use paceline_cc::{
    Congestion, Controller, Feedback, Header, Outgoing, Plan, Rate, RcpHeader, Signals, Span, Time,
};

use super::Refresh;
use super::receiver::decode;

/// What may be in flight, in round trips' worth of the rate: a safeguard, not a window. And the
/// least of it, in packets.
const CAP: f64 = 2.0;
const LEAST: u64 = 2;

/// The sender's half of RCP.
#[derive(Clone, Debug)]
pub struct RcpSender {
    refresh: Refresh,
    mss: u64,
    /// The rate that the routers have granted.
    rate: Option<Rate>,
    /// One packet alone asks for the rate: at the start, and after idleness.
    asking: bool,
    /// Nothing has been heard for a retransmission timeout.
    silent: bool,
    /// The next rate that comes is taken over.
    due: bool,
    srtt: Span,
    /// The last RTT sample: what routers are told.
    rtt: Span,
}

impl RcpSender {
    /// A sender of packets of `mss` bytes.
    pub fn new(refresh: Refresh, mss: u32) -> RcpSender {
        RcpSender {
            refresh,
            mss: mss.max(1) as u64,
            rate: None,
            asking: true,
            silent: false,
            due: true,
            srtt: Span::ZERO,
            rtt: Span::ZERO,
        }
    }

    /// The rate at which packets leave.
    fn pace(&self) -> Option<Rate> {
        let rate = self.rate?;
        Some(if self.silent { rate.mul_f64(0.5) } else { rate })
    }
}

impl Controller for RcpSender {
    fn needs(&self) -> Signals {
        Signals::HEADERS
    }

    fn on_send(&mut self, _now: Time, packet: &mut Outgoing) -> u64 {
        // Every sender desires as much as there is.
        let rate = Rate::from_bps(u64::MAX);
        packet.header = Header::Rcp(RcpHeader { rtt: self.rtt, rate });
        0
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        self.srtt = feedback.srtt;
        self.rtt = feedback.rtt.unwrap_or(self.rtt);
        self.silent |= feedback.congestion == Some(Congestion::Timeout);
        self.due |= feedback.round_start || self.silent || self.asking;
        // An acknowledgement without an RTT is older than the newest: so is what it says.
        if feedback.rtt.is_none() || !(self.due || self.refresh == Refresh::Ack) {
            return;
        }
        if let Some(rate) = decode(feedback.explicit) {
            self.rate = Some(rate);
            (self.asking, self.silent, self.due) = (false, false, false);
        }
    }

    /// The rate was right for other flows than there are now: one packet asks again.
    fn on_idle(&mut self, _now: Time, idle: Span, rto: Span) {
        self.asking |= idle > rto;
    }

    fn plan(&self) -> Plan {
        let least = self.mss * LEAST;
        let cwnd = match self.rate {
            Some(rate) if !self.asking => {
                let cap = CAP * rate.bytes_per_sec() * self.srtt.as_secs_f64();
                (cap as u64).clamp(least, 1 << 40)
            }
            _ => self.mss,
        };
        let mut plan = Plan::window(cwnd).without_prr();
        plan.pacing = self.pace();
        plan
    }

    fn target(&self) -> Option<Rate> {
        self.pace()
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        if let Some(rate) = self.pace() {
            see("rate_mbps", rate.as_mbps());
        }
    }
}
