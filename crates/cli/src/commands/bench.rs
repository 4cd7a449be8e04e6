//! `paceline bench`: measures the simulator's speed. Each scenario runs in its own process, so that
//! memory and processor time are those of this scenario.

use std::process::Command;

use clap::Args;
use paceline_lab::bench::{BenchResult, BenchScenario, SCENARIOS};
use paceline_remy::CpuClock;
use paceline_requests::numbers::figure;
use serde::{Deserialize, Serialize};

use crate::output::{self, Error};
use crate::table::Grid;

#[derive(Args)]
#[command(after_help = "\
The scenarios are described in docs/performance.md. Time and instructions are measured without \
computing the digest of events; the digest comes from another run of the same scenario.

Examples:
  paceline bench
  paceline bench a b --json")]
pub(crate) struct Bench {
    /// Which scenarios: a, b, c, d, e, f
    #[arg(value_parser = ["a", "b", "c", "d", "e", "f"])]
    scenarios: Vec<String>,
    /// Count instructions per packet as well (needs valgrind)
    #[arg(long)]
    instructions: bool,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    /// Run one scenario in this process, with this multiple of its duration, and print its figures
    #[arg(long, hide = true, value_name = "TIMES")]
    child: Option<u32>,
}

#[derive(Serialize)]
struct BenchDocument {
    scenarios: Vec<BenchRow>,
}

#[derive(Serialize)]
struct BenchRow {
    name: &'static str,
    description: &'static str,
    delivered_packets: u64,
    cpu_s: f64,
    packets_per_cpu_s: f64,
    peak_rss_mb: f64,
    /// Peak memory of the process, program included, divided by the number of flows.
    kb_per_flow: f64,
    digest: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions_per_packet: Option<f64>,
}

/// Figures that a child process prints.
#[derive(Serialize, Deserialize)]
struct Child {
    delivered_packets: u64,
    cpu_s: f64,
    peak_rss_mb: f64,
}

impl Bench {
    pub(crate) fn run(self) -> Result<(), Error> {
        let chosen = |scenario: &&BenchScenario| {
            self.scenarios.is_empty() || self.scenarios.iter().any(|name| name == scenario.name)
        };
        let chosen: Vec<&BenchScenario> = SCENARIOS.iter().filter(chosen).collect();
        if let (Some(times), Some(scenario)) = (self.child, chosen.first()) {
            return child(scenario, times);
        }
        let mut report = BenchDocument { scenarios: Vec::new() };
        for scenario in chosen {
            report.scenarios.push(self.measure(scenario)?);
        }
        if self.json {
            return output::print_json(&report);
        }
        let mut grid = Grid::numbers(&[
            "scenario",
            "packets",
            "CPU s",
            "million/CPU s",
            "peak MB",
            "kB/flow",
            "instructions/packet",
            "digest",
        ]);
        for row in &report.scenarios {
            grid.row(vec![
                format!("{}: {}", row.name, row.description),
                row.delivered_packets.to_string(),
                figure(row.cpu_s),
                figure(row.packets_per_cpu_s / 1e6),
                figure(row.peak_rss_mb),
                figure(row.kb_per_flow),
                row.instructions_per_packet.map_or("-".into(), figure),
                row.digest.clone(),
            ]);
        }
        output::print(&grid.text())
    }

    fn measure(&self, scenario: &'static BenchScenario) -> Result<BenchRow, Error> {
        let program = crate::host::program().map_err(Error::Message)?;
        let times = scenario.timed;
        let arguments = |times: u32| {
            [String::from("bench"), scenario.name.into(), "--child".into(), times.to_string()]
        };
        let text = run_to_end(Command::new(&program).args(arguments(times)))?.0;
        let child: Child = serde_json::from_str(&text).map_err(|error| {
            Error::Message(format!("the measuring process said {text:?}: {error}"))
        })?;
        let mut row = BenchRow {
            name: scenario.name,
            description: scenario.description,
            delivered_packets: child.delivered_packets,
            cpu_s: child.cpu_s,
            packets_per_cpu_s: child.delivered_packets as f64 / child.cpu_s.max(1e-9),
            peak_rss_mb: child.peak_rss_mb,
            kb_per_flow: child.peak_rss_mb * 1e3 / f64::from(scenario.flows()),
            digest: scenario.digest(times).map_err(|error| Error::Message(error.to_string()))?,
            instructions_per_packet: None,
        };
        if self.instructions {
            // Subtracting the shorter run removes the start of the process.
            let (short, long) = scenario.counted;
            let count = |times: u32| -> Result<(f64, f64), Error> {
                let mut command = Command::new("valgrind");
                command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
                let (text, log) = run_to_end(command.arg(&program).args(arguments(times)))?;
                let child: Child = serde_json::from_str(&text)
                    .map_err(|error| Error::Message(format!("valgrind's child: {error}")))?;
                Ok((collected(&log)?, child.delivered_packets as f64))
            };
            let ((few, fewer), (many, more)) = (count(short)?, count(long)?);
            row.instructions_per_packet = Some((many - few) / (more - fewer));
        }
        Ok(row)
    }
}

/// Runs a command to its end. Returns its standard output and standard error.
fn run_to_end(command: &mut Command) -> Result<(String, String), Error> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| {
        Error::Message(format!("{name} cannot be started: {error} (is it installed?)"))
    })?;
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        return Err(Error::Message(format!("{name} ended with {}: {log}", output.status)));
    }
    Ok((String::from_utf8_lossy(&output.stdout).into_owned(), log))
}

/// Returns the number of instructions that callgrind counted.
fn collected(log: &str) -> Result<f64, Error> {
    let count = log.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok());
    count.ok_or_else(|| Error::Message(format!("valgrind counted nothing: {log}")))
}

/// Runs one scenario in this process and prints its figures.
fn child(scenario: &BenchScenario, times: u32) -> Result<(), Error> {
    let clock = CpuClock::start();
    let result: BenchResult =
        scenario.run(times).map_err(|error| Error::Message(error.to_string()))?;
    output::print_json(&Child {
        delivered_packets: result.delivered_packets,
        cpu_s: clock.seconds(),
        peak_rss_mb: peak_rss_mb(),
    })
}

/// Returns the peak memory of this process in megabytes (10⁶ bytes); 0 if it is unknown.
fn peak_rss_mb() -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kib.unwrap_or(0.0) * 1024.0 / 1e6
}
