//! The fit of the parameters: a random descent on the distance between the averaged statistics of
//! many synthetic traces and the target. It tests nothing; run it with `REFIT=lte-driving cargo
//! test --release -p paceline-trace refit::refit -- --ignored --nocapture`.
#![allow(clippy::print_stdout)]

use super::model::Model;
use super::processes::Randomness;
use super::table::{ENTRIES, Entry};
use crate::{Stats, Trace};
use paceline_cc::Stream;

const FIRST_SEED: u64 = 1000;

/// Returns statistics averaged over seeds, each trace as long as the target; outages by their
/// logarithm.
pub(super) fn average(entry: &Entry, model: &Model, seeds: std::ops::Range<u64>) -> [f64; 15] {
    let length = (entry.target.stats.length_s * 1e3) as u32;
    let n = (seeds.end - seeds.start) as f64;
    let mut sums = [0.0; 15];
    for seed in seeds {
        let random = Randomness::new(entry.name, seed, entry.take);
        let entries = model.generate(entry.name, random, length).expect("short enough");
        let stats = Stats::of(&Trace::new(entry.name, entries).expect("valid"));
        for (sum, (name, value)) in sums.iter_mut().zip(stats.columns()) {
            *sum += if name == "longest_outage_s" { libm::log(value) } else { value };
        }
    }
    for (sum, (name, _)) in sums.iter_mut().zip(entry.target.stats.columns()) {
        *sum /= n;
        if name == "longest_outage_s" {
            *sum = libm::exp(*sum);
        }
    }
    sums
}

/// Returns seeds for about an hour of a slow link or a quarter of an hour of a fast one.
pub(super) fn seeds(entry: &Entry) -> u64 {
    let seconds = if entry.target.stats.mean_mbps > 50.0 { 1000.0 } else { 4000.0 };
    (seconds / entry.target.stats.length_s) as u64 + 2
}

fn distance(entry: &Entry, model: &Model) -> f64 {
    let got = average(entry, model, FIRST_SEED..FIRST_SEED + seeds(entry));
    let mean = entry.target.stats.mean_mbps;
    // Among equally good models, prefers those with a smooth marginal distribution.
    let steps = [0, 1, 2, 3].map(|i| model.knots[i + 1] - model.knots[i]);
    let slopes =
        [steps[0] / 0.971, steps[1] / 0.674, steps[2] / 0.674, steps[3] / 0.971, model.tail];
    let smooth = |pair: &[f64]| libm::log((pair[1] + 0.1 * mean) / (pair[0] + 0.1 * mean));
    let mut sum = slopes.windows(2).map(|pair| 2.0 * smooth(pair) * smooth(pair)).sum::<f64>();
    for (got, (name, want)) in got.into_iter().zip(entry.target.stats.columns()) {
        let ratio = |floor: f64| libm::log((got + floor) / (want + floor));
        let off = match name {
            "mean_mbps" => ratio(0.0) / 0.03,
            "cv100" => ratio(0.0) / 0.05,
            "p5_mbps" | "p50_mbps" | "p95_mbps" => (got - want) / mean / 0.06,
            "longest_outage_s" => ratio(0.0) / 0.4,
            "frac_zero_100ms" => ratio(0.002) / 0.15,
            "max_opps_in_1ms" => ratio(0.0) / 0.6,
            "acf_100ms_lag1s" | "acf_1s_lag1" => (got - want) / 0.04,
            "p99_gap_ms" => ratio(0.0) / 0.2,
            _ => 0.0,
        };
        sum += off * off;
    }
    sum
}

/// Returns this model with small changes of a few parameters.
fn neighbour(model: &Model, mean: f64, size: f64, random: &mut Stream) -> Model {
    let mut near = *model;
    let mut scale = |x: &mut f64, low: f64, high: f64| {
        let factor = libm::exp(size * random.normal());
        if random.chance(0.4) {
            *x = (*x * factor).clamp(low, high);
        }
    };
    scale(&mut near.tail, 0.01, 1e3);
    scale(&mut near.slow_s, 0.5, 100.0);
    scale(&mut near.fast_s, 0.02, 1.0);
    scale(&mut near.outage_every_s, 2.0, 500.0);
    scale(&mut near.outage_min_s, 0.05, 1.0);
    scale(&mut near.outage_max_s, 0.1, 30.0);
    scale(&mut near.outage_shape, 0.5, 4.0);
    let mut odds = near.slow / (1.0 - near.slow);
    scale(&mut odds, 0.01, 99.0);
    near.slow = odds / (1.0 + odds);
    let mut odds = near.even / (1.0 - near.even);
    scale(&mut odds, 0.01, 99.0);
    near.even = odds / (1.0 + odds);
    let mut extra = near.batch - 1.0;
    scale(&mut extra, 0.01, 30.0);
    near.batch = 1.0 + extra;
    for knot in &mut near.knots {
        if random.chance(0.4) {
            *knot += mean * size * 0.5 * random.normal();
        }
    }
    near.knots.sort_by(f64::total_cmp);
    near
}

#[test]
#[ignore = "prints parameters, tests nothing"]
fn refit() {
    let wanted = std::env::var("REFIT").unwrap_or_default();
    let rounds: u32 = std::env::var("ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(500);
    let mut random = Stream::new(1, "refit");
    for entry in ENTRIES.iter().filter(|entry| wanted.is_empty() || entry.name == wanted) {
        let mut best = entry.model;
        let mut least = distance(entry, &best);
        let mut size = 0.3;
        for _ in 0..rounds {
            let near = neighbour(&best, entry.target.stats.mean_mbps, size, &mut random);
            let off = distance(entry, &near);
            if off < least {
                (best, least) = (near, off);
                size *= 1.3;
            } else {
                size = f64::max(size * 0.97, 0.02);
            }
        }
        println!("{} distance {least:.2}\n{best:?}", entry.name);
        let got = average(entry, &best, 1..1 + seeds(entry));
        for (got, (name, want)) in got.into_iter().zip(entry.target.stats.columns()) {
            println!("  {name:18} {got:10.4} {want:10.4}");
        }
    }
}

/// Finds for each name the first variation of the streams with which the default seed and length
/// give a trace near the target.
#[test]
#[ignore = "prints parameters, tests nothing"]
fn choose_take() {
    for entry in ENTRIES {
        let want = entry.target.stats;
        let off = |take: u32| {
            let random = Randomness::new(entry.name, super::DEFAULT_SEED, take);
            let entries = entry.model.generate(entry.name, random, entry.default_s as u32 * 1000);
            let got = Stats::of(&Trace::new(entry.name, entries.expect("short")).expect("valid"));
            let ratio = |got: f64, want: f64, floor| libm::log((got + floor) / (want + floor));
            [
                ratio(got.mean_mbps, want.mean_mbps, 0.0) / 0.05,
                ratio(got.cv100, want.cv100, 0.0) / 0.08,
                (got.acf_100ms_lag1s - want.acf_100ms_lag1s) / 0.06,
                ratio(got.frac_zero_100ms, want.frac_zero_100ms, 0.002) / 0.4,
                ratio(got.longest_outage_s, want.longest_outage_s, 0.0) / 0.7,
            ]
            .map(f64::abs)
            .into_iter()
            .fold(0.0, f64::max)
        };
        let best = (0..60).find(|&take| off(take) < 1.0);
        let best = best.or_else(|| (0..60).min_by(|&a, &b| off(a).total_cmp(&off(b)))).unwrap_or(0);
        println!("take {} {best} off {:.2}", entry.name, off(best));
    }
}
