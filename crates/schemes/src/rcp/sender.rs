//! The sender's half: asks for a rate, then sends at that rate.

use paceline_cc::{
    Congestion, Controller, Feedback, Header, Outgoing, Plan, Rate, RcpHeader, Signals, Span, Time,
};

use super::Refresh;
use super::receiver::decode;

/// How much a flow sends while no acknowledgement arrives, in round trips at the granted rate: a
/// path that returns nothing gets no more data. It is no window (thesis §2.2): packets that were in
/// flight at the last acknowledgement do not count, since after an outage many of them are lost and no
/// acknowledgement says so.
const UNANSWERED_CAP: f64 = 2.0;
/// The same in packets, at least.
const LEAST_UNANSWERED: u64 = 2;
/// Largest window.
const MOST: u64 = 1 << 40;

/// The sender's half of RCP.
#[derive(Clone, Debug)]
pub struct RcpSender {
    refresh: Refresh,
    mss: u64,
    /// The rate granted by the routers.
    rate: Option<Rate>,
    /// True while a single packet asks for the rate: at the start, and after idleness.
    asking: bool,
    /// True if no acknowledgement has arrived for a retransmission timeout.
    silent: bool,
    /// True if the next rate received is to be adopted.
    due: bool,
    srtt: Span,
    /// Bytes in flight after the last acknowledgement or timeout.
    in_flight: u64,
    /// The last RTT sample, which the sender reports to routers.
    rtt: Span,
}

impl RcpSender {
    /// Returns a sender of packets of `mss` bytes.
    pub fn new(refresh: Refresh, mss: u32) -> RcpSender {
        RcpSender {
            refresh,
            mss: mss.max(1) as u64,
            rate: None,
            asking: true,
            silent: false,
            due: true,
            srtt: Span::ZERO,
            in_flight: 0,
            rtt: Span::ZERO,
        }
    }

    /// Returns the rate at which packets leave.
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
        // Every sender asks for an unlimited rate.
        let rate = Rate::from_bps(u64::MAX);
        packet.header = Header::Rcp(RcpHeader { rtt: self.rtt, rate });
        0
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        self.srtt = feedback.srtt;
        self.in_flight = feedback.in_flight;
        self.rtt = feedback.rtt.unwrap_or(self.rtt);
        self.silent |= feedback.congestion == Some(Congestion::Timeout);
        self.due |= feedback.round_start || self.silent || self.asking;
        // An acknowledgement of nothing new is older than the newest one, and so is its rate. One of
        // repaired data beyond a gap has no RTT, but its rate is new.
        if feedback.acked == 0 || !(self.due || self.refresh == Refresh::Ack) {
            return;
        }
        if let Some(rate) = decode(feedback.explicit) {
            self.rate = Some(rate);
            (self.asking, self.silent, self.due) = (false, false, false);
        }
    }

    /// Asks again with one packet after idleness, since the rate was computed for the flows of that
    /// time.
    fn on_idle(&mut self, _now: Time, idle: Span, rto: Span) {
        self.asking |= idle > rto;
    }

    fn plan(&self) -> Plan {
        let cwnd = match self.rate {
            Some(rate) if !self.asking => {
                let cap = UNANSWERED_CAP * rate.bytes_per_sec() * self.srtt.as_secs_f64();
                let cap = (cap as u64).max(self.mss * LEAST_UNANSWERED);
                self.in_flight.saturating_add(cap).min(MOST)
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
