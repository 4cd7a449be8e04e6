//! Rows of numbers of a live run, for the plots.

use paceline_cc::{Rate, Span};
use paceline_sim::Interactive;
use paceline_sim::scenario::Capacity;

/// Columns of a row: first those of the links, then those of each flow.
const LINK_COLUMNS: [&str; 5] = ["time_s", "backlog", "ideal", "capacity_mbps", "backlog_2"];
const FLOW_COLUMNS: [&str; 8] =
    ["in_flight", "cwnd", "accelerated", "braked", "marked", "delivered", "rtt_ms", "lost"];
/// Time over which the capacity of a varying link is averaged.
const CAPACITY_OVER: Span = Span::from_millis(100);
/// Time in seconds over which the shares of flows with different RTTs are averaged.
const SHARES_OVER: f64 = 1.0;

/// Returns the names of a row's columns: of the links, and of each flow.
pub(crate) fn columns() -> (&'static [&'static str], &'static [&'static str]) {
    (&LINK_COLUMNS, &FLOW_COLUMNS)
}

/// Rows since the last advance.
#[derive(Default)]
pub(crate) struct LiveRows {
    numbers: Vec<f64>,
    /// Bytes that each flow has delivered by the last row, and a moving average of its rate.
    delivered: Vec<(u64, f64)>,
    /// Time of the last row in seconds.
    last: f64,
}

impl LiveRows {
    /// Returns the rows, one after the other.
    pub(crate) fn numbers(&self) -> &[f64] {
        &self.numbers
    }

    /// Removes all rows.
    pub(crate) fn clear(&mut self) {
        self.numbers.clear();
    }

    /// Appends a row with the present state of the run.
    pub(crate) fn push(&mut self, run: &Interactive) {
        let mss = f64::from(run.scenario().mss);
        self.count(run);
        let (ideal, capacity) = self.ideal(run);
        let backlog = |link| run.link(link).map_or(0.0, |link| link.backlog_packets as f64);
        let now = run.now().as_secs_f64();
        self.numbers.extend([now, backlog(0), ideal, capacity, backlog(1)]);
        for flow in (0..run.flows()).map(|index| run.flow(index).unwrap_or_default()) {
            let cwnd = if flow.cwnd_bytes < 1 << 40 { flow.cwnd_bytes as f64 } else { f64::NAN };
            let marks = flow.at_links;
            self.numbers.extend([
                flow.in_flight_bytes as f64 / mss,
                cwnd / mss,
                marks.accelerated as f64,
                marks.braked as f64,
                marks.marked as f64,
                flow.goodput_bytes as f64 / mss,
                flow.latest_rtt.as_millis_f64(),
                flow.lost as f64,
            ]);
        }
    }

    /// Updates the averages of the flows' rates.
    fn count(&mut self, run: &Interactive) {
        let now = run.now().as_secs_f64();
        let kept = (-(now - self.last).max(0.0) / SHARES_OVER).exp();
        self.last = now;
        self.delivered.resize(run.flows(), (0, 0.0));
        for (index, (before, average)) in self.delivered.iter_mut().enumerate() {
            let delivered = run.flow(index).map_or(0, |flow| flow.goodput_bytes);
            *average = *average * kept + delivered.saturating_sub(*before) as f64;
            *before = delivered;
        }
    }

    /// Returns the bandwidth-delay product in packets, and the capacity of the slowest link. If
    /// flows have different RTTs, the product has their mean, weighted by what they deliver: then
    /// packets in flight are the product and the queue, as with equal RTTs.
    fn ideal(&self, run: &Interactive) -> (f64, f64) {
        let scenario = run.scenario();
        let rates = scenario.links.iter().enumerate().map(|(link, spec)| match &spec.capacity {
            Capacity::Constant(rate) => *rate,
            _ => {
                let now = run.now();
                let from = now - CAPACITY_OVER;
                Rate::from_bytes_in(run.offered(link, from, now), now.since(from))
            }
        });
        let bits = rates.min().unwrap_or(Rate::ZERO).as_bps() as f64;
        let rtt = scenario.flows.first().map_or(Span::ZERO, |flow| flow.rtt).as_secs_f64();
        let (mut extra, mut all) = (0.0, 0.0);
        for (spec, (_, average)) in scenario.flows.iter().zip(&self.delivered) {
            extra += spec.data.delay.as_secs_f64() * average;
            all += average;
        }
        let rtt = if extra > 0.0 { rtt + extra / all } else { rtt };
        (bits * rtt / 8.0 / f64::from(scenario.mss), bits / 1e6)
    }
}
