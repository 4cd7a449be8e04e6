//! `paceline link`: a link in each direction, with its queue and router.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use paceline_cc::Span;
use paceline_emulator::Element;
use paceline_path::{BufferSize, Impairments, Jitter, JitterShape, Loss};
use paceline_sim::scenario::Stretch;

use crate::args;
use crate::emulation::link::{self, QueueChoice, link_side, queue_choice};
use crate::emulation::preset::{Preset, preset};
use crate::emulation::{DEFAULT_SEED, Emulation, Plan, scenario};
use crate::output::Error;

/// 1 / √12: the standard deviation of a uniform distribution from 0 to 1.
const UNIFORM_SD: f64 = 0.288_675_134_594_812_9;

/// Emulate a link in each direction around a program, or the path of a scenario
///
/// Runs COMMAND, or a shell, in a network of its own, whose only way out is the emulated link, in real time. Servers of this
/// machine are at $PACELINE_BASE. The link ends with COMMAND, and its exit status is that of COMMAND. Emulators nest, the outermost first.
/// Users other than root need access to /dev/net/tun, and user namespaces: `paceline doctor link` checks both.
#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline link --up 12Mbps --down lte-driving -- iperf3 -c server -R
  paceline link --up 12Mbps --down lte-driving --delay 20ms --loss 1% -- curl -O example.org/file
  paceline link --preset 3g -- bash
  paceline link --up lte-driving.up --down lte-driving --down-queue codel --buffer 500 --meter
  paceline link --up 12Mbps --down 9Mbps --outside 'iperf3 -s' --wait-for 5201 -- ./test.sh
  paceline link --up lte-driving.up --down lte-driving --start-on data/udp --warmup 5s -- ./call.sh
  paceline link --scenario scenarios/fairness.toml -- bash
  paceline link --scenario scenarios/home-medium.toml --flow backup -- bash

Where the flow passes a shared 802.11 medium, the scenario's other flows are simulated beside the \
program inside, in real time, and contend with it: see docs/emulator.md.")]
pub(crate) struct LinkCommand {
    /// The link from inside to outside: a rate such as 12Mbps, a built-in trace, or a trace file
    #[arg(long, value_name = "RATE|NAME|FILE", required_unless_present_any = ["scenario", "preset"], help_heading = "Links")]
    up: Option<String>,
    /// The link from outside to inside
    #[arg(long, value_name = "RATE|NAME|FILE", required_unless_present_any = ["scenario", "preset"], help_heading = "Links")]
    down: Option<String>,
    /// Rates or traces and delay of a kind of link: dsl, cable, 3g-slow, 3g, 3g-fast, 4g, lte or leo (a satellite link).
    /// --up, --down and --delay replace its values
    #[arg(long, value_name = "NAME", value_parser = preset, help_heading = "Links")]
    preset: Option<&'static Preset>,
    /// The queue of the link up: droptail, codel, fq_codel, and so on; or a scheme that has a router,
    /// such as abc, if the senders use this scheme
    #[arg(long, value_name = "QUEUE", default_value = "droptail", value_parser = queue_choice, help_heading = "Links")]
    up_queue: QueueChoice,
    /// The queue of the link down
    #[arg(long, value_name = "QUEUE", default_value = "droptail", value_parser = queue_choice, help_heading = "Links")]
    down_queue: QueueChoice,
    /// The buffer of both links: packets, or 64kB, 50ms (at their mean rate), 1bdp (for an RTT of 100 ms), inf,
    /// sojourn=50ms (the longest wait)
    #[arg(long, default_value = "250", value_parser = args::buffer, help_heading = "Links")]
    buffer: BufferSize,
    /// The buffer of the link up
    #[arg(long, value_name = "BUFFER", value_parser = args::buffer, help_heading = "Links")]
    up_buffer: Option<BufferSize>,
    /// The buffer of the link down
    #[arg(long, value_name = "BUFFER", value_parser = args::buffer, help_heading = "Links")]
    down_buffer: Option<BufferSize>,
    /// A delay beyond the link in each direction; a round trip takes twice as long
    #[arg(long, value_name = "TIME", value_parser = args::rtt, help_heading = "Beyond the links")]
    delay: Option<Span>,
    /// A random delay of each packet beyond the link, uniform from 0 to this time; packets keep
    /// their order
    #[arg(long, value_name = "TIME", value_parser = args::rtt, help_heading = "Beyond the links")]
    jitter: Option<Span>,
    /// The probability that a packet is lost beyond the link, in each direction: 1% or 0.01
    #[arg(long, value_name = "SHARE", value_parser = args::probability, help_heading = "Beyond the links")]
    loss: Option<f64>,
    /// The probability of loss in the direction up
    #[arg(long, value_name = "SHARE", value_parser = args::probability, help_heading = "Beyond the links")]
    up_loss: Option<f64>,
    /// The probability of loss in the direction down
    #[arg(long, value_name = "SHARE", value_parser = args::probability, help_heading = "Beyond the links")]
    down_loss: Option<f64>,
    /// Do not repeat the traces: at the end of a trace the link stops
    #[arg(long, help_heading = "Links")]
    once: bool,
    /// Write Mahimahi's logs: FILE.up and FILE.down
    #[arg(long, value_name = "FILE", help_heading = "Outputs")]
    log: Option<PathBuf>,
    /// Emulate the path of a flow in a scenario file; the program inside is its sender
    #[arg(long, value_name = "FILE", conflicts_with_all =
        ["up", "down", "up_queue", "down_queue", "buffer", "up_buffer", "down_buffer", "once", "delay", "jitter", "loss", "up_loss", "down_loss", "preset"], help_heading = "Scenario")]
    scenario: Option<PathBuf>,
    /// With --scenario: the flow whose path to emulate, if the flows have different ones
    #[arg(long, value_name = "NAME", requires = "scenario", help_heading = "Scenario")]
    flow: Option<String>,
    /// With --scenario: the program inside is the receiver
    #[arg(long, requires = "scenario", help_heading = "Scenario")]
    receive: bool,
    #[command(flatten)]
    emulation: Emulation,
}

impl LinkCommand {
    /// Returns the fixed one-way delay beyond the link.
    fn delay(&self) -> Span {
        let of_preset = self.preset.map_or(Span::ZERO, |preset| preset.delay);
        self.delay.unwrap_or(of_preset)
    }

    /// Returns a pipe with delay, jitter and loss beyond the link in one direction. `place` names
    /// its random numbers.
    fn beyond(&self, place: &str, loss: Option<f64>) -> Result<Option<Element>, Error> {
        let jitter = self.jitter.filter(|most| !most.is_zero()).map(|most| {
            // Uniform from 0 to `most`: the mean is half of it, and the standard deviation most /
            // √12.
            Jitter { shape: JitterShape::Uniform, mean: most / 2, sd: most.mul_f64(UNIFORM_SD) }
        });
        let impairments = Impairments {
            loss: match loss.or(self.loss) {
                Some(loss) if loss > 0.0 => Loss::Bernoulli(loss),
                _ => Loss::None,
            },
            jitter,
            delays: match self.preset.and_then(|preset| preset.delay_trace) {
                Some(trace) if self.delay.is_none() => {
                    Some(args::delays(trace).map_err(Error::Usage)?)
                }
                _ => None,
            },
            ..Impairments::default()
        };
        let stretch = Stretch { delay: Span::ZERO, impairments };
        let seed = self.emulation.seed.unwrap_or(DEFAULT_SEED);
        let pipe = link::pipe(place, self.delay(), &stretch, seed)?;
        Ok(pipe.map(|pipe| Element::Pipe(Box::new(pipe))))
    }

    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        self.plan()?.with_prelude(|| self.plan())?.run()
    }

    fn plan(&self) -> Result<Plan, Error> {
        let of_preset = |pick: fn(&Preset) -> &'static str| self.preset.map(pick);
        let rates = [
            self.up.as_deref().or(of_preset(|preset| preset.up)),
            self.down.as_deref().or(of_preset(|preset| preset.down)),
        ];
        let (mut up, mut down, prompt) = match (&self.scenario, rates[0], rates[1]) {
            (Some(file), _, _) => {
                let (data, acks) = scenario::sides(file, self.flow.as_deref(), &self.emulation)?;
                let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                let (up, down) = if self.receive { (acks, data) } else { (data, acks) };
                (up, down, format!("[{name}] "))
            }
            (None, Some(up), Some(down)) => {
                let seed = self.emulation.seed;
                let both = (self.up_buffer.unwrap_or(self.buffer), &self.up_queue);
                let mut above = link_side("up", up, both, seed, !self.once)?;
                // Beyond the link: after it in the uplink, before it in the downlink.
                above.hops.extend(self.beyond("beyond up", self.up_loss)?);
                let both = (self.down_buffer.unwrap_or(self.buffer), &self.down_queue);
                let mut below = link_side("down", down, both, seed, !self.once)?;
                below.hops.splice(0..0, self.beyond("beyond down", self.down_loss)?);
                let names = if up == down { up.to_string() } else { format!("{up} {down}") };
                let delay = Some(self.delay()).filter(|delay| !delay.is_zero());
                let delay = delay.map(|delay| format!(" {delay}")).unwrap_or_default();
                (above, below, format!("[link {names}{delay}] "))
            }
            _ => {
                return Err(Error::Usage(
                    "expected --up and --down, --preset or --scenario".into(),
                ));
            }
        };
        if let Some(log) = &self.log {
            let with = |end: &str| {
                let mut name = log.clone().into_os_string();
                name.push(end);
                Some(PathBuf::from(name))
            };
            // A scenario's flow may have links in one direction alone. Without any link, the first log is refused.
            let [has_up, has_down] = [&up, &down].map(|side| side.has_link());
            up.log = with(".up").filter(|_| has_up || !has_down);
            down.log = with(".down").filter(|_| has_down);
        }
        Ok(Plan { kind: "link", prompt, up, down, options: self.emulation.clone() })
    }
}
