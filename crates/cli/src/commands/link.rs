//! `paceline link`: a link each way, with its queue and router.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use paceline_path::BufferSize;

use crate::args;
use crate::emulation::link::{QueueChoice, link_side, queue_choice};
use crate::emulation::{Emulation, Plan, scenario};
use crate::output::Error;

#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline link --up 12Mbps --down lte-driving -- iperf3 -c server -R
  paceline link --up lte-driving.up --down lte-driving --down-queue codel --buffer 500 --meter
  paceline link --scenario scenarios/fairness.toml -- bash
  paceline link --scenario scenarios/home-medium.toml --flow backup -- bash

Where the flow passes a shared 802.11 medium, the scenario's other flows are simulated beside the \
program inside, in real time, and contend with it: see docs/emulator.md.")]
pub(crate) struct LinkCommand {
    /// The link from inside to outside: a rate such as 12Mbps, a built-in trace, or a trace file
    #[arg(long, value_name = "RATE|NAME|FILE", required_unless_present = "scenario")]
    up: Option<String>,
    /// The link from outside to inside
    #[arg(long, value_name = "RATE|NAME|FILE", required_unless_present = "scenario")]
    down: Option<String>,
    /// The queue of the link up: droptail, codel, fq_codel, and so on; or a scheme that has a router,
    /// such as abc, if the senders use this scheme
    #[arg(long, value_name = "QUEUE", default_value = "droptail", value_parser = queue_choice)]
    up_queue: QueueChoice,
    /// The queue of the link down
    #[arg(long, value_name = "QUEUE", default_value = "droptail", value_parser = queue_choice)]
    down_queue: QueueChoice,
    /// The buffer of both links: packets, or 64kB, 50ms (at their mean rate), 1bdp (for an RTT of 100 ms), inf,
    /// sojourn=50ms (the longest wait)
    #[arg(long, default_value = "250", value_parser = args::buffer)]
    buffer: BufferSize,
    /// The buffer of the link up
    #[arg(long, value_name = "BUFFER", value_parser = args::buffer)]
    up_buffer: Option<BufferSize>,
    /// The buffer of the link down
    #[arg(long, value_name = "BUFFER", value_parser = args::buffer)]
    down_buffer: Option<BufferSize>,
    /// Do not repeat the traces: when a trace is over, nothing passes any more
    #[arg(long)]
    once: bool,
    /// Write Mahimahi's logs: FILE.up and FILE.down
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Emulate the path of a flow in a scenario file; the program inside is its sender
    #[arg(long, value_name = "FILE", conflicts_with_all = ["up", "down", "once"])]
    scenario: Option<PathBuf>,
    /// With --scenario: the flow whose path to emulate, if the flows have different ones
    #[arg(long, value_name = "NAME", requires = "scenario")]
    flow: Option<String>,
    /// With --scenario: the program inside is the receiver
    #[arg(long, requires = "scenario")]
    receive: bool,
    #[command(flatten)]
    emulation: Emulation,
}

impl LinkCommand {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        let (mut up, mut down, prompt) = match (&self.scenario, &self.up, &self.down) {
            (Some(file), _, _) => {
                let (data, acks) = scenario::sides(file, self.flow.as_deref(), &self.emulation)?;
                let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                let (up, down) = if self.receive { (acks, data) } else { (data, acks) };
                (up, down, format!("[{name}] "))
            }
            (None, Some(up), Some(down)) => {
                let seed = self.emulation.seed;
                let both = (self.up_buffer.unwrap_or(self.buffer), &self.up_queue);
                let above = link_side("up", up, both, seed, !self.once)?;
                let both = (self.down_buffer.unwrap_or(self.buffer), &self.down_queue);
                let below = link_side("down", down, both, seed, !self.once)?;
                let names = if up == down { up.clone() } else { format!("{up} {down}") };
                (above, below, format!("[link {names}] "))
            }
            _ => return Err(Error::Usage("expected --up and --down, or --scenario".into())),
        };
        if let Some(log) = &self.log {
            let with = |end: &str| {
                let mut name = log.clone().into_os_string();
                name.push(end);
                Some(PathBuf::from(name))
            };
            (up.log, down.log) = (with(".up"), with(".down"));
        }
        Plan { kind: "link", prompt, up, down, options: self.emulation }.run()
    }
}
