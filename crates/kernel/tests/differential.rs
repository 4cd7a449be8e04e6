//! The simulator's ABC, the integer core and the eBPF programs' C code on the same feedback.
//!
//! The bound was set before the first run: no window differs by more than one packet at any of
//! 10^6 events, and the C code and the integer core do not differ at all.

mod support;

use paceline_cc::{Rate, Span, Stream};
use paceline_kernel::integer::{self, Abc, ONE};
use paceline_path::BufferSize;
use paceline_sim::flow::{Amount, On, Workload};
use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, RouterChoice, Scenario};
use support::host;
use support::record::{Event, Step, record};

/// A flow over one link for `seconds`.
fn scenario(capacity: Capacity, buffer: u64, seconds: u64) -> Scenario {
    let mut scenario = Scenario::new("differential");
    let buffer = BufferSize::Packets(buffer);
    scenario.links.push(LinkSpec::new("link", capacity).with(|link| link.buffer = buffer));
    let scheme: paceline_sim::scenario::SchemeChoice = "abc".parse().expect("a scheme");
    scenario.flows.push(FlowSpec::bulk(scheme, &["link"]));
    scenario.duration = Span::from_secs(seconds);
    scenario
}

fn trace(name: &str) -> Capacity {
    Capacity::trace(paceline_trace::load(name).expect("a built-in trace"))
}

/// Paths that exercise marks, drops, outages, random loss, other bottlenecks and idle periods.
fn scenarios() -> Vec<(&'static str, Scenario)> {
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

/// Feeds the integer core; returns the largest distance from the simulator's windows, in packets.
fn follow(name: &str, steps: &[Step], ours: &mut Vec<[u64; 3]>) -> f64 {
    let mut abc = Abc::default();
    let mut most: f64 = 0.0;
    for (at, step) in steps.iter().enumerate() {
        let mss = match step.event {
            Event::Feedback(feedback) => {
                abc.on_feedback(&feedback);
                feedback.mss
            }
            Event::Idle(now, idle, rto) => {
                abc.on_idle(now, idle, rto);
                0
            }
        };
        ours.push([abc.w(), abc.cubic().cwnd(), abc.pacing(mss)]);
        let packets = |fixed: u64| fixed as f64 / ONE as f64;
        let apart = (packets(abc.w()) - step.w).abs();
        let apart = apart.max((packets(abc.cubic().cwnd()) - step.cubic).abs());
        assert!(apart <= 1.0, "{name}, event {at}: {apart} packets apart; {step:?} {abc:?}");
        most = most.max(apart);
    }
    most
}

#[test]
#[allow(clippy::print_stdout)] // The distances, for who asks with --nocapture.
fn abc_has_the_simulators_windows_within_a_packet_over_a_million_events() {
    let program = host::compile();
    let mut events = 0;
    for (name, scenario) in scenarios() {
        let mut of_run = (0, 0.0_f64);
        for steps in record("abc", scenario) {
            let mut ours = Vec::with_capacity(steps.len());
            of_run.1 = of_run.1.max(follow(name, &steps, &mut ours));
            of_run.0 += steps.len();
            assert_eq!(host::run(&program, &steps), ours, "{name}: C and Rust differ");
        }
        println!("{name}: {} events, at most {:.4} packets apart", of_run.0, of_run.1);
        events += of_run.0;
    }
    println!("{events} events");
    assert!(events >= 1_000_000, "only {events} events");
}

/// Nonsense included: there is nothing to compare the windows with but the C code's.
#[test]
fn rust_and_c_agree_on_anything() {
    let program = host::compile();
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
    let mut abc = Abc::default();
    let ours: Vec<[u64; 3]> = steps
        .iter()
        .map(|step| {
            let mss = match step.event {
                Event::Feedback(feedback) => {
                    abc.on_feedback(&feedback);
                    feedback.mss
                }
                Event::Idle(now, idle, rto) => {
                    abc.on_idle(now, idle, rto);
                    0
                }
            };
            [abc.w(), abc.cubic().cwnd(), abc.pacing(mss)]
        })
        .collect();
    let theirs = host::run(&program, &steps);
    for (at, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        assert_eq!(ours, theirs, "event {at}: {:?}", steps[at]);
    }
}
