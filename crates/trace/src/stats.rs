//! Statistics of a trace: fifteen numbers.

use crate::Trace;

/// Statistics of one lap of a trace. Rates count 1500 bytes per opportunity and 10⁶ bits per
/// megabit.
///
/// *Bins.* A bin of 100 ms (or 1 s) contains the opportunities from its start up to, excluding, its
/// end; only whole bins of the lap count, and the last of them includes its end. A lap shorter than
/// a minute is first repeated to at least a minute, for bins and gaps.
///
/// *Deviations* are those of the population, dividing by n. *Percentiles* interpolate linearly
/// between ranks. *Autocorrelation* at lag k is the sum over i of (x_i - m)(x_{i+k} - m) divided by
/// the sum of (x_i - m)²: not corrected for the k missing terms; 0 for a constant.
///
/// *Gaps* are the times between successive opportunities, 0 within a millisecond. The gap from the
/// last of a lap to the first of the next counts only if laps were repeated.
#[derive(Copy, Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// The length of a lap, in seconds.
    pub length_s: f64,
    /// Opportunities in a lap.
    pub opportunities: u64,
    /// The first opportunity, in milliseconds.
    pub first_ms: u32,
    /// Mean rate over the lap, in Mbit/s.
    pub mean_mbps: f64,
    /// Standard deviation of the rate over bins of 100 ms, in Mbit/s.
    pub std100_mbps: f64,
    /// Coefficient of variation: `std100_mbps` divided by the mean over these bins.
    pub cv100: f64,
    /// 5th percentile of the rate over bins of 100 ms, in Mbit/s.
    pub p5_mbps: f64,
    /// Median of the rate over bins of 100 ms, in Mbit/s.
    pub p50_mbps: f64,
    /// 95th percentile of the rate over bins of 100 ms, in Mbit/s.
    pub p95_mbps: f64,
    /// The longest gap, in seconds.
    pub longest_outage_s: f64,
    /// Fraction of bins of 100 ms without any opportunity.
    pub frac_zero_100ms: f64,
    /// Largest number of opportunities in one millisecond.
    pub max_opps_in_1ms: u64,
    /// Autocorrelation of the rate over bins of 100 ms at a lag of ten bins.
    pub acf_100ms_lag1s: f64,
    /// Autocorrelation of the rate over bins of 1 s at a lag of one bin.
    pub acf_1s_lag1: f64,
    /// 99th percentile of the gaps, in milliseconds.
    pub p99_gap_ms: f64,
}

const MBIT: f64 = 0.012; // of one opportunity
const SHORT_MS: u64 = 60_000;

impl Stats {
    /// Returns the statistics of a trace, in O(n log n).
    pub fn of(trace: &Trace) -> Stats {
        let runs = runs(trace.opportunities());
        let period = trace.period().as_nanos() / 1_000_000;
        // A single opportunity is repeated, too, so that there is a gap.
        let laps = SHORT_MS.div_ceil(period).max(if trace.len() == 1 { 2 } else { 1 });
        let all =
            || (0..laps).flat_map(|lap| runs.iter().map(move |&(at, n)| (lap * period + at, n)));
        let seconds = autocorrelation(&bins(all(), laps * period, 1000), 1);
        let gaps = Gaps::of(all());
        let mut hundreds = bins(all(), laps * period, 100);
        let (mean, std) = mean_std(&hundreds);
        let acf_100ms_lag1s = autocorrelation(&hundreds, 10);
        hundreds.sort_unstable();
        let percentile = |p| interpolate(hundreds.len() as u64, p, |i| hundreds[i as usize] as f64);
        let of_100ms = MBIT / 0.1;
        Stats {
            length_s: period as f64 / 1e3,
            opportunities: trace.len() as u64,
            first_ms: trace.opportunities().first().copied().unwrap_or(0),
            mean_mbps: trace.mean_mbps(),
            std100_mbps: std * of_100ms,
            cv100: if mean > 0.0 { std / mean } else { 0.0 },
            p5_mbps: percentile(0.05) * of_100ms,
            p50_mbps: percentile(0.5) * of_100ms,
            p95_mbps: percentile(0.95) * of_100ms,
            longest_outage_s: gaps.longest() as f64 / 1e3,
            frac_zero_100ms: hundreds.partition_point(|&n| n == 0) as f64 / hundreds.len() as f64,
            max_opps_in_1ms: runs.iter().map(|run| run.1).max().unwrap_or(0),
            acf_100ms_lag1s,
            acf_1s_lag1: seconds,
            p99_gap_ms: gaps.percentile(0.99),
        }
    }

    /// Returns every number with its name, in the order of the fields.
    pub fn columns(&self) -> [(&'static str, f64); 15] {
        [
            ("length_s", self.length_s),
            ("opportunities", self.opportunities as f64),
            ("first_ms", self.first_ms as f64),
            ("mean_mbps", self.mean_mbps),
            ("std100_mbps", self.std100_mbps),
            ("cv100", self.cv100),
            ("p5_mbps", self.p5_mbps),
            ("p50_mbps", self.p50_mbps),
            ("p95_mbps", self.p95_mbps),
            ("longest_outage_s", self.longest_outage_s),
            ("frac_zero_100ms", self.frac_zero_100ms),
            ("max_opps_in_1ms", self.max_opps_in_1ms as f64),
            ("acf_100ms_lag1s", self.acf_100ms_lag1s),
            ("acf_1s_lag1", self.acf_1s_lag1),
            ("p99_gap_ms", self.p99_gap_ms),
        ]
    }
}

/// Returns the distinct milliseconds, and how often each occurs.
fn runs(entries: &[u32]) -> Vec<(u64, u64)> {
    entries.chunk_by(|a, b| a == b).map(|run| (u64::from(run[0]), run.len() as u64)).collect()
}

fn bins(runs: impl Iterator<Item = (u64, u64)>, length: u64, width: u64) -> Vec<u64> {
    let whole = (length / width).max(1) as usize;
    let mut bins = vec![0; whole];
    for (at, n) in runs {
        let last = at == whole as u64 * width;
        if let Some(bin) = bins.get_mut((at / width) as usize - usize::from(last)) {
            *bin += n;
        }
    }
    bins
}

fn mean_std(bins: &[u64]) -> (f64, f64) {
    let n = bins.len() as f64;
    let mean = bins.iter().sum::<u64>() as f64 / n;
    let square = bins.iter().map(|&x| (x as f64 - mean) * (x as f64 - mean)).sum::<f64>();
    (mean, libm::sqrt(square / n))
}

fn autocorrelation(bins: &[u64], lag: usize) -> f64 {
    let (mean, std) = mean_std(bins);
    if std == 0.0 {
        return 0.0;
    }
    let later = bins.iter().skip(lag);
    let product: f64 =
        bins.iter().zip(later).map(|(&a, &b)| (a as f64 - mean) * (b as f64 - mean)).sum();
    product / (std * std * bins.len() as f64)
}

/// Returns the quantile `p` of `n` sorted values, linear between ranks; 0 if there are none.
fn interpolate(n: u64, p: f64, value: impl Fn(u64) -> f64) -> f64 {
    if n == 0 {
        return 0.0;
    }
    let rank = (n - 1) as f64 * p;
    let below = rank as u64;
    let (low, high) = (value(below), value((below + 1).min(n - 1)));
    low + (high - low) * (rank - below as f64)
}

/// The gaps between opportunities: the number of zero gaps, and the others sorted.
struct Gaps {
    zeros: u64,
    others: Vec<u32>,
}

impl Gaps {
    fn of(runs: impl Iterator<Item = (u64, u64)>) -> Gaps {
        let mut gaps = Gaps { zeros: 0, others: Vec::new() };
        let mut before = None;
        for (at, n) in runs {
            gaps.zeros = gaps.zeros.saturating_add(n - 1);
            match before.map(|before| at - before) {
                None => {}
                Some(0) => gaps.zeros = gaps.zeros.saturating_add(1),
                Some(gap) => gaps.others.push(gap.min(u32::MAX.into()) as u32),
            }
            before = Some(at);
        }
        gaps.others.sort_unstable();
        gaps
    }

    fn longest(&self) -> u32 {
        self.others.last().copied().unwrap_or(0)
    }

    fn percentile(&self, p: f64) -> f64 {
        interpolate(self.zeros + self.others.len() as u64, p, |rank| {
            rank.checked_sub(self.zeros).map_or(0.0, |i| f64::from(self.others[i as usize]))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constant;
    use paceline_cc::Rate;

    fn rounded(stats: &Stats) -> Vec<f64> {
        stats.columns().iter().map(|column| libm::round(column.1 * 1e4) / 1e4).collect()
    }

    #[test]
    fn constant_rates_as_recorded() {
        // Rows bw12, bw48 and bw96 in the table of real traces.
        for (mbps, n, std) in [(12.0, 1.0, 0.0069), (48.0, 4.0, 0.0277), (96.0, 8.0, 0.0554)] {
            let trace = constant(Rate::from_mbps(mbps)).expect("valid");
            let cv = 0.0006;
            let row =
                [0.001, n, 1.0, mbps, std, cv, mbps, mbps, mbps, 0.001, 0.0, n, 0.0, 0.0, 1.0];
            assert_eq!(rounded(&Stats::of(&trace)), row);
        }
    }

    #[test]
    fn a_square_wave_as_recorded() {
        // The recorded wave changes its rate with the millisecond, from 24 to 12 Mbit/s and back.
        let entries = (1..=140_000u32).flat_map(|ms| vec![ms; 2 - (ms / 500 % 2) as usize]);
        let trace = Trace::new("x", entries.collect()).expect("valid");
        let row = [
            140.0, 210_000.0, 1.0, 18.0, 5.9997, 0.3333, 12.0, 18.0, 24.0, 0.001, 0.0, 2.0, 0.9929,
            0.0, 1.0,
        ];
        let got = rounded(&Stats::of(&trace));
        assert!(got.iter().zip(row).all(|(a, b)| (a - b).abs() < 1.01e-4), "{got:?}");
    }

    #[test]
    fn odd_traces_have_statistics() {
        for entries in [vec![1; 1000], vec![u32::MAX / 1000], vec![0, 99_999], vec![59_999]] {
            let stats = Stats::of(&Trace::new("x", entries).expect("valid"));
            assert!(stats.columns().iter().all(|column| column.1.is_finite()), "{stats:?}");
        }
        let lone = Stats::of(&Trace::new("x", vec![90_000]).expect("valid"));
        assert_eq!(lone.longest_outage_s, 90.0);
    }
}
