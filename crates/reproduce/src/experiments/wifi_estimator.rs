//! The estimate of an 802.11n link's rate (§5.1, Figs 5 and 6 of the ABC paper).

use std::sync::{Arc, Mutex};

use paceline_cc::{Batch, Body, LinkView, Packet, Rate, Router, Span, Stage as _, Time};
use paceline_path::queue::Fifo;
use paceline_path::{Limit, Port};
use paceline_report::{BarPanel, Bars, Paint, Palette};
use paceline_schemes::abc::LinkRateEstimator;
use paceline_sim::scenario::{Capacity, LinkSpec, McsSpec, Scenario, WifiSpec};
use paceline_sim::{Transmitter, transmitter};

use super::Experiment;
use super::common::{crowded, mcs, mean};
use crate::findings::Findings;
use crate::setting::Setting;
use paceline_tasks::Record;
use paceline_tasks::Results;
use paceline_tasks::Task;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "wifi-estimator",
    title: "The rate of a Wi-Fi link",
    about: "Links of a fixed modulation each, with batches of up to 20 frames of which 2 % are \
            lost. A sender without congestion control sends 1500-byte packets at a steady rate; \
            the access point's estimates, one per block acknowledgement, are averaged over 30 s. \
            The channel is shared with one station that always has a frame of half a millisecond \
            to send, and then with the crowd of the Wi-Fi experiment, whose load is fixed.",
    plan,
    find,
};

const LINKS: [u8; 3] = [1, 4, 7];
/// Sending rates in percent of the capacity.
const LOADS: [u32; 9] = [10, 20, 30, 40, 50, 60, 70, 80, 90];
const M: u32 = 20;
const WINDOW: Span = Span::from_millis(40);

/// Stations that share the channel: names of measures.
const CHANNELS: [&str; 2] = ["steady", "crowd"];

fn name(channel: &str, index: u8, load: u32) -> String {
    format!("{channel}: MCS {index} at {load} %")
}

/// Returns the link. The paper's overhead does not depend on the batch. That is the case if a
/// competitor always has frames to send and has one turn for each of the access point's.
/// Competitors with a fixed load have more frames to send after a longer batch.
fn shared(channel: &str, index: u8) -> Result<WifiSpec, String> {
    let mut spec = crowded(McsSpec::constant(mcs(index)?));
    if channel == "steady" {
        spec.channel.contenders = 1;
        spec.channel.contender_airtime = Span::from_micros(500);
        spec.channel.contender_gap = Span::ZERO;
    }
    Ok(spec)
}

fn plan(setting: &Setting) -> Result<Vec<Task>, String> {
    let length = setting.length(30, 10);
    let mut tasks = Vec::new();
    for (channel, index) in CHANNELS.into_iter().flat_map(|one| LINKS.map(|index| (one, index))) {
        // Load 200: a backlogged user, whose throughput is the reference for the estimates.
        for load in LOADS.into_iter().chain([200]) {
            let mut scenario = Scenario::new("estimator");
            scenario.seed = setting.seed;
            scenario.duration = length;
            let spec = shared(channel, index)?;
            let link = LinkSpec::new("link", Capacity::Wifi(Box::new(spec)));
            let key = format!("{scenario:?} {link:?} {load}");
            let work = move || measure(&scenario, &link, load);
            let name = name(channel, index, load);
            tasks.push(Task::other(name, key, length.as_secs_f64(), work));
        }
    }
    Ok(tasks)
}

/// Records of a router on the link.
struct Notes {
    estimator: LinkRateEstimator,
    last: Option<Time>,
    /// Whether the access point always had frames to send since the last acknowledgement.
    busy: bool,
    /// Sums over acknowledgements: count, estimates, estimates without cap, dequeue rates.
    sums: [f64; 4],
    /// Times between acknowledgements in ms, by the size of the batch; only if the next batch
    /// followed at once.
    gaps: Vec<Vec<f64>>,
}

struct Tap(Arc<Mutex<Notes>>);

impl Router for Tap {
    fn on_departure(&mut self, now: Time, _: &mut Packet, _: Span, _: &LinkView<'_>) {
        if let Ok(mut notes) = self.0.lock()
            && notes.last == Some(now)
        {
            notes.busy = true;
        }
    }

    fn on_batch(&mut self, now: Time, batch: &Batch) {
        let Ok(mut notes) = self.0.lock() else { return };
        notes.estimator.on_block_ack(now, batch);
        let estimator = &notes.estimator;
        let rates = [estimator.link_rate(), estimator.uncapped(), estimator.dequeue_rate()];
        if let [Some(link), Some(uncapped), Some(dequeue)] = rates {
            let add = [1.0, link.as_mbps(), uncapped.as_mbps(), dequeue.as_mbps()];
            for (sum, value) in notes.sums.iter_mut().zip(add) {
                *sum += value;
            }
        }
        let last = notes.last.replace(now);
        if let (Some(last), true) = (last, notes.busy)
            && let Some(gaps) = notes.gaps.get_mut(batch.frames as usize)
        {
            gaps.push(now.since(last).as_millis_f64());
        }
        notes.busy = false;
    }
}

fn measure(scenario: &Scenario, spec: &LinkSpec, load: u32) -> Result<Record, String> {
    use paceline_cc::Capacity as _;
    let made = transmitter(scenario, spec).map_err(|error| error.to_string())?;
    let Transmitter::AccessPoint(access_point) = made else {
        return Err(format!("link `{}` is not an 802.11 link", spec.name));
    };
    let end = Time::ZERO + scenario.duration;
    let offered = access_point.capacity().offered(Time::ZERO, end);
    let capacity = Rate::from_bytes_in(offered, scenario.duration);
    let notes = Arc::new(Mutex::new(Notes {
        estimator: LinkRateEstimator::new(WINDOW),
        last: None,
        busy: false,
        sums: [0.0; 4],
        gaps: vec![Vec::new(); M as usize + 1],
    }));
    let queue = Box::new(Fifo::new(Limit::packets(250)));
    let port = Port::new(queue).with_router(Box::new(Tap(Arc::clone(&notes))));
    let mut medium = access_point.medium(port.into()).map_err(|error| error.to_string())?;
    let gap = capacity.mul_f64(f64::from(load) / 100.0).time_for(1500);
    let mut place = Packet::opaque(0);
    let (mut now, mut delivered) = (Time::ZERO, 0_u64);
    while now < end {
        let packet = Packet { body: Body::Opaque(0), ..Packet::opaque(1500) };
        medium.push(now, &packet);
        now += gap;
        while medium.wake() <= now && medium.wake() < end {
            let at = medium.wake();
            if medium.pop_into(at, &mut place) {
                delivered += u64::from(place.size);
            }
        }
    }
    let notes = notes.lock().map_err(|_| "a thread of this task has failed")?;
    let mut record = Record::default();
    record.set("sent", capacity.as_mbps() * f64::from(load) / 100.0);
    record.set("capacity", capacity.as_mbps());
    record.set("throughput", Rate::from_bytes_in(delivered, scenario.duration).as_mbps());
    let of = |at: usize| notes.sums[at] / notes.sums[0];
    record.set("estimate", of(1));
    record.set("uncapped", of(2));
    record.set("dequeue", of(3));
    for (frames, gaps) in notes.gaps.iter().enumerate() {
        record.set_series(format!("gaps.{frames}"), gaps);
    }
    Ok(record)
}

fn find(_: &Setting, results: &Results) -> Result<Findings, String> {
    let mut findings = Findings::default();
    for channel in CHANNELS {
        estimates(channel, results, &mut findings);
        for index in LINKS {
            gaps(channel, index, results, &mut findings)?;
        }
    }
    Ok(findings)
}

/// Evaluates Fig. 6: estimates beside the true rate.
fn estimates(channel: &str, results: &Results, findings: &mut Findings) {
    let palette = Palette::new(["estimate", "truth", "cap"]);
    let mut panels = Vec::new();
    let (mut worst, mut worst_capped) = (0.0_f64, 0.0_f64);
    for index in LINKS {
        let truth = results.get(&name(channel, index, 200)).number("throughput");
        let mut values = Vec::new();
        for load in LOADS {
            let record = results.get(&name(channel, index, load));
            let (estimate, cap) = (record.number("estimate"), 2.0 * record.number("sent"));
            let key = format!("{channel}.mcs{index}.{load}");
            findings.measure(format!("{key}.estimate"), estimate);
            findings.measure(format!("{key}.uncapped"), record.number("uncapped"));
            let error = (estimate / truth.min(cap) - 1.0).abs();
            findings.measure(format!("{key}.error"), error);
            // A missing figure must not count as a small one.
            let error = if error.is_nan() { f64::INFINITY } else { error };
            let is_free = cap >= 1.1 * truth;
            if is_free || truth.is_nan() {
                worst = worst.max(error);
            }
            if !is_free {
                worst_capped = worst_capped.max(error);
            }
            values.push(vec![estimate, truth, cap]);
        }
        findings.measure(format!("{channel}.mcs{index}.truth"), truth);
        panels.push(BarPanel {
            title: format!("MCS {index}, Mbit/s"),
            unit: "Mbit/s".into(),
            log: false,
            values,
        });
    }
    findings.measure(format!("{channel}.worst"), worst);
    findings.measure(format!("{channel}.worst.capped"), worst_capped);
    let bars = Bars {
        label: "Estimates of the link's rate by the sending rate".into(),
        groups: LOADS.iter().map(|load| format!("{load} %")).collect(),
        bars: vec![
            ("estimate".into(), palette.paint("estimate")),
            ("true capacity".into(), palette.paint("truth")),
            ("cap".into(), Paint::MUTED),
        ],
        panels,
    };
    let beside = match channel {
        "steady" => "beside a station that always has something to send (Fig. 6)",
        _ => {
            "beside competitors of a fixed load: their share of the channel grows with the batch, \
              which the method does not know, and a user who is not backlogged seems to have more"
        }
    };
    let caption = format!(
        "Estimates by the sending rate, as a share of the capacity, with what a backlogged user \
         gets and twice the sending rate; {beside}."
    );
    findings.figure(&format!("{channel}.estimates"), bars.figure(), &caption);
}

/// Evaluates Fig. 5: times between block acknowledgements by the size of the batch.
fn gaps(
    channel: &str,
    index: u8,
    results: &Results,
    findings: &mut Findings,
) -> Result<(), String> {
    let mut by_size: Vec<Vec<f64>> = vec![Vec::new(); M as usize + 1];
    for load in LOADS.into_iter().chain([200]) {
        let record = results.get(&name(channel, index, load));
        for (frames, all) in by_size.iter_mut().enumerate() {
            all.extend(record.series(&format!("gaps.{frames}")));
        }
    }
    let points: Vec<(f64, f64, f64)> = (0_u32..)
        .zip(&by_size)
        .filter(|(_, gaps)| gaps.len() >= 100)
        .map(|(frames, gaps)| (f64::from(frames), mean(gaps.iter().copied()), gaps.len() as f64))
        .collect();
    let line = fit(&points);
    // A frame of 1500 bytes has 1544 bytes on air.
    let expected = 1544.0 * 8.0 / mcs(index)?.rate().as_bps() as f64 * 1000.0;
    let key = format!("{channel}.mcs{index}.gap");
    findings.measure(format!("{key}.slope"), line.slope / expected);
    findings.measure(format!("{key}.r2"), line.r2);
    findings.measure(format!("{key}.sizes"), points.len() as f64);
    let longest = by_size.iter().flatten().copied().fold(f64::NAN, f64::max);
    findings.measure(format!("{key}.longest"), longest);
    let mut all: Vec<f64> = by_size.iter().flatten().copied().collect();
    all.sort_by(f64::total_cmp);
    let at = (0.999 * all.len() as f64) as usize;
    findings.measure(format!("{key}.p999"), all.get(at).copied().unwrap_or(f64::NAN));
    // The page has the figures of one modulation only.
    if index != 7 {
        return Ok(());
    }
    let palette = Palette::new(["measured", "line"]);
    let bars = Bars {
        label: format!("Time between block acknowledgements at MCS {index}"),
        groups: points.iter().map(|(frames, _, _)| format!("{frames}")).collect(),
        bars: vec![
            ("measured".into(), palette.paint("measured")),
            ("S/R a frame".into(), Paint::MUTED),
        ],
        panels: vec![BarPanel {
            title: "interval (ms)".into(),
            unit: "ms".into(),
            log: false,
            values: points
                .iter()
                .map(|(frames, gap, _)| vec![*gap, line.at_mean(expected, *frames)])
                .collect(),
        }],
    };
    let caption = format!(
        "Times between block acknowledgements by the frames of a batch at MCS {index}, and a line \
         of slope S/R through their mean ({channel} competitors; Fig. 5)."
    );
    findings.figure(&key, bars.figure(), &caption);
    Ok(())
}

/// A straight line fitted to weighted points.
struct Line {
    slope: f64,
    r2: f64,
    middle: (f64, f64),
}

impl Line {
    /// Returns the value at `x` of a line with another slope through the points' mean.
    fn at_mean(&self, slope: f64, x: f64) -> f64 {
        self.middle.1 + slope * (x - self.middle.0)
    }
}

fn fit(points: &[(f64, f64, f64)]) -> Line {
    let total: f64 = points.iter().map(|p| p.2).sum();
    let over = |f: &dyn Fn(&(f64, f64, f64)) -> f64| {
        points.iter().map(|p| p.2 * f(p)).sum::<f64>() / total
    };
    let (mx, my) = (over(&|p| p.0), over(&|p| p.1));
    let (xx, yy) = (over(&|p| (p.0 - mx) * (p.0 - mx)), over(&|p| (p.1 - my) * (p.1 - my)));
    let xy = over(&|p| (p.0 - mx) * (p.1 - my));
    Line { slope: xy / xx, r2: xy * xy / (xx * yy), middle: (mx, my) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found() {
        let points = [(1.0, 3.0, 5.0), (2.0, 5.0, 1.0), (4.0, 9.0, 2.0)];
        let line = fit(&points);
        assert!((line.slope - 2.0).abs() < 1e-9 && (line.r2 - 1.0).abs() < 1e-9);
        assert!((line.at_mean(2.0, 10.0) - 21.0).abs() < 1e-9);
        assert!(fit(&[]).slope.is_nan());
    }
}
