//! ABC's control law: windows under marks, fixed points and stability, fairness by RTT and number
//! of flows, lost acknowledgements, and VCP's increase (§3, §6, §7.5, §8, appendix C of the ABC
//! paper).

use paceline_cc::{Ecn, Feedback, Rate, Setup, Span, Time};
use paceline_path::Loss;
use paceline_report::{Chart, Fold, Paint, Palette, Panel, Series, Shade};
use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, Scenario};

use super::Experiment;
use super::common::{JITTER, mean, scheme, with_series};
use crate::findings::Findings;
use crate::fluid::Fluid;
use crate::setting::Setting;
use paceline_tasks::Record;
use paceline_tasks::Results;
use paceline_tasks::Task;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "abc-control",
    title: "ABC's control law",
    about: "Links of constant rate: windows under marks, the queue's fixed points against theorem \
            1 and its fluid model, shares by RTT and number of flows, lost acknowledgements.",
    plan,
    find,
};

/// Table 1: the RTTs in ms.
const RTTS: [u64; 6] = [20, 40, 60, 80, 100, 120];
const COUNTS: [u32; 5] = [2, 4, 8, 16, 32];
/// Numbers of flows whose queue is held against theorem 1.
const STEADY: [u32; 4] = [2, 4, 8, 16];
/// Deltas over RTT below, at and above the boundary of stability.
const RATIOS: [f64; 3] = [0.4, 0.667, 1.33];
const SEEDS: u64 = 5;
/// Numbers of flows whose windows are compared.
const WINDOWS: [u32; 2] = [4, 8];

fn constant(name: &str, mbps: f64, text: &str, count: u32) -> Result<Scenario, String> {
    let mut scenario = Scenario::new(name);
    scenario.links.push(LinkSpec::new("link", Capacity::Constant(Rate::from_mbps(mbps))));
    let mut flow = FlowSpec::bulk(scheme(text)?, &["link"]);
    flow.name = "flow".into();
    flow.count = count;
    scenario.flows.push(flow);
    Ok(scenario)
}

fn plan(setting: &Setting) -> Result<Vec<Task>, String> {
    let mut tasks = Vec::new();
    let seeds = if setting.quick { 2 } else { SEEDS };
    for seed in 0..seeds {
        // Six flows with different RTTs, and pairs of 20 ms and another RTT.
        let mut sets: Vec<(String, Vec<u64>)> = vec![("table".into(), RTTS.to_vec())];
        sets.extend(RTTS.iter().map(|rtt| (format!("pair {rtt}"), vec![*rtt, 20])));
        for (name, rtts) in sets {
            let mut scenario = constant(&name, 24.0, "abc", 1)?;
            scenario.flows.clear();
            scenario.duration = Span::from_secs(120);
            scenario.warmup = Span::from_secs(20);
            scenario.seed = setting.seed + seed;
            for (at, rtt) in (0u64..).zip(&rtts) {
                let mut flow = FlowSpec::bulk(scheme("abc")?, &["link"]);
                flow.name = format!("flow-{}", at + 1);
                flow.rtt = Span::from_millis(*rtt);
                // Different start times make the runs differ.
                flow.start = Span::from_millis(137 * seed * (at + 1));
                scenario.flows.push(flow);
            }
            tasks.push(Task::scenario(format!("{name} {seed}"), scenario));
        }
    }
    tasks.extend(out_of_phase(setting, seeds)?);
    for count in COUNTS {
        let mut scenario = constant("fairness", 24.0, "abc", count)?;
        scenario.flows[0].stagger = Span::from_millis(100);
        tasks.push(Task::scenario(format!("{count} flows"), scenario));
    }
    for count in STEADY {
        let mut steady = constant("steady", 24.0, "abc", count)?;
        steady.duration = Span::from_secs(90);
        steady.warmup = Span::from_secs(30);
        tasks.push(Task::scenario(format!("steady {count}"), with_series(steady, 1000)));
    }
    for ratio in RATIOS {
        // With 16 flows there is a standing queue; with a large dt it never becomes empty.
        let delta = Span::from_micros((100_000.0 * ratio) as u64);
        let text = format!("abc[delta={}us,dt=100ms]", delta.as_nanos() / 1000);
        let mut scenario = constant("stability", 24.0, &text, 16)?;
        scenario.links[0].buffer = paceline_path::BufferSize::Unlimited;
        scenario.duration = Span::from_secs(60);
        scenario.warmup = Span::from_secs(20);
        tasks.push(Task::scenario(format!("delta {ratio}"), with_series(scenario, 20)));
    }
    tasks.push(Task::other("marks", "abc marks", 0.1, marks));
    for loss in [0.0, 0.3] {
        let mut scenario = constant("lost acknowledgements", 12.0, "abc", 1)?;
        scenario.flows[0].acks.impairments.loss = Loss::Bernoulli(loss);
        scenario.warmup = Span::from_secs(10);
        tasks.push(Task::scenario(format!("acks {loss}"), scenario));
    }
    for (name, text, rtt) in VCP {
        let mut scenario = constant("vcp", 1000.0, text, 1)?;
        scenario.flows[0].rtt = Span::from_millis(rtt);
        scenario.duration = Span::from_secs(20);
        tasks.push(Task::scenario(format!("vcp {name}"), with_series(scenario, 100)));
    }
    Ok(tasks)
}

/// Returns runs in which packets of different flows do not meet in lockstep: six flows with different
/// RTTs that start at once, pairs of 100 and 200 ms, and flows whose windows are compared.
fn out_of_phase(setting: &Setting, seeds: u64) -> Result<Vec<Task>, String> {
    let mut tasks = Vec::new();
    for seed in 0..seeds {
        for (name, rtts, warmup, end) in
            [("together", &RTTS[..], 0, 60), ("far pair", &FAR[..], 60, 180)]
        {
            let mut scenario = constant(name, 24.0, "abc", 1)?;
            let flow = scenario.flows.swap_remove(0);
            scenario.flows = (1..).zip(rtts).map(|(at, rtt)| flow_of(&flow, at, *rtt)).collect();
            scenario.duration = Span::from_secs(end);
            scenario.warmup = Span::from_secs(warmup);
            scenario.seed = setting.seed + seed;
            tasks.push(Task::scenario(format!("{name} {seed}"), scenario));
        }
    }
    for count in WINDOWS {
        let mut steady = constant("steady", 24.0, "abc", count)?;
        steady.duration = Span::from_secs(90);
        steady.warmup = Span::from_secs(30);
        steady.flows[0].data.impairments.jitter = Some(JITTER);
        tasks.push(Task::scenario(format!("jitter {count}"), with_series(steady, 1000)));
    }
    Ok(tasks)
}

/// RTTs in ms beside which the queue is small.
const FAR: [u64; 2] = [100, 200];

/// Returns flow number `at` with an RTT in ms and with jitter.
fn flow_of(flow: &FlowSpec, at: usize, rtt: u64) -> FlowSpec {
    let mut flow = flow.clone();
    flow.name = format!("flow-{at}");
    flow.rtt = Span::from_millis(rtt);
    flow.data.impairments.jitter = Some(JITTER);
    flow
}

const VCP_PAPER: &str = "vcp[variant=paper]";
/// VCP: the RTT by which it scales its increases, the scheme, and the RTT in milliseconds.
const VCP: [(&str, &str, u64); 3] = [
    ("100", VCP_PAPER, 100),
    ("200", VCP_PAPER, 200),
    ("unscaled", "vcp[variant=paper,scale=none]", 100),
];

/// Acknowledgements that arrive, in percent, and the share of accelerates among them, in quarters.
const KEPT: [(u32, u32); 6] = [(100, 3), (75, 3), (50, 3), (50, 4), (50, 1), (50, 2)];
/// Shares of accelerates, in quarters.
const QUARTERS: [u32; 5] = [0, 1, 2, 3, 4];

/// Runs a sender alone: a window of 100 packets, each acknowledged with an accelerate or a brake.
/// Records the window a round trip later, divided by the window before, without the packet of
/// additive increase.
fn marks() -> Result<Record, String> {
    let spec = scheme("abc[dual_window=false,initial_window=100,additive_increase=false]")?;
    let halves =
        paceline_schemes::registry::build(&spec.sender).map_err(|error| error.to_string())?;
    let mut record = Record::default();
    for quarters in QUARTERS {
        let mut sender = (halves.controller)(&Setup::default());
        let before = sender.plan().cwnd as f64;
        for at in 0..100u32 {
            let up = at % 4 < quarters;
            let echo = if up { Ecn::Ect1 } else { Ecn::Ect0 };
            let cwnd = sender.plan().cwnd;
            sender.on_feedback(&acknowledged(u64::from(at), echo, cwnd));
        }
        record.set(format!("after.{quarters}"), sender.plan().cwnd as f64 / before);
    }
    for (delivered, quarters) in KEPT {
        let mut sender = (halves.controller)(&Setup::default());
        let before = sender.plan().cwnd as f64;
        // The marks of the arriving acknowledgements alternate as those of all acknowledgements do.
        for at in 0..delivered {
            let echo = if at % 4 < quarters { Ecn::Ect1 } else { Ecn::Ect0 };
            let cwnd = sender.plan().cwnd;
            sender.on_feedback(&acknowledged(u64::from(at), echo, cwnd));
        }
        let after = sender.plan().cwnd as f64 / before;
        record.set(format!("kept.{delivered}.{quarters}"), after);
    }
    Ok(record)
}

/// Returns the acknowledgement of one packet while the window is full.
fn acknowledged(at: u64, echo: Ecn, cwnd: u64) -> Feedback<'static> {
    let rtt = Span::from_millis(100);
    let mut feedback = Feedback::new(Time::from_millis(100 + at), 1500);
    (feedback.acked, feedback.acked_packets) = (1500, 1);
    feedback.echo = echo;
    (feedback.prior_in_flight, feedback.in_flight) = (cwnd, cwnd);
    feedback.cwnd_limited = true;
    (feedback.rtt, feedback.srtt, feedback.min_rtt) = (Some(rtt), rtt, rtt);
    feedback.delivered = 1500 * at;
    feedback
}

fn find(setting: &Setting, results: &Results) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let seeds = if setting.quick { 2 } else { SEEDS };
    by_rtt(seeds, results, &mut findings);
    for count in COUNTS {
        findings.measure(
            format!("jain.{count}"),
            results.get(&format!("{count} flows")).number("all.jain"),
        );
    }
    for count in STEADY {
        steady("steady", count, results, &mut findings);
    }
    for count in WINDOWS {
        steady("jitter", count, results, &mut findings);
    }
    stability(results, &mut findings);

    for quarters in QUARTERS {
        let share = f64::from(quarters) / 4.0;
        let after = results.get("marks").number(&format!("after.{quarters}"));
        findings.measure(format!("marks.{share}"), after);
    }

    let goodput = |loss: &str| results.get(&format!("acks {loss}")).number("all.goodput");
    findings.measure("acks.abc.kept", goodput("0.3") / goodput("0"));
    for part in ["mean", "p95"] {
        let delay = results.get("acks 0.3").number(&format!("link.link.delay.{part}"));
        findings.measure(format!("acks.{part}"), delay);
    }
    for (delivered, quarters) in KEPT {
        let share = f64::from(quarters) / 4.0;
        let after = results.get("marks").number(&format!("kept.{delivered}.{quarters}"));
        findings.measure(format!("acks.change.{delivered}.{share}"), after - 1.0);
    }
    for (name, _, rtt) in VCP {
        let windows = results.get(&format!("vcp {name}")).series("flow.flow.state.cwnd");
        findings.measure(format!("vcp.{name}.rtts"), doubling_rtts(&windows, 0.1, rtt));
    }
    Ok(findings)
}

/// Evaluates Table 1 and Fig. 12.
fn by_rtt(seeds: u64, results: &Results, findings: &mut Findings) {
    let over = |name: &str, flow: usize| {
        mean((0..seeds).map(|seed| {
            results.get(&format!("{name} {seed}")).number(&format!("flow.flow-{flow}.goodput"))
        }))
    };
    for (at, rtt) in RTTS.iter().enumerate() {
        findings.measure(format!("table.{rtt}"), over("table", at + 1));
        findings.measure(format!("together.{rtt}"), over("together", at + 1));
        let name = format!("pair {rtt}");
        // Ratio of the throughput of the flow with 20 ms to the other's.
        findings.measure(format!("pair.{rtt}"), over(&name, 2) / over(&name, 1));
    }
    for name in ["table", "together"] {
        let share = findings.get(&format!("{name}.120")) / findings.get(&format!("{name}.20"));
        findings.measure(format!("{name}.120/20"), share);
    }
    findings.measure("far", over("far pair", 1) / over("far pair", 2));
    // Ratio that equal windows would give, with the queue that all flows share.
    let queue = |name: &str| {
        let of = |seed| results.get(&format!("{name} {seed}")).number("link.link.delay.mean");
        mean((0..seeds).map(of))
    };
    for (key, name, (short, long)) in [
        ("table", "table", (20.0, 120.0)),
        ("pair.40", "pair 40", (20.0, 40.0)),
        ("far", "far pair", (100.0, 200.0)),
    ] {
        let queue = queue(name);
        findings.measure(format!("{key}.queue"), queue);
        findings.measure(format!("{key}.equal_windows"), (long + queue) / (short + queue));
    }
    let inverse = 1.0 / findings.get("table.equal_windows");
    findings.measure("table.equal_windows.share", inverse);
    // Each seed by itself, to show the random variation of the ratio.
    let ratios: Vec<f64> = (0..seeds)
        .map(|seed| {
            let record = results.get(&format!("table {seed}"));
            record.number("flow.flow-6.goodput") / record.number("flow.flow-1.goodput")
        })
        .collect();
    let (low, high) = ratios.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |ends, ratio| {
        (ends.0.min(*ratio), ends.1.max(*ratio))
    });
    findings.measure("table.120/20.lowest", low);
    findings.measure("table.120/20.highest", high);
    // Fits a line through the ratios of throughput over the ratios of RTT.
    let points: Vec<(f64, f64)> =
        RTTS.iter().map(|rtt| (*rtt as f64 / 20.0, findings.get(&format!("pair.{rtt}")))).collect();
    findings.measure("pair.r2", determination(&points));
}

/// Returns the share of the variance that a straight line explains.
fn determination(points: &[(f64, f64)]) -> f64 {
    let (mx, my) = (mean(points.iter().map(|p| p.0)), mean(points.iter().map(|p| p.1)));
    let sum = |f: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(f).sum::<f64>();
    let (xx, yy) = (sum(&|p| (p.0 - mx) * (p.0 - mx)), sum(&|p| (p.1 - my) * (p.1 - my)));
    let xy = sum(&|p| (p.0 - mx) * (p.1 - my));
    xy * xy / (xx * yy)
}

/// Evaluates theorem 1's fixed points and §3.1.3's windows.
fn steady(name: &str, count: u32, results: &Results, findings: &mut Findings) {
    let record = results.get(&format!("{name} {count}"));
    // RTT 100 ms; 24 Mbit/s are 2000 packets per second.
    let a = -0.02 + f64::from(count) / (2000.0 * 0.1);
    let delay = record.number("link.link.delay.mean");
    let expected = if a < 0.0 { 0.0 } else { 1000.0 * (a * 0.133 + 0.05) };
    findings.measure(format!("{name}.{count}.a"), a);
    findings.measure(format!("{name}.{count}.delay"), delay);
    findings.measure(format!("{name}.{count}.expected"), expected);
    if a > 0.0 {
        findings.measure(format!("{name}.{count}.error"), (delay - expected).abs() / expected);
    }
    findings.measure(format!("{name}.{count}.utilization"), record.number("link.link.utilization"));
    // Equal flows hold 1 / (1 - 2f) packets for any f, so their windows are equal.
    let windows: Vec<f64> = (1..=count)
        .map(|i| {
            let flow = if count == 1 { "flow".to_string() } else { format!("flow-{i}") };
            mean(record.series(&format!("flow.{flow}.state.w_abc")).into_iter().skip(40))
        })
        .collect();
    let (low, high) = windows
        .iter()
        .fold((f64::INFINITY, 0.0f64), |(low, high), window| (low.min(*window), high.max(*window)));
    findings.measure(format!("{name}.{count}.spread"), high / low);
}

/// Evaluates the queue's oscillations by delta over tau, in the fluid model and in packets.
fn stability(results: &Results, findings: &mut Findings) {
    let mut series = Vec::new();
    let palette = Palette::new(["0.5", "1"]);
    for ratio in RATIOS {
        // The RTT of the feedback includes the standing queue of about 100 ms.
        let record = results.get(&format!("delta {ratio}"));
        let delays = record.series("link.link.delay");
        let measured: Vec<f64> = delays.into_iter().skip(1000).filter(|d| d.is_finite()).collect();
        let middle = mean(measured.iter().copied());
        let swing = mean(measured.iter().map(|delay| (delay - middle).abs())) / middle;
        findings.measure(format!("swing.{ratio}"), swing);
        let model = Fluid { a: 0.06, delta: 0.1 * ratio, dt: 1.0, tau: 0.1 };
        findings.measure(format!("fluid.{ratio}"), f64::from(u8::from(model.settles())));
    }
    // Finds the boundary of stability by bisection.
    let (mut low, mut high) = (0.4, 1.0);
    for _ in 0..12 {
        let middle = 0.5 * (low + high);
        let model = Fluid { a: 0.06, delta: 0.1 * middle, dt: 1.0, tau: 0.1 };
        if model.settles() { high = middle } else { low = middle }
    }
    findings.measure("fluid.boundary", high);
    // The model beside packets, from an empty queue: 16 flows, delta 133 ms, dt 50 ms.
    let model = Fluid { a: 0.06, delta: 0.133, dt: 0.05, tau: 0.1 };
    let solved: Vec<f64> = model.solve(0.0, 0.02, 8.0).iter().map(|x| 1000.0 * x).collect();
    findings.measure("fluid.rest", solved.last().copied().unwrap_or(f64::NAN));
    series.push(Series {
        name: "fluid model".into(),
        quantity: "delay".into(),
        unit: "ms".into(),
        bin_s: 0.02,
        values: solved,
        paint: palette.paint("0.5"),
        shade: Shade::Line,
        fold: Fold::Mean,
        label: vec!["fluid".into()],
    });
    let packets = results.get("steady 16").series("link.link.delay");
    let mut spread = Vec::new();
    packets.iter().take(8).for_each(|delay| spread.extend([*delay; 50]));
    series.push(Series {
        name: "packets".into(),
        quantity: "delay".into(),
        unit: "ms".into(),
        bin_s: 0.02,
        values: spread,
        paint: Paint::MUTED,
        shade: Shade::Line,
        fold: Fold::Mean,
        label: vec!["packets".into()],
    });
    let panels =
        vec![Panel { title: "Queueing delay (ms)".into(), height: 160.0, log: false, series }];
    findings.figure(
        "fluid",
        Chart { label: "The fluid model and packets".into(), panels }.figure(),
        "The fluid model of appendix C from an empty queue, and the largest delay of packets in \
         each second: 16 flows on 24 Mbit/s.",
    );
}

/// Returns the round trips in which a window doubles, from 20 packets on, by a fit of its
/// logarithm.
fn doubling_rtts(windows: &[f64], bin_s: f64, rtt_ms: u64) -> f64 {
    let first = windows.iter().position(|window| *window >= 20.0);
    let Some(first) = first else { return f64::NAN };
    let last = windows.iter().position(|window| *window >= 160.0).unwrap_or(windows.len() - 1);
    let (from, to) = (windows[first], windows[last]);
    let rtts = (last - first) as f64 * bin_s * 1000.0 / rtt_ms as f64;
    rtts / libm::log2(to / from)
}
