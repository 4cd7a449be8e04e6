//! `paceline router`: an ABC router, or any link and queue, in front of a device.

use std::os::fd::AsFd as _;
use std::path::PathBuf;

use clap::Args;
use paceline_cc::{Span, Time};
use paceline_emulator::router::RoutedDevice;
use paceline_os::RealTimeError;
use paceline_path::BufferSize;

use crate::args;
use crate::emulation::link::{QueueChoice, link_side, queue_choice};
use crate::emulation::{DirectionSetup, Emulation, Plan};
use crate::output::{self, Error};

/// Put an ABC router, or any link and queue, in front of a device of this machine
///
/// Needs root. A program inside of `paceline link` needs no router: the link has the queue. See docs/kernel.md, "A router on the way".
#[derive(Args)]
#[command(after_help = "\
What leaves DEV passes a link with its queue first, on a machine that forwards or that sends
itself; what comes in is left alone. Senders need not know. It ends with Ctrl-C, SIGTERM or
--duration, and DEV then sends as before, also if the router is killed.

Examples:
  sudo paceline router eth1 --rate 20Mbps
  sudo paceline router eth1 --trace lte-driving --queue abc+codel --meter
  sudo paceline router eth1 --rate 12Mbps --duration 60s --summary router.json")]
pub(crate) struct RouterCommand {
    /// The device, an Ethernet one: eth1, wlan0, a veth
    #[arg(value_name = "DEV")]
    device: String,
    /// The link's rate
    #[arg(
        long,
        value_name = "RATE",
        required_unless_present = "trace",
        conflicts_with = "trace",
        help_heading = "Link"
    )]
    rate: Option<String>,
    /// The link's capacity: a built-in trace or a trace file, which repeats
    #[arg(long, value_name = "NAME|FILE", help_heading = "Link")]
    trace: Option<String>,
    /// Its queue: a scheme with a router, such as abc, or droptail, codel, fq_codel, ...
    #[arg(long, value_name = "QUEUE", default_value = "abc", value_parser = queue_choice, help_heading = "Link")]
    queue: QueueChoice,
    /// Its buffer: packets, or 64kB, 50ms (at its mean rate), 1bdp (of 100 ms), inf, sojourn=50ms (the longest wait)
    #[arg(long, default_value = "250", value_parser = args::buffer, help_heading = "Link")]
    buffer: BufferSize,
    /// End after this long
    #[arg(long = "duration", alias = "for", value_name = "TIME", value_parser = args::length, allow_hyphen_values = true, help_heading = "Real time")]
    length: Option<Span>,
    /// The seed of all random streams
    #[arg(long, value_parser = args::seed, help_heading = "Real time")]
    seed: Option<u64>,
    /// Bind the router to this processor
    #[arg(long, value_name = "N", help_heading = "Real time")]
    cpu: Option<usize>,
    /// Run the router ahead of all ordinary programs, its memory locked (SCHED_FIFO, mlockall)
    #[arg(long, help_heading = "Real time")]
    realtime: bool,
    /// Show rate, queue and delay meanwhile
    #[arg(long, help_heading = "Outputs")]
    meter: bool,
    /// Write a summary as JSON to this file when it ends: `up` is the link
    #[arg(long, value_name = "FILE", help_heading = "Outputs")]
    summary: Option<PathBuf>,
    /// Write every packet at both sides of the link (pcapng)
    #[arg(long, value_name = "FILE", help_heading = "Outputs")]
    pcap: Option<PathBuf>,
    /// Do not report that it routes
    #[arg(short, long, help_heading = "Outputs")]
    quiet: bool,
}

impl RouterCommand {
    pub(crate) fn run(self) -> Result<(), Error> {
        let text = self.rate.as_deref().or(self.trace.as_deref()).unwrap_or_default();
        let up = link_side("up", text, (self.buffer, &self.queue), self.seed, true)?;
        let told = |error: RealTimeError| Error::Message(error.to_string());
        let routed = RoutedDevice::open(&self.device).map_err(told)?;
        let [device, tap] = routed.indices();
        let programs = paceline_kernel::router_programs(device, tap);
        let [there, back] = programs.map_err(|error| Error::Message(error.to_string()))?;
        let name = routed.tap_name().to_string();
        let router = routed.attach(there.as_fd(), back.as_fd()).map_err(told)?;
        if !self.quiet {
            let (queue, device) = (&self.queue, &self.device);
            output::note(&format!("packets that leave {device} pass {text} with {queue} ({name})"));
        }
        let end = self.length.map_or(Time::NEVER, |length| Time::ZERO + length);
        let options = Emulation {
            seed: self.seed,
            cpu: self.cpu,
            realtime: self.realtime,
            meter: self.meter,
            summary: self.summary,
            pcap: self.pcap,
            quiet: self.quiet,
            ..Emulation::default()
        };
        let prompt = format!("[router {}] ", self.device);
        Plan { kind: "router", prompt, up, down: DirectionSetup::default(), options }
            .route(router, end)
    }
}
