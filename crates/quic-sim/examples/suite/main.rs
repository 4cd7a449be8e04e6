//! Runs the maintainers' suite on quinn and noq, with their own congestion control and with
//! Paceline's, and on that of s2n-quic and of Paceline under the simulator's own sender.
//!
//! ```sh
//! cargo run --release -p paceline-quic-sim --example suite -- [NAME]... \
//!   [--runs=N] [--baselines=DIR] [--save=DIR] [--junit=DIR] [--json=DIR] [--page=FILE]
//! ```
//! NAMEs select congestion controls by their name or a part of it, such as `own` or `quinn:bbr3`. Each case
//! runs N times (5). With `--baselines`, verdicts are those against the file of a congestion control in this
//! folder, if there is one; `--save` writes such files. `--junit` and `--json` write a report for
//! each congestion control. Exits with 1 if a check fails. `--page` runs nothing, but writes tables of the
//! figures in the folder of `--baselines`.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod page;
mod stacks;

use std::error::Error;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use paceline_quic_sim::suite::{Baseline, Suite, SuiteReport};

/// Options of the command line.
#[derive(Default)]
struct Options {
    names: Vec<String>,
    runs: Option<u32>,
    baselines: Option<PathBuf>,
    save: Option<PathBuf>,
    junit: Option<PathBuf>,
    json: Option<PathBuf>,
    page: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<ExitCode, Box<dyn Error>> {
    let options = options(std::env::args().skip(1))?;
    if let Some(file) = &options.page {
        let folder = options.baselines.as_ref().ok_or("--page=FILE needs --baselines=DIR")?;
        fs::write(file, page::page(folder)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    // Before the runs, which take minutes.
    for folder in options.outputs() {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let suite = Suite::standard().runs(options.runs.unwrap_or(Suite::RUNS));
    let mut passes = true;
    let reports = reports(&suite, &stacks::chosen(&options.names)?)?;
    for report in &reports {
        let baseline = baseline(&options, report)?;
        match &baseline {
            Some(baseline) => println!("{}", report.against(baseline)),
            None => println!("{report}"),
        }
        passes &= match &baseline {
            Some(baseline) => report.holds_against(baseline),
            None => report.holds(),
        };
        write(&options, report, baseline.as_ref())?;
    }
    for report in &reports {
        let failed = report.cases.iter().filter(|case| !case.holds()).map(|case| case.name);
        let failed = failed.collect::<Vec<_>>().join(", ");
        let failed = if failed.is_empty() { "meets all bounds" } else { &failed };
        println!("{:<24} {failed}", report.scheme);
    }
    Ok(if passes { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs the suite on the congestion controls called `names`, side by side on all processors.
fn reports(suite: &Suite, names: &[&str]) -> Result<Vec<SuiteReport>, String> {
    let next = AtomicUsize::new(0);
    let done: Vec<OnceLock<Result<SuiteReport, String>>> =
        names.iter().map(|_| OnceLock::new()).collect();
    let work = || {
        while let Some((name, place)) = {
            let number = next.fetch_add(1, Ordering::Relaxed);
            names.get(number).zip(done.get(number))
        } {
            let report = stacks::stack(name).map_err(|error| error.to_string());
            let report = report.and_then(|(scheme, aim)| {
                suite.run(&scheme, aim).map_err(|error| format!("{name}: {error}"))
            });
            place.get_or_init(|| report);
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, NonZeroUsize::get) {
            scope.spawn(work);
        }
    });
    done.into_iter().filter_map(OnceLock::into_inner).collect()
}

impl Options {
    /// Returns the folders that are written.
    fn outputs(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.save, &self.junit, &self.json].into_iter().flatten()
    }
}

fn options(arguments: impl Iterator<Item = String>) -> Result<Options, Box<dyn Error>> {
    let mut options = Options::default();
    for argument in arguments {
        match argument.split_once('=') {
            Some((option, "")) => {
                return Err(format!("option '{option}=': a value stands behind the `=`").into());
            }
            Some(("--runs", count)) => {
                let runs = count.parse().ok().filter(|runs| *runs > 0);
                let wrong = || format!("option '{argument}': expected a number of runs, --runs=5");
                options.runs = Some(runs.ok_or_else(wrong)?);
            }
            Some(("--baselines", folder)) => options.baselines = Some(folder.into()),
            Some(("--save", folder)) => options.save = Some(folder.into()),
            Some(("--junit", folder)) => options.junit = Some(folder.into()),
            Some(("--json", folder)) => options.json = Some(folder.into()),
            Some(("--page", file)) => options.page = Some(file.into()),
            _ if argument.starts_with("--") => {
                // `--save DIR` would take the folder for the name of a congestion control.
                return Err(format!(
                    "option '{argument}': expected --runs=N, --baselines=DIR, --save=DIR, --junit=DIR, \
                     --json=DIR or --page=FILE"
                )
                .into());
            }
            _ => options.names.push(argument),
        }
    }
    if options.save.is_some() && options.save == options.json {
        return Err(
            "--save and --json write files of equal names: give them different folders".into()
        );
    }
    if options.page.is_none() && options.save.is_some() && options.save == options.baselines {
        return Err(
            "--save would replace the files of --baselines while it compares with them: leave one out".into(),
        );
    }
    Ok(options)
}

/// Returns the path of a report's file.
fn file(folder: &Path, report: &SuiteReport, suffix: &str) -> PathBuf {
    folder.join(format!("{}.{suffix}", stacks::file_stem(&report.scheme)))
}

/// Returns the baseline of a report, if there is a file of it.
fn baseline(options: &Options, report: &SuiteReport) -> Result<Option<Baseline>, String> {
    let has_file = |folder: &&PathBuf| stacks::kept_file(folder, &report.scheme).exists();
    let folder = options.baselines.as_ref().filter(has_file);
    folder.map(|folder| stacks::kept(folder, &report.scheme)).transpose()
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
        let file = file(folder, report, suffix);
        fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_lines_are_answered_before_anything_runs() {
        for (line, words) in [
            ("own --save", "--save=DIR"),
            ("own --save=", "a value stands behind"),
            ("--runs=ten", "expected a number of runs"),
            ("--runs=0", "expected a number of runs"),
            ("--save=a --json=a", "different folders"),
            ("--save=a --baselines=a", "leave one out"),
        ] {
            let found = options(line.split(' ').map(String::from));
            let error = found.err().expect(line).to_string();
            assert!(error.contains(words), "{line}: {error}");
        }
        let found = options(["own", "--save=a", "--json=b"].map(String::from).into_iter());
        let found = found.expect("a line");
        assert_eq!((found.outputs().count(), found.names), (2, vec!["own".to_string()]));
    }
}
