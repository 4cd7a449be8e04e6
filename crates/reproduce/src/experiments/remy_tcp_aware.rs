//! Knowledge of other schemes: TCP-naive and TCP-aware RemyCCs, alone and beside NewReno (Figs 4-4
//! and 4-5 of Winstein's thesis), and senders with different objectives beside each other.

use paceline_cc::{Rate, SchemeSpec, Span};
use paceline_flow::{Amount, On, Workload};
use paceline_path::BufferSize;
use paceline_remy::score::SenderFigures;
use paceline_remy::{Network, Others};
use paceline_sim::scenario::{FlowSpec, LossRecovery, RttSamples, Scenario};

use super::Experiment;
use super::common::mean;
use super::remy_common::{Runs, Scheme, and_designed, mbps, note_missing, tables};
use crate::findings::Findings;
use crate::setting::Setting;
use paceline_tasks::Results;
use paceline_tasks::Task;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "remy-tcp-aware",
    title: "Remy: other senders",
    about: "Two senders on 10 Mbit/s, RTT 100 ms: of the TCP-naive and the TCP-aware RemyCC and of \
            NewReno among their own kind, each RemyCC beside NewReno, and RemyCCs with different \
            aims beside each other.",
    plan,
    find,
};

const TABLES: [(&str, &str); 2] = [
    ("naive", "fig7-newreno-compatibility__ratsonlybaselineV5-delta0.1.dna.2"),
    ("aware", "fig7-newreno-compatibility__tcpcompatibleV5-delta0.1.dna.3"),
];
const NEWRENO: &str = "newreno[initial_window=2]";
/// RemyCCs for throughput and for short delays: each made for its own kind, and a pair made
/// together.
const PAIRS: [(&str, &str); 4] = [
    ("fast", "fig9-diversity__delta-0.1.dna.5"),
    ("short", "fig9-diversity__delta-10.0.dna.5"),
    ("tree1", "fig9-diversity__coexistencev2.dna.3.whiskertree1"),
    ("tree2", "fig9-diversity__coexistencev2.dna.3.whiskertree2"),
];

fn runs(setting: &Setting, name: &str, on_s: f64, buffer: BufferSize) -> Runs {
    let network = Network::new(Rate::from_mbps(10.0), Span::from_millis(100)).with(|network| {
        network.on = On::Time(Amount::Exponential(on_s));
        (network.off, network.buffer) = (Amount::Exponential(on_s), buffer);
    });
    let count = if setting.quick { 1 } else { 4 };
    let duration = setting.length(200, 20);
    Runs { name: name.to_string(), network, duration, count, seed: setting.seed }
}

fn alone(setting: &Setting) -> Runs {
    runs(setting, "alone", 5.0, BufferSize::Bdp(2.0))
}

/// Gives one of two senders another scheme.
fn beside(mut runs: Runs, name: &str, text: &str) -> Result<Runs, String> {
    let scheme = SchemeSpec::parse(text).map_err(|error| error.to_string())?;
    runs.name = format!("beside {name}");
    runs.network.others = Some(Others { scheme: Some(scheme.into()), senders: 1 });
    Ok(runs)
}

fn mixed(setting: &Setting) -> Result<Runs, String> {
    beside(alone(setting), "newreno", NEWRENO)
}

/// Returns runs beside a NewReno as ns-2's, with pauses of 10 ms in the mean: see
/// [`keep_windows`].
fn paused(setting: &Setting) -> Result<Runs, String> {
    let mut runs = alone(setting);
    runs.network.off = Amount::Exponential(0.01);
    runs.count *= 2;
    let mut runs = beside(runs, "newreno", NEWRENO)?;
    runs.name = "beside newreno, pauses of 10 ms".into();
    Ok(runs)
}

/// Returns runs of two senders of one kind with the same pauses.
fn busy(setting: &Setting) -> Runs {
    let mut runs = alone(setting);
    runs.network.off = Amount::Exponential(0.01);
    runs.count *= 2;
    runs.name = "alone, pauses of 10 ms".into();
    runs
}

/// Makes the last of two flows, which is NewReno's, as ns-2's.
fn keep_windows(scenario: &mut Scenario) {
    if let Some(flow) = scenario.flows.last_mut() {
        keep_window(flow);
    }
}

/// Makes a flow keep its window over pauses and repair losses without selective acknowledgements, as
/// ns-2's NewReno does.
fn keep_window(flow: &mut FlowSpec) {
    flow.recovery = LossRecovery::NewReno(RttSamples::One);
    if let Workload::OnOff { fresh, .. } = &mut flow.workload {
        *fresh = false;
    }
}

/// Further lengths of on- and off-periods in seconds, and buffers in bandwidth-delay products, for
/// a sweep. The claims have 5 s and 2.
const OTHER: [(f64, f64); 5] = [(5.0, 1.0), (5.0, 5.0), (50.0, 1.0), (50.0, 2.0), (50.0, 5.0)];

/// Returns the runs beside NewReno with these values.
fn swept(setting: &Setting, (on_s, buffer): (f64, f64)) -> Result<Runs, String> {
    let mut runs = beside(runs(setting, "", on_s, BufferSize::Bdp(buffer)), "newreno", NEWRENO)?;
    runs.name = format!("beside newreno, on {on_s} s, buffer {buffer} BDP");
    Ok(runs)
}

fn own_kind(setting: &Setting) -> Runs {
    runs(setting, "own kind", 1.0, BufferSize::Unlimited)
}

/// Returns the tasks of the first of a pair beside the second, for both ways of training.
fn together(setting: &Setting, first: &Scheme, second: &Scheme) -> Result<Vec<Task>, String> {
    beside(own_kind(setting), &second.0, &second.1)?.tasks(&first.0, &first.1)
}

fn plan(setting: &Setting) -> Result<Vec<Task>, String> {
    let aware = tables(setting, &TABLES);
    let mut tasks = mixed(setting)?.tasks_of(&aware)?;
    tasks.extend(alone(setting).tasks_of(&and_designed(aware, &[("newreno", NEWRENO)]))?);
    for other in OTHER.into_iter().filter(|_| setting.causes) {
        let swept = swept(setting, other)?.tasks_of(&tables(setting, &TABLES))?;
        tasks.extend(swept.into_iter().map(Task::once));
    }
    for (short, text) in tables(setting, &TABLES) {
        tasks.extend(paused(setting)?.changed_tasks(&short, &text, keep_windows)?);
        tasks.extend(busy(setting).tasks(&short, &text)?);
    }
    let keep_all = |scenario: &mut Scenario| scenario.flows.iter_mut().for_each(keep_window);
    tasks.extend(busy(setting).changed_tasks("newreno", NEWRENO, keep_all)?);
    let pairs = tables(setting, &PAIRS);
    tasks.extend(own_kind(setting).tasks_of(&pairs)?);
    if let [fast, short, tree1, tree2] = pairs.as_slice() {
        for (first, second) in [(short, fast), (tree1, tree2), (tree2, tree1)] {
            tasks.extend(together(setting, first, second)?);
        }
    }
    Ok(tasks)
}

/// Returns mean throughput while on, and mean delay above an idle path's, of the senders with
/// `other` that received packets.
fn means(runs: &Runs, senders: &[SenderFigures], other: bool) -> (f64, f64) {
    let of = || senders.iter().filter(|sender| sender.other == other && sender.packets > 0.0);
    let queue = of().map(|sender| sender.delay_ms - runs.idle_ms());
    (mean(of().map(mbps)), mean(queue))
}

fn find(setting: &Setting, results: &Results) -> Result<Findings, String> {
    let mut findings = Findings::default();
    note_missing(setting, &TABLES, &mut findings);
    note_missing(setting, &PAIRS, &mut findings);
    let (alone, busy, mixed) = (alone(setting), busy(setting), mixed(setting)?);
    for short in ["naive", "aware", "newreno"] {
        for (name, runs) in [("alone", &alone), ("busy", &busy)] {
            let (rate, queue) = means(runs, &runs.senders(short, results), false);
            findings.measure(format!("{name}.{short}.throughput"), rate);
            findings.measure(format!("{name}.{short}.queue"), queue);
        }
    }
    shared("mixed", &mixed, results, &mut findings);
    shared("paused", &paused(setting)?, results, &mut findings);
    for part in ["throughput", "queue"] {
        let of = |findings: &Findings, name: &str| findings.get(&format!("{name}.{part}"));
        for name in ["alone", "busy"] {
            let [naive, aware] =
                ["naive", "aware"].map(|short| of(&findings, &format!("{name}.{short}")));
            findings.measure(format!("{name}.naive/aware.{part}"), naive / aware);
        }
        for way in ["mixed", "paused"] {
            let [naive, aware] =
                ["naive", "aware"].map(|short| of(&findings, &format!("{way}.{short}")));
            findings.measure(format!("{way}.aware/naive.{part}"), aware / naive);
        }
    }
    if setting.causes {
        sweep(setting, results, &mut findings)?;
    }
    diversity(setting, results, &mut findings)?;
    Ok(findings)
}

/// Adds throughputs, queueing delay and share of each RemyCC beside NewReno.
fn shared(prefix: &str, runs: &Runs, results: &Results, findings: &mut Findings) {
    for short in ["naive", "aware"] {
        let senders = runs.senders(short, results);
        let (rate, queue) = means(runs, &senders, false);
        let (other, _) = means(runs, &senders, true);
        findings.measure(format!("{prefix}.{short}.throughput"), rate);
        findings.measure(format!("{prefix}.{short}.queue"), queue);
        findings.measure(format!("{prefix}.{short}.newreno"), other);
        findings.measure(format!("{prefix}.{short}.share"), rate / (rate + other));
    }
}

/// Adds the share of each RemyCC beside NewReno, by on-periods and buffers.
fn sweep(setting: &Setting, results: &Results, findings: &mut Findings) -> Result<(), String> {
    let mut all = vec![((5.0, 2.0), mixed(setting)?)];
    for other in OTHER {
        all.push((other, swept(setting, other)?));
    }
    let row = |((on_s, buffer), runs): ((f64, f64), Runs)| {
        let cells = ["naive", "aware"].map(|short| {
            let senders = runs.senders(short, results);
            let (rate, queue) = means(&runs, &senders, false);
            let (other, _) = means(&runs, &senders, true);
            format!("{:.2}, {queue:.0} ms", rate / (rate + other))
        });
        let [naive, aware] = cells;
        vec![format!("{on_s:.0} s"), format!("{buffer:.0} BDP"), naive, aware]
    };
    findings.sweep(
        "Remy: beside NewReno",
        "10 Mbit/s, RTT 100 ms, one sender of each kind: the RemyCC's share of what both get while on, \
         and its queueing delay, by the mean length of on- and off-periods and by the buffer.",
        &["on", "buffer", "TCP-naive", "TCP-aware"],
        all.into_iter().map(row).collect(),
    );
    Ok(())
}

/// Evaluates the sender for short delays beside the other one: made for its own kind, and made
/// together.
fn diversity(setting: &Setting, results: &Results, findings: &mut Findings) -> Result<(), String> {
    let own = own_kind(setting);
    let queue = |short: &str| means(&own, &own.senders(short, results), false).1;
    for (short, _) in PAIRS {
        findings.measure(format!("pair.{short}.alone.queue"), queue(short));
    }
    let (minded, other) =
        if queue("tree1") <= queue("tree2") { ("tree1", "tree2") } else { ("tree2", "tree1") };
    let pairs = tables(setting, &PAIRS);
    let text = |name: &str| pairs.iter().find(|(short, _)| short == name).map(|pair| &pair.1);
    let mut of = |name: &str, first: &str, second: &str| -> Result<(f64, f64), String> {
        let Some(text) = text(second) else { return Ok((f64::NAN, f64::NAN)) };
        let runs = beside(own_kind(setting), second, text)?;
        let senders = runs.senders(first, results);
        let (rate, queue) = means(&runs, &senders, false);
        let (other, _) = means(&runs, &senders, true);
        findings.measure(format!("pair.{name}.throughput"), rate);
        findings.measure(format!("pair.{name}.queue"), queue);
        findings.measure(format!("pair.{name}.other"), other);
        Ok((rate, queue))
    };
    let naive = of("naive", "short", "fast")?;
    let together = of("together", minded, other)?;
    findings.measure("pair.delay.throughput", together.0 / naive.0);
    findings.measure("pair.delay.queue", together.1 / naive.1);
    Ok(())
}
