//! Shared by the experiments about Remy: networks as tasks, tables as schemes, medians.

use std::path::PathBuf;

use paceline_cc::Span;
use paceline_remy::score::{self, SenderFigures};
use paceline_remy::studies::{TrainedTable, trained_for};
use paceline_remy::{Network, PACKET};
use paceline_sim::FlowSums;
use paceline_sim::scenario::{Capacity, Scenario, SchemeChoice};

use crate::findings::Findings;
use crate::setting::Setting;
use paceline_tasks::Record;
use paceline_tasks::Results;
use paceline_tasks::Task;

/// RemyCCs for general-purpose networks: short names and files.
pub(super) const GENERAL: [(&str, &str); 3] = [
    ("d0.1", "RemyCC-2013-delta0.1.dna"),
    ("d1", "RemyCC-2013-delta1.dna"),
    ("d10", "RemyCC-2013-delta10.dna"),
];

/// Schemes that people have designed. TCPs begin with two packets, as in ns-2.35, in which the
/// thesis ran them.
pub(super) const DESIGNED: [(&str, &str); 6] = [
    ("newreno", "newreno[initial_window=2]"),
    ("compound", "compound[initial_window=2]"),
    ("cubic", "cubic[initial_window=2]"),
    ("vegas", "vegas[diff=paper,initial_window=2]"),
    ("sfqcodel", SFQCODEL),
    ("xcp", "xcp[initial_window=2]"),
];

/// Cubic over stochastic fair queueing with CoDel.
pub(super) const SFQCODEL: &str = "cubic[initial_window=2]+sfq_codel";

/// Short name of a scheme, and its specification.
pub(super) type Scheme = (String, String);

/// Files of published tables, and the built-in tables that replace missing ones: trained with
/// Paceline for those networks and that objective.
const STAND_INS: [(&str, &str); 8] = [
    ("RemyCC-2013-delta0.1.dna", "general-delta0.1"),
    ("RemyCC-2013-delta1.dna", "general-delta1"),
    ("RemyCC-2013-delta10.dna", "general-delta10"),
    ("RemyCC-2013-datacenter.dna", "data-centre"),
    ("fig9-diversity__delta-0.1.dna.5", "aims-throughput"),
    ("fig9-diversity__delta-10.0.dna.5", "aims-delay"),
    ("fig9-diversity__coexistencev2.dna.3.whiskertree1", "aims-together-throughput"),
    ("fig9-diversity__coexistencev2.dna.3.whiskertree2", "aims-together-delay"),
];

/// Tables that were never published, for which claims expect the output of `paceline remy train`:
/// the files' names, and the built-in tables that are this output.
const TRAINED: [(&str, &str); 4] = [
    ("signals-all.toml", "signals-all"),
    ("signals-no-send_ewma.toml", "signals-no-send_ewma"),
    ("signals-no-rec_ewma.toml", "signals-no-rec_ewma"),
    ("signals-no-rtt_ratio.toml", "signals-no-rtt_ratio"),
];

/// Returns the built-in table for a file in a list.
fn built_in(list: &[(&str, &'static str)], file: &str) -> Option<&'static str> {
    list.iter().find(|(known, _)| *known == file).map(|(_, name)| *name)
}

/// Where a claim finds a table.
enum Source {
    /// The file that the claim is about: published, or the output of `paceline remy train`.
    Given(PathBuf),
    /// The built-in table that is the output of `paceline remy train`.
    BuiltIn(&'static str),
    /// A table of `paceline remy studies` for the same networks.
    Trained(TrainedTable),
    /// A built-in table for the same networks and the same objective.
    StandIn(&'static str),
}

impl Source {
    fn of(setting: &Setting, file: &str) -> Option<Source> {
        if let Some(path) = setting.table(file) {
            return Some(Source::Given(path));
        }
        if let Some(trained) = setting.tables.as_deref().and_then(|base| trained_for(base, file)) {
            return Some(Source::Trained(trained));
        }
        let built_in_output = built_in(&TRAINED, file).map(Source::BuiltIn);
        built_in_output.or_else(|| built_in(&STAND_INS, file).map(Source::StandIn))
    }

    fn scheme(&self) -> Option<String> {
        Some(match self {
            Source::Given(path) | Source::Trained(TrainedTable { path, .. }) => {
                format!("remy[file={}]", path.to_str()?)
            }
            Source::BuiltIn(name) | Source::StandIn(name) => format!("remy[table={name}]"),
        })
    }
}

/// Returns the schemes of all tables that are available or have a replacement; `files` are short
/// names and files.
pub(super) fn tables(setting: &Setting, files: &[(&str, &str)]) -> Vec<Scheme> {
    let scheme = |(short, file): &(&str, &str)| {
        Some(((*short).to_string(), Source::of(setting, file)?.scheme()?))
    };
    files.iter().filter_map(scheme).collect()
}

/// Adds other schemes, which are always available, to those of tables.
pub(super) fn and_designed(mut tables: Vec<Scheme>, others: &[(&str, &str)]) -> Vec<Scheme> {
    tables.extend(others.iter().map(|(short, text)| ((*short).into(), (*text).into())));
    tables
}

/// Records the tables that are missing, and those used in their place.
pub(super) fn note_missing(setting: &Setting, files: &[(&str, &str)], findings: &mut Findings) {
    for (_, file) in files {
        let name = match Source::of(setting, file) {
            Some(Source::Given(_) | Source::BuiltIn(_)) => continue,
            // The claim asks for a training of this kind, not for a published table.
            Some(Source::Trained(_)) if built_in(&TRAINED, file).is_some() => continue,
            Some(Source::Trained(trained)) => trained.name,
            Some(Source::StandIn(name)) => name.to_string(),
            None => {
                findings.missing.push((*file).to_string());
                continue;
            }
        };
        findings.stand_ins.push(((*file).to_string(), name));
    }
}

/// Parses a scheme, which may have a table from a file.
pub(super) fn choice(text: &str) -> Result<SchemeChoice, String> {
    let spec = paceline_remy::names().check_scheme(text);
    Ok(spec.map_err(|error| format!("{text}: {error}"))?.into())
}

/// Runs of senders on a network.
#[derive(Clone, Debug)]
pub(super) struct Runs {
    /// Name of the runs.
    pub(super) name: String,
    /// Network of the runs.
    pub(super) network: Network,
    /// Length of a run.
    pub(super) duration: Span,
    /// Number of runs, each with its own seed.
    pub(super) count: u64,
    /// Seed of the first run.
    pub(super) seed: u64,
}

impl Runs {
    fn task_name(&self, short: &str, run: u64) -> String {
        format!("{short}, {}, run {}", self.name, run + 1)
    }

    /// Returns the tasks of a scheme.
    pub(super) fn tasks(&self, short: &str, text: &str) -> Result<Vec<Task>, String> {
        self.changed_tasks(short, text, |_| ())
    }

    /// Returns the tasks of a scheme, with `change` applied to each scenario.
    pub(super) fn changed_tasks(
        &self,
        short: &str,
        text: &str,
        change: impl Fn(&mut Scenario),
    ) -> Result<Vec<Task>, String> {
        let scheme = choice(text)?;
        let task = |run| {
            let mut scenario =
                self.network.scenario(scheme.clone(), self.duration, self.seed + run);
            change(&mut scenario);
            Task::scenario(self.task_name(short, run), scenario)
        };
        Ok((0..self.count).map(task).collect())
    }

    /// Returns the tasks of several schemes.
    pub(super) fn tasks_of(&self, schemes: &[Scheme]) -> Result<Vec<Task>, String> {
        let each = schemes.iter().map(|(short, text)| self.tasks(short, text));
        Ok(each.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }

    /// Returns the figures of each sender in all runs; empty if a run failed.
    pub(super) fn senders(&self, short: &str, results: &Results) -> Vec<SenderFigures> {
        let of = |run| self.senders_of(short, run, results);
        (0..self.count).flat_map(of).filter(|sender| sender.on_s > 0.0).collect()
    }

    /// Returns the figures of each sender in one run, including senders that were never on.
    pub(super) fn senders_of(
        &self,
        short: &str,
        run: u64,
        results: &Results,
    ) -> Vec<SenderFigures> {
        let sums = sums(results.get(&self.task_name(short, run))).into_iter();
        score::figures(&self.network, self.duration, self.seed + run, sums)
    }

    /// Returns the mean over the runs of a figure in their records.
    pub(super) fn over_runs(
        &self,
        short: &str,
        results: &Results,
        figure: impl Fn(&Record) -> f64,
    ) -> f64 {
        mean((0..self.count).map(|run| figure(results.get(&self.task_name(short, run)))))
    }

    /// Returns the delay of an idle path in ms: propagation, and on links of constant rate a
    /// packet's transmission.
    pub(super) fn idle_ms(&self) -> f64 {
        let packet = match self.network.link {
            Capacity::Constant(rate) => rate.time_for(u64::from(PACKET)).as_millis_f64(),
            _ => 0.0,
        };
        self.network.rtt.as_millis_f64() + packet
    }

    /// Returns the mean score of senders: log2 of throughput over the link's rate, minus log2 of
    /// the delay over the RTT.
    pub(super) fn score(&self, senders: &[SenderFigures]) -> f64 {
        let Ok(rate) = self.network.packets_per_ms(self.duration) else { return f64::NAN };
        let rtt = self.network.rtt.as_millis_f64();
        mean(senders.iter().map(|sender| sender.utility(rate, rtt, 1.0)))
    }
}

/// Returns the sums of each flow in a record.
pub(super) fn sums(record: &Record) -> Vec<FlowSums> {
    let series = |name: &str| record.series(&format!("sums.{name}"));
    let (bytes, packets) = (series("bytes"), series("packets"));
    let (delay, on) = (series("delay"), series("on"));
    let flows = bytes.into_iter().zip(packets).zip(delay.into_iter().zip(on));
    let sums = |((bytes, packets), (delay, on)): ((f64, f64), (f64, f64))| {
        let mut sums = FlowSums::default();
        (sums.bytes, sums.packets) = (bytes as u64, packets as u64);
        (sums.delay_s, sums.on_s) = (delay, on);
        sums
    };
    flows.map(sums).collect()
}

/// Factor from packets per millisecond to Mbit/s.
pub(super) const MBPS: f64 = PACKET as f64 * 8.0 / 1e3;

/// Returns the throughput while on, in Mbit/s.
pub(super) fn mbps(sender: &SenderFigures) -> f64 {
    sender.raw_throughput() * MBPS
}

/// Returns the mean; NaN if there are no values.
pub(super) fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    super::common::mean(values)
}

/// Returns the median; NaN if there are no values.
pub(super) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let middle = |at: usize| values.get(at).copied().unwrap_or(f64::NAN);
    (middle(values.len() / 2) + middle(values.len().saturating_sub(1) / 2)) / 2.0
}

/// Returns the standard deviation.
pub(super) fn deviation(values: &[f64]) -> f64 {
    let middle = mean(values.iter().copied());
    mean(values.iter().map(|value| (value - middle).powi(2))).sqrt()
}
