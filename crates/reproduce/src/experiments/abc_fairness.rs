//! Random variation of the shares of ABC flows that come and go (Fig. 3 of the ABC paper): other
//! seeds, other start times, and goodput over longer times.

use paceline_cc::{Rate, Span};
use paceline_sim::metrics::jain;
use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, Scenario};

use super::common::{least, range, scheme, with_series};
use crate::findings::Findings;
use crate::setting::Setting;
use paceline_tasks::Record;
use paceline_tasks::Results;
use paceline_tasks::Task;

/// Seconds between arrivals and departures.
pub(super) const PHASE: u64 = 25;
/// Seconds left out at the beginning of each phase.
const LEFT_OUT: u64 = 10;

/// Five flows that start one by one, `phase` seconds apart, and stop one by one.
pub(super) fn come_and_go(text: &str, phase: u64) -> Result<Scenario, String> {
    let mut scenario = Scenario::new("come and go");
    scenario.duration = Span::from_secs(10 * phase);
    scenario.links.push(LinkSpec::new("link", Capacity::Constant(Rate::from_mbps(24.0))));
    let mut flow = FlowSpec::bulk(scheme(text)?, &["link"]);
    flow.name = "flow".into();
    flow.count = 5;
    flow.stagger = Span::from_secs(phase);
    flow.stop = Some(scenario.duration);
    flow.stagger_stop = Span::from_secs(phase);
    scenario.flows.push(flow);
    Ok(with_series(scenario, 1000))
}

/// Returns the lowest Jain's index of the phases, without the first 10 s of each.
pub(super) fn worst_phase(record: &Record, phase: u64) -> f64 {
    let flows: Vec<Vec<f64>> =
        (1..=5).map(|i| record.series(&format!("flow.flow-{i}.goodput"))).collect();
    let index = |number: usize| {
        let begin = number * phase as usize;
        let (from, to) = (begin + LEFT_OUT as usize, begin + phase as usize);
        // Flows start in order and stop in reverse order.
        let active = (number + 1).min(10 - number).min(5);
        let shares: Vec<f64> = flows
            .iter()
            .take(active)
            .map(|values| values.iter().take(to).skip(from).sum())
            .collect();
        jain(&shares)
    };
    least((0..9).map(index))
}

/// A row of the sweep.
struct FairnessRow {
    /// Prefix of the measures' names.
    key: &'static str,
    title: &'static str,
    phase: u64,
    runs: u64,
    /// Whether flows have no handshakes, no processing times at hosts and no seeds. Then runs
    /// differ by the start of the first flow, 50 ms later each.
    lockstep: bool,
}

const ROWS: [FairnessRow; 5] = [
    FairnessRow {
        key: "15s",
        title: "15 s, as the claim",
        phase: PHASE,
        runs: 20,
        lockstep: false,
    },
    FairnessRow {
        key: "lockstep",
        title: "15 s, flows in lockstep",
        phase: PHASE,
        runs: 20,
        lockstep: true,
    },
    FairnessRow { key: "65s", title: "65 s", phase: 75, runs: 10, lockstep: false },
    FairnessRow { key: "140s", title: "140 s", phase: 150, runs: 6, lockstep: false },
    FairnessRow { key: "290s", title: "290 s", phase: 300, runs: 4, lockstep: false },
];

fn rows(setting: &Setting) -> Vec<FairnessRow> {
    let short =
        |row: FairnessRow| FairnessRow { runs: if setting.quick { 2 } else { row.runs }, ..row };
    setting.some(ROWS.into_iter().map(short).collect(), 2)
}

fn name(row: &FairnessRow, run: u64) -> String {
    format!("come and go: {}, run {run}", row.key)
}

pub(super) fn plan(setting: &Setting) -> Result<Vec<Task>, String> {
    let mut tasks = Vec::new();
    for row in rows(setting) {
        for run in 0..row.runs {
            let mut scenario = come_and_go("abc", row.phase)?;
            if row.lockstep {
                scenario.host_jitter = Some(Span::ZERO);
                scenario.flows[0].handshake = false;
                scenario.flows[0].start = Span::from_millis(50 * run);
            }
            scenario.seed = setting.seed + run;
            tasks.push(Task::scenario(name(&row, run), scenario));
        }
    }
    Ok(tasks)
}

pub(super) fn find(setting: &Setting, results: &Results, findings: &mut Findings) {
    let mut table = Vec::new();
    for row in rows(setting) {
        let worst = |run| worst_phase(results.get(&name(&row, run)), row.phase);
        let values: Vec<f64> = (0..row.runs).map(worst).collect();
        let [low, middle, high] = range(findings, &format!("fair.{}", row.key), &values);
        let figures = [middle, low, high].map(|value| format!("{value:.3}"));
        table.push([vec![row.title.to_string(), row.runs.to_string()], figures.to_vec()].concat());
    }
    findings.sweep(
        "ABC's fairness by chance",
        "Five ABC flows come and go as in Fig. 3: the worst of Jain's indices over nine phases, by the \
         time over which each phase's goodputs are taken, after its first 10 s. Runs differ by their \
         seeds; those in lockstep (no handshakes, no processing times at hosts) by when the first flow \
         starts, 0 to 950 ms. The paper shows one run and gives no number.",
        &["goodput over", "runs", "median", "lowest", "highest"],
        table,
    );
}
