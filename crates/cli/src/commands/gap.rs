//! `paceline gap`: compares the simulator with real TCP over the same link.

mod emulated;
mod linux;
mod table;

use std::path::PathBuf;

use clap::Args;
use paceline_cc::spec::split_list;
use paceline_cc::{ArgumentError, SchemeSpec, Span};
use paceline_path::BufferSize;
use paceline_requests::compare::Comparison;
use paceline_requests::gap::{GapPaths, GapRequest, GapRows, GapRun, Start};
use paceline_sim::scenario::FlowSpec;

use crate::args;
use crate::commands::kernel::{self, LoadedProgram, ProgramChoice};
use crate::commands::run::read_scenario;
use crate::emulation::Emulation;
use crate::linux_hosts;
use crate::output::{self, Error};
use crate::registries;
use crate::results::TableFiles;
use crate::runs::{RunsArgs, SCENARIO};

#[derive(Args)]
#[command(mut_arg("runs", RunsArgs::stated("", "those of the scenario file, or 10")))]
#[command(mut_arg("spread", RunsArgs::stated(SCENARIO, "that of the scenario file, or 1s")))]
#[command(after_help = "\
Each scheme runs over the same link in the simulator, ten times unless --runs or the scenario file
says otherwise, and for the same time in the emulator with this machine's own TCP. The first
simulated run begins where the real one does; the range is that of 90 % of the simulated runs. A
line below the table names the real figures outside this range, widened by a point of utilization,
5 % of p95 and 10 % of the packets resent. This works for schemes that both have: cubic, bbr,
reno, and those of `paceline kernel`. Hosts with the fq qdisc pace all of them: --fq adds a row
for each (cubic[pacing=linux]). With --udp, Paceline's own senders and receivers take the place of
TCP, and every scheme works. With --linux, the real side is a Linux kernel in the simulator's time
(docs/linux-guest.md), whose runs have the starts of the simulated ones; this needs no emulator,
no root and less time.

Examples:
  paceline gap --trace lte-driving --schemes cubic,bbr
  paceline gap --trace verizon.up --reverse-trace verizon.down --json
  paceline gap scenarios/outage.toml --schemes cubic,bbr
  paceline gap --linux --trace lte-driving --trace 12Mbps --schemes cubic,bbr,vegas --runs 5
  sudo paceline gap --kernel abc --trace lte-driving --realtime
  sudo paceline gap --kernel 'remy[file=RemyCC-2014-100x.dna],c2tcp[base=newreno]'")]
pub(crate) struct Gap {
    /// A scenario file, instead of --trace, --rtt, --buffer and --flows
    #[arg(conflicts_with_all = ["traces", "reverse_trace", "rtt", "buffer", "flows"])]
    scenario: Option<PathBuf>,
    /// A built-in trace, a trace file, or a rate such as 12Mbps; may be repeated
    #[arg(
        long = "trace",
        value_name = "NAME|FILE|RATE",
        default_value = "lte-driving",
        help_heading = "Links"
    )]
    traces: Vec<String>,
    /// The link in the reverse direction, which carries acknowledgements; without it they meet no
    /// queue
    #[arg(long, value_name = "NAME|FILE|RATE", help_heading = "Links")]
    reverse_trace: Option<String>,
    /// Schemes, separated by commas, with queues if you like: cubic+codel. Without it: cubic, bbr and
    /// reno, or the schemes in the scenario file
    #[arg(long, value_name = "LIST", value_parser = schemes, help_heading = "Senders")]
    schemes: Option<args::Schemes>,
    /// Congestion controls of `paceline kernel`, separated by commas, instead of --schemes; they are
    /// loaded for this run
    #[arg(long, value_name = "LIST", value_parser = programs, conflicts_with_all = ["schemes", "udp"], help_heading = "Senders")]
    kernel: Option<args::Schemes>,
    /// Run each scheme that has a window and no pacing a second time, paced as by the fq qdisc:
    /// cubic[pacing=linux] beside cubic
    #[arg(long, conflicts_with_all = ["kernel", "udp"], help_heading = "Senders")]
    fq: bool,
    /// Compare with a Linux kernel in the simulator's time instead of this machine's TCP; without
    /// DIR, the guest in $PACELINE_LINUX or ~/.cache/paceline/linux
    #[arg(long, value_name = "DIR", require_equals = true,
        conflicts_with_all = ["kernel", "udp", "cpu", "realtime", "strict"], help_heading = "Senders")]
    linux: Option<Option<PathBuf>>,
    /// Run Paceline's own senders over UDP instead of this machine's TCP
    #[arg(long, help_heading = "Senders")]
    udp: bool,
    /// Round-trip propagation delay, half of it each way
    #[arg(long, default_value_t = FlowSpec::RTT, value_parser = args::rtt, allow_hyphen_values = true, help_heading = "Links")]
    rtt: Span,
    /// The link's buffer: packets, or 64kB, 50ms (at its mean rate), 1bdp, inf, sojourn=50ms (the longest wait)
    #[arg(long, default_value = "250", value_parser = args::buffer, allow_hyphen_values = true, help_heading = "Links")]
    buffer: BufferSize,
    /// How long to run, instead of 60s or the duration in the scenario file
    #[arg(long, value_parser = args::length, allow_hyphen_values = true, help_heading = "Runs")]
    duration: Option<Span>,
    /// How many flows each scheme has
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64), help_heading = "Senders")]
    flows: u32,
    /// The seed of all random numbers
    #[arg(long, value_parser = args::seed, help_heading = "Runs")]
    seed: Option<u64>,
    #[command(flatten)]
    runs: RunsArgs,
    /// Bind the emulator to this processor
    #[arg(long, value_name = "N", help_heading = "Real time")]
    cpu: Option<usize>,
    /// Give the emulator priority over all ordinary programs, and lock its memory (SCHED_FIFO,
    /// mlockall)
    #[arg(long, help_heading = "Real time")]
    realtime: bool,
    /// Print JSON instead of tables
    #[arg(long, help_heading = "Outputs")]
    json: bool,
    #[command(flatten)]
    files: TableFiles,
    /// Fail if the emulator was late in a run, so that its figures are not those of the link
    #[arg(long, help_heading = "Outputs")]
    strict: bool,
    /// Do not report which run is in progress
    #[arg(short, long, help_heading = "Outputs")]
    quiet: bool,
}

/// Schemes of `gap` by default.
const USUAL: &str = "cubic,bbr,reno";

/// Reads schemes. The kernel's name `reno` stands for `newreno`.
fn schemes(text: &str) -> Result<args::Schemes, String> {
    let parts = split_list(text).map_err(|error| error.to_string())?;
    let ours = parts.into_iter().map(|part| match part.strip_prefix("reno") {
        Some(rest) if rest.is_empty() || rest.starts_with(['+', '[']) => format!("newreno{rest}"),
        _ => part.to_string(),
    });
    args::schemes(&ours.collect::<Vec<_>>().join(","))
}

/// Reads names of `paceline kernel`'s programs, perhaps with queues, as the simulator's schemes.
fn programs(text: &str) -> Result<args::Schemes, String> {
    let parts = split_list(text).map_err(|error| error.to_string())?;
    let ours = parts.into_iter().map(kernel::scheme).collect::<Result<Vec<String>, String>>()?;
    let schemes = args::schemes(&ours.join(","))?;
    schemes.0.iter().try_for_each(|scheme| kernel_name(scheme).map(drop))?;
    Ok(schemes)
}

/// Returns the program of `paceline kernel` that implements this scheme, if there is one.
fn program(scheme: &SchemeSpec) -> Result<Option<ProgramChoice>, Error> {
    kernel::chosen(&scheme.sender)
}

/// Returns true if the parameter says that the host paces the scheme, as with the `fq` qdisc.
fn is_paced((param, value): &(String, String)) -> bool {
    (param.as_str(), value.as_str()) == ("pacing", "linux")
}

/// Returns the kernel's name of the scheme.
fn kernel_name(scheme: &SchemeSpec) -> Result<String, String> {
    if let Some(chosen) = program(scheme).map_err(|error| error.to_string())? {
        return Ok(chosen.program.name.to_string());
    }
    if scheme.sender.args.iter().any(|arg| !is_paced(arg)) {
        return Err(format!(
            "{}: the kernel's TCP takes no parameters but pacing=linux",
            scheme.sender
        ));
    }
    // The program of this name implements another variant than the bare scheme.
    if paceline_kernel::find(&scheme.sender.name).is_ok() {
        let name = &scheme.sender.name;
        return Err(format!(
            "{name} is a program of `paceline kernel`: name it by --kernel {name}"
        ));
    }
    Ok(kernel_names_scheme(&scheme.sender.name).to_string())
}

/// Returns the name by which Linux knows a scheme of the simulator.
fn kernel_names_scheme(name: &str) -> &str {
    if name == "newreno" { "reno" } else { name }
}

impl Gap {
    pub(crate) fn run(self) -> Result<(), Error> {
        self.files.prepare(self.json)?;
        if let Some(folder) = &self.linux {
            if let Some(folder) = folder {
                linux_hosts::look_in(folder);
            }
            return self.beside_linux();
        }
        self.check()?;
        let runs = self.request()?.plan(registries::names()).map_err(|error| self.named(error))?;
        if self.scenario.is_some() {
            let schemes = runs.iter().filter_map(|run| run.comparison.scheme.named());
            let check = |scheme| kernel_name(scheme).map(drop);
            schemes.into_iter().try_for_each(check).map_err(|problem| {
                self.named(ArgumentError::new("scenario", format!("{problem}; name --schemes")))
            })?;
        }
        let mut loaded = Vec::new();
        for scheme in self.kernel.iter().flat_map(|schemes| &schemes.0) {
            if let Some(chosen) = program(scheme)? {
                loaded.push(LoadedProgram::ensure(&chosen)?);
            }
        }
        // Runs the emulations first: they start processes, which is safest in a program without
        // threads.
        let mut rows = Vec::new();
        for run in runs {
            let GapRun { comparison, scenario } = &run;
            if !self.quiet {
                let Comparison { scheme, trace, .. } = comparison;
                output::note(&format!("{scheme} on {trace}: {} in real time", scenario.duration));
            }
            let priority =
                Emulation { cpu: self.cpu, realtime: self.realtime, ..Emulation::default() };
            let real = match self.udp {
                true => emulated::run_udp(comparison, scenario, priority)?,
                false => emulated::run(comparison, scenario, priority)?,
            };
            let start = Start::of(&real, self.udp);
            let row = run.beside(real, start, registries::names());
            rows.push(row.map_err(|error| Error::Message(error.to_string()))?);
        }
        self.files.write(&rows, (&GapRows { rows: &rows }, self.seed), self.quiet)?;
        if self.json {
            output::print_json(&GapRows { rows: &rows })?;
        } else if !self.files.replaces_tables() {
            output::print(&table::tables(&rows))?;
        }
        let late = rows.iter().filter(|row| self.strict && row.emulated.late);
        let late = late.map(|row| format!("{} on {}: late", row.scheme, row.trace));
        output::warn(&late.collect::<Vec<String>>(), self.strict)
    }

    /// Simulates each scheme with its own ends, and with Linux hosts.
    fn beside_linux(&self) -> Result<(), Error> {
        let runs = self.request()?.plan(registries::names()).map_err(|error| self.named(error))?;
        let (guest, rows) = linux::rows(&runs, self.quiet)?;
        let document = linux::LinuxRows { linux_guest: &guest, rows: &rows };
        self.files.write(&rows, (&document, self.seed), self.quiet)?;
        if self.json {
            return output::print_json(&document);
        }
        if self.files.replaces_tables() {
            return Ok(());
        }
        output::print(&linux::table(&rows, &guest))
    }

    /// Checks that the other side can run the schemes.
    fn check(&self) -> Result<(), Error> {
        let wrong = |problem: String| Error::Usage(format!("--schemes {problem}"));
        let schemes = self.schemes.iter().flat_map(|schemes| &schemes.0);
        if !self.udp {
            return schemes.map(kernel_name).try_for_each(|name| name.map(drop)).map_err(wrong);
        }
        if self.scenario.is_some() || self.flows != 1 {
            return Err(Error::Usage(
                "--udp runs one flow over --trace: leave the scenario and --flows out".into(),
            ));
        }
        Ok(())
    }

    /// Returns the request that the options describe.
    fn request(&self) -> Result<GapRequest, Error> {
        let schemes = self.schemes.as_ref().or(self.kernel.as_ref()).map(|schemes| &schemes.0);
        let (paths, usual) = match &self.scenario {
            Some(file) => (GapPaths::Scenario(Box::new(read_scenario(file)?)), Vec::new()),
            None => (self.links()?, self::schemes(USUAL).map_err(Error::Usage)?.0),
        };
        Ok(GapRequest {
            paced: self.fq,
            duration: self.duration,
            seed: self.seed,
            count: self.runs.runs,
            spread: self.runs.spread,
            ..GapRequest::new(paths, schemes.cloned().unwrap_or(usual))
        })
    }

    fn links(&self) -> Result<GapPaths, Error> {
        let read = |text: &String| args::capacity(text).map_err(Error::Usage);
        let reverse = self.reverse_trace.as_ref().map(read).transpose()?;
        Ok(GapPaths::Links {
            links: self.traces.iter().map(read).collect::<Result<_, _>>()?,
            reverse: reverse.map(|(_, capacity)| capacity),
            rtt: self.rtt,
            buffer: self.buffer,
            flows: self.flows,
        })
    }

    /// Returns the error about an argument; about the scenario, with its file's name.
    fn named(&self, error: ArgumentError) -> Error {
        match (&self.scenario, error.argument) {
            (Some(file), "scenario") => {
                Error::Usage(format!("{}: {}", file.display(), error.problem))
            }
            _ => error.into(),
        }
    }
}
