//! Two bottlenecks modelled as one (Figs 4-2 and 4-3 of Winstein's thesis).

use paceline_cc::{Rate, Span};
use paceline_remy::Network;
use paceline_sim::flow::{Amount, On};
use paceline_sim::path::BufferSize;
use paceline_sim::scenario::Capacity;

use super::Experiment;
use super::remy_common::{Runs, SFQCODEL, Scheme, and_designed, mbps, mean, note_missing, tables};
use crate::findings::Findings;
use crate::setting::Setting;
use paceline_tasks::Results;
use paceline_tasks::Task;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "remy-structure",
    title: "Remy: two bottlenecks",
    about: "A parking lot of two links of 10, 32 or 100 Mbit/s with 75 ms behind each; three flows: \
            over both, over the first, over the second.",
    plan,
    find,
};

const TABLES: [(&str, &str); 2] = [
    ("one", "fig6-topology__bigbertha-10x.dna.4"),
    ("true", "fig6-topology__multilink-take2.dna.2"),
];
const RATES: [f64; 3] = [10.0, 31.6, 100.0];

fn schemes(setting: &Setting) -> Vec<Scheme> {
    and_designed(tables(setting, &TABLES), &[("sfqcodel", SFQCODEL)])
}

/// Returns the runs of each pair of rates.
fn pairs(setting: &Setting) -> Vec<Runs> {
    let of = |first: f64, second: f64| {
        let rate = Rate::from_mbps;
        let network = Network::new(rate(first), Span::from_millis(150)).with(|network| {
            network.second = Some(Capacity::Constant(rate(second)));
            network.senders = 3;
            network.on = On::Time(Amount::Exponential(1.0));
            network.off = Amount::Exponential(1.0);
            network.buffer = BufferSize::Bdp(5.0);
        });
        let (duration, seed) = (setting.length(30, 10), setting.seed);
        let count = if setting.quick { 1 } else { 4 };
        Runs { name: format!("{first} and {second} Mbit/s"), network, duration, count, seed }
    };
    RATES.iter().flat_map(|&first| RATES.map(|second| of(first, second))).collect()
}

fn plan(setting: &Setting) -> Result<Vec<Task>, String> {
    let schemes = schemes(setting);
    let tasks: Result<Vec<_>, String> =
        pairs(setting).iter().map(|runs| runs.tasks_of(&schemes)).collect();
    Ok(tasks?.into_iter().flatten().collect())
}

fn find(setting: &Setting, results: &Results) -> Result<Findings, String> {
    let mut findings = Findings::default();
    note_missing(setting, &TABLES, &mut findings);
    // Mean rate of the flow over both links, which is the first.
    let flow_1 = |runs: &Runs, short: &str| {
        let rate = |run: u64| {
            let senders = runs.senders_of(short, run, results);
            senders.first().filter(|sender| sender.on_s > 0.0).map(mbps)
        };
        mean((0..runs.count).filter_map(rate))
    };
    let mut rows = Vec::new();
    let (mut to_true, mut to_cubic) = (Vec::new(), Vec::new());
    for runs in pairs(setting) {
        let [one, full, cubic] = ["one", "true", "sfqcodel"].map(|short| flow_1(&runs, short));
        to_true.push(one / full);
        to_cubic.push(one / cubic);
        let rates = [one, full, cubic].map(|rate| format!("{rate:.2}"));
        rows.push(std::iter::once(runs.name.clone()).chain(rates).collect());
    }
    findings.measure("one/true.throughput", mean(to_true));
    findings.measure("one/sfqcodel.throughput", mean(to_cubic));
    findings.sweep(
        "Remy: the flow over two bottlenecks",
        "Throughput while on, in Mbit/s, of the flow over both links: of the RemyCC made for one \
         bottleneck, of the one made for two, and of Cubic over sfqCoDel (Fig. 4-3 of Winstein's \
         thesis).",
        &["links", "made for one", "made for two", "Cubic over sfqCoDel"],
        rows,
    );
    Ok(findings)
}
