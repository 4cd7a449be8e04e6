//! The simulator's schemes, the integer core and the eBPF programs' C code on the same feedback.
//!
//! The bound was set before the first run: no window differs by more than one packet at any of
//! 10^6 events, and the C code and the integer core do not differ at all. ABC's windows keep it (at
//! most 0.03 packets), and so do C2TCP's since the simulator's slow start leaves no rounding error over,
//! by which an epoch of Cubic could begin before its end.

mod support;

use paceline_cc::{Rate, Span, Stream};
use paceline_kernel::integer::{self, Abc, C2tcp, Feedback, ONE};
use paceline_path::BufferSize;
use paceline_sim::flow::{Amount, On, Workload};
use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, RouterChoice, Scenario};
use support::host;
use support::record::{Event, Step, record};

/// A flow over one link for `seconds`.
fn scenario(scheme: &str, capacity: Capacity, buffer: u64, seconds: u64) -> Scenario {
    let mut scenario = Scenario::new("differential");
    let buffer = BufferSize::Packets(buffer);
    scenario.links.push(LinkSpec::new("link", capacity).with(|link| link.buffer = buffer));
    let scheme: paceline_sim::scenario::SchemeChoice = scheme.parse().expect("a scheme");
    scenario.flows.push(FlowSpec::bulk(scheme, &["link"]));
    scenario.duration = Span::from_secs(seconds);
    scenario
}

fn trace(name: &str) -> Capacity {
    Capacity::trace(paceline_trace::load(name).expect("a built-in trace"))
}

/// Paths that exercise marks, drops, outages, random loss, other bottlenecks and idle periods.
fn scenarios(scheme: &str, times: u64) -> Vec<(&'static str, Scenario)> {
    let scenario = |capacity, buffer, seconds| scenario(scheme, capacity, buffer, times * seconds);
    let constant = |mbps| Capacity::Constant(Rate::from_mbps(mbps));
    let on_off = Workload::OnOff {
        on: On::Bytes(Amount::Exponential(400_000.0)),
        off: Amount::Exponential(1.0),
        starts_off: false,
        fresh: false,
    };
    vec![
        ("lte-driving", scenario(trace("lte-driving"), 250, 240)),
        ("lte-walking, small buffer", scenario(trace("lte-walking"), 40, 240)),
        ("evdo with outages", scenario(trace("evdo-driving"), 250, 600)),
        ("nr-driving", scenario(trace("nr-driving"), 1000, 40)),
        ("random loss", {
            scenario(trace("lte-stationary"), 250, 200)
                .with(|s| s.flows[0].data.impairments.loss = paceline_path::Loss::Bernoulli(0.002))
        }),
        ("no router", {
            scenario(constant(24.0), 100, 480).with(|s| s.links[0].router = RouterChoice::None)
        }),
        ("on and off", {
            scenario(trace("lte-driving"), 250, 300).with(|s| s.flows[0].workload = on_off)
        }),
    ]
}

/// An integer core and the words that the C code prints of it: two windows and one word more.
trait Core: Default + std::fmt::Debug {
    const NAME: &str;
    fn on_feedback(&mut self, feedback: &Feedback) -> [u64; 3];
    fn on_idle(&mut self, now: u64, idle: u64, rto: u64) -> [u64; 3];

    fn on_event(&mut self, event: &Event) -> [u64; 3] {
        match *event {
            Event::Feedback(feedback) => self.on_feedback(&feedback),
            Event::Idle(now, idle, rto) => self.on_idle(now, idle, rto),
        }
    }
}

impl Core for Abc {
    const NAME: &str = "abc";
    fn on_feedback(&mut self, feedback: &Feedback) -> [u64; 3] {
        self.on_feedback(feedback);
        [self.w(), self.cubic().cwnd(), self.pacing(feedback.mss)]
    }
    fn on_idle(&mut self, now: u64, idle: u64, rto: u64) -> [u64; 3] {
        self.on_idle(now, idle, rto);
        [self.w(), self.cubic().cwnd(), 0]
    }
}

impl Core for C2tcp {
    const NAME: &str = "c2tcp";
    fn on_feedback(&mut self, feedback: &Feedback) -> [u64; 3] {
        let closed = self.on_feedback(feedback);
        [self.cwnd(), self.cwnd(), closed.into()]
    }
    fn on_idle(&mut self, now: u64, idle: u64, rto: u64) -> [u64; 3] {
        self.on_idle(now, idle, rto);
        [self.cwnd(), self.cwnd(), 0]
    }
}

/// How far an integer core was from the simulator.
#[derive(Default)]
struct Distance {
    events: usize,
    /// Events after which a window was more than a packet away.
    beyond: usize,
    most: f64,
    /// The first such event.
    first: Option<String>,
}

impl Distance {
    /// Feeds the integer core; returns what it made of each event.
    fn follow<C: Core>(&mut self, steps: &[Step]) -> Vec<[u64; 3]> {
        let mut core = C::default();
        let mut ours = Vec::with_capacity(steps.len());
        for step in steps {
            let words = core.on_event(&step.event);
            ours.push(words);
            let packets = |fixed: u64| fixed as f64 / ONE as f64;
            let apart = (packets(words[0]) - step.w).abs();
            let apart = apart.max((packets(words[1]) - step.cubic).abs());
            self.events += 1;
            self.most = self.most.max(apart);
            if apart > 1.0 {
                self.beyond += 1;
                self.first.get_or_insert_with(|| format!("{apart}: {step:?} {core:?}"));
            }
        }
        ours
    }
}

/// Compares on all scenarios: C and Rust, and Rust and the simulator.
fn compare<C: Core>(scenarios: Vec<(&'static str, Scenario)>) {
    let program = host::compile();
    let (mut events, mut beyond) = (0, 0);
    for (name, scenario) in scenarios {
        let mut distance = Distance::default();
        for steps in record(C::NAME, scenario) {
            let ours = distance.follow::<C>(&steps);
            assert_eq!(host::run(&program, C::NAME, &steps), ours, "{name}: C and Rust differ");
        }
        let Distance { events: of_run, most, beyond: far, first } = distance;
        print(&format!("{name}: {of_run} events, {far} beyond a packet, at most {most:.4}"));
        assert!(far == 0, "{name}: {far} of {of_run} beyond; {first:?}");
        events += of_run;
        beyond += far;
    }
    print(&format!("{events} events, {beyond} beyond a packet"));
    assert!(events >= 1_000_000, "only {events} events");
}

/// For who asks with --nocapture.
#[allow(clippy::print_stdout)]
fn print(line: &str) {
    println!("{line}");
}

#[test]
fn abc_has_the_simulators_windows_within_a_packet_over_a_million_events() {
    compare::<Abc>(scenarios("abc", 1));
}

/// RTTs of 40 ms leave room below the target; three times as long, for fewer packets pass.
fn scenarios_of_c2tcp() -> Vec<(&'static str, Scenario)> {
    let mut scenarios = scenarios("c2tcp", 3);
    for (_, scenario) in &mut scenarios {
        scenario.flows[0].rtt = Span::from_millis(40);
    }
    scenarios
}

#[test]
fn c2tcp_has_the_simulators_windows_within_a_packet_over_a_million_events() {
    compare::<C2tcp>(scenarios_of_c2tcp());
}

/// Nonsense included: there is nothing to compare the windows with but the C code's.
#[test]
fn rust_and_c_agree_on_anything() {
    let mut random = Stream::new(3, "anything");
    let mut now = 0;
    let mut steps = Vec::new();
    for _ in 0..300_000 {
        let step = [1, 100, 10_000, 3_000_000, 200_000_000][random.below(5) as usize];
        now += random.below(step);
        let acked = [0, ONE, 2 * ONE, 7, 90_000 * ONE][random.below(5) as usize];
        let event = if random.chance(0.02) {
            Event::Idle(now, random.below(10_000_000), random.below(1_000_000))
        } else {
            Event::Feedback(integer::Feedback {
                now,
                acked,
                accelerates: random.below(acked + 1),
                brakes: random.below(2 * acked + 1),
                prior_in_flight: random.below(2000 * ONE),
                rtt: random.below(3_000_000),
                srtt: random.below(3_000_000),
                mss: 1 + random.below(9000),
                congestion: match random.below(60) {
                    0 => integer::Congestion::Loss,
                    1 => integer::Congestion::Ecn,
                    2 => integer::Congestion::Timeout,
                    3 => integer::Congestion::Undo,
                    _ => integer::Congestion::None,
                },
                in_recovery: random.chance(0.3),
                cwnd_limited: random.chance(0.7),
                round_start: random.chance(0.1),
                ..integer::Feedback::default()
            })
        };
        steps.push(Step { event, w: 0.0, cubic: 0.0 });
    }
    agree::<Abc>(&steps);
    agree::<C2tcp>(&steps);
}

fn agree<C: Core>(steps: &[Step]) {
    let mut core = C::default();
    let ours = steps.iter().map(|step| core.on_event(&step.event));
    let theirs = host::run(&host::compile(), C::NAME, steps);
    for ((ours, theirs), step) in ours.zip(theirs).zip(steps) {
        assert_eq!(ours, theirs, "{}: {:?}", C::NAME, step.event);
    }
}
