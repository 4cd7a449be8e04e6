//! Runs the maintainers' suite on quinn and noq, with their own congestion control and with
//! Paceline's.
//!
//! ```sh
//! cargo run --release -p paceline-quic-sim --example suite -- [NAME]... \
//!   [--runs=N] [--baselines=DIR] [--save=DIR] [--junit=DIR] [--json=DIR]
//! ```
//! NAMEs select congestion controls by a part of their label, such as `own` or `bbr3`. Each case
//! runs N times (5). With `--baselines`, verdicts are those against the file of a congestion control in this
//! folder, if there is one; `--save` writes such files. `--junit` and `--json` write a report for
//! each congestion control. Exits with 1 if a check fails.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use paceline_quic_sim::suite::{Aim, Baseline, Suite, SuiteReport};
use paceline_quic_sim::{Noq, Quinn};
use paceline_sim::CustomTransport;

/// Options of the command line.
#[derive(Default)]
struct Options {
    names: Vec<String>,
    runs: Option<u32>,
    baselines: Option<PathBuf>,
    save: Option<PathBuf>,
    junit: Option<PathBuf>,
    json: Option<PathBuf>,
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let options = options()?;
    let suite = Suite::standard().runs(options.runs.unwrap_or(Suite::RUNS));
    let mut verdicts = Vec::new();
    let mut passes = true;
    for (transport, aim) in stacks()? {
        let is_chosen = |name: &String| transport.label().contains(name.as_str());
        if !options.names.is_empty() && !options.names.iter().any(is_chosen) {
            continue;
        }
        let report = suite.run(&transport.into(), aim)?;
        let baseline = baseline(&options, &report)?;
        match &baseline {
            Some(baseline) => println!("{}", report.against(baseline)),
            None => println!("{report}"),
        }
        passes &= match &baseline {
            Some(baseline) => report.holds_against(baseline),
            None => report.holds(),
        };
        write(&options, &report, baseline.as_ref())?;
        let failed = report.cases.iter().filter(|case| !case.holds()).map(|case| case.name);
        verdicts.push((report.scheme.clone(), failed.collect::<Vec<_>>().join(", ")));
    }
    for (scheme, failed) in verdicts {
        println!("{scheme:<24} {}", if failed.is_empty() { "meets all bounds" } else { &failed });
    }
    Ok(if passes { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn options() -> Result<Options, Box<dyn Error>> {
    let mut options = Options::default();
    for argument in std::env::args().skip(1) {
        match argument.split_once('=') {
            Some(("--runs", count)) => options.runs = Some(count.parse()?),
            Some(("--baselines", folder)) => options.baselines = Some(folder.into()),
            Some(("--save", folder)) => options.save = Some(folder.into()),
            Some(("--junit", folder)) => options.junit = Some(folder.into()),
            Some(("--json", folder)) => options.json = Some(folder.into()),
            _ if argument.starts_with("--") => {
                return Err(format!("option '{argument}': expected --runs=N, --baselines=DIR, --save=DIR, --junit=DIR or --json=DIR").into());
            }
            _ => options.names.push(argument),
        }
    }
    Ok(options)
}

/// Returns the path of a report's file: `quinn, own cubic` becomes `quinn-own-cubic`.
fn file(folder: &Path, report: &SuiteReport, suffix: &str) -> PathBuf {
    let words = report.scheme.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    folder.join(format!("{}.{suffix}", words.join("-")))
}

fn baseline(options: &Options, report: &SuiteReport) -> Result<Option<Baseline>, Box<dyn Error>> {
    let Some(folder) = &options.baselines else { return Ok(None) };
    let path = file(folder, report, "json");
    if !path.exists() {
        return Ok(None);
    }
    let kept = Baseline::from_json(&fs::read_to_string(&path)?);
    Ok(Some(kept.map_err(|error| format!("{}: {error}", path.display()))?))
}

fn write(
    options: &Options,
    report: &SuiteReport,
    baseline: Option<&Baseline>,
) -> Result<(), Box<dyn Error>> {
    let outputs = [
        (&options.save, "json", report.baseline().to_json()),
        (&options.junit, "xml", report.to_junit(baseline)),
        (&options.json, "json", report.to_json()),
    ];
    for (folder, suffix, text) in outputs {
        let Some(folder) = folder else { continue };
        fs::create_dir_all(folder)?;
        fs::write(file(folder, report, suffix), text)?;
    }
    Ok(())
}

fn stacks() -> Result<Vec<(CustomTransport, Aim)>, Box<dyn Error>> {
    use Aim::{FillsBuffers, LimitsDelay};
    use noq_proto::congestion as noq;
    use quinn_proto::congestion as quinn;

    let mut all = vec![
        (
            Quinn::new("quinn, own cubic", Arc::new(quinn::CubicConfig::default())).transport(),
            FillsBuffers,
        ),
        (
            Quinn::new("quinn, own newreno", Arc::new(quinn::NewRenoConfig::default())).transport(),
            FillsBuffers,
        ),
        (
            Quinn::new("quinn, own bbr", Arc::new(quinn::BbrConfig::default())).transport(),
            LimitsDelay,
        ),
        (
            Noq::new("noq, own cubic", Arc::new(noq::CubicConfig::default())).transport(),
            FillsBuffers,
        ),
        (
            Noq::new("noq, own newreno", Arc::new(noq::NewRenoConfig::default())).transport(),
            FillsBuffers,
        ),
        (Noq::new("noq, own bbr3", Arc::new(noq::Bbr3Config::default())).transport(), LimitsDelay),
    ];
    for (spec, aim) in [
        ("cubic", FillsBuffers),
        ("newreno", FillsBuffers),
        ("bbr3", LimitsDelay),
        ("copa", LimitsDelay),
    ] {
        let quinn = Arc::new(paceline_quinn::Scheme::parse(spec)?);
        all.push((Quinn::new(format!("quinn, {spec}"), quinn).transport(), aim));
        let noq = Arc::new(paceline_noq::Scheme::parse(spec)?);
        all.push((Noq::new(format!("noq, {spec}"), noq).transport(), aim));
    }
    Ok(all)
}
