//! Two bottlenecks modelled as one (Figs 4-2 and 4-3 of Winstein's thesis).

use paceline_cc::{Rate, Span};
use paceline_flow::{Amount, On};
use paceline_path::BufferSize;
use paceline_remy::Network;
use paceline_sim::scenario::Capacity;

use super::Experiment;
use super::common::mean;
use super::remy_common::{Runs, SFQCODEL, Scheme, and_designed, mbps, note_missing, tables};
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
    fairness(setting, results, &mut findings);
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

/// Returns the proportionally fair rate of a flow over two links with these capacities, beside a flow
/// over each link that is there: the one that maximises the sum of the rates' logarithms.
fn fair_share(first: f64, second: f64, beside: [bool; 2]) -> f64 {
    let rest = |rate: f64, at: usize| if at == 0 { first - rate } else { second - rate };
    // The derivative of the sum: 1/x - 1/(C1 - x) - 1/(C2 - x), which falls with x.
    let slope = |rate: f64| {
        let prices = (0..2).filter(|at| beside[*at]).map(|at| 1.0 / rest(rate, at));
        1.0 / rate - prices.sum::<f64>()
    };
    let (mut low, mut high) = (0.0, first.min(second));
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if slope(middle) > 0.0 { low = middle } else { high = middle }
    }
    low
}

/// Returns the mean of the fair rate over the states of the two other flows, each of which is on half
/// of the time.
fn ideal(first: f64, second: f64) -> f64 {
    let states = [[false, false], [false, true], [true, false], [true, true]];
    mean(states.map(|beside| fair_share(first, second, beside)))
}

/// Adds how far the flow over both links is from its ideal, and the flows over one link by scheme.
fn fairness(setting: &Setting, results: &Results, findings: &mut Findings) {
    let rates = |runs: &Runs, short: &str, at: &[usize]| {
        let each = (0..runs.count).flat_map(|run| {
            let senders = runs.senders_of(short, run, results);
            at.iter()
                .filter_map(|at| senders.get(*at).filter(|one| one.on_s > 0.0).map(mbps))
                .collect::<Vec<_>>()
        });
        mean(each)
    };
    let ends = RATES.iter().flat_map(|first| RATES.map(|second| (*first, second)));
    let pairs: Vec<(Runs, f64)> =
        pairs(setting).into_iter().zip(ends.map(|(first, second)| ideal(first, second))).collect();
    for short in ["one", "true", "sfqcodel"] {
        let distance = |(runs, ideal): &(Runs, f64)| (rates(runs, short, &[0]) / ideal - 1.0).abs();
        findings.measure(format!("ideal.{short}.distance"), mean(pairs.iter().map(distance)));
        let share = |(runs, ideal): &(Runs, f64)| rates(runs, short, &[0]) / ideal;
        findings.measure(format!("ideal.{short}.share"), mean(pairs.iter().map(share)));
    }
    for short in ["one", "sfqcodel"] {
        let ratio =
            |(runs, _): &(Runs, f64)| rates(runs, short, &[1, 2]) / rates(runs, "true", &[1, 2]);
        findings.measure(format!("single.{short}/true"), mean(pairs.iter().map(ratio)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_over_two_equal_links_has_a_third() {
        let near = |rate: f64, wanted: f64| (rate - wanted).abs() < 1e-6;
        assert!(near(fair_share(30.0, 30.0, [true, true]), 10.0));
        assert!(near(fair_share(30.0, 30.0, [true, false]), 15.0));
        // The faster link's flow leaves it all of the slower one's half.
        assert!(near(fair_share(10.0, 100.0, [true, false]), 5.0));
        assert!(near(fair_share(100.0, 10.0, [true, false]), 10.0));
        assert!(near(fair_share(10.0, 100.0, [false, false]), 10.0));
        assert!(near(ideal(30.0, 30.0), (30.0 + 15.0 + 15.0 + 10.0) / 4.0));
    }
}
