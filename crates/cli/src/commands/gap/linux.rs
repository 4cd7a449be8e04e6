//! `gap --linux`: the simulator's schemes beside those of a Linux kernel, both over simulated links.

use paceline_cc::{SchemeSpec, Spec};
use paceline_guest::FAMILY;
use paceline_guest::build::BuiltGuest;
use paceline_requests::compare::CompareRow;
use paceline_requests::gap::{GapRun, Inside};
use paceline_requests::numbers::{figure, percent};
use paceline_requests::summary::{SummaryRow, summary_row};
use paceline_sim::metrics::Distribution;
use paceline_sim::runs::Run;
use rayon::prelude::*;
use serde::Serialize;

use super::{is_paced, kernel_names_scheme};
use crate::linux_hosts;
use crate::output::{self, Error};
use crate::registries;
use crate::table::Grid;

/// A scheme on a path, with the simulator's ends and with Linux hosts.
#[derive(Serialize)]
pub(super) struct LinuxRow {
    trace: String,
    scheme: String,
    /// The scheme of the Linux hosts.
    linux_scheme: String,
    /// All runs of the simulator's scheme.
    simulated_runs: SummaryRow,
    /// All runs of Linux, with equal starts and seeds.
    linux_runs: SummaryRow,
    /// Whether Linux' medians lie inside the range of the simulator's runs; `None` with a single
    /// run.
    #[serde(skip_serializing_if = "Option::is_none")]
    inside: Option<Inside>,
}

/// The JSON of `paceline gap --linux`.
#[derive(Serialize)]
pub(super) struct LinuxRows<'a> {
    /// Release and hashes of the guest.
    pub(super) linux_guest: &'a str,
    /// A row for each scheme on each path.
    pub(super) rows: &'a [LinuxRow],
}

/// Returns the scheme of Linux hosts that corresponds to one of the simulator's: `newreno+codel` is
/// `linux:reno+codel`.
///
/// # Errors
/// The scheme has a parameter without a counterpart, or the guest's kernel lacks the scheme.
fn linux_scheme(scheme: &SchemeSpec, guest: &BuiltGuest) -> Result<String, String> {
    let name = kernel_names_scheme(&scheme.sender.name).to_string();
    let available = &guest.manifest.schemes;
    if !available.contains(&name) {
        let all = available.join(", ");
        return Err(format!("{scheme}: the Linux guest has no `{name}`; it has {all}"));
    }
    let mut args = Vec::new();
    // Without ECN, Linux' DCTCP is Reno.
    if name == "dctcp" {
        args.push(("ecn".to_string(), "true".to_string()));
    }
    for arg in &scheme.sender.args {
        match (arg.0.as_str(), arg.1.as_str()) {
            _ if is_paced(arg) => args.push(("qdisc".into(), "fq".into())),
            ("ecn", "true" | "false") => args.push(arg.clone()),
            (param, _) => {
                return Err(format!(
                    "{scheme}: Linux has no `{param}`; with --linux, schemes have pacing=linux and ecn"
                ));
            }
        }
    }
    let linux = SchemeSpec { sender: Spec { name, args }, queue: scheme.queue.clone() };
    Ok(format!("{FAMILY}:{linux}"))
}

/// Returns this run with Linux hosts in place of the simulator's ends.
fn with_linux_hosts(run: &GapRun, guest: &BuiltGuest) -> Result<GapRun, Error> {
    let scheme = run.comparison.scheme.named();
    let scheme = scheme.ok_or_else(|| Error::Message("the scheme has no name".into()))?;
    let linux = linux_scheme(scheme, guest)
        .map_err(|problem| Error::Usage(format!("--schemes {problem}")))?;
    let linux = registries::names().read_scheme(&linux);
    let linux = linux.map_err(|error| Error::Message(error.to_string()))?;
    let mut run = run.clone();
    run.scenario.flows.iter_mut().for_each(|flow| flow.scheme = linux.clone());
    run.comparison.scheme = linux;
    Ok(run)
}

/// Makes all runs, on all cores, with both kinds of ends. Returns the guest's description and the
/// rows.
///
/// # Errors
/// There is no guest, or it lacks a scheme; a run fails.
pub(super) fn rows(runs: &[GapRun], quiet: bool) -> Result<(String, Vec<LinuxRow>), Error> {
    let guest = linux_hosts::guest().map_err(|error| Error::Usage(error.to_string()))?;
    let mut sides = Vec::new();
    for run in runs {
        sides.extend([run.clone(), with_linux_hosts(run, &guest)?]);
    }
    let numbers = |side: &GapRun| 1..=side.scenario.runs.count;
    let jobs = sides.iter().flat_map(|side| numbers(side).map(move |number| (side, number)));
    let jobs: Vec<(&GapRun, u32)> = jobs.collect();
    let bar = output::progress(quiet, jobs.len());
    let make = |(side, number): &(&GapRun, u32)| {
        let GapRun { comparison, scenario } = side;
        let run = Run::of(scenario, *number);
        let outcome = paceline_requests::run(&run.scenario(scenario), registries::names());
        bar.inc(1);
        bar.set_message(format!("{} on {}", comparison.scheme, comparison.trace));
        outcome.map(|outcome| comparison.row_of(run, &outcome)).map_err(|error| {
            Error::Message(format!("{} on {}: {error}", comparison.scheme, comparison.trace))
        })
    };
    let made = jobs.par_iter().map(make).collect::<Result<Vec<CompareRow>, Error>>();
    bar.finish_and_clear();
    let made = made?;
    let mut rest = made.iter();
    let mut summaries = sides.iter().map(|side| {
        summary_row(&rest.by_ref().take(side.scenario.runs.count as usize).collect::<Vec<_>>())
    });
    let pairs = std::iter::from_fn(|| Some((summaries.next()?, summaries.next()?)));
    let rows = pairs.map(|(simulated_runs, linux_runs)| LinuxRow {
        trace: simulated_runs.trace.clone(),
        scheme: simulated_runs.scheme.clone(),
        linux_scheme: linux_runs.scheme.clone(),
        inside: Inside::of_medians(&linux_runs, &simulated_runs),
        simulated_runs,
        linux_runs,
    });
    Ok((guest.describe(), rows.collect()))
}

/// Returns the table, and the number of rows in which Linux lies inside the simulator's range.
pub(super) fn table(rows: &[LinuxRow], guest: &str) -> String {
    let headings =
        ["trace", "scheme", "used %", "Linux", "p95 ms", "Linux", "resent", "Linux", "inside"];
    let mut grid = Grid::after(2, &headings);
    let ends = |of: &Distribution, write: fn(f64) -> String| {
        format!("{} [{}, {}]", write(of.median), write(of.p5), write(of.p95))
    };
    for row in rows {
        let (ours, linux) = (&row.simulated_runs, &row.linux_runs);
        let verdict = match row.inside.as_ref().map(Inside::outside) {
            None => "-".to_string(),
            Some(outside) if outside.is_empty() => "yes".into(),
            Some(outside) => format!("no: {outside}"),
        };
        grid.row(vec![
            row.trace.clone(),
            row.scheme.clone(),
            ends(&ours.utilization, percent),
            percent(linux.utilization.median),
            ends(&ours.queue_delay_ms.p95, figure),
            figure(linux.queue_delay_ms.p95.median),
            ends(&ours.retransmits.unwrap_or_default(), figure),
            figure(linux.retransmits.unwrap_or_default().median),
            verdict,
        ]);
    }
    let judged: Vec<&Inside> = rows.iter().filter_map(|row| row.inside.as_ref()).collect();
    let inside = judged.iter().filter(|inside| inside.outside().is_empty()).count();
    let runs = rows.first().map_or(0, |row| row.simulated_runs.runs);
    let text = grid.text();
    let all = judged.len();
    format!(
        "{text}Linux' medians of {runs} runs are inside the range of ours in {inside} of {all} rows.\n{guest}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guest() -> BuiltGuest {
        let folder = std::env::temp_dir().join(format!("paceline-gap-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let manifest = "{\"protocol\": 1, \"version\": \"6\", \"kernel_sha256\": \"\", \"initramfs_sha256\": \"\", \
                        \"config_sha256\": \"\", \"schemes\": [\"reno\", \"cubic\", \"dctcp\"]}";
        std::fs::write(folder.join("manifest.json"), manifest).expect("a file");
        let guest = BuiltGuest::read(&folder).expect("a guest");
        std::fs::remove_dir_all(&folder).expect("the folder");
        guest
    }

    #[test]
    fn schemes_have_counterparts_in_linux() {
        let guest = guest();
        let of = |text: &str| linux_scheme(&SchemeSpec::parse(text).expect("a scheme"), &guest);
        for (ours, linux) in [
            ("newreno+codel[target=5ms]", "linux:reno+codel[target=5ms]"),
            ("cubic[pacing=linux]", "linux:cubic[qdisc=fq]"),
            ("cubic[ecn=true]", "linux:cubic[ecn=true]"),
            ("dctcp", "linux:dctcp[ecn=true]"),
        ] {
            assert_eq!(of(ours).as_deref(), Ok(linux));
        }
        assert!(of("abc").expect_err("no abc").contains("it has reno, cubic, dctcp"));
        assert!(of("cubic[beta=0.5]").expect_err("no beta").contains("Linux has no `beta`"));
    }
}
