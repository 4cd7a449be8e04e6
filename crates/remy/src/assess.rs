//! `paceline remy eval --on`: scores of tables and schemes on the networks of a specification, over
//! several seeds. All of them run on the same networks with the same on- and off-periods, so that
//! their differences are more certain than their scores.

use paceline_cc::Span;
use paceline_sim::BuildError;
use paceline_sim::metrics::{mean, sample_variance, student_t_975};
use rayon::prelude::*;
use serde::Serialize;

use crate::PACKET;
use crate::clock::CpuClock;
use crate::evaluate::{Contender, Trial};
use crate::score::SenderFigures;
use crate::spec::{Objective, Specification, Specimen};

/// A mean over seeds, with its confidence interval.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half-width of the 95 % confidence interval of the mean (Student's t, which assumes that the
    /// values of the seeds are normally distributed); `None` with one seed.
    pub ci95: Option<f64>,
}

impl Estimate {
    /// Computes the estimate from one value per seed.
    pub fn of(figures: &[f64]) -> Estimate {
        let count = figures.len() as f64;
        let mean = mean(figures.iter().copied()).unwrap_or(0.0);
        let ci95 = student_t_975(figures.len())
            .zip(sample_variance(figures))
            .map(|(t, variance)| t * (variance / count).sqrt());
        Estimate { mean, ci95 }
    }
}

/// Results of a table or scheme on one network of a specification: means over its senders and over
/// seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SpecimenRow {
    /// Mean utility of its senders.
    pub score: Estimate,
    /// Packets divided by a sender's equal share of the time, in Mbit/s. For senders that do not
    /// switch on and off by time, packets divided by the time that they were on.
    pub throughput_mbps: f64,
    /// Packets divided by the time that a sender was on, in Mbit/s.
    pub raw_throughput_mbps: f64,
    /// Mean time from sending a packet to its arrival, in milliseconds.
    pub delay_ms: f64,
}

/// A sender that was on and none of whose packets arrived: [`SenderFigures::is_starved`].
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StarvedSender {
    /// Seed of the run.
    pub seed: u64,
    /// Index of the network among those of the seed; zero if there is only one.
    pub network: usize,
    /// Index of the sender in the network.
    pub sender: usize,
}

impl StarvedSender {
    /// Returns the starved senders of a run.
    pub(crate) fn of(
        senders: &[SenderFigures],
        seed: u64,
        network: usize,
    ) -> impl Iterator<Item = StarvedSender> {
        let starved = senders.iter().enumerate().filter(|(_, one)| !one.other && one.is_starved());
        starved.map(move |(sender, _)| StarvedSender { seed, network, sender })
    }
}

/// The network with the lowest score of a table or scheme.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct WorstNetwork {
    /// Seed of the run.
    pub seed: u64,
    /// Index among the networks of the seed.
    pub network: usize,
    /// The network in words.
    pub description: String,
    /// Mean utility of its senders.
    pub network_score: f64,
}

/// Share of the networks that [`Assessment::worst_quarter`] averages.
const WORST: f64 = 0.25;

/// Results of a table or scheme on a specification.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Assessment {
    /// The table or scheme.
    pub table: String,
    /// Sum over the networks of their senders' mean utility, with throughput in packets per
    /// millisecond and delay in units of 100 ms. The trainer maximizes it.
    pub score: Estimate,
    /// `score` divided by the number of networks.
    pub score_per_network: Estimate,
    /// Mean score of the quarter of the networks with the lowest scores.
    pub worst_quarter: Estimate,
    /// The network with the lowest score over all seeds.
    pub worst: Option<WorstNetwork>,
    /// Senders none of whose packets arrived.
    pub starved: Vec<StarvedSender>,
    /// Difference of `score` to the first row's, computed from the differences at equal seeds.
    pub over_first: Estimate,
    /// Mean over the networks of [`SpecimenRow::throughput_mbps`].
    pub throughput_mbps: f64,
    /// Mean over the networks of [`SpecimenRow::delay_ms`].
    pub delay_ms: f64,
    /// Simulated seconds per second of processor time.
    pub simulated_s_per_cpu_s: f64,
    /// Results of each network, in the order of [`Specification::specimens`].
    pub specimens: Vec<SpecimenRow>,
    #[serde(skip)]
    totals: Vec<f64>,
}

/// The results of one seed.
struct Run {
    trial: Trial,
    score: f64,
    cpu_s: f64,
}

/// Runs a table or scheme on the networks of a specification, once per seed. `first` is the row to
/// compare with, if there is one.
///
/// # Errors
/// If a network cannot be built.
pub fn assess(
    name: &str,
    contender: &Contender,
    specification: &Specification,
    seeds: &[u64],
    first: Option<&Assessment>,
) -> Result<Assessment, BuildError> {
    let networks: Vec<Vec<Specimen>> =
        seeds.iter().map(|&seed| specification.specimens(seed)).collect();
    let run = |specimen: &Specimen| {
        let start = CpuClock::start();
        let senders = contender.run(&specimen.network, specimen.duration, specimen.seed)?;
        let trial = Trial { senders, uses: Vec::new() };
        let score = trial.score(&specification.objective);
        Ok(Run { trial, score, cpu_s: start.seconds() })
    };
    let all = |specimens: &Vec<Specimen>| specimens.par_iter().map(run).collect();
    let runs: Vec<Vec<Run>> = networks.par_iter().map(all).collect::<Result<_, BuildError>>()?;
    let count = networks.first().map_or(0, Vec::len);
    let specimens: Vec<SpecimenRow> = (0..count)
        .map(|at| {
            let of = |figure: &dyn Fn(&Run) -> f64| -> Vec<f64> {
                runs.iter().map(|seed| figure(&seed[at])).collect()
            };
            let mean = |figure: fn(&SenderFigures) -> f64| {
                Estimate::of(&of(&|run| run.trial.mean(figure))).mean
            };
            let mbps = f64::from(PACKET) * 8.0 / 1e3;
            SpecimenRow {
                score: Estimate::of(&of(&|run| run.score)),
                throughput_mbps: mbps * mean(SenderFigures::throughput),
                raw_throughput_mbps: mbps * mean(SenderFigures::raw_throughput),
                delay_ms: mean(|sender| sender.delay_ms),
            }
        })
        .collect();
    let total = |seed: &Vec<Run>| {
        let scores: Vec<f64> = seed.iter().map(|run| run.score).collect();
        specification.objective.total(&scores)
    };
    let totals: Vec<f64> = runs.iter().map(total).collect();
    let worst_quarter = |seed: &Vec<Run>| {
        let scores: Vec<f64> = seed.iter().map(|run| run.score).collect();
        let worst = Objective { worst: Some(WORST), ..specification.objective };
        worst.total(&scores) / scores.len().max(1) as f64
    };
    let quarters: Vec<f64> = runs.iter().map(worst_quarter).collect();
    let each_run = || {
        let all = runs.iter().zip(seeds).enumerate();
        all.flat_map(|(at, (runs, &seed))| {
            runs.iter().enumerate().map(move |(network, run)| (at, seed, network, run))
        })
    };
    let starved = each_run()
        .flat_map(|(_, seed, network, run)| StarvedSender::of(&run.trial.senders, seed, network));
    let lowest = each_run().min_by(|one, other| one.3.score.total_cmp(&other.3.score));
    let worst = lowest.map(|(at, seed, network, run)| WorstNetwork {
        seed,
        network,
        description: networks[at][network].network.to_string(),
        network_score: run.score,
    });
    let each: Vec<f64> = totals.iter().map(|total| total / count.max(1) as f64).collect();
    let others = first.map_or(&totals, |first| &first.totals);
    let over: Vec<f64> = totals.iter().zip(others).map(|(own, other)| own - other).collect();
    let over_all = |figure: fn(&SpecimenRow) -> f64| {
        specimens.iter().map(figure).sum::<f64>() / count.max(1) as f64
    };
    let cpu_s: f64 = runs.iter().flatten().map(|run| run.cpu_s).sum();
    let simulated = networks.iter().flatten().map(|specimen| specimen.duration);
    let simulated_s: f64 = simulated.map(Span::as_secs_f64).sum();
    Ok(Assessment {
        table: name.to_string(),
        score: Estimate::of(&totals),
        score_per_network: Estimate::of(&each),
        worst_quarter: Estimate::of(&quarters),
        worst,
        starved: starved.collect(),
        over_first: Estimate::of(&over),
        throughput_mbps: over_all(|row| row.throughput_mbps),
        delay_ms: over_all(|row| row.delay_ms),
        simulated_s_per_cpu_s: simulated_s / cpu_s.max(1e-9),
        specimens,
        totals,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_sim::scenario::SchemeChoice;

    #[test]
    fn intervals_are_students() {
        // The three values have deviation 1, so their mean has 1 / √3; t has two degrees of
        // freedom.
        let estimate = Estimate::of(&[1.0, 2.0, 3.0]);
        assert_eq!(estimate.mean, 2.0);
        assert!(estimate.ci95.is_some_and(|reach| (reach - 4.303 / 3f64.sqrt()).abs() < 1e-9));
        assert_eq!(Estimate::of(&[1.5]), Estimate { mean: 1.5, ci95: None });
    }

    #[test]
    fn a_scheme_is_not_better_than_itself() {
        let mut specification = Specification::general_purpose();
        specification.duration = Span::from_secs(3).into();
        let scheme: SchemeChoice = "newreno".parse().expect("built in");
        let scheme = Contender::from(scheme);
        let first = assess("a", &scheme, &specification, &[1, 2], None).expect("runs");
        let again = assess("a", &scheme, &specification, &[1, 2], Some(&first)).expect("runs");
        assert_eq!(again.over_first, Estimate { mean: 0.0, ci95: Some(0.0) });
        assert_eq!((first.score, first.specimens.len()), (again.score, 36));
        // In 3 s no packet of some senders arrives. They are named, and their network is the worst.
        let worst = first.worst.as_ref().expect("networks");
        assert!(first.worst_quarter.mean < first.score_per_network.mean);
        let of_worst =
            |one: &&StarvedSender| (one.seed, one.network) == (worst.seed, worst.network);
        assert!(first.starved.iter().filter(of_worst).count() > 0, "{worst:?}");
        let sum: f64 = first.specimens.iter().map(|row| row.score.mean).sum();
        // Networks on which no packet arrives within 3 s score about -1e8, so that sums of them
        // have rounding errors.
        assert!((first.score.mean - sum).abs() < 1e-12 * sum.abs());
    }
}
