//! Runs over one bottleneck of constant rate that ns-3, ns-2 and htsim measured.

use paceline_cc::{AckPolicy, Rate, Span};
use paceline_path::BufferSize;

use super::bound::{Bound, Tolerance};
use super::case::{Case, Check, Observations, OwnScheme};
use super::network::{self, Settings};
use paceline_requests::compare::Comparison;
use paceline_sim::scenario::{Capacity, check_scheme};

/// Figures of one run of a peer.
#[derive(Copy, Clone, Debug)]
pub(super) struct Run {
    /// Names of the scheme and the queue at the peer.
    scheme: &'static str,
    queue: &'static str,
    flows: u32,
    /// Start of the measured window, in seconds; it ends at 60 s.
    from: u64,
    throughput: f64,
    mean: f64,
    p95: f64,
    jain: f64,
    mbps: f64,
    rtt_ms: u64,
    buffer: u64,
    /// Whether only every second packet is acknowledged.
    delayed: bool,
    /// Whether an earlier version compared this row with other bounds.
    known: bool,
}

/// A run over 12 Mbit/s with an RTT of 100 ms and a buffer of 250 packets; each packet is
/// acknowledged. `figures` are the throughput in Mbit/s, the mean and the 95th percentile of the
/// time from a packet's arrival until its transmission starts in milliseconds, and Jain's index.
pub(super) const fn run(
    scheme: &'static str,
    queue: &'static str,
    flows: u32,
    from: u64,
    [throughput, mean, p95, jain]: [f64; 4],
) -> Run {
    let (mbps, rtt_ms, buffer, delayed, known) = (12.0, 100, 250, false, false);
    Run {
        scheme,
        queue,
        flows,
        from,
        throughput,
        mean,
        p95,
        jain,
        mbps,
        rtt_ms,
        buffer,
        delayed,
        known,
    }
}

impl Run {
    pub(super) const fn on(self, mbps: f64, rtt_ms: u64, buffer: u64) -> Run {
        Run { mbps, rtt_ms, buffer, ..self }
    }

    pub(super) const fn delayed(self) -> Run {
        Run { delayed: true, ..self }
    }

    pub(super) const fn known(self) -> Run {
        Run { known: true, ..self }
    }

    /// Returns the run's name: only the settings that differ between runs.
    fn name(&self) -> String {
        let mut name = format!("{} over {}", self.scheme, self.queue);
        if self.flows > 1 {
            name += &format!(", {} flows", self.flows);
        }
        if self.mbps != 12.0 || self.rtt_ms != 100 || self.buffer != 250 {
            name += &format!(", {} Mbit/s {} ms {} packets", self.mbps, self.rtt_ms, self.buffer);
        }
        if self.delayed {
            name += ", delayed acknowledgements";
        }
        name + &format!(", {} to 60 s", self.from)
    }

    /// Returns the transmission time of a packet in milliseconds, which the peers' delays leave
    /// out.
    fn packet_ms(&self) -> f64 {
        12.0 / self.mbps
    }

    fn checks(&self) -> Vec<Check> {
        let packet = self.packet_ms();
        let half = Tolerance::Packets(0.1, 0.5, packet);
        let mean = match self.known {
            true => Bound { stated: Tolerance::Either(0.1, 2.0), changed: Some(half) },
            false => Bound::stated(half),
        };
        let mut checks = vec![
            Check::new(
                "throughput, Mbit/s",
                self.throughput,
                Bound::stated(Tolerance::Share(0.02)),
            ),
            Check::new("mean delay, ms", self.mean, mean),
            Check::new(
                "p95 delay, ms",
                self.p95,
                Bound::stated(Tolerance::Packets(0.1, 1.0, packet)),
            ),
        ];
        if self.flows > 1 {
            let bound = Bound::stated(Tolerance::Within(0.02));
            checks.push(Check::new("Jain's index", self.jain, bound));
        }
        checks
    }

    fn measure(&self, simulator: &str, scheme: &str) -> Result<Observations, String> {
        let first = self.observe(simulator, scheme, 1, 0)?;
        // If the seed changes nothing, more seeds would repeat the first run.
        let random = self.observe(simulator, scheme, 2, 0)?.digest != first.digest;
        // In a window that begins later than the start, the random part is the flow's phase at that
        // time.
        let phases = self.from > 0;
        let runs = match (random, phases || !Settings::of(scheme)?.phases.is_zero()) {
            (true, _) => RANDOM,
            (false, true) => PHASES,
            (false, false) => 1,
        };
        let mut observations = vec![first.figures];
        for number in 1..runs {
            let shift = if phases { number % PHASES } else { 0 };
            observations.push(self.observe(simulator, scheme, number + 1, shift)?.figures);
        }
        Ok(observations)
    }

    /// Runs the scheme with this seed, and measures from `shift` seconds later on, with an equal
    /// length.
    fn observe(
        &self,
        simulator: &str,
        scheme: &str,
        seed: u64,
        shift: u64,
    ) -> Result<Observation, String> {
        let capacity = Capacity::Constant(Rate::from_mbps(self.mbps));
        let mut settings = Settings::of(scheme)?;
        // ns-2's one-way agents send data without a handshake; htsim and ns-3 have one.
        settings.no_handshake = simulator == "ns-2";
        settings.start = settings.phases * (seed % PHASES) / PHASES;
        let scheme = check_scheme(settings.scheme).map_err(|error| error.to_string())?;
        let comparison = Comparison {
            flows: self.flows,
            seed,
            rtt: Span::from_millis(self.rtt_ms),
            buffer: BufferSize::Packets(self.buffer),
            warmup: Span::from_secs(self.from + shift),
            duration: Span::from_secs(60 + shift),
            ..Comparison::new("constant", capacity, scheme)
        };
        let ack = Some(if self.delayed { AckPolicy::DELAYED } else { AckPolicy::EACH });
        let row = network::behind_access_links(&comparison, ack, &settings)?;
        let own = self.packet_ms();
        let mut figures =
            vec![row.throughput_mbps, row.queue_delay_ms.mean - own, row.queue_delay_ms.p95 - own];
        if self.flows > 1 {
            figures.push(row.jain);
        }
        Ok(Observation { figures, digest: row.digest })
    }
}

/// Number of runs, each with its own seed, of a scheme that draws random numbers.
const RANDOM: u64 = 30;
/// Number of windows, each a second later than the one before, of other schemes.
const PHASES: u64 = 10;

struct Observation {
    figures: Vec<f64>,
    digest: String,
}

/// Cubic of ns-3 3.37: it has no Reno-friendly region yet, and ends slow start when the delay has
/// grown by the base RTT.
const CUBIC_NS3: &str = "cubic[variant=ns3]";
/// Cubic of ns-3 3.37. In addition it sends nothing after a loss until half of the window is
/// acknowledged.
const CUBIC_NS3_SILENT: &str = "cubic[variant=ns3,prr=false]";
const RENO_NS3: &str = "newreno[variant=ns3]";
const WHY_CUBIC: &str = "ns-3's Cubic has no Reno-friendly region and another HyStart";
const WHY_RENO: &str =
    "ns-3 counts what arrived during a recovery when it ends, and is silent for half a window";
const WHY_CUBIC_RING: &str = "ns-3's Cubic, whose device holds one packet that the queue does not \
                              see, and which is silent for half a window after a loss";
const WHY_RENO_RING: &str = "ns-3's recovery, and a device that holds one packet that the queue \
                             does not see";
const WHY_NO_SACK: &str = "ns-2's NewReno is without selective acknowledgements: it repairs one of \
                           the losses at the end of slow start in each round trip";
/// Time that a handshake's packets of 40 bytes take over the links of these runs.
const HANDSHAKE: &str = "100.1ms";
const WHY_HANDSHAKE: &str = "the peer's smallest RTT is that of the handshake, whose packets are \
                             small, so that a packet's own transmission counts as queue";
const WHY_CLOCK: &str = "ns-3 measures RTTs by timestamps of whole milliseconds, that of the \
                         handshake, 100.1 ms, as 100 or 101, and between which ticks a flow begins \
                         is chance";
const WHY_STEP: &str = "Linux' Vegas of 2.6.22, which ns-2 has, takes two round trips for a step";
const WHY_OWN: &str = "ns-2's own Vegas doubles in every second round trip, and compares mean RTTs \
                       with packets in queues to the nearest whole";
const WHY_ALWAYS: &str = "htsim's DCTCP reduces the window in every round trip while its average of \
                          marks is above zero";
const WHY_LEAVING: &str = "the same, and htsim's queue marks packets that leave";
const WHY_SYN: &str = "the same, and the first timeout of htsim's DCTCP, 10 ms, is shorter than the RTT: \
                       its SYN is sent again, which ends slow start at two packets";
const WHY_STEP_HANDSHAKE: &str = "the same, and the smallest RTT is that of ns-2's SYN of 40 bytes";
const WHY_BBR: &str = "ns-3's BBR has no bursts of two packets, no pacing margin, no allowance for \
                       aggregated acknowledgements and no detection of policers";

/// Returns the schemes that Paceline runs for a peer's scheme and queue: the default first, then
/// variants with the change that each makes.
fn ours(simulator: &str, run: &Run) -> Vec<OwnScheme> {
    let default = |scheme: &str| OwnScheme::default(scheme);
    let variant = |scheme: String, why| OwnScheme::variant(&scheme, why);
    match (simulator, run.scheme, run.queue) {
        ("ns-3", "TcpCubic", "fifo") => {
            vec![default("cubic"), variant(CUBIC_NS3.into(), WHY_CUBIC)]
        }
        ("ns-3", "TcpLinuxReno" | "TcpNewReno", "fifo") => {
            vec![default("newreno"), variant(RENO_NS3.into(), WHY_RENO)]
        }
        ("ns-3", "TcpVegas", _) => vec![
            default("vegas"),
            variant(
                "vegas[variant=ns3]".into(),
                "ns-3's Vegas compares the smoothed RTT with the smallest one, and counts waiting \
                 packets as the paper does",
            ),
            variant(format!("vegas[variant=ns3,handshake={HANDSHAKE}]"), WHY_HANDSHAKE),
            variant("vegas[variant=ns3,clock=1ms,handshake=101ms], phases=1ms".into(), WHY_CLOCK),
        ],
        ("ns-3", "TcpBbr", _) => vec![default("bbr"), variant("bbr[variant=ns3]".into(), WHY_BBR)],
        ("ns-3", "TcpDctcp", _) => vec![
            default("dctcp+step[k=20]"),
            variant(
                "dctcp+red[min=20,max=20,w=1,gentle=true,ecn=true,hard_drop=false,ring=1]".into(),
                "the peer's step is a gentle RED, above a device that holds one packet more",
            ),
        ],
        ("ns-3", scheme, queue) => {
            let (name, plain, silent, why) = match scheme {
                "TcpCubic" => ("cubic", CUBIC_NS3, CUBIC_NS3_SILENT, WHY_CUBIC_RING),
                _ => ("newreno", "newreno", RENO_NS3, WHY_RENO_RING),
            };
            let (ours, theirs) = match queue {
                "fqcodel" => ("fq_codel", "fq_codel[backlog=queue,ring=1]"),
                "pie" => ("pie", "pie[ring=1]"),
                _ => ("codel", "codel[ring=1]"),
            };
            vec![
                default(&format!("{name}+{ours}")),
                variant(
                    format!("{plain}+{theirs}"),
                    "ns-3's queue, whose device holds one packet that the queue does not see",
                ),
                variant(format!("{silent}+{theirs}"), why),
            ]
        }
        ("ns-2", "newreno", _) => vec![
            default("newreno"),
            variant("newreno, recovery=newreno, timestamps=false".into(), WHY_NO_SACK),
        ],
        ("ns-2", "cubic", _) => vec![
            default("cubic"),
            variant("cubic[hystart=off]".into(), "ns-2's Cubic of Linux has no HyStart"),
        ],
        ("ns-2", "vegas", _) => vec![
            default("vegas"),
            variant(format!("vegas[handshake={HANDSHAKE}]"), WHY_HANDSHAKE),
            variant("vegas[step=before]".into(), WHY_STEP),
            variant(format!("vegas[step=before,handshake={HANDSHAKE}]"), WHY_STEP_HANDSHAKE),
        ],
        ("ns-2", "vegas2", _) => vec![
            default("vegas[alpha=1,beta=3]"),
            variant(format!("vegas[alpha=1,beta=3,handshake={HANDSHAKE}]"), WHY_HANDSHAKE),
            variant("vegas[variant=ns2]".into(), WHY_OWN),
        ],
        ("ns-2", "compound", _) => vec![default("compound")],
        ("ns-2", "xcp", _) => vec![default("xcp")],
        ("htsim", "dctcp", _) => vec![
            default("dctcp+step[k=20]"),
            variant("dctcp[variant=htsim]+step[k=20]".into(), WHY_ALWAYS),
            variant("dctcp[variant=htsim]+step[k=20,at=departure]".into(), WHY_LEAVING),
            variant(
                "dctcp[variant=htsim,initial_window=2,slow_start=false]+step[k=20,at=departure]"
                    .into(),
                WHY_SYN,
            ),
        ],
        _ => vec![default("newreno")],
    }
}

/// Returns a case for each run and each of Paceline's schemes for it.
pub(super) fn cases(simulator: &'static str, runs: &'static [Run]) -> Vec<Case<'static>> {
    let mut cases = Vec::new();
    for run in runs {
        for ours in ours(simulator, run) {
            let scheme = ours.scheme.clone();
            cases.push(Case {
                peer: simulator,
                group: run.name(),
                ours,
                checks: run.checks(),
                run: Box::new(move || run.measure(simulator, &scheme)),
            });
        }
    }
    cases
}
