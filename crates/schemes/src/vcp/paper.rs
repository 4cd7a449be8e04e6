//! The load measured by a timer, as in the paper and in VCP's ns-2 model.

use paceline_cc::{LinkView, Load, Span, Time};

use super::VcpParams;
use super::load::{LOW, LoadFactor};

/// Most intervals measured after a silence; earlier ones are skipped, since by then the average of
/// the queue has settled.
const MOST_INTERVALS: u64 = 1024;

/// The load of one link, measured every `t_rho`.
///
/// Nothing changes between two packets, so samples and intervals that were due in the meantime are
/// taken when the next packet arrives or leaves. The result is that of a timer.
#[derive(Debug)]
pub(super) struct TimerMeasurement {
    factor: LoadFactor,
    t_rho: Span,
    t_q: Span,
    weight: f64,
    began: Time,
    /// When the queue is next sampled; the sum and the number of this interval's samples.
    sample_at: Time,
    sum: f64,
    samples: u64,
    bytes: u64,
    /// Average of the queue, in bytes.
    pub(super) queue: f64,
    pub(super) rho: f64,
    pub(super) load: Load,
}

impl TimerMeasurement {
    pub(super) fn new(params: &VcpParams) -> TimerMeasurement {
        TimerMeasurement {
            factor: LoadFactor::new(params),
            t_rho: params.t_rho,
            t_q: params.t_q,
            weight: params.queue_weight,
            began: Time::ZERO,
            sample_at: Time::ZERO + params.t_q,
            sum: 0.0,
            samples: 0,
            bytes: 0,
            queue: 0.0,
            rho: 0.0,
            load: Load::Low,
        }
    }

    /// Takes the samples and measures the intervals that were due by `now`, during which `queue`
    /// bytes waited.
    pub(super) fn catch_up(&mut self, now: Time, queue: u64, link: &LinkView<'_>) {
        // Time saturates at its end, which no interval passes.
        while self.began + self.t_rho <= now && self.began + self.t_rho < Time::NEVER {
            let ends = self.began + self.t_rho;
            self.sample(ends, queue);
            self.measure(ends, link);
            let behind = now.since(ends).as_nanos() / self.t_rho.as_nanos().max(1);
            let skipped = self.t_rho * behind.saturating_sub(MOST_INTERVALS);
            self.began = ends + skipped;
            self.sample_at += skipped;
        }
        self.sample(now, queue);
    }

    /// Takes the samples up to `end`, all of `queue` bytes.
    fn sample(&mut self, end: Time, queue: u64) {
        if self.sample_at > end {
            return;
        }
        let count = 1 + end.since(self.sample_at).as_nanos() / self.t_q.as_nanos().max(1);
        self.sum += count as f64 * queue as f64;
        self.samples += count;
        self.sample_at += self.t_q * count;
    }

    fn measure(&mut self, ends: Time, link: &LinkView<'_>) {
        // Intervals shorter than the time between samples may have none.
        if self.samples > 0 {
            let mean = self.sum / self.samples as f64;
            self.queue += self.weight * (mean - self.queue);
        }
        let capacity = link.capacity.offered(self.began, ends) as f64;
        if let Some(rho) = self.factor.of(self.bytes as f64, self.queue, capacity) {
            self.rho = rho;
            self.load = match rho {
                rho if rho < LOW => Load::Low,
                rho if rho < 1.0 => Load::High,
                _ => Load::Overload,
            };
        }
        (self.bytes, self.sum, self.samples) = (0, 0.0, 0);
    }

    pub(super) fn count(&mut self, size: u32) {
        self.bytes += size as u64;
    }
}
