//! Results of a measurement over several connections, and their sum.

use paceline_measure::{Quantiles, jain};

use super::client::TransferResult;

/// Results of a measurement.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Result of each connection.
    pub all: Vec<TransferResult>,
    /// Sum over all connections: counters and bytes are added, and delays are the largest.
    pub sum: TransferResult,
}

impl Measured {
    /// Returns the results of these connections; `None` if there are none.
    pub fn of(all: Vec<TransferResult>) -> Option<Measured> {
        let sum = sum(&all)?;
        Some(Measured { all, sum })
    }

    /// Returns Jain's index of the goodputs.
    pub fn jain(&self) -> f64 {
        let rates: Vec<f64> = self.all.iter().map(|one| one.summary.goodput as f64).collect();
        jain(&rates)
    }
}

/// Returns the largest of several flows' delays; means are weighted by each flow's packets.
fn largest(all: &[(Quantiles, u64)]) -> Quantiles {
    let measured = || all.iter().filter(|(delays, _)| delays.mean.is_finite());
    let packets = measured().map(|(_, packets)| *packets).sum::<u64>() as f64;
    let most = |part: fn(&Quantiles) -> f64| {
        measured().map(|(delays, _)| part(delays)).fold(f64::NAN, f64::max)
    };
    Quantiles {
        mean: measured().map(|(delays, count)| delays.mean * *count as f64).sum::<f64>() / packets,
        p50: most(|delays| delays.p50),
        p95: most(|delays| delays.p95),
        p99: most(|delays| delays.p99),
        max: most(|delays| delays.max),
    }
}

/// Sums a measurement's connections: adds counters and bytes, and takes the largest delays.
fn sum(all: &[TransferResult]) -> Option<TransferResult> {
    let (first, others) = all.split_first()?;
    let mut sum = first.clone();
    for one in others {
        sum.duration = sum.duration.max(one.duration);
        sum.least_rtt = sum.least_rtt.min(one.least_rtt);
        sum.mtu = sum.mtu.min(one.mtu);
        sum.acknowledged += one.acknowledged;
        let (to, from) = (&mut sum.sent, &one.sent);
        to.sent += from.sent;
        to.retransmits += from.retransmits;
        to.lost += from.lost;
        to.timeouts += from.timeouts;
        let (to, from) = (&mut sum.summary, &one.summary);
        to.packets += from.packets;
        to.bytes += from.bytes;
        to.goodput += from.goodput;
        to.ce_packets += from.ce_packets;
        to.duration_s = to.duration_s.max(from.duration_s);
        to.age_p95_ms = to.age_p95_ms.into_iter().chain(from.age_p95_ms).reduce(f64::max);
        if let (Some(to), Some(from)) = (&mut sum.video, &one.video) {
            to.made += from.made;
            to.skipped += from.skipped;
        }
        sum.unlogged = sum.unlogged.take().or_else(|| one.unlogged.clone());
    }
    if !others.is_empty() {
        sum.series = None;
        let weigh = |part: fn(&TransferResult) -> Quantiles| {
            largest(&all.iter().map(|one| (part(one), one.summary.packets)).collect::<Vec<_>>())
        };
        sum.rtt_ms = weigh(|one| one.rtt_ms);
        sum.summary.queue_delay_ms = weigh(|one| one.summary.queue_delay_ms);
    }
    Some(sum)
}
