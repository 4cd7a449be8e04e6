//! RemyCCs made for 2, 10, 100 and 1000-fold ranges of link rates, over links of all these rates
//! (Fig. 4-1 of Winstein's thesis).

use paceline_cc::{Rate, Span};
use paceline_flow::{Amount, On};
use paceline_path::BufferSize;
use paceline_remy::Network;

use super::Experiment;
use super::common::{least as lowest, mean};
use super::remy_common::{MBPS, Runs, SFQCODEL, Scheme, and_designed, note_missing, tables};
use crate::findings::Findings;
use crate::setting::Setting;
use paceline_tasks::Results;
use paceline_tasks::Task;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "remy-link-rates",
    title: "Remy: ranges of link rates",
    about: "Two senders, on and off for 1 s in the mean, RTT 150 ms, over links from 1 to 1000 Mbit/s: \
            RemyCCs made for 22 to 44, 10 to 100, 3.2 to 320 and 1 to 1000 Mbit/s, and Cubic, alone and \
            over sfqCoDel. The curve of the third in ns-2 is the thesis' own.",
    plan,
    find,
};

const TABLES: [(&str, &str); 4] = [
    ("2x", "fig2-linkspeed__bigbertha2x.dna.5"),
    ("10x", "fig2-linkspeed__bigbertha-10x.dna.4"),
    ("100x", "fig2-linkspeed__bigbertha-100x.dna.5"),
    ("1000x", "fig2-linkspeed__bigbertha2.dna.5"),
];
const OTHERS: [(&str, &str); 2] = [("cubic", "cubic[initial_window=2]"), ("sfqcodel", SFQCODEL)];
/// Ranges for which the tables were made, in Mbit/s (first and last rate inside).
const RANGES: [(&str, f64, f64); 4] =
    [("2x", 22.0, 44.0), ("10x", 10.0, 100.0), ("100x", 3.16, 320.0), ("1000x", 1.0, 1000.0)];

/// Figures of the thesis' runs of the 100x RemyCC in ns-2, at the point of its curve nearest to
/// each quarter of a decade: link in Mbit/s, throughput in Mbit/s, delay in ms.
const NS2: [(f64, f64, f64); 13] = [
    (1.0, 0.512, 628.36),
    (1.7783, 1.479, 412.79),
    (3.1623, 2.417, 252.43),
    (5.6234, 3.944, 198.38),
    (10.0, 5.996, 164.73),
    (17.7828, 11.430, 179.48),
    (31.6228, 19.288, 170.64),
    (56.2341, 32.769, 173.01),
    (100.0, 52.770, 155.63),
    (177.8279, 85.420, 157.01),
    (316.2278, 135.633, 151.51),
    (562.3413, 155.578, 150.02),
    (1000.0, 155.582, 150.01),
];
/// Ends of the range in which the thesis compares two RemyCCs.
const NARROW: [f64; 2] = [22.0, 44.0];
/// Share of the link that a sender has while it is on, as the thesis' scripts assume.
const SHARE: f64 = 0.75;

fn rates() -> Vec<f64> {
    let mut rates: Vec<f64> = NS2.iter().map(|point| point.0).chain(NARROW).collect();
    rates.sort_by(f64::total_cmp);
    rates
}

/// Returns the runs of a scheme at a rate. Runs that are compared with the thesis' curve are
/// longer.
fn runs(setting: &Setting, short: &str, mbps: f64) -> Runs {
    let network = Network::new(Rate::from_mbps(mbps), Span::from_millis(150)).with(|network| {
        network.on = On::Time(Amount::Exponential(1.0));
        network.off = Amount::Exponential(1.0);
        network.buffer = BufferSize::Bdp(5.0);
    });
    let seconds = match (short, mbps) {
        ("100x", ..50.0) => 1000,
        ("100x", ..150.0) => 500,
        ("100x", _) => 150,
        (_, ..50.0) => 200,
        (_, ..150.0) => 100,
        _ => 15,
    };
    let duration = setting.length(seconds, seconds.min(20));
    Runs { name: format!("{mbps:.2} Mbit/s"), network, duration, count: 1, seed: setting.seed }
}

fn schemes(setting: &Setting) -> Vec<Scheme> {
    and_designed(tables(setting, &TABLES), &OTHERS)
}

fn plan(setting: &Setting) -> Result<Vec<Task>, String> {
    let mut tasks = Vec::new();
    for (short, text) in schemes(setting) {
        for rate in rates() {
            tasks.extend(runs(setting, &short, rate).tasks(&short, &text)?);
        }
    }
    Ok(tasks)
}

/// Figures of a scheme at a rate.
#[derive(Clone, Copy)]
struct Point {
    rate: f64,
    throughput: f64,
    delay: f64,
    score: f64,
}

fn find(setting: &Setting, results: &Results) -> Result<Findings, String> {
    let mut findings = Findings::default();
    note_missing(setting, &TABLES, &mut findings);
    let mut curves: Vec<(String, Vec<Point>)> = Vec::new();
    for (short, _) in schemes(setting) {
        let point = |rate: f64| {
            let runs = runs(setting, &short, rate);
            let senders = runs.senders(&short, results);
            Point {
                rate,
                throughput: SHARE * MBPS * mean(senders.iter().map(|one| one.throughput())),
                delay: mean(senders.iter().map(|one| one.delay_ms)),
                score: runs.score(&senders),
            }
        };
        curves.push((short.clone(), rates().into_iter().map(point).collect()));
    }
    let curve = |short: &str| -> &[Point] {
        curves.iter().find(|(name, _)| name == short).map_or(&[], |(_, points)| points)
    };
    against_ns2(curve("100x"), &mut findings);
    let inside = |least: f64, most: f64| {
        move |point: &&Point| (least * 0.999..=most * 1.001).contains(&point.rate)
    };
    let narrow = |short: &str, figure: &dyn Fn(&Point) -> f64| {
        mean(curve(short).iter().filter(inside(NARROW[0], NARROW[1])).map(figure))
    };
    let (throughput, queue) =
        (|point: &Point| point.throughput, |point: &Point| point.delay - 150.0);
    let ratio = narrow("1000x", &throughput) / narrow("2x", &throughput);
    findings.measure("1000x/2x.throughput", ratio);
    for short in ["2x", "10x", "100x", "1000x"] {
        findings.measure(format!("{short}.queue"), narrow(short, &queue));
    }
    findings.measure("1000x/2x.queue", narrow("1000x", &queue) / narrow("2x", &queue));
    for (short, least, most) in RANGES {
        let designed = curve("cubic").iter().zip(curve("sfqcodel"));
        let leads = curve(short).iter().zip(designed).filter(|(own, _)| inside(least, most)(own));
        let leads = leads.map(|(own, (one, other))| own.score - one.score.max(other.score));
        findings.measure(format!("{short}.lead"), lowest(leads));
        let within = curve(short).iter().filter(inside(least, most)).map(|point| point.score);
        let outside = curve(short).iter().filter(|point| !inside(least, most)(point));
        let outside = lowest(outside.map(|point| point.score));
        findings.measure(format!("{short}.fall"), mean(within) - outside);
    }
    let columns: Vec<&str> =
        ["Mbit/s"].into_iter().chain(curves.iter().map(|(short, _)| short.as_str())).collect();
    let rows = rates().into_iter().enumerate().map(|(at, rate)| {
        let scores = curves.iter().map(|(_, points)| format!("{:.2}", points[at].score));
        std::iter::once(format!("{rate:.2}")).chain(scores).collect()
    });
    findings.sweep(
        "Remy: score by link rate",
        "Two senders, RTT 150 ms: the mean over senders of log2(throughput / link) - log2(delay / \
         RTT), by the link's rate and the range that a RemyCC was made for (Fig. 4-1 of Winstein's \
         thesis).",
        &columns,
        rows.collect(),
    );
    Ok(findings)
}

/// Compares the 100x RemyCC with the thesis' curve, and lists both.
fn against_ns2(points: &[Point], findings: &mut Findings) {
    let mut rows = Vec::new();
    // Throughput and delay: in the RemyCC's range, and from the second rate on.
    let mut worst = [[f64::NAN; 2]; 2];
    for (rate, throughput, delay) in NS2 {
        let near = |point: &&Point| (point.rate / rate - 1.0).abs() < 1e-6;
        let Some(point) = points.iter().find(near) else { continue };
        let off = [point.throughput / throughput - 1.0, point.delay / delay - 1.0];
        let (_, least, most) = RANGES[2];
        for (worst, counts) in worst.iter_mut().zip([(least..=most).contains(&rate), rate > 1.5]) {
            for (worst, off) in worst.iter_mut().zip(off).filter(|_| counts) {
                *worst = worst.max(off.abs());
            }
        }
        rows.push(vec![
            format!("{rate:.2}"),
            format!("{:.2}", point.throughput),
            format!("{throughput:.2}"),
            format!("{:+.1} %", 100.0 * off[0]),
            format!("{:.1}", point.delay),
            format!("{delay:.1}"),
            format!("{:+.1} %", 100.0 * off[1]),
        ]);
    }
    findings.measure("ns2.throughput", worst[0][0]);
    findings.measure("ns2.delay", worst[0][1]);
    findings.measure("ns2.all.throughput", worst[1][0]);
    findings.sweep(
        "Remy: the 100x RemyCC and its curve in ns-2",
        "Throughput while on and delay of two senders beside the nearest point of the thesis' own runs \
         in ns-2 (Fig. 4-1).",
        &["Mbit/s", "here, Mbit/s", "ns-2", "", "delay here, ms", "ns-2", ""],
        rows,
    );
}
