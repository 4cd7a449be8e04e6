//! `paceline gap`: compares the simulator with real TCP over the same link.

mod emulated;
mod inside;
mod table;

use std::path::{Path, PathBuf};

use clap::Args;
use paceline_cc::{SchemeSpec, Span};
use paceline_path::BufferSize;
use paceline_requests::compare::{CompareRow, Comparison};
use paceline_requests::summary::{SummaryRow, summary_row};
use paceline_sim::runs::{Run, Runs};
use paceline_sim::scenario::{Capacity, FlowSpec, LossRecovery, Scenario, Workload};
use serde::Serialize;

use crate::args;
use crate::commands::kernel::{self, LoadedProgram, ProgramChoice};
use crate::commands::run::read_scenario;
use crate::emulation::Emulation;
use crate::output::{self, Error};
use crate::registries;
use crate::runs::RunsArgs;

use emulated::Emulated;
use inside::Inside;

#[derive(Args)]
#[command(after_help = "\
Each scheme runs over the same link in the simulator, ten times unless --runs says otherwise, and
for the same time in the emulator with this machine's own TCP. The first simulated run begins where
the real one does; the range is that of 90 % of the simulated runs. A line below the table names
the real figures outside this range, widened by a point of utilization, 5 % of p95 and 10 % of the
packets resent. This works for schemes that both
have: cubic, bbr, reno, and those of `paceline kernel`. Hosts with the fq qdisc pace all of them:
--fq adds a row for each (cubic[pacing=linux]). With --udp, Paceline's own senders and
receivers take the place of TCP, and every scheme works.

Examples:
  paceline gap --trace lte-driving --schemes cubic,bbr
  paceline gap --trace verizon.up --reverse-trace verizon.down --json
  paceline gap scenarios/outage.toml --schemes cubic,bbr
  sudo paceline gap --kernel abc --trace lte-driving --realtime
  sudo paceline gap --kernel 'remy[file=RemyCC-2014-100x.dna],c2tcp[base=newreno]'")]
pub(crate) struct Gap {
    /// A scenario file, instead of --trace, --rtt, --buffer and --flows
    #[arg(conflicts_with_all = ["traces", "reverse_trace", "rtt", "buffer", "flows"])]
    scenario: Option<PathBuf>,
    /// A built-in trace, a trace file, or a rate such as 12Mbps; may be repeated
    #[arg(long = "trace", value_name = "NAME|FILE|RATE", default_value = "lte-driving")]
    traces: Vec<String>,
    /// The link in the reverse direction, which carries acknowledgements; without it they meet no
    /// queue
    #[arg(long, value_name = "NAME|FILE|RATE")]
    reverse_trace: Option<String>,
    /// Schemes, separated by commas, with queues if you like: cubic+codel. Without it: cubic, bbr and
    /// reno, or the schemes in the scenario file
    #[arg(long, value_name = "LIST", value_parser = schemes)]
    schemes: Option<args::Schemes>,
    /// Congestion controls of `paceline kernel`, separated by commas, instead of --schemes; they are
    /// loaded for this run
    #[arg(long, value_name = "LIST", value_parser = programs, conflicts_with_all = ["schemes", "udp"])]
    kernel: Option<args::Schemes>,
    /// Run each scheme that has a window and no pacing a second time, paced as by the fq qdisc:
    /// cubic[pacing=linux] beside cubic
    #[arg(long, conflicts_with_all = ["kernel", "udp"])]
    fq: bool,
    /// Run Paceline's own senders over UDP instead of this machine's TCP
    #[arg(long)]
    udp: bool,
    /// Round-trip propagation delay, half of it each way
    #[arg(long, default_value_t = FlowSpec::RTT, value_parser = args::rtt, allow_hyphen_values = true)]
    rtt: Span,
    /// The link's buffer: packets, or 64kB, 50ms (at its mean rate), 1bdp, inf, sojourn=50ms (the longest wait)
    #[arg(long, default_value = "250", value_parser = args::buffer, allow_hyphen_values = true)]
    buffer: BufferSize,
    /// How long to run, instead of 60s or the duration in the scenario file
    #[arg(long, value_parser = args::length, allow_hyphen_values = true)]
    duration: Option<Span>,
    /// How many flows each scheme has
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    flows: u32,
    /// The seed of all random numbers
    #[arg(long)]
    seed: Option<u64>,
    #[command(flatten)]
    runs: RunsArgs,
    /// Bind the emulator to this processor
    #[arg(long, value_name = "N")]
    cpu: Option<usize>,
    /// Give the emulator priority over all ordinary programs, and lock its memory (SCHED_FIFO,
    /// mlockall)
    #[arg(long)]
    realtime: bool,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
    /// Fail if the emulator was late in a run, so that its figures are not those of the link
    #[arg(long)]
    strict: bool,
    /// Do not report which run is in progress
    #[arg(short, long)]
    quiet: bool,
}

/// Real and simulated results of one scheme on one trace.
#[derive(Serialize)]
struct GapRow {
    trace: String,
    scheme: String,
    /// The simulated run that starts when the real one does.
    simulated: CompareRow,
    /// All simulated runs.
    simulated_runs: SummaryRow,
    emulated: Emulated,
    /// Whether the real figures lie inside the range of the simulated ones; `None` with a single
    /// simulated run.
    #[serde(skip_serializing_if = "Option::is_none")]
    inside: Option<Inside>,
}

#[derive(Serialize)]
struct Rows<'a> {
    rows: &'a [GapRow],
}

/// Reads schemes. The kernel's name `reno` stands for `newreno`.
fn schemes(text: &str) -> Result<args::Schemes, String> {
    let parts = paceline_cc::spec::split_list(text);
    let ours = parts.into_iter().map(|part| match part.strip_prefix("reno") {
        Some(rest) if rest.is_empty() || rest.starts_with(['+', '[']) => format!("newreno{rest}"),
        _ => part.to_string(),
    });
    args::schemes(&ours.collect::<Vec<_>>().join(","))
}

/// Reads names of `paceline kernel`'s programs, perhaps with queues, as the simulator's schemes.
fn programs(text: &str) -> Result<args::Schemes, String> {
    let parts = paceline_cc::spec::split_list(text);
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

/// Returns these schemes, each followed by its paced variant if the host can pace it.
fn with_paced(schemes: &args::Schemes) -> args::Schemes {
    let with = schemes.0.iter().flat_map(|scheme| {
        let mut paced = scheme.clone();
        paced.sender.args.push(("pacing".into(), "linux".into()));
        let can_be = registries::names().build_scheme(&paced.sender).is_ok();
        [Some(scheme.clone()), can_be.then_some(paced)].into_iter().flatten()
    });
    args::Schemes(with.collect())
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
    Ok(match scheme.sender.name.as_str() {
        "newreno" => "reno".into(),
        name => name.to_string(),
    })
}

impl Gap {
    pub(crate) fn run(self) -> Result<(), Error> {
        self.check()?;
        let runs = match &self.scenario {
            Some(file) => self.of_file(file)?,
            None => self.comparisons()?,
        };
        let mut loaded = Vec::new();
        for scheme in self.kernel.iter().flat_map(|schemes| &schemes.0) {
            if let Some(chosen) = program(scheme)? {
                loaded.push(LoadedProgram::ensure(&chosen)?);
            }
        }
        // Runs the emulations first: they start processes, which is safest in a program without
        // threads.
        let mut rows = Vec::new();
        for (comparison, mut scenario) in runs {
            if !self.quiet {
                let Comparison { scheme, trace, .. } = &comparison;
                output::note(&format!("{scheme} on {trace}: {} in real time", scenario.duration));
            }
            let priority =
                Emulation { cpu: self.cpu, realtime: self.realtime, ..Emulation::default() };
            let emulated = match self.udp {
                true => emulated::run_udp(&comparison, &scenario, priority)?,
                false => emulated::run(&comparison, &scenario, priority)?,
            };
            // The programs of real flows take a moment to start, and on a trace with outages a
            // tenth of a second decides the result. So the simulated flows start when the real
            // ones' SYN arrived at the link. A handshake over UDP takes two round trips from its
            // first packet on, which is as large as data; the simulated handshake takes the place
            // of the second round trip.
            let link = &emulated.link;
            let first = match self.udp {
                true => link.first_data_s.map(|first| first + emulated.handshake_s / 2.0),
                false => link.first_syn_s.or(link.first_data_s),
            };
            let start = Span::from_secs_f64(first.unwrap_or(0.0));
            for flow in &mut scenario.flows {
                flow.start = start;
                if self.udp {
                    // The recovery that senders over UDP use.
                    flow.recovery = LossRecovery::Rfc9002;
                }
            }
            scenario.runs = self.runs.or(match scenario.runs {
                Runs { count: 1, spread } => Runs { spread, ..Runs::new(10) },
                written => written,
            });
            let mut runs = Vec::new();
            for run in Run::all(&scenario) {
                let outcome = paceline_requests::run(&run.scenario(&scenario), registries::names())
                    .map_err(|error| Error::Message(error.to_string()))?;
                runs.push(comparison.row_of(run, &outcome));
            }
            let simulated_runs = summary_row(&runs.iter().collect::<Vec<_>>());
            let simulated = runs.swap_remove(0);
            let CompareRow { trace, scheme, .. } = simulated.clone();
            let inside = Inside::of(&emulated, &simulated_runs);
            rows.push(GapRow { trace, scheme, simulated, simulated_runs, emulated, inside });
        }
        if self.json {
            output::print_json(&Rows { rows: &rows })?;
        } else {
            output::print(&table::tables(&rows))?;
        }
        let late = rows.iter().filter(|row| self.strict && row.emulated.late);
        let late = late.map(|row| format!("{} on {}: late", row.scheme, row.trace));
        output::warn(&late.collect::<Vec<String>>(), self.strict)
    }

    /// Returns the schemes that --schemes or --kernel names.
    fn schemes(&self) -> Option<&args::Schemes> {
        self.schemes.as_ref().or(self.kernel.as_ref())
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

    fn comparisons(&self) -> Result<Vec<(Comparison, Scenario)>, Error> {
        let read = |text: &str| args::capacity(text).map_err(Error::Usage);
        let reverse = self.reverse_trace.as_deref().map(read).transpose()?;
        let reverse: Option<Capacity> = reverse.map(|(_, capacity)| capacity);
        let usual = schemes("cubic,bbr,reno").map_err(Error::Usage)?;
        let mut runs = Vec::new();
        for written in &self.traces {
            let (name, capacity) = read(written)?;
            let schemes = self.schemes().unwrap_or(&usual);
            let paced = self.fq.then(|| with_paced(schemes));
            for scheme in &paced.as_ref().unwrap_or(schemes).0 {
                let mut comparison = Comparison {
                    reverse: reverse.clone(),
                    flows: self.flows,
                    rtt: self.rtt,
                    buffer: self.buffer,
                    ..Comparison::new(&name, capacity.clone(), scheme.clone())
                };
                comparison.duration = self.duration.unwrap_or(comparison.duration);
                comparison.seed = self.seed.unwrap_or(comparison.seed);
                let scenario = comparison.scenario();
                runs.push((comparison, scenario));
            }
        }
        Ok(runs)
    }

    /// Reads a scenario whose flows all send bulk data over one path from the beginning on. The
    /// measured link is the first one on the path.
    fn of_file(&self, file: &Path) -> Result<Vec<(Comparison, Scenario)>, Error> {
        let mut scenario = read_scenario(file)?;
        let refuse = |what: &str| {
            Error::Usage(format!(
                "{}: {what}; `gap` runs bulk flows over one path, from the beginning to the end",
                file.display()
            ))
        };
        scenario.duration = self.duration.unwrap_or(scenario.duration);
        scenario.seed = self.seed.unwrap_or(scenario.seed);
        scenario.warmup = Span::ZERO;
        let Some(first) = scenario.flows.first().cloned() else {
            return Err(refuse("there is no flow"));
        };
        if !scenario.arrivals.is_empty() {
            return Err(refuse("there are flows of random arrivals"));
        }
        let way = |flow: &FlowSpec| {
            (flow.path.clone(), flow.back.clone(), flow.rtt, flow.data.clone(), flow.acks.clone())
        };
        for flow in &scenario.flows {
            let name = &flow.name;
            let whole = flow.start.is_zero() && flow.stop.is_none() && flow.stagger.is_zero();
            if !matches!(flow.workload, Workload::Bulk) {
                return Err(refuse(&format!("flow `{name}` is no bulk flow")));
            } else if !whole {
                return Err(refuse(&format!("flow `{name}` starts or stops on the way")));
            } else if way(flow) != way(&first) {
                return Err(refuse(&format!("flow `{name}` takes another path than the first")));
            } else if self.schemes().is_none() && flow.scheme != first.scheme {
                let text =
                    format!("flow `{name}` has another scheme than the first: name --schemes");
                return Err(refuse(&text));
            }
        }
        let of_path = |name: &String| scenario.links.iter().position(|link| link.name == *name);
        let Some(at) = first.path.first().and_then(of_path) else {
            return Err(refuse("there is no link"));
        };
        // Moves the measured link to the front.
        scenario.links.swap(0, at);
        // Schemes of scenario files have names.
        let own = args::Schemes(first.scheme.named().cloned().into_iter().collect());
        let mut runs = Vec::new();
        let schemes = self.schemes().unwrap_or(&own);
        let paced = self.fq.then(|| with_paced(schemes));
        for scheme in &paced.as_ref().unwrap_or(schemes).0 {
            kernel_name(scheme).map_err(|problem| {
                Error::Usage(format!("{}: {problem}; name --schemes", file.display()))
            })?;
            let mut scenario = scenario.clone();
            scenario.flows.iter_mut().for_each(|flow| flow.scheme = scheme.clone().into());
            let link = &scenario.links[0];
            let comparison = Comparison {
                flows: scenario.flows.iter().map(|flow| flow.count).sum(),
                rtt: first.rtt,
                buffer: link.buffer,
                duration: scenario.duration,
                seed: scenario.seed,
                ..Comparison::new(&link.name, link.capacity.clone(), scheme.clone())
            };
            runs.push((comparison, scenario));
        }
        Ok(runs)
    }
}
