//! `paceline linux`: guests that run a Linux kernel in the simulator's time.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use paceline_guest::build::{self, BuildError, BuiltGuest, Order, Progress, Source, Verdict};
use serde::Serialize;

use crate::args;
use crate::output::{self, Error};
use crate::table::Grid;

/// Time between two progress lines of a build if standard error is no terminal.
const LINES: Duration = Duration::from_secs(20);

#[derive(Subcommand)]
#[command(after_help = "\
Examples:
  paceline linux build
  paceline linux build --source linux-6.12 -o my-guest
  paceline linux list
  paceline linux test")]
pub(crate) enum Linux {
    /// Build a guest from the distribution's kernel source, or from your own kernel tree
    Build(Build),
    /// List the guests, and their congestion controls
    List(List),
    /// Start a guest, and check this machine for the features that guests need
    Test(Test),
    /// Compile a congestion control for a guest: a C file of your own, or one of Paceline's
    Module(Module),
}

#[derive(Args)]
#[command(after_help = "\
A first build takes minutes, and 1.5 GB below ~/.cache/paceline (or $XDG_CACHE_HOME). A tree in which one \
file has changed is built again in seconds. No root is needed.

Examples:
  paceline linux build --jobs 4
  paceline linux build --version 6.1 -o guest-6.1
  paceline linux build --source linux-6.12 -o patched")]
pub(crate) struct Build {
    /// Version of the package linux-source-VERSION; by default 6.12 if the distribution has it,
    /// else its newest
    #[arg(long, value_name = "VERSION", conflicts_with = "source", help_heading = "Kernel")]
    version: Option<String>,
    /// The top folder of your own kernel tree; nothing is written into it
    #[arg(long, value_name = "DIR", help_heading = "Kernel")]
    source: Option<PathBuf>,
    /// The guest's folder; by default $PACELINE_LINUX or ~/.cache/paceline/linux
    #[arg(short, value_name = "DIR", help_heading = "Outputs")]
    output: Option<PathBuf>,
    /// Number of compilers at the same time; by default the number of cores
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Ticks of the kernel's timer per second, CONFIG_HZ: 100, 250, 300 or 1000
    #[arg(long, value_name = "N", default_value_t = build::DEFAULT_HZ, help_heading = "Kernel")]
    hz: u32,
    /// A file with further lines of kernel configuration, e.g. CONFIG_TLS=y
    #[arg(long, value_name = "FILE", help_heading = "Kernel")]
    config: Option<PathBuf>,
    /// Print JSON instead of text
    #[arg(long, help_heading = "Outputs")]
    json: bool,
    /// Do not show progress
    #[arg(short, help_heading = "Outputs")]
    quiet: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline linux list
  paceline linux list my-guest --json")]
pub(crate) struct List {
    /// Folders of further guests
    folders: Vec<PathBuf>,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline linux test
  paceline linux test my-guest --json")]
pub(crate) struct Test {
    /// The guest's folder; by default $PACELINE_LINUX or ~/.cache/paceline/linux
    folder: Option<PathBuf>,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline linux module tcp_mine.c
  paceline linux module c2tcp --linux my-guest")]
pub(crate) struct Module {
    /// A C file with a `struct tcp_congestion_ops` that has a .name, or abc_ecn, c2tcp, remy, vegas_ebpf
    source: String,
    /// The guest's folder; by default $PACELINE_LINUX or ~/.cache/paceline/linux
    #[arg(long = "linux", value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

fn fail(error: BuildError) -> Error {
    match error {
        BuildError::Unusable(text) | BuildError::NoSource(text) => Error::Usage(text),
        other => Error::Message(other.to_string()),
    }
}

impl Linux {
    pub(crate) fn run(self) -> Result<(), Error> {
        match self {
            Linux::Build(build) => build.run(),
            Linux::List(list) => list.run(),
            Linux::Test(test) => test.run(),
            Linux::Module(module) => module.run(),
        }
    }
}

/// Returns the folder that the user named, or the one where the simulator looks.
fn folder_or_default(named: Option<PathBuf>) -> Result<PathBuf, Error> {
    named.map_or_else(|| build::default_guest().map_err(fail), Ok)
}

/// Display of a build's progress: a line that changes on a terminal, else a line for each step and
/// every 20 s.
struct Display {
    bar: Option<ProgressBar>,
    quiet: bool,
    last_line: Instant,
}

impl Display {
    fn new(quiet: bool) -> Display {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(args::wall(0.2));
            bar
        });
        Display { bar, quiet, last_line: Instant::now() }
    }

    fn show(&mut self, progress: &Progress<'_>) {
        let (text, is_step) = match progress {
            Progress::Step(what) => (what.to_string(), true),
            Progress::Compiled { files, name } => {
                (format!("{files} files compiled: {name}"), false)
            }
        };
        if let Some(bar) = &self.bar {
            bar.set_message(text);
        } else if !self.quiet && (is_step || self.last_line.elapsed() >= LINES) {
            self.last_line = Instant::now();
            output::note(&text);
        }
    }
}

impl Build {
    fn run(self) -> Result<(), Error> {
        let mut order = Order::new(folder_or_default(self.output)?);
        order.source = match self.source {
            Some(tree) => Source::Tree(tree),
            None => Source::Distribution(self.version),
        };
        order.jobs = self.jobs.map_or(order.jobs, usize::from);
        order.hz = self.hz;
        order.config = self.config;
        let started = Instant::now();
        let mut display = Display::new(self.quiet);
        let built = build::build(&order, &mut |progress| display.show(&progress));
        if let Some(bar) = &display.bar {
            bar.finish_and_clear();
        }
        let built = built.map_err(fail)?;
        if self.json {
            return output::print_json(&Guest::from(&built));
        }
        let seconds = started.elapsed().as_secs();
        output::print(&format!("{}built in {seconds} s\n", about(&built)))
    }
}

/// A guest's fields in JSON.
#[derive(Serialize)]
struct Guest<'a> {
    folder: String,
    kernel: &'a str,
    source: &'a str,
    compiler: &'a str,
    hz: u32,
    kernel_sha256: &'a str,
    initramfs_sha256: &'a str,
    config_sha256: &'a str,
    congestion_controls: &'a [String],
}

impl<'a> From<&'a BuiltGuest> for Guest<'a> {
    fn from(guest: &'a BuiltGuest) -> Guest<'a> {
        let about = &guest.manifest;
        Guest {
            folder: guest.folder.display().to_string(),
            kernel: &about.version,
            source: &about.source,
            compiler: &about.compiler,
            hz: about.hz,
            kernel_sha256: &about.kernel_sha256,
            initramfs_sha256: &about.initramfs_sha256,
            config_sha256: &about.config_sha256,
            congestion_controls: &about.schemes,
        }
    }
}

fn short(hash: &str) -> String {
    hash.chars().take(12).collect()
}

fn about(guest: &BuiltGuest) -> String {
    let manifest = &guest.manifest;
    let mut grid = Grid::after(2, &["", ""]);
    for (what, value) in [
        ("guest", guest.folder.display().to_string()),
        ("kernel", format!("Linux {}, {} ticks per second", manifest.version, manifest.hz)),
        ("source", manifest.source.clone()),
        ("hash of the kernel", short(&manifest.kernel_sha256)),
        ("hash of the initramfs", short(&manifest.initramfs_sha256)),
        ("congestion controls", manifest.schemes.join(" ")),
    ] {
        grid.row(vec![what.into(), value]);
    }
    grid.text()
}

#[derive(Serialize)]
struct GuestList<'a> {
    guests: Vec<Guest<'a>>,
}

impl List {
    fn run(self) -> Result<(), Error> {
        let found = build::guests().map_err(fail)?;
        let named = self.folders.iter();
        let guests = found.iter().chain(named).map(|folder| BuiltGuest::read(folder).map_err(fail));
        let guests = guests.collect::<Result<Vec<_>, _>>()?;
        if self.json {
            return output::print_json(&GuestList {
                guests: guests.iter().map(Guest::from).collect(),
            });
        }
        if guests.is_empty() {
            return output::print(
                "There is no Linux guest. Build one with: paceline linux build\n",
            );
        }
        let texts: Vec<_> = guests.iter().map(about).collect();
        output::print(&texts.join("\n"))
    }
}

/// One check of `test`.
#[derive(Serialize)]
struct Finding {
    name: String,
    verdict: &'static str,
    detail: String,
}

impl Finding {
    fn new(name: &str, verdict: Verdict, detail: String) -> Finding {
        let verdict = match verdict {
            Verdict::Good => "good",
            Verdict::Doubtful => "doubtful",
            Verdict::Bad => "bad",
        };
        Finding { name: name.into(), verdict, detail }
    }
}

#[derive(Serialize)]
struct TestResult {
    findings: Vec<Finding>,
}

/// Checks the guest's files, and starts it.
fn check_guest(folder: &Path) -> Vec<Finding> {
    let row = |name: &str, result: Result<String, BuildError>| {
        let verdict = if result.is_ok() { Verdict::Good } else { Verdict::Bad };
        Finding::new(name, verdict, result.unwrap_or_else(|error| error.to_string()))
    };
    let guest = match BuiltGuest::read(folder) {
        Ok(guest) => guest,
        Err(error) => return vec![row("guest", Err(error))],
    };
    let files = guest.verify().map(|()| {
        let manifest = &guest.manifest;
        format!("Linux {}, kernel {}", manifest.version, short(&manifest.kernel_sha256))
    });
    if files.is_err() {
        return vec![row("guest", files)];
    }
    let (kernel, initramfs) = guest.files();
    let booted = build::boot(&kernel, &initramfs).map(|boot| {
        let (count, seconds) = (boot.schemes.len(), boot.took.as_secs_f64());
        format!("starts in {seconds:.2} s and has {count} congestion controls")
    });
    vec![row("guest", files), row("start", booted)]
}

impl Test {
    fn run(self) -> Result<(), Error> {
        let folder = folder_or_default(self.folder)?;
        let host = build::check_host();
        let rows =
            host.into_iter().map(|check| Finding::new(check.name, check.verdict, check.detail));
        let mut findings: Vec<_> = rows.collect();
        findings.extend(check_guest(&folder));
        let bad = findings.iter().filter(|row| row.verdict == "bad").count();
        if self.json {
            output::print_json(&TestResult { findings })?;
        } else {
            let mut grid = Grid::words(&["what", "verdict", "detail"]);
            for row in findings {
                grid.row(vec![row.name, row.verdict.into(), row.detail]);
            }
            output::print(&grid.text())?;
        }
        match bad {
            0 => Ok(()),
            _ => Err(Error::Message(
                "no Linux guest can run here: the bad rows above say why".into(),
            )),
        }
    }
}

#[derive(Serialize)]
struct ModuleResult {
    path: String,
    congestion_control: String,
}

impl Module {
    fn run(self) -> Result<(), Error> {
        let guest = BuiltGuest::read(&folder_or_default(self.folder)?).map_err(fail)?;
        let built = build::find_module(&guest, &self.source, &[]).map_err(fail)?;
        let Some(built) = built else {
            let text = format!("the guest's kernel has `{}` itself", self.source);
            return Err(Error::Usage(text));
        };
        let (path, scheme) = (built.path.display().to_string(), built.scheme);
        match self.json {
            true => output::print_json(&ModuleResult { path, congestion_control: scheme }),
            false => output::print(&format!("{scheme}: {path}\n")),
        }
    }
}
