//! The sender's half: divides time into monitor intervals, at the rates that a rule chooses.

use paceline_cc::{
    Congestion, Controller, Feedback, Outgoing, Plan, Rate, Setup, Signals, Span, Time,
};

use super::kernel::KernelRule;
use super::monitor::Monitor;
use super::nsdi2018::Nsdi2018Rule;
use super::paper::PaperRule;
use super::rate_rule::RateRule;
use super::{Rule, VivaceParams};

/// Window of the user-space programs in packets, so large that it never limits sending.
const WIDE: u64 = 100_000;
/// Initial window in packets, until the first RTT sample.
const INITIAL: u64 = 10;

/// The sender's half of PCC Vivace.
pub struct VivaceSender {
    monitor: Monitor,
    rates: Box<dyn RateRule>,
    rule: Rule,
    mss: u32,
    rtt: Span,
    /// True from an expiry of the retransmission timer until an acknowledgement arrives.
    timed_out: bool,
}

impl VivaceSender {
    /// Returns a sender for `setup`.
    pub fn new(params: &VivaceParams, setup: &Setup) -> VivaceSender {
        let mss = setup.mss.max(1);
        let mut rates: Box<dyn RateRule> = match params.rule {
            Rule::Kernel => Box::new(KernelRule::new(params.utility, setup)),
            Rule::Nsdi2018 => Box::new(Nsdi2018Rule::new(params.utility, setup)),
            Rule::Paper => Box::new(PaperRule::new(params.utility, setup)),
        };
        let margin = if params.rule == Rule::Kernel { super::kernel::MARGIN } else { 0 };
        let monitor = Monitor::new(mss, margin);
        rates.begin(monitor.open().number);
        VivaceSender { monitor, rates, rule: params.rule, mss, rtt: Span::ZERO, timed_out: false }
    }

    fn close(&mut self) {
        let next = self.monitor.close();
        self.rates.begin(next);
    }
}

impl Controller for VivaceSender {
    fn needs(&self) -> Signals {
        Signals::FATES
    }

    fn on_send(&mut self, now: Time, packet: &mut Outgoing) -> u64 {
        let tag = self.monitor.on_send(now, packet.size);
        if self.rates.is_full(self.monitor.open(), now, self.rtt) {
            self.close();
        }
        tag
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        self.rtt = feedback.srtt;
        for fate in feedback.fates {
            self.monitor.on_fate(fate, feedback);
        }
        let mut end = false;
        self.timed_out &= feedback.acked == 0;
        if feedback.congestion == Some(Congestion::Timeout) {
            self.timed_out = true;
            end |= self.rates.on_timeout(self.monitor.open().number);
        } else if !feedback.in_recovery && feedback.acked > 0 {
            end |= self.rates.on_recovered();
        }
        if end {
            self.close();
        }
        while let Some(summary) = self.monitor.take(self.rtt) {
            if self.rates.on_result(&summary, self.monitor.open().number) {
                self.close();
            }
        }
    }

    fn plan(&self) -> Plan {
        let rate = Rate::from_bps(self.rates.rate().clamp(1000.0, 1e12) as u64);
        let mss = u64::from(self.mss);
        let (cwnd, burst) = match self.rule {
            // Linux reduces the window to one packet (`tcp_enter_loss`), and the module sets it
            // again at each acknowledgement.
            Rule::Kernel if self.timed_out => (mss, 2 * self.mss),
            Rule::Kernel if self.rtt.is_zero() => (INITIAL * mss, 2 * self.mss),
            Rule::Kernel => {
                let cwnd = rate.bytes_in(self.rtt).saturating_mul(2).clamp(4 * mss, 1 << 40);
                // Linux sends the bytes of a millisecond at once, at least two packets.
                let burst = rate.bytes_in(Span::from_millis(1)).min(1 << 16).max(2 * mss);
                (cwnd, burst as u32)
            }
            Rule::Nsdi2018 | Rule::Paper => (WIDE * mss, 0),
        };
        Plan::window(cwnd).paced(rate, burst).without_prr()
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("rate", self.rates.rate() / 1e6);
        see("phase", f64::from(self.rates.phase()));
    }
}
