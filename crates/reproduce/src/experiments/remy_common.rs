//! Shared by the experiments about Remy: networks as tasks, tables as schemes, medians.

use paceline_cc::Span;
use paceline_remy::score::{self, SenderFigures};
use paceline_remy::{Network, PACKET};
use paceline_sim::FlowSums;
use paceline_sim::metrics;
use paceline_sim::scenario::{Capacity, Scenario, SchemeChoice};

use super::common::mean;
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

/// Returns the schemes of all tables that are available or have a replacement; `files` are short
/// names and files.
pub(super) fn tables(setting: &Setting, files: &[(&str, &str)]) -> Vec<Scheme> {
    let scheme = |(short, file): &(&str, &str)| {
        Some(((*short).to_string(), setting.tables.source(file)?.scheme()?))
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
        match setting.tables.source(file) {
            Some(source) => {
                let stand_in = source.stand_in().map(|name| ((*file).to_string(), name));
                findings.stand_ins.extend(stand_in);
            }
            None => findings.missing.push((*file).to_string()),
        }
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

/// Returns the median; NaN if there are no values.
pub(super) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    metrics::median(values).unwrap_or(f64::NAN)
}

/// Returns the standard deviation of the values alone, not as a sample: the root of the mean squared distance from
/// their mean.
pub(super) fn deviation(values: &[f64]) -> f64 {
    let middle = mean(values.iter().copied());
    mean(values.iter().map(|value| (value - middle).powi(2))).sqrt()
}
