//! The result of a task: numbers and series by name, as kept on disk.

use std::collections::BTreeMap;

use paceline_sim::metrics::Quantiles;
use paceline_sim::{FlowSums, Outcome};
use serde::{Deserialize, Serialize};

/// The result of a task. The record of a scenario has these names:
///
/// - `link.NAME.{capacity,throughput,utilization,drops,marks}` (Mbit/s, shares, packets),
///   `link.NAME.delay.{mean,p50,p95,p99,max}` (ms), and the series `link.NAME.{capacity,
///   throughput,delay}`;
/// - `flow.NAME.{goodput,sent,lost,retransmits,timeouts}` (the last four including the warm-up, the
///   last two if its transport counts them),
///   `flow.NAME.{owd,rtt}.*`, and the series `flow.NAME.goodput` and `flow.NAME.state.VARIABLE`; of
///   video also `flow.NAME.frames.{made,skipped,delivered}` and `flow.NAME.frames.delay.*` (ms);
/// - `medium.NAME.{throughput,collisions,drops}`, and of its access point
///   `medium.NAME.ap.{throughput,drops,waiting}`, `medium.NAME.ap.delay.*`;
/// - `all.{goodput,jain,jain_1s,end_to_end,self_inflicted}`, `all.{owd,rtt}.*` (`end_to_end`: the
///   95th percentile of the age of the newest packet, ms; `self_inflicted` where it was asked for);
/// - `arrivals.{arrived,finished,goodput}`, `arrivals.completion.*`;
/// - if only sums are recorded, the series `sums.{bytes,packets,delay,on}` (bytes, packets, seconds)
///   with an entry for each flow;
/// - `bin`: seconds per entry of the series.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Numbers by name.
    pub numbers: BTreeMap<String, f64>,
    /// Series by name; `None` in a bin without a measurement.
    #[serde(default)]
    pub series: BTreeMap<String, Vec<Option<f64>>>,
}

impl Record {
    /// Returns a number; NaN, which no check accepts, if there is none of this name.
    pub fn number(&self, name: &str) -> f64 {
        self.numbers.get(name).copied().unwrap_or(f64::NAN)
    }

    /// Returns a series, with NaN for missing bins; empty if there is none of this name.
    pub fn series(&self, name: &str) -> Vec<f64> {
        let known = self.series.get(name).map(Vec::as_slice).unwrap_or_default();
        known.iter().map(|value| value.unwrap_or(f64::NAN)).collect()
    }

    /// Adds a number; ignores it if it is not finite.
    pub fn set(&mut self, name: impl Into<String>, value: f64) {
        if value.is_finite() {
            self.numbers.insert(name.into(), value);
        }
    }

    /// Adds a series.
    pub fn set_series(&mut self, name: impl Into<String>, values: &[f64]) {
        let known = values.iter().map(|value| value.is_finite().then_some(*value)).collect();
        self.series.insert(name.into(), known);
    }

    fn set_quantiles(&mut self, name: &str, q: &Quantiles) {
        let parts = [("mean", q.mean), ("p50", q.p50), ("p95", q.p95), ("p99", q.p99)];
        for (part, value) in parts.into_iter().chain([("max", q.max)]) {
            self.set(format!("{name}.{part}"), value);
        }
    }
}

impl From<&Outcome> for Record {
    fn from(outcome: &Outcome) -> Record {
        let mut record = Record::default();
        for link in &outcome.links {
            let name = format!("link.{}", link.name);
            record.set(format!("{name}.capacity"), link.capacity_mbps);
            record.set(format!("{name}.throughput"), link.throughput_mbps);
            record.set(format!("{name}.utilization"), link.utilization);
            record.set(format!("{name}.drops"), link.drops as f64);
            record.set(format!("{name}.marks"), link.marks as f64);
            record.set_quantiles(&format!("{name}.delay"), &link.queue_delay_ms);
            if let Some(series) = &link.series {
                record.set("bin", series.bin_s);
                record.set_series(format!("{name}.capacity"), &series.capacity_mbps);
                record.set_series(format!("{name}.throughput"), &series.throughput_mbps);
                record.set_series(format!("{name}.delay"), &series.queue_delay_ms);
            }
        }
        for medium in &outcome.media {
            let name = format!("medium.{}", medium.name);
            record.set(format!("{name}.throughput"), medium.throughput_mbps);
            record.set(format!("{name}.collisions"), medium.collision_probability);
            // The first station is the access point.
            let Some(first) = medium.stations.first() else { continue };
            record.set(format!("{name}.ap.waiting"), first.waiting_packets);
            let first = &first.link;
            record.set(format!("{name}.ap.throughput"), first.throughput_mbps);
            record.set(format!("{name}.ap.drops"), first.drops as f64);
            record.set_quantiles(&format!("{name}.ap.delay"), &first.queue_delay_ms);
            let drops: u64 = medium.stations.iter().map(|station| station.link.drops).sum();
            record.set(format!("{name}.drops"), drops as f64);
        }
        for flow in &outcome.flows {
            let name = format!("flow.{}", flow.name);
            record.set(format!("{name}.goodput"), flow.goodput_mbps);
            record.set(format!("{name}.sent"), flow.since_start.sent as f64);
            record.set(format!("{name}.lost"), flow.since_start.lost as f64);
            let counts = [
                ("retransmits", flow.since_start.counted_retransmits()),
                ("timeouts", flow.since_start.counted_timeouts()),
            ];
            for (figure, count) in counts {
                if let Some(count) = count {
                    record.set(format!("{name}.{figure}"), count as f64);
                }
            }
            record.set_quantiles(&format!("{name}.owd"), &flow.one_way_delay_ms);
            record.set_quantiles(&format!("{name}.rtt"), &flow.rtt_ms);
            if let Some(frames) = &flow.frames {
                let counts = [
                    ("made", frames.made),
                    ("skipped", frames.skipped),
                    ("delivered", frames.delivered),
                ];
                for (part, count) in counts {
                    record.set(format!("{name}.frames.{part}"), count as f64);
                }
                record.set_quantiles(&format!("{name}.frames.delay"), &frames.delay_ms);
            }
            if let Some(series) = &flow.series {
                record.set("bin", series.bin_s);
                record.set_series(format!("{name}.goodput"), &series.goodput_mbps);
                for (variable, values) in &series.state {
                    record.set_series(format!("{name}.state.{variable}"), values);
                }
            }
        }
        let sums: Vec<FlowSums> = outcome.flows.iter().filter_map(|flow| flow.sums).collect();
        if !sums.is_empty() {
            let mut set = |name: &str, figure: fn(&FlowSums) -> f64| {
                let values: Vec<f64> = sums.iter().map(figure).collect();
                record.set_series(format!("sums.{name}"), &values);
            };
            set("bytes", |sums| sums.bytes as f64);
            set("packets", |sums| sums.packets as f64);
            set("delay", |sums| sums.delay_s);
            set("on", |sums| sums.on_s);
        }
        record.set("all.goodput", outcome.goodput_mbps());
        record.set("all.jain", outcome.jain());
        record.set("all.jain_1s", outcome.jain_1s.unwrap_or(f64::NAN));
        record.set("all.end_to_end", outcome.pooled.end_to_end_p95_ms.unwrap_or(f64::NAN));
        if let Some(delay) = outcome.pooled.self_inflicted_p95_ms {
            record.set("all.self_inflicted", delay);
        }
        record.set_quantiles("all.owd", &outcome.pooled.one_way_delay_ms);
        record.set_quantiles("all.rtt", &outcome.pooled.rtt_ms);
        if let Some(arrivals) = &outcome.arrivals {
            record.set("arrivals.arrived", arrivals.arrived as f64);
            record.set("arrivals.finished", arrivals.finished as f64);
            record.set("arrivals.goodput", arrivals.goodput_mbps);
            if let Some(times) = &arrivals.completion_ms {
                record.set_quantiles("arrivals.completion", times);
            }
        }
        record
    }
}
