//! Weights from the max-min fair allocation to the flows of both queues.

use super::space_saving::SpaceSaving;
use super::{AbcDualParams, Side};

/// Bytes that have left one queue, in total and by flow.
#[derive(Clone, Debug)]
struct Measurement {
    flows: SpaceSaving,
    bytes: u64,
}

/// Measures flows, and computes fair weights for the queues.
#[derive(Clone, Debug)]
pub(super) struct MaxMin {
    measured: [Measurement; 2],
    k: usize,
    x: f64,
    keep: f64,
    /// Buffer for the demands of the large flows of both queues, ABC's first.
    demands: Vec<f64>,
    /// Buffer for sorting them.
    sorted: Vec<f64>,
}

impl MaxMin {
    pub(super) fn new(params: &AbcDualParams) -> MaxMin {
        let measured = || Measurement { flows: SpaceSaving::new(params.counters), bytes: 0 };
        let k = params.k as usize;
        MaxMin {
            measured: [measured(), measured()],
            k,
            x: params.x,
            keep: params.keep,
            demands: Vec::with_capacity(2 * k),
            sorted: Vec::with_capacity(2 * k),
        }
    }

    /// Notes that a packet has left a queue.
    pub(super) fn sent(&mut self, side: Side, flow: u32, size: u32) {
        let measured = &mut self.measured[side.index()];
        measured.bytes += u64::from(size);
        measured.flows.count(flow, u64::from(size));
    }

    /// Returns ABC's weight from the measurement, and starts a new one; `None` if nothing was
    /// measured.
    pub(super) fn update(&mut self) -> Option<f64> {
        self.demands.clear();
        let mut short = [0.0; 2];
        let mut large = [0; 2];
        let mut capacity = 0.0;
        for (side, measured) in self.measured.iter_mut().enumerate() {
            let mut rest = measured.bytes;
            for bytes in measured.flows.top(self.k) {
                rest = rest.saturating_sub(bytes);
                self.demands.push((1.0 + self.x) * bytes as f64);
                large[side] += 1;
            }
            short[side] = rest as f64;
            capacity += measured.bytes as f64;
            measured.bytes = (measured.bytes as f64 * self.keep) as u64;
            measured.flows.age(self.keep);
        }
        if capacity <= 0.0 {
            return None;
        }
        self.sorted.clear();
        self.sorted.extend_from_slice(&self.demands);
        self.sorted.sort_unstable_by(f64::total_cmp);
        let level = level(&self.sorted, capacity - short[0] - short[1]);
        let (abc, other) = self.demands.split_at(large[0]);
        let fill = |demands: &[f64]| demands.iter().map(|demand| demand.min(level)).sum::<f64>();
        let (abc, other) = (short[0] + fill(abc), short[1] + fill(other));
        (abc + other > 0.0).then(|| abc / (abc + other))
    }
}

/// Returns the level up to which `capacity` can fill demands, which are sorted in rising order;
/// infinite if all of them fit.
pub(super) fn level(demands: &[f64], capacity: f64) -> f64 {
    let mut left = capacity.max(0.0);
    for (met, demand) in demands.iter().enumerate() {
        let even = left / (demands.len() - met) as f64;
        if *demand > even {
            return even;
        }
        left -= demand;
    }
    f64::INFINITY
}
