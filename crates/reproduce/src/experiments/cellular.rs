//! Every scheme of the ABC paper over cellular links (§1's table, Figs 7, 8, 17, 18).

use paceline_report::{Palette, RunView, bars_figure, scatter_figure, summary_table};
use paceline_sim::scenario::Capacity;

use super::Experiment;
use super::common::{SCHEMES, abc_emulation, better, least, mean, most, on, view};
use super::{cellular_starts, cellular_sweeps};
use crate::findings::Findings;
use crate::front::distance;
use crate::setting::{Cellular, Setting};
use paceline_tasks::Results;
use paceline_tasks::Task;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "cellular",
    title: "Cellular links",
    about: "One backlogged flow of each scheme over each trace: round-trip propagation delay \
            100 ms, a buffer of 250 packets, acknowledgements over the other direction's \
            recording (§7.2). Utilisation is delivered bytes over offered bytes; delay is the \
            queueing delay of each packet at the link, and where said with the round trip's 100 ms \
            added. Ratios are of the means over the traces, relative to ABC's.",
    plan,
    find,
};

/// The other schemes with explicit feedback: short names for measures, and the schemes. RCP and VCP
/// follow the paper's authors' routers, which the paper measured. Its VCP has fixed constants per
/// round trip (§8: 12 round trips to double; appendix F: "fixed"), so VCP's scaling by the RTT is
/// off.
const EXPLICIT: [(&str, &str); 4] = [
    ("xcp", "xcp[variant=abc]"),
    ("xcpw", "xcpw"),
    ("rcp", "rcp[variant=abc]"),
    ("vcp", "vcp[variant=abc]"),
];

/// Returns ABC, the other schemes with explicit feedback, and those without routers.
fn schemes() -> impl Iterator<Item = (&'static str, &'static str)> {
    let (abc, plain) = SCHEMES.split_at(1);
    abc.iter().chain(&EXPLICIT).chain(plain).copied()
}

/// Propagation in ms that the paper's averages over traces (Figs 8, 17, 18 and the introduction's
/// table) seem to include, unlike its delays on one trace; the paper does not say so. Both readings
/// are measured: `p95` and `mean` are queueing alone, `p95_rtt` and `mean_rtt` include it.
const RTT_MS: f64 = 100.0;
/// Indices of AT&T's two uplinks, the later of which has outages of up to 4 s. Averages are also
/// shown without them, because they dominate mean delays.
const OUTAGES: [usize; 2] = [3, 7];

/// Number of traces, and seconds of a run, in a quick reproduction.
const QUICK: (usize, u64) = (2, 30);

fn plan(setting: &Setting) -> Result<Vec<Task>, String> {
    let length = setting.length(140, QUICK.1);
    let mut tasks = Vec::new();
    let all = setting.abc_traces()?;
    for (at, cellular) in setting.some(all.clone(), QUICK.0).into_iter().enumerate() {
        // The recordings come in pairs, one for each direction.
        let acks = Capacity::trace(all[at ^ 1].trace.clone());
        for (short, scheme) in schemes() {
            let mut comparison = abc_emulation(scheme, &cellular, length)?;
            comparison.reverse = Some(acks.clone());
            tasks.push(Task::scenario(on(short, &cellular.name), comparison.scenario()));
        }
    }
    if setting.causes {
        let shown = cellular_sweeps::plan(setting, length, QUICK.0)?.into_iter();
        let shown = shown.chain(cellular_starts::plan(setting, length, QUICK.0)?);
        tasks.extend(shown.map(Task::once));
    }
    Ok(tasks)
}

fn find(setting: &Setting, results: &Results) -> Result<Findings, String> {
    let traces = setting.some(setting.abc_traces()?, QUICK.0);
    let mut findings = Findings {
        traces: traces.iter().map(|cellular| cellular.name.clone()).collect(),
        ..Findings::default()
    };
    let mut views: Vec<RunView> = Vec::new();
    for (short, _) in schemes() {
        let own: Vec<RunView> = traces
            .iter()
            .map(|cellular| {
                view(short, &cellular.name, "link", results.get(&on(short, &cellular.name)))
            })
            .collect();
        findings
            .measure(format!("{short}.utilization"), mean(own.iter().map(|view| view.utilization)));
        findings
            .measure(format!("{short}.p95"), mean(own.iter().map(|view| view.queue_delay_ms.p95)));
        findings.measure(
            format!("{short}.mean"),
            mean(own.iter().map(|view| view.queue_delay_ms.mean)),
        );
        for part in ["p95", "mean"] {
            let queueing = findings.get(&format!("{short}.{part}"));
            findings.measure(format!("{short}.{part}_rtt"), queueing + RTT_MS);
        }
        let six = || own.iter().enumerate().filter(|(at, _)| !OUTAGES.contains(at));
        let p95 = mean(six().map(|(_, view)| view.queue_delay_ms.p95));
        let middle = mean(six().map(|(_, view)| view.queue_delay_ms.mean));
        findings.measure(format!("six.{short}.p95_rtt"), p95 + RTT_MS);
        findings.measure(format!("six.{short}.mean_rtt"), middle + RTT_MS);
        views.extend(own);
    }
    for (short, _) in schemes() {
        for part in ["utilization", "p95", "mean", "p95_rtt", "mean_rtt"] {
            let ratio =
                findings.get(&format!("{short}.{part}")) / findings.get(&format!("abc.{part}"));
            findings.measure(format!("{short}/abc.{part}"), ratio);
            findings.measure(format!("abc/{short}.{part}"), 1.0 / ratio);
        }
        for part in ["p95_rtt", "mean_rtt"] {
            let ratio = findings.get(&format!("six.{short}.{part}"))
                / findings.get(&format!("six.abc.{part}"));
            findings.measure(format!("six.{short}/abc.{part}"), ratio);
        }
    }
    fronts(&traces, &views, &mut findings);
    trends(&traces, &views, &mut findings);
    let palette = Palette::new(schemes().map(|(short, _)| short));
    findings.figure(
        "tradeoff",
        scatter_figure(&views, &palette),
        "Utilisation over the 95th percentile of the queueing delay, the means over the traces.",
    );
    for cellular in &traces {
        let own: Vec<RunView> =
            views.iter().filter(|view| view.trace == cellular.name).cloned().collect();
        findings.figure(
            &format!("trace {}", cellular.name),
            scatter_figure(&own, &palette),
            &format!("Throughput over delay on {}.", cellular.name),
        );
    }
    findings.figure(
        "bars",
        bars_figure(&views, &palette),
        "Utilisation and 95th-percentile queueing delay on each trace.",
    );
    findings.table("summary", summary_table(&views, &palette), "All runs.");
    if setting.causes {
        cellular_sweeps::find(setting, results, QUICK.0, &mut findings)?;
        cellular_starts::find(setting, results, QUICK.0, &mut findings)?;
    }
    Ok(findings)
}

/// Schemes that the paper calls low in delay and in utilisation, and high in both (§7.3).
const CAREFUL: [&str; 4] = ["codel", "pie", "copa", "sprout"];
const EAGER: [&str; 3] = ["bbr", "cubic", "vivace"];

/// Compares the careful and the eager schemes with ABC on each trace, and counts the traces on
/// which the paper's trends hold.
fn trends(traces: &[Cellular], views: &[RunView], findings: &mut Findings) {
    let all = traces.len() as f64;
    let (mut unbeaten, mut low, mut long) = (0.0, 0.0, 0.0);
    for (at, cellular) in traces.iter().enumerate() {
        let figures = |scheme: &str| {
            let is_own = |view: &&RunView| view.trace == cellular.name && view.scheme == scheme;
            let own = views.iter().find(is_own);
            own.map_or([f64::NAN; 2], |view| [view.utilization, view.queue_delay_ms.p95])
        };
        let abc = figures("abc");
        let ratios = |schemes: &[&str], part: usize| -> Vec<f64> {
            schemes.iter().map(|scheme| figures(scheme)[part] / abc[part]).collect()
        };
        let name = |group: &str, part: &str| format!("trace{}.{group}/abc.{part}", at + 1);
        let careful = [0, 1].map(|part| most(ratios(&CAREFUL, part)));
        let eager = [0, 1].map(|part| least(ratios(&EAGER, part)));
        for (part, value) in [("utilization", 0), ("p95", 1)] {
            findings.measure(name("careful", part), careful[value]);
            findings.measure(name("eager", part), eager[value]);
        }
        unbeaten += f64::from(u8::from(findings.get(&format!("trace{}.better", at + 1)) < 0.5));
        low += f64::from(u8::from(careful[0] <= 0.95));
        long += f64::from(u8::from(eager[1] >= 1.1));
    }
    findings.measure("traces.unbeaten", unbeaten / all);
    findings.measure("traces.careful", low / all);
    findings.measure("traces.eager", long / all);
}

/// Evaluates on each trace how far ABC lies outside the front of the schemes without explicit
/// feedback, and how many of them reach its utilisation with at most its delay.
fn fronts(traces: &[Cellular], views: &[RunView], findings: &mut Findings) {
    let is_explicit = |view: &RunView| {
        view.scheme == "abc" || EXPLICIT.iter().any(|(short, _)| view.scheme == *short)
    };
    let mut distances: Vec<Vec<String>> = Vec::new();
    for (at, cellular) in traces.iter().enumerate() {
        let own: Vec<&RunView> = views.iter().filter(|view| view.trace == cellular.name).collect();
        let Some(abc) = own.iter().find(|view| view.scheme == "abc") else { continue };
        let point = |view: &RunView| (view.utilization, view.queue_delay_ms.p95);
        let plain = || own.iter().filter(|view| !is_explicit(view));
        let better = better(point(abc), plain().map(|view| point(view)));
        findings.measure(format!("trace{}.better", at + 1), better);
        let front = distance(point(abc), plain().map(|view| point(view)));
        findings.measure(format!("trace{}.distance", at + 1), front);
        // The distance of each other scheme to the front of the rest, which includes ABC.
        let of = |view: &RunView| {
            let rest = plain().filter(|other| other.scheme != view.scheme).chain([abc]);
            distance(point(view), rest.map(|other| point(other)))
        };
        let others: Vec<f64> = plain().map(|view| of(view)).collect();
        let largest = most(others.iter().copied());
        findings.measure(format!("trace{}.others", at + 1), largest);
        let farther = others.iter().filter(|other| **other > front).count();
        let power = |view: &RunView| view.utilization / view.queue_delay_ms.p95;
        let best = most(plain().map(|view| power(view)));
        findings.measure(format!("trace{}.power", at + 1), power(abc) / best);
        let mut row = vec![cellular.name.clone(), format!("{front:.2}")];
        row.extend(others.iter().map(|other| format!("{other:.2}")));
        row.extend([(farther + 1).to_string(), format!("{:.2}", power(abc) / best)]);
        distances.push(row);
        for view in &own {
            let name = format!("trace{}.{}", at + 1, view.scheme);
            findings.measure(format!("{name}.utilization"), view.utilization);
            findings.measure(format!("{name}.p95"), view.queue_delay_ms.p95);
        }
    }
    let mut columns = vec!["recording"];
    columns.extend(SCHEMES.iter().map(|(short, _)| *short));
    columns.extend(["ABC's place", "ABC's power over the best other's"]);
    findings.sweep(
        "Distances to the front",
        "Distance of each scheme to the front of all others without explicit feedback, and of ABC. \
         Schemes with extreme throughput or delay are far outside, too: a positive distance does not \
         single one out. `ABC's place` is its place by distance. Power is utilisation over the 95th \
         percentile of queueing delay: above 1, ABC has more of it than any other scheme here.",
        &columns,
        distances,
    );
}
