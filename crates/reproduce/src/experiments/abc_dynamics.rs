//! ABC on links that change or have other traffic: shares over time, two bottlenecks, a square
//! wave, a game's packets (Figs 3, 4, 10, 19, §7.6 of the ABC paper).

use paceline_cc::{Rate, Span};
use paceline_flow::Workload;
use paceline_path::BufferSize;
use paceline_report::{Chart, Fold, Paint, Palette, Panel, Series, Shade, time_series_figure};
use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, RouterChoice, Scenario};

use super::Experiment;
use super::abc_fairness::{self, PHASE, come_and_go, worst_phase};
use super::common::{CODEL, abc_emulation, mean, scheme, view, with_series};
use crate::findings::Findings;
use crate::setting::Setting;
use paceline_tasks::Record;
use paceline_tasks::Results;
use paceline_tasks::Task;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "abc-dynamics",
    title: "ABC over time",
    about: "Flows that come and go, a wireless and a wired bottleneck in a row, capacity that \
            doubles and halves every half second, a game beside a download.",
    plan,
    find,
};

const WITHOUT: &str = "abc[additive_increase=false]";
/// Schemes on the square wave: short names for measures, and the schemes. RCP is that of the paper's
/// authors, as on cellular links.
const WAVES: [(&str, &str); 3] = [("abc", "abc"), ("xcpw", "xcpw"), ("rcp", "rcp[variant=abc]")];
const GAMES: [(&str, &str); 3] = [("abc", "abc"), ("cubic", "cubic"), ("codel", CODEL)];
/// Share of the square wave that a sender can use which follows it a round trip late and builds no
/// queue: in each second, half of 24 Mbit/s is unused for 100 ms after the rise.
const ATTAINABLE: f64 = 1.0 - (24.0 - 12.0) * 0.1 / (18.0 * 1.0);
/// Seconds for which the cross traffic is on, and then off for as many.
const PHASES: [u64; 2] = [40, 20];

fn plan(setting: &Setting) -> Result<Vec<Task>, String> {
    let mut tasks = Vec::new();
    for text in ["abc", WITHOUT] {
        tasks.push(Task::scenario(format!("come and go: {text}"), come_and_go(text, PHASE)?));
    }
    if setting.causes {
        tasks.extend(abc_fairness::plan(setting)?.into_iter().map(Task::once));
    }
    tasks.push(Task::scenario("two bottlenecks", with_series(two_bottlenecks()?, 100)));
    tasks.push(Task::scenario("slower link rises", with_series(slower_link_rises()?, 100)));
    for phase in PHASES {
        let scenario = with_series(cross_traffic(phase)?, 500);
        tasks.push(Task::scenario(format!("cross traffic each {phase} s"), scenario));
    }
    for (short, text) in WAVES {
        let mut scenario = Scenario::new("square wave");
        scenario.duration = setting.length(60, 20);
        scenario.warmup = Span::from_secs(5);
        let half = Span::from_millis(500);
        let steps = vec![(Span::ZERO, Rate::from_mbps(12.0)), (half, Rate::from_mbps(24.0))];
        let capacity = Capacity::Schedule { steps, period: Some(half * 2) };
        scenario.links.push(LinkSpec::new("link", capacity));
        scenario.flows.push(FlowSpec::bulk(scheme(text)?, &["link"]));
        tasks.push(Task::scenario(format!("wave: {short}"), with_series(scenario, 50)));
    }
    for (short, text) in GAMES {
        let down = setting.verizon_down()?;
        let mut scenario = abc_emulation(text, &down, setting.length(60, 20))?.scenario();
        scenario.flows[0].name = "bulk".into();
        // Some 30 updates of 200 bytes per second, as in a game with many players.
        let mut game = scenario.flows[0].clone();
        game.name = "game".into();
        game.workload = Workload::Limited { rate: Rate::from_mbps(0.048), message: 200 };
        scenario.flows.push(game);
        tasks.push(Task::scenario(format!("game: {short}"), scenario));
    }
    Ok(tasks)
}

/// Fig. 4: the wireless link has ABC's router and steps every 5 s; the wired link is droptail.
fn two_bottlenecks() -> Result<Scenario, String> {
    let mut scenario = Scenario::new("two bottlenecks");
    scenario.duration = Span::from_secs(100);
    let rates = [8.0, 20.0, 4.0, 16.0, 10.0, 24.0, 6.0, 18.0, 5.0, 22.0];
    let steps = (0u64..)
        .zip(rates)
        .map(|(at, mbps)| (Span::from_secs(5 * at), Rate::from_mbps(mbps)))
        .collect();
    let period = Some(Span::from_secs(50));
    scenario.links.push(LinkSpec::new("wireless", Capacity::Schedule { steps, period }));
    let mut wired = LinkSpec::new("wired", Capacity::Constant(Rate::from_mbps(12.0)));
    wired.buffer = BufferSize::Packets(100);
    wired.router = RouterChoice::None;
    scenario.links.push(wired);
    scenario.flows.push(FlowSpec::bulk(scheme("abc")?, &["wireless", "wired"]));
    Ok(scenario)
}

/// The path of Fig. 4, but the wireless link is always the slower one: it alternates between 4 and
/// 10 Mbit/s.
fn slower_link_rises() -> Result<Scenario, String> {
    let mut scenario = two_bottlenecks()?;
    scenario.name = "slower link rises".into();
    let half = Span::from_secs(5);
    let steps = vec![(Span::ZERO, Rate::from_mbps(10.0)), (half, Rate::from_mbps(4.0))];
    scenario.links[0].capacity = Capacity::Schedule { steps, period: Some(half * 2) };
    Ok(scenario)
}

/// Fig. 10: a wireless link as above, and a wired one of 12 Mbit/s with a Cubic flow that is on
/// off for `phase` seconds and on for as many, twice.
fn cross_traffic(phase: u64) -> Result<Scenario, String> {
    let mut scenario = two_bottlenecks()?;
    scenario.name = "cross traffic".into();
    scenario.duration = Span::from_secs(5 * phase);
    for start in [phase, 3 * phase] {
        let mut cross = FlowSpec::bulk(scheme("cubic")?, &["wired"]);
        cross.name = format!("cross-{start}");
        cross.start = Span::from_secs(start);
        cross.stop = Some(Span::from_secs(start + phase));
        scenario.flows.push(cross);
    }
    Ok(scenario)
}

fn find(setting: &Setting, results: &Results) -> Result<Findings, String> {
    let mut findings =
        Findings { traces: vec![setting.verizon_down()?.name], ..Findings::default() };
    for (key, text) in [("with", "abc"), ("without", WITHOUT)] {
        let record = results.get(&format!("come and go: {text}"));
        findings.measure(format!("fair.{key}.worst"), worst_phase(record, PHASE));
        let series = (1..=5).map(|i| line(record, &format!("flow-{i}"), &format!("{i}"))).collect();
        let caption = match key {
            "with" => "Five flows come and go, with additive increase (Fig. 3b).",
            _ => "Five flows come and go, without additive increase (Fig. 3a).",
        };
        findings.figure(&format!("fair {key}"), panel("Goodput (Mbit/s)", series), caption);
    }
    if setting.causes {
        abc_fairness::find(setting, results, &mut findings);
    }
    let rising = results.get("slower link rises");
    bottlenecks(results.get("two bottlenecks"), rising, &mut findings);
    for phase in PHASES {
        crossing(results.get(&format!("cross traffic each {phase} s")), phase, &mut findings);
    }
    let palette = Palette::new(WAVES.map(|(short, _)| short));
    let mut views = Vec::new();
    for (short, _) in WAVES {
        let record = results.get(&format!("wave: {short}"));
        findings
            .measure(format!("wave.{short}.utilization"), record.number("link.link.utilization"));
        let used = record.number("link.link.utilization");
        findings.measure(format!("wave.{short}.attained"), used / ATTAINABLE);
        findings.measure(format!("wave.{short}.p95"), record.number("link.link.delay.p95"));
        let mut view = view(short, "square wave", "link", record);
        for values in [
            &mut view.series.capacity_mbps,
            &mut view.series.throughput_mbps,
            &mut view.series.queue_delay_ms,
        ] {
            values.truncate(200);
        }
        views.push(view);
    }
    findings.figure(
        "wave",
        time_series_figure(&views, &palette),
        "Capacity alternating between 12 and 24 Mbit/s every 500 ms (Fig. 19), the first 10 s.",
    );
    for (short, _) in GAMES {
        let record = results.get(&format!("game: {short}"));
        findings.measure(format!("game.{short}.p95"), record.number("flow.game.owd.p95") - 50.0);
        findings.measure(format!("game.{short}.bulk"), record.number("flow.bulk.goodput"));
    }
    Ok(findings)
}

/// Checks that the wired link's window is the smaller one where that link is slower, and the larger
/// one elsewhere.
fn bottlenecks(record: &Record, rising: &Record, findings: &mut Findings) {
    let capacity = record.series("link.wireless.capacity");
    let state = |name: &str| {
        let own = |flow: &str| record.series(&format!("flow.{flow}.state.{name}"));
        own("abc")
    };
    let (abc, cubic) = (state("w_abc"), state("w_cubic"));
    let (wireless_delay, wired_delay) =
        (record.series("link.wireless.delay"), record.series("link.wired.delay"));
    let (mut right, mut all) = (0.0, 0.0);
    let (mut slow, mut fast) = (Vec::new(), Vec::new());
    for at in 0..capacity.len() {
        // The second half of each step of 5 s, when the windows have followed it.
        if at % 50 < 30 || at >= abc.len() || at >= cubic.len() || at >= wired_delay.len() {
            continue;
        }
        let wired = capacity[at] > 12.0;
        all += 1.0;
        right += f64::from(u8::from(wired == (cubic[at] <= abc[at])));
        if wired { slow.push(wired_delay[at]) } else { fast.push(wireless_delay[at]) }
    }
    findings.measure("two.right", right / all);
    let finite = |values: Vec<f64>| mean(values.into_iter().filter(|value| value.is_finite()));
    findings.measure("two.wired_delay", finite(slow));
    findings.measure("two.wireless_delay", finite(fast));
    let lags = rises(&capacity, &abc, &cubic);
    findings.measure("two.rises", lags.len() as f64);
    findings.measure("two.lag", mean(lags));
    let window = |name: &str| rising.series(&format!("flow.abc.state.{name}"));
    let capacity = rising.series("link.wireless.capacity");
    let lags = rises(&capacity, &window("w_abc"), &window("w_cubic"));
    findings.measure("slower.rises", lags.len() as f64);
    findings.measure("slower.lag", mean(lags));
    let lines = vec![
        plain("w_abc", &abc, 0.1, Palette::new(["abc", "cubic"]).paint("abc")),
        plain("w_cubic", &cubic, 0.1, Palette::new(["abc", "cubic"]).paint("cubic")),
    ];
    findings.figure(
        "two bottlenecks",
        panel("Window (packets)", lines),
        "The two windows of a flow over a wireless and a wired bottleneck (Fig. 4).",
    );
}

/// Returns, for each rise of the wireless rate while that link is the slower one, the seconds from
/// a growth of the accelerates' window by a fifth to such a growth of Cubic's, which is capped at
/// twice the packets in flight.
fn rises(capacity: &[f64], abc: &[f64], cubic: &[f64]) -> Vec<f64> {
    let step = |at: &usize| {
        let (before, now) = (capacity[at - 1], capacity[*at]);
        now > 1.5 * before && before < 12.0
    };
    let length = capacity.len().min(abc.len()).min(cubic.len());
    let grown = |window: &[f64], from: usize| {
        let before = window[from - 1];
        (from..length).find(|at| window[*at] >= 1.2 * before)
    };
    let lag = |at: usize| match (grown(abc, at), grown(cubic, at)) {
        (Some(first), Some(second)) => (second as f64 - first as f64).max(0.0) * 0.1,
        // The window has not grown until the end.
        _ => f64::NAN,
    };
    (1..length).filter(step).map(lag).collect()
}

/// Evaluates how close ABC is to its ideal: the wireless rate, or its share of the wired rate.
fn crossing(record: &Record, phase: u64, findings: &mut Findings) {
    let key = if phase == 40 { "cross".to_string() } else { format!("cross.{phase}") };
    let phase = phase as usize;
    let capacity = record.series("link.wireless.capacity");
    let (wireless, wired) =
        (record.series("link.wireless.delay"), record.series("link.wired.delay"));
    // Delays of both queues: without cross traffic while the wireless link is the slower one, and
    // with cross traffic.
    let (mut delays_alone, mut delays_shared) = (Vec::new(), Vec::new());
    let (mut wired_alone, mut wired_shared) = (Vec::new(), Vec::new());
    let mut slow = Vec::new();
    let goodput = record.series("flow.abc.goodput");
    let (mut alone, mut shared) = (Vec::new(), Vec::new());
    let mut ideals = Vec::new();
    for at in 0..capacity.len().min(goodput.len()) {
        let second = at / 2;
        let crossed = second / phase % 2 == 1;
        let ideal = capacity[at].min(if crossed { 6.0 } else { 12.0 });
        ideals.push(ideal);
        // Cubic needs half of its on-period to reach its share.
        if second % phase < phase / 2 || second % 5 < 2 {
            continue;
        }
        let zero =
            |values: &[f64]| values.get(at).copied().filter(|d| d.is_finite()).unwrap_or(0.0);
        let (first, then) = (zero(&wireless), zero(&wired));
        match (crossed, capacity[at] < 12.0) {
            (false, true) => {
                delays_alone.push(first + then);
                wired_alone.push(then);
            }
            (true, _) => {
                delays_shared.push(first + then);
                wired_shared.push(then);
            }
            _ => {}
        }
        if crossed && capacity[at] < 6.0 {
            slow.push((goodput[at], capacity[at]));
        }
        if crossed { shared.push((goodput[at], ideal)) } else { alone.push((goodput[at], ideal)) }
    }
    let ratio = |pairs: &[(f64, f64)]| {
        let (got, ideal) =
            pairs.iter().fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
        got / ideal
    };
    findings.measure(format!("{key}.alone"), ratio(&alone));
    findings.measure(format!("{key}.shared"), ratio(&shared));
    findings.measure(format!("{key}.slow"), ratio(&slow));
    for (part, values) in [
        ("alone.delay", delays_alone),
        ("shared.delay", delays_shared),
        ("alone.wired", wired_alone),
        ("shared.wired", wired_shared),
    ] {
        findings.measure(format!("{key}.{part}"), mean(values));
    }
    if phase != 40 {
        return;
    }
    let palette = Palette::new(["abc", "cubic"]);
    findings.figure(
        "cross traffic",
        panel(
            "Mbit/s",
            vec![
                plain("ideal", &ideals, 0.5, Paint::MUTED),
                plain("abc", &goodput, 0.5, palette.paint("abc")),
            ],
        ),
        "ABC's goodput beside the ideal: on-off Cubic traffic on the wired link (Fig. 10).",
    );
}

fn line(record: &Record, flow: &str, label: &str) -> Series {
    let names = ["1", "2", "3", "4", "5"];
    let palette = Palette::new(names);
    let values = record.series(&format!("flow.{flow}.goodput"));
    plain(label, &values, record.number("bin"), palette.paint(label))
}

fn plain(name: &str, values: &[f64], bin_s: f64, paint: Paint) -> Series {
    Series {
        name: name.into(),
        quantity: String::new(),
        unit: String::new(),
        bin_s,
        values: values.to_vec(),
        paint,
        shade: Shade::Line,
        fold: Fold::Mean,
        label: vec![name.into()],
    }
}

fn panel(title: &str, series: Vec<Series>) -> paceline_report::Figure {
    let panels = vec![Panel { title: title.into(), height: 160.0, log: false, series }];
    Chart { label: title.into(), panels }.figure()
}
