//! `pacing=linux`: a host that paces each of its TCP flows.
//!
//! With the `fq` qdisc, or with `SO_MAX_PACING_RATE` on a socket, Linux spreads the window of any
//! scheme over the RTT: at 200 % of cwnd/srtt while the window is below half of ssthresh, else at
//! 120 % (`tcp_update_pacing_rate`). Packets leave in groups: the bytes that the rate sends in
//! about a millisecond, more where the smallest RTT is short, at least two packets
//! (`tcp_tso_autosize`). A connection's first ten packets are not paced
//! (`tcp_update_skb_after_send`).
//!
//! As in Linux, the rate changes with each acknowledgement. Unlike in Linux, a group that leaves
//! late does not let the next one leave earlier.

use std::sync::Arc;

use paceline_cc::{
    Controller, Established, Feedback, Halves, Outgoing, Plan, Rate, Report, Setup, Signals, Span,
    Spec, SpecError, Time,
};

/// Parameter that users write after a scheme: `cubic[pacing=linux]`.
const PARAM: (&str, &str) = ("pacing", "linux");
/// Pacing rates as multiples of cwnd/srtt (`tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`).
const SLOW_START: f64 = 2.0;
const AVOIDANCE: f64 = 1.2;
/// Packets at the start of a connection that Linux does not pace (`tcp_update_skb_after_send`).
pub const UNPACED: u32 = 10;
/// A group has the bytes that the rate sends in 2^-10 s (`sk_pacing_shift`), at most `GROUP_MAX`.
const GROUPS_PER_SECOND: f64 = 1024.0;
const GROUP_MAX: u32 = 65_536;
/// Smallest number of packets in a group (`tcp_min_tso_segs`).
const GROUP_MIN: u32 = 2;
/// Unit of 512 µs in which Linux compares the smallest RTT; short RTTs make groups longer
/// (`tcp_tso_rtt_log`).
const RTT_UNIT: Span = Span::from_micros(512);

/// Returns the spec without the host's pacing, if `spec` asks for that pacing.
pub(crate) fn split(spec: &Spec) -> Option<Spec> {
    let is_asked = |(param, value): &(String, String)| (param.as_str(), value.as_str()) == PARAM;
    if !spec.args.iter().any(is_asked) {
        return None;
    }
    let mut plain = spec.clone();
    plain.args.retain(|arg| !is_asked(arg));
    Some(plain)
}

/// Returns the scheme of `halves` on a host that paces it; `spec` is the user's text.
///
/// # Errors
/// If the scheme paces itself, or its window is unknown to the host.
pub(crate) fn pace(halves: Halves, spec: &Spec) -> Result<Halves, SpecError> {
    let plan = plan_after_a_packet(&halves);
    let paces = plan.pacing.is_some() || !plan.gap.is_zero();
    if paces || !halves.reliable || plan.exact_window {
        let problem = "the scheme decides itself when its packets leave";
        return Err(spec.bad_value(PARAM.0, problem));
    }
    let make = halves.controller.clone();
    let controller = move |setup: &Setup| -> Box<dyn Controller> {
        Box::new(HostPaced::new(make(setup), setup.mss))
    };
    Ok(Halves { controller: Arc::new(controller), ..halves })
}

/// Returns the plan of the scheme's sender after its first RTT sample.
fn plan_after_a_packet(halves: &Halves) -> Plan {
    let setup = Setup::default();
    let mut controller = (halves.controller)(&setup);
    let (now, rtt) = (Time::from_millis(100), Span::from_millis(100));
    controller.on_established(&Established::new(now, rtt));
    controller.on_send(now, &mut Outgoing::new(0, setup.mss, 0));
    let mut feedback = Feedback::new(now + rtt, setup.mss);
    (feedback.acked, feedback.acked_packets) = (u64::from(setup.mss), 1);
    (feedback.srtt, feedback.min_rtt, feedback.rtt) = (rtt, rtt, Some(rtt));
    controller.on_feedback(&feedback);
    controller.plan()
}

/// A controller on a host that paces its packets.
struct HostPaced {
    inner: Box<dyn Controller>,
    mss: u32,
    /// Number of packets sent, up to [`UNPACED`].
    sent: u32,
    pacing: Option<Rate>,
    burst: u32,
}

impl HostPaced {
    fn new(inner: Box<dyn Controller>, mss: u32) -> HostPaced {
        HostPaced { inner, mss, sent: 0, pacing: None, burst: 0 }
    }

    /// Sets the rate by the present window (`tcp_update_pacing_rate`), and the size of groups
    /// (`tcp_tso_autosize`).
    fn set_rate(&mut self, srtt: Span, min_rtt: Span, in_flight: u64) {
        let cwnd = self.inner.plan().cwnd;
        let mut ssthresh = f64::INFINITY;
        self.inner.inspect(&mut |name, value| {
            if name == "ssthresh" {
                ssthresh = value;
            }
        });
        if srtt.is_zero() || self.sent < UNPACED {
            return;
        }
        let packets = cwnd as f64 / f64::from(self.mss.max(1));
        let share = if packets < ssthresh / 2.0 { SLOW_START } else { AVOIDANCE };
        let rate = Rate::from_bytes_in(cwnd.max(in_flight), srtt).mul_f64(share);
        let mut group = (rate.bytes_per_sec() / GROUPS_PER_SECOND) as u64;
        let units = min_rtt.as_nanos() / RTT_UNIT.as_nanos();
        if units < 32 {
            group += u64::from(GROUP_MAX >> units);
        }
        let packets = (group.min(u64::from(GROUP_MAX)) as u32 / self.mss.max(1)).max(GROUP_MIN);
        (self.pacing, self.burst) = (Some(rate), packets * self.mss);
    }
}

impl Controller for HostPaced {
    fn needs(&self) -> Signals {
        self.inner.needs()
    }
    fn on_send(&mut self, now: Time, packet: &mut Outgoing) -> u64 {
        self.sent = (self.sent + 1).min(UNPACED);
        self.inner.on_send(now, packet)
    }
    fn on_established(&mut self, established: &Established) {
        self.inner.on_established(established);
    }
    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        self.inner.on_feedback(feedback);
        self.set_rate(feedback.srtt, feedback.min_rtt, feedback.in_flight);
    }
    fn on_report(&mut self, now: Time, report: &Report) {
        self.inner.on_report(now, report);
    }
    fn on_timer(&mut self, now: Time) {
        self.inner.on_timer(now);
    }
    fn on_idle(&mut self, now: Time, idle: Span, rto: Span) {
        self.inner.on_idle(now, idle, rto);
    }
    fn on_rest(&mut self, now: Time, rests: bool) {
        self.inner.on_rest(now, rests);
    }
    fn plan(&self) -> Plan {
        let plan = self.inner.plan();
        match self.pacing {
            Some(rate) => plan.paced(rate, self.burst),
            None => plan,
        }
    }
    fn target(&self) -> Option<Rate> {
        self.inner.target()
    }
    fn forecast(&self) -> Option<u64> {
        self.inner.forecast()
    }
    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.inner.inspect(see);
        if let Some(rate) = self.pacing {
            see("pacing", rate.as_mbps());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    fn paced(text: &str) -> Box<dyn Controller> {
        let halves = registry::build(&Spec::parse(text).expect("legal")).expect("known");
        (halves.controller)(&Setup::default())
    }

    fn acknowledge(controller: &mut dyn Controller, now: u64, rtt: Span, packets: u32) {
        for number in 0..packets {
            controller.on_send(Time::ZERO, &mut Outgoing::new(u64::from(number), 1500, 0));
        }
        let mut feedback = Feedback::new(Time::from_millis(now), 1500);
        (feedback.acked, feedback.acked_packets) = (u64::from(packets) * 1500, packets);
        (feedback.srtt, feedback.min_rtt, feedback.rtt) = (rtt, rtt, Some(rtt));
        feedback.cwnd_limited = true;
        controller.on_feedback(&feedback);
    }

    #[test]
    fn slow_start_is_paced_at_twice_the_window_and_avoidance_at_six_fifths() {
        let mut reno = paced("newreno[pacing=linux]");
        assert_eq!(reno.plan().pacing, None);
        let rtt = Span::from_millis(100);
        acknowledge(&mut *reno, 100, rtt, 10);
        // 20 packets of 1500 bytes per 100 ms, times two.
        assert_eq!(reno.plan().pacing, Some(Rate::from_mbps(4.8)));
        // 600 bytes per millisecond: the minimum of two packets applies.
        assert_eq!(reno.plan().burst, 3000);
        let mut feedback = Feedback::new(Time::from_millis(200), 1500);
        (feedback.srtt, feedback.min_rtt) = (rtt, rtt);
        feedback.congestion = Some(paceline_cc::Congestion::Loss);
        reno.on_feedback(&feedback);
        assert_eq!(reno.plan().cwnd, 15_000);
        assert_eq!(reno.plan().pacing, Some(Rate::from_mbps(1.44)));
    }

    #[test]
    fn short_round_trips_make_long_groups() {
        let mut reno = paced("newreno[pacing=linux]");
        acknowledge(&mut *reno, 1, Span::from_micros(600), 10);
        // At 800 Mbit/s, 97 kB leave in 2^-10 s: the limit of 64 kB applies, in whole packets.
        assert_eq!(reno.plan().burst, 43 * 1500);
        let mut reno = paced("newreno[pacing=linux]");
        acknowledge(&mut *reno, 3, Span::from_micros(2100), 10);
        // At 228.6 Mbit/s: 27.9 kB, and 65536 >> 4 bytes more for the short RTT.
        assert_eq!(reno.plan().burst, 21 * 1500);
    }

    #[test]
    fn ten_packets_are_not_paced() {
        let mut cubic = paced("cubic[pacing=linux]");
        acknowledge(&mut *cubic, 100, Span::from_millis(100), 9);
        assert_eq!(cubic.plan().pacing, None);
        acknowledge(&mut *cubic, 200, Span::from_millis(100), 1);
        assert!(cubic.plan().pacing.is_some());
    }

    #[test]
    fn schemes_that_pace_themselves_refuse_it() {
        for name in ["bbr", "prague", "sprout"] {
            let spec = Spec::parse(&format!("{name}[pacing=linux]")).expect("legal");
            let Err(error) = registry::build(&spec) else { panic!("{name} is paced") };
            assert!(error.to_string().contains("decides itself"), "{error}");
        }
    }
}
