//! Compares the simulator's schemes, the integer core and the eBPF programs' C code on equal
//! feedback.
//!
//! The bound was set before the first run: no window differs by more than one packet at any of 10^6
//! events, and C code and integer core do not differ at all. ABC keeps it (at most 0.03 packets).
//! So does C2TCP since the simulator's slow start rounds exactly: before, a rounding error could
//! begin an epoch of Cubic too early.
//!
//! For tables of `remy` with actions on the delivery rate the bound was stated before the first run,
//! too: windows as above, and the time between packets within 1 ns plus a millionth of it.

mod integer;
mod support;

use std::ffi::OsString;
use std::sync::Arc;

use integer::{Abc, C2tcp, ONE, Remy, Vegas, WholeFeedback};
use paceline_cc::{Halves, Rate, Span, Stream};
use paceline_kernel::{C2tcpLimits, RemyTable};
use paceline_path::BufferSize;
use paceline_schemes::c2tcp::Limit;
use paceline_schemes::remy::{Per, RemyParams, RemyTables, RuleTable};
use paceline_sim::flow::{Amount, On, Workload};
use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, RouterChoice, Scenario};
use paceline_testing::{Need, reference, skip, this_test};
use support::host;
use support::record::{Event, Step, halves, record};

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

/// An integer core, and the three words that the C code prints for it: two windows and one more.
trait Core: std::fmt::Debug {
    fn on_feedback(&mut self, feedback: &WholeFeedback) -> [u64; 3];
    fn on_idle(&mut self, now: u64, idle: u64, rto: u64) -> [u64; 3];

    fn on_event(&mut self, event: &Event) -> [u64; 3] {
        match *event {
            Event::Feedback(feedback) => self.on_feedback(&feedback),
            Event::Idle(now, idle, rto) => self.on_idle(now, idle, rto),
        }
    }

    /// The two windows in packets.
    fn windows(words: &[u64; 3]) -> [f64; 2] {
        [words[0], words[1]].map(|fixed| fixed as f64 / ONE as f64)
    }

    /// The time between packets in nanoseconds; NaN for schemes that have none.
    fn gap(_words: &[u64; 3]) -> f64 {
        f64::NAN
    }
}

impl Core for Abc {
    fn on_feedback(&mut self, feedback: &WholeFeedback) -> [u64; 3] {
        self.on_feedback(feedback);
        [self.w(), self.cubic().cwnd(), self.pacing(feedback.mss)]
    }
    fn on_idle(&mut self, now: u64, idle: u64, rto: u64) -> [u64; 3] {
        self.on_idle(now, idle, rto);
        [self.w(), self.cubic().cwnd(), 0]
    }
}

impl Core for C2tcp {
    fn on_feedback(&mut self, feedback: &WholeFeedback) -> [u64; 3] {
        let closed = self.on_feedback(feedback);
        [self.cwnd(), self.cwnd(), closed.into()]
    }
    fn on_idle(&mut self, now: u64, idle: u64, rto: u64) -> [u64; 3] {
        self.on_idle(now, idle, rto);
        [self.cwnd(), self.cwnd(), 0]
    }
}

impl Core for Vegas {
    fn on_feedback(&mut self, feedback: &WholeFeedback) -> [u64; 3] {
        self.on_feedback(feedback);
        [self.cwnd(), self.cwnd(), self.ssthresh()]
    }
    fn on_idle(&mut self, _now: u64, idle: u64, rto: u64) -> [u64; 3] {
        self.on_idle(idle, rto);
        [self.cwnd(), self.cwnd(), self.ssthresh()]
    }
}

impl Core for Remy {
    fn on_feedback(&mut self, feedback: &WholeFeedback) -> [u64; 3] {
        self.on_feedback(feedback);
        [self.window(), self.gap(), self.pacing(feedback.mss)]
    }
    /// For a table, sending after a pause is a new connection.
    fn on_idle(&mut self, _now: u64, idle: u64, rto: u64) -> [u64; 3] {
        if idle > rto {
            self.restart();
        }
        [self.window(), self.gap(), self.pacing(0)]
    }
    fn windows(words: &[u64; 3]) -> [f64; 2] {
        [words[0] as f64; 2]
    }
    fn gap(words: &[u64; 3]) -> f64 {
        words[1] as f64
    }
}

/// C2TCP as the kernel's program implements it.
const C2TCP: &str = "c2tcp[settle=0s,floor=100ms,prr=false]";
const C2TCP_OVER_RENO: &str = "c2tcp[settle=0s,floor=100ms,prr=false,base=newreno]";
/// Vegas as the kernel's program implements it.
const VEGAS: &str = "vegas[diff=paper]";

/// A scheme in three forms: in the simulator, as an integer core, and in C.
struct Scheme<C> {
    halves: Halves,
    core: C,
    /// Arguments of `bpf/host.c`.
    args: Vec<OsString>,
}

impl<C> Scheme<C> {
    /// Parses a scheme as users write it; the C code knows it by its bare name.
    fn written(text: &str, core: C) -> Scheme<C> {
        let name = text.split('[').next().expect("a name");
        Scheme { halves: halves(text), core, args: vec![name.into()] }
    }
}

/// Bound for the time between packets: nanoseconds, and a share of the time.
const GAP_BOUND: [f64; 2] = [1.0, 1e-6];

/// Distance of an integer core from the simulator.
#[derive(Default)]
struct Distance {
    events: usize,
    /// Events after which a window differed by more than a packet, or the time between packets by
    /// more than [`GAP_BOUND`] allows.
    beyond: usize,
    most: f64,
    most_gap: f64,
    /// The first such event.
    first: Option<String>,
}

impl Distance {
    /// Feeds the integer core; returns its words after each event.
    fn follow<C: Core>(&mut self, mut core: C, steps: &[Step]) -> Vec<[u64; 3]> {
        let mut ours = Vec::with_capacity(steps.len());
        for step in steps {
            let words = core.on_event(&step.event);
            ours.push(words);
            let [w, cubic] = C::windows(&words);
            let apart = (w - step.w).abs().max((cubic - step.cubic).abs());
            self.events += 1;
            self.most = self.most.max(apart);
            // NaN, for unknown times, is not above any bound.
            let gaps_apart = (C::gap(&words) - step.gap).abs();
            self.most_gap = self.most_gap.max(gaps_apart);
            if apart > 1.0 || gaps_apart > GAP_BOUND[0] + GAP_BOUND[1] * step.gap {
                self.beyond += 1;
                self.first
                    .get_or_insert_with(|| format!("{apart}, {gaps_apart}: {step:?} {core:?}"));
            }
        }
        ours
    }
}

/// Compares C with Rust, and Rust with the simulator, on all scenarios. Returns the number of
/// events.
fn compare<C: Core + Clone>(scheme: &Scheme<C>, scenarios: Vec<(&'static str, Scenario)>) -> usize {
    let program = host::compile();
    let mut events = 0;
    for (name, scenario) in scenarios {
        let mut distance = Distance::default();
        for steps in record(scheme.halves.clone(), scenario) {
            let ours = distance.follow(scheme.core.clone(), &steps);
            let theirs = host::run(&program, &scheme.args, &steps);
            assert_eq!(theirs, ours, "{name}: C and Rust differ");
        }
        let Distance { events: of_run, most, most_gap, beyond: far, first } = distance;
        print(&format!(
            "{name}: {of_run} events, {far} beyond the bounds, at most {most:.4} packets, {most_gap} ns"
        ));
        assert!(far == 0, "{name}: {far} of {of_run} beyond; {first:?}");
        events += of_run;
    }
    print(&format!("{events} events, none beyond the bounds"));
    events
}

/// Compares as [`compare`] does, and asserts that there were at least a million events.
fn compare_on_a_million<C: Core + Clone>(
    scheme: &Scheme<C>,
    scenarios: Vec<(&'static str, Scenario)>,
) {
    let events = compare(scheme, scenarios);
    assert!(events >= 1_000_000, "only {events} events");
}

/// Prints a line, which the test harness shows with --nocapture.
#[allow(clippy::print_stdout)]
fn print(line: &str) {
    println!("{line}");
}

#[test]
fn abc_has_the_simulators_windows_within_a_packet_over_a_million_events() {
    compare_on_a_million(&Scheme::written("abc", Abc::default()), scenarios("abc", 1));
}

/// Scenarios with an RTT of 40 ms, over which the target is its floor of 100 ms; three times as long, because fewer
/// packets pass.
fn scenarios_of_c2tcp(scheme: &str) -> Vec<(&'static str, Scenario)> {
    with_rtt(scenarios(scheme, 3), Span::from_millis(40))
}

fn with_rtt(
    mut scenarios: Vec<(&'static str, Scenario)>,
    rtt: Span,
) -> Vec<(&'static str, Scenario)> {
    scenarios.iter_mut().for_each(|(_, scenario)| scenario.flows[0].rtt = rtt);
    scenarios
}

/// C2TCP with these limits, which the C code is called with as well.
fn c2tcp(text: &str, core: C2tcp, limits: C2tcpLimits) -> Scheme<C2tcp> {
    let name = if text == C2TCP_OVER_RENO { "c2tcp-over-reno" } else { "c2tcp" };
    let words = limits.words().into_iter().map(|word| word.to_string().into());
    Scheme {
        halves: halves(text),
        core: core.with_limits(&limits),
        args: std::iter::once(name.into()).chain(words).collect(),
    }
}

fn c2tcp_over_cubic() -> Scheme<C2tcp> {
    c2tcp(C2TCP, C2tcp::default(), C2tcpLimits::default())
}

fn c2tcp_over_reno() -> Scheme<C2tcp> {
    c2tcp(C2TCP_OVER_RENO, C2tcp::over_reno(), C2tcpLimits::default())
}

#[test]
fn c2tcp_has_the_simulators_windows_within_a_packet_over_a_million_events() {
    compare_on_a_million(&c2tcp_over_cubic(), scenarios_of_c2tcp(C2TCP));
}

/// Over an RTT of 120 ms, and with other limits. A target of 100 ms would leave the window at one packet.
#[test]
fn c2tcp_follows_targets_of_two_rtts_and_fixed_ones() {
    let limits = |target, interval| C2tcpLimits { target, interval, ..C2tcpLimits::default() };
    let fixed = limits(Limit::Time(Span::from_millis(60)), Limit::Rtts(1.5));
    let written = "c2tcp[settle=0s,floor=100ms,target=60ms,interval=1.5rtt]";
    for (scheme, text, rtt) in [
        (c2tcp_over_cubic(), C2TCP, 120),
        (c2tcp_over_reno(), C2TCP_OVER_RENO, 120),
        (c2tcp(written, C2tcp::default(), fixed), written, 20),
    ] {
        let events = compare(&scheme, with_rtt(scenarios(text, 1), Span::from_millis(rtt)));
        assert!(events > 100_000, "{text} over {rtt} ms: only {events} events");
    }
}

#[test]
fn c2tcp_over_newreno_has_the_simulators_windows_within_a_packet_over_a_million_events() {
    compare_on_a_million(&c2tcp_over_reno(), scenarios_of_c2tcp(C2TCP_OVER_RENO));
}

#[test]
fn vegas_has_the_simulators_windows_within_a_packet_over_a_million_events() {
    compare_on_a_million(&Scheme::written(VEGAS, Vegas::default()), scenarios(VEGAS, 2));
}

/// A table in three forms: in the simulator, as an integer core, and in C.
fn remy(table: &Arc<RuleTable>, whole: &RemyTable) -> Scheme<Remy> {
    let params = RemyParams { per: Per::Packet, ..RemyParams::default() };
    Scheme {
        halves: paceline_schemes::remy::halves(params, Arc::clone(table), None),
        core: Remy::new(whole),
        args: vec!["remy".into(), host::write_table(whole).into()],
    }
}

/// Returns the table in integers, with the resolution of its training in whole microseconds.
fn whole(table: &RuleTable) -> RemyTable {
    RemyTable::new(table, table.resolution()).expect("fits")
}

/// The scenarios of the other schemes, but each period of sending is a connection of its own.
fn scenarios_of_remy(times: u64) -> Vec<(&'static str, Scenario)> {
    let mut scenarios = scenarios("remy", times);
    for (_, scenario) in &mut scenarios {
        if let Workload::OnOff { fresh, .. } = &mut scenario.flows[0].workload {
            *fresh = true;
        }
    }
    scenarios
}

fn builtin(name: &str) -> Arc<RuleTable> {
    RemyTables::builtin().find(name).expect("is built in").table().expect("is sound")
}

#[test]
fn remy_has_the_simulators_windows_within_a_packet_over_a_million_events() {
    let table = builtin("starter");
    compare_on_a_million(&remy(&table, &whole(&table)), scenarios_of_remy(1));
}

/// Published tables have three or four axes and up to a few hundred rules.
#[test]
fn remy_follows_published_tables_within_a_packet() {
    for name in ["2013-delta1", "2014-100x"] {
        let Some(path) = reference(&format!("remycc/RemyCC-{name}.dna")) else {
            return skip(Need::Reference, &this_test(), "no published tables");
        };
        let table = Arc::new(paceline_remy::load(path).expect("a table").table);
        let whole = whole(&table);
        print(&format!("{name}: {whole:?}"));
        let events = compare(&remy(&table, &whole), scenarios_of_remy(1));
        assert!(events > 0);
    }
}

/// The scheme's default table, whose rules act on the delivery rate.
#[test]
fn remy_has_the_simulators_windows_at_its_rate_over_a_million_events() {
    let table = builtin("general");
    compare_on_a_million(&remy(&table, &whole(&table)), scenarios_of_remy(2));
}

/// The shortest and the longest queues of the tables with actions on the delivery rate.
#[test]
fn remy_follows_both_ends_of_the_frontier() {
    for name in ["least-delay", "full-link"] {
        let table = builtin(name);
        let events = compare(&remy(&table, &whole(&table)), scenarios_of_remy(1));
        assert!(events > 100_000, "{name}: {events}");
    }
}

/// Feedback is random here and often impossible, so Rust is compared only with the C code.
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
            Event::Feedback(integer::WholeFeedback {
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
                max_in_flight: random.below(2000 * ONE),
                may_raise_cwnd: random.chance(0.95),
                round_start: random.chance(0.1),
                ahead: random.below(300),
                min_rtt: random.below(300_000),
                ..integer::WholeFeedback::default()
            })
        };
        steps.push(Step::unknown(event));
    }
    agree(&Scheme::written("abc", Abc::default()), &steps);
    agree(&c2tcp_over_cubic(), &steps);
    agree(&c2tcp_over_reno(), &steps);
    agree(&Scheme::written(VEGAS, Vegas::default()), &steps);
    for name in ["starter", "general", "least-delay"] {
        let table = builtin(name);
        agree(&remy(&table, &whole(&table)), &steps);
    }
}

fn agree<C: Core + Clone>(scheme: &Scheme<C>, steps: &[Step]) {
    let mut core = scheme.core.clone();
    let ours = steps.iter().map(|step| core.on_event(&step.event));
    let theirs = host::run(&host::compile(), &scheme.args, steps);
    for ((ours, theirs), step) in ours.zip(theirs).zip(steps) {
        assert_eq!(ours, theirs, "{:?}: {:?}", scheme.args, step.event);
    }
}
