//! Records the feedback of the simulator's senders, with their windows after it.

use std::sync::{Arc, Mutex};

use paceline_cc::{
    Congestion, Controller, Ecn, Feedback, Halves, Outgoing, Plan, Signals, Span, Spec, Time,
};
use paceline_schemes::registry;
use paceline_sim::scenario::{CustomScheme, Scenario};

use crate::integer;

/// An event at a sender.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Event {
    /// An acknowledgement, or the expiry of a timer.
    Feedback(integer::WholeFeedback),
    /// Sending resumed: time, idle time and timeout in microseconds.
    Idle(u64, u64, u64),
}

/// An event, the windows after it in packets, and the time between packets in nanoseconds; NaN if
/// they are unknown.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Step {
    pub(crate) event: Event,
    pub(crate) w: f64,
    pub(crate) cubic: f64,
    pub(crate) gap: f64,
}

impl Step {
    /// Returns an event after which nothing is known.
    pub(crate) fn unknown(event: Event) -> Step {
        Step { event, w: f64::NAN, cubic: f64::NAN, gap: f64::NAN }
    }
}

pub(crate) type Steps = Arc<Mutex<Vec<Step>>>;

/// A sender that records its feedback and its windows.
struct Recorder {
    inner: Box<dyn Controller>,
    steps: Steps,
    /// One more than the newest acknowledged number, once something was sent.
    acked: Option<u64>,
    /// One more than the newest sent number.
    sent: u64,
}

impl Recorder {
    fn note(&self, event: Event) {
        let Step { mut w, mut cubic, mut gap, .. } = Step::unknown(event);
        let mut cwnd = f64::NAN;
        self.inner.inspect(&mut |name, value| match name {
            "w_abc" => w = value,
            "w_cubic" => cubic = value,
            "cwnd" => cwnd = value,
            "intersend" => gap = value * 1e6,
            _ => {}
        });
        // A scheme with one window has it twice.
        let or_only = |window: f64| if window.is_nan() { cwnd } else { window };
        let (w, cubic) = (or_only(w), or_only(cubic));
        self.steps.lock().expect("one thread").push(Step { event, w, cubic, gap });
    }
}

impl Recorder {
    /// Records an event for each packet acknowledged; the windows are known only after the last
    /// one.
    fn note_fates(&mut self, feedback: &Feedback<'_>, whole: &integer::WholeFeedback) {
        if feedback.congestion == Some(Congestion::Timeout) {
            self.acked = Some(self.sent);
        }
        let mut events = Vec::new();
        for fate in feedback.fates.iter().filter(|fate| !fate.lost) {
            let before = self.acked.unwrap_or(0);
            events.push(integer::WholeFeedback {
                acked: integer::ONE,
                rtt: micros(feedback.now.since(fate.sent).as_nanos()),
                ahead: (fate.number + 1).saturating_sub(before),
                ..*whole
            });
            self.acked = Some(before.max(fate.number + 1));
        }
        let Some(last) = events.pop() else {
            return self.note(Event::Feedback(integer::WholeFeedback { acked: 0, ..*whole }));
        };
        let before = events.into_iter().map(|event| Step::unknown(Event::Feedback(event)));
        self.steps.lock().expect("one thread").extend(before);
        self.note(Event::Feedback(last));
    }
}

impl Controller for Recorder {
    fn needs(&self) -> Signals {
        self.inner.needs()
    }
    fn on_send(&mut self, now: Time, packet: &mut Outgoing) -> u64 {
        self.acked.get_or_insert(packet.number);
        self.sent = packet.number + 1;
        self.inner.on_send(now, packet)
    }
    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        // The kernel's clock counts microseconds, so round times down to them.
        let mut feedback = feedback.clone();
        feedback.now = Time::from_nanos(feedback.now.as_nanos() / 1000 * 1000);
        feedback.rtt = feedback.rtt.map(|rtt| Span::from_micros(micros(rtt.as_nanos())));
        feedback.srtt = Span::from_micros(micros(feedback.srtt.as_nanos()));
        feedback.min_rtt = Span::from_micros(micros(feedback.min_rtt.as_nanos()));
        let mut fates = feedback.fates.to_vec();
        for fate in &mut fates {
            fate.sent = Time::from_nanos(fate.sent.as_nanos() / 1000 * 1000);
        }
        feedback.fates = &fates;
        let feedback = &feedback;
        self.inner.on_feedback(feedback);
        let whole = whole(feedback);
        if self.inner.needs().contains(Signals::FATES) {
            self.note_fates(feedback, &whole);
        } else {
            self.note(Event::Feedback(whole));
        }
    }
    fn on_idle(&mut self, now: Time, idle: Span, rto: Span) {
        self.inner.on_idle(now, idle, rto);
        self.note(Event::Idle(
            micros(now.as_nanos()),
            micros(idle.as_nanos()),
            micros(rto.as_nanos()),
        ));
    }
    fn plan(&self) -> Plan {
        self.inner.plan()
    }
    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.inner.inspect(see);
    }
}

fn micros(nanos: u64) -> u64 {
    nanos / 1000
}

/// Converts feedback to integers.
pub(crate) fn whole(feedback: &Feedback<'_>) -> integer::WholeFeedback {
    let mss = u64::from(feedback.mss.max(1));
    let packets = |bytes: u64| (bytes << 16) / mss;
    let acked = packets(feedback.acked);
    let if_echo = |echo| if feedback.echo == echo { acked } else { 0 };
    integer::WholeFeedback {
        now: micros(feedback.now.as_nanos()),
        acked,
        accelerates: if_echo(Ecn::Ect1),
        brakes: if_echo(Ecn::Ect0),
        prior_in_flight: packets(feedback.prior_in_flight),
        in_flight: packets(feedback.in_flight),
        delivered: packets(feedback.delivered),
        rtt: feedback.rtt.map_or(0, |rtt| micros(rtt.as_nanos())),
        srtt: micros(feedback.srtt.as_nanos()),
        mss,
        congestion: match feedback.congestion {
            // The mark has already reduced the programs' windows.
            None | Some(Congestion::LossAfterMark) => integer::Congestion::None,
            Some(Congestion::Loss) => integer::Congestion::Loss,
            Some(Congestion::Ecn) => integer::Congestion::Ecn,
            Some(Congestion::Timeout) => integer::Congestion::Timeout,
            Some(Congestion::Undo) => integer::Congestion::Undo,
        },
        in_recovery: feedback.in_recovery,
        cwnd_limited: feedback.cwnd_limited,
        max_in_flight: packets(feedback.max_in_flight),
        may_raise_cwnd: feedback.may_raise_cwnd,
        round_start: feedback.round_start,
        ahead: 1,
        min_rtt: micros(feedback.min_rtt.as_nanos()),
    }
}

/// Returns the simulator's halves of a scheme.
pub(crate) fn halves(scheme: &str) -> Halves {
    let spec = Spec::parse(scheme).expect("a scheme");
    registry::build(&spec).expect("a known scheme")
}

/// Runs a scenario with these halves in its first flow. Returns the feedback of each connection of
/// this flow.
pub(crate) fn record(halves: Halves, mut scenario: Scenario) -> Vec<Vec<Step>> {
    let connections: Arc<Mutex<Vec<Steps>>> = Arc::default();
    let (all, make) = (connections.clone(), halves.controller.clone());
    let controller = Arc::new(move |setup: &paceline_cc::Setup| {
        let steps = Steps::default();
        all.lock().expect("one thread").push(steps.clone());
        Box::new(Recorder { inner: make(setup), steps, acked: None, sent: 0 })
            as Box<dyn Controller>
    });
    scenario.flows[0].scheme =
        CustomScheme::new("recorded", Halves { controller, ..halves }).into();
    paceline_sim::run(&scenario).expect("runs");
    let lists = connections.lock().expect("one thread");
    lists.iter().map(|steps| std::mem::take(&mut *steps.lock().expect("one thread"))).collect()
}
