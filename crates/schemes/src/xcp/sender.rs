//! The sender's half: a window that changes by the routers' feedback.

use paceline_cc::{
    Congestion, Controller, Feedback, Header, Outgoing, Plan, Rate, Signals, Span, Time, XcpHeader,
    xcp_feedback::{MOST, decode},
};

/// Largest window in bytes; only wrong sums come near it.
const LIMIT: f64 = (1u64 << 40) as f64;

/// The sender's half of XCP and its variants.
#[derive(Clone, Debug)]
pub struct XcpSender {
    /// The window in bytes.
    cwnd: f64,
    initial: f64,
    floor: f64,
    mss: f64,
    pacing: f64,
    srtt: Span,
    /// RTT in the header of the newest packet.
    header_rtt: Span,
    /// The window before the last halving, to undo it.
    before: Option<f64>,
}

impl XcpSender {
    /// Returns a sender of packets of `mss` bytes. Its window begins with `initial` packets, has at
    /// least `floor` packets, and is paced at `pacing` windows per RTT (0 for no pacing).
    pub fn new(initial: f64, floor: f64, pacing: f64, mss: u32) -> XcpSender {
        let mss = f64::from(mss.max(1));
        let floor = floor * mss;
        let initial = (initial * mss).max(floor);
        XcpSender {
            cwnd: initial,
            initial,
            floor,
            mss,
            pacing,
            srtt: Span::ZERO,
            header_rtt: Span::ZERO,
            before: None,
        }
    }

    fn set(&mut self, bytes: f64) {
        self.cwnd = bytes.clamp(self.floor, LIMIT);
    }

    /// Returns the change of the window that the acknowledged packets bring.
    ///
    /// Routers grant a throughput, and multiply it by the RTT in a packet's header. After an outage or a spike of the delay
    /// that RTT may be hundreds of times the present one, and a single packet would bring a window of thousands. So an
    /// increase is for the packet's own RTT, if that is less than an eighth of the header's.
    fn change(&self, feedback: &Feedback<'_>) -> f64 {
        let change = decode(feedback.explicit);
        match feedback.rtt {
            Some(rtt) if change > 0.0 && rtt < self.header_rtt / 8 => {
                change * (rtt.as_secs_f64() / self.header_rtt.as_secs_f64())
            }
            _ => change,
        }
    }

    /// Returns the whole packets of the window.
    fn packets(&self) -> f64 {
        libm::floor(self.cwnd / self.mss).max(1.0)
    }
}

impl Controller for XcpSender {
    fn needs(&self) -> Signals {
        Signals::HEADERS
    }

    fn on_send(&mut self, _now: Time, packet: &mut Outgoing) -> u64 {
        // Before the first RTT sample, it can request nothing. Afterwards every sender requests an
        // unlimited increase.
        let feedback = if self.srtt.is_zero() { 0.0 } else { MOST };
        self.header_rtt = self.srtt;
        let interval = self.srtt.mul_f64(1.0 / self.packets());
        packet.header = Header::Xcp(XcpHeader { rtt: self.srtt, interval, feedback });
        0
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        self.srtt = feedback.srtt;
        let change = self.change(feedback);
        // A window that does not limit sending shows nothing about the path, and would grow without
        // limit.
        if change < 0.0 || feedback.cwnd_limited {
            self.set(self.cwnd + change);
        }
        match feedback.congestion {
            Some(Congestion::Loss | Congestion::LossAfterMark) => {
                self.before = Some(self.cwnd);
                self.set(0.5 * self.cwnd);
            }
            Some(Congestion::Timeout) => {
                self.before = Some(self.cwnd);
                self.set(self.floor);
            }
            Some(Congestion::Undo) => {
                let before = self.before.take().unwrap_or(0.0);
                self.set(self.cwnd.max(before));
            }
            Some(Congestion::Ecn) | None => {}
        }
    }

    fn on_idle(&mut self, _now: Time, idle: Span, rto: Span) {
        if idle > rto {
            self.set(self.cwnd.min(self.initial));
        }
    }

    fn plan(&self) -> Plan {
        let mut plan = Plan::window(self.cwnd as u64);
        if self.pacing > 0.0 && !self.srtt.is_zero() {
            let rate = self.pacing * self.cwnd / self.srtt.as_secs_f64();
            plan.pacing = Some(Rate::from_bytes_per_sec(rate).max(Rate::from_bps(1)));
        }
        plan
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("cwnd", self.cwnd / self.mss);
    }
}
