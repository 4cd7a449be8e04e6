//! Complete transports: with their own sending, acknowledgements and loss recovery.

use std::fmt;
use std::sync::Arc;

use paceline_cc::{Span, Spec, Stage, Stream, Time};
use paceline_flow::{Frame, SenderStats, Transfer, VideoStats, Workload};

use crate::capture::Capture;
use crate::connection_log::ConnectionLog;
use crate::program_outcome::ProgramOutcome;
use crate::scenario::Programs;
use crate::tcp_probe::TcpProbe;

/// One end of a transport. It takes and gives packets as every [`Stage`] does. Packets that it
/// gives have a size, an ECN field, and a [`Body::Opaque`](paceline_cc::Body::Opaque) with a handle of their bytes, which the
/// two ends share; the simulator sets flow, route and time.
pub trait TransportEnd: Stage + Send {
    /// Returns the bytes of application data that have arrived at this end, each counted once.
    fn received(&self) -> u64;
    /// Takes an RTT that this end has measured since the last call.
    fn take_rtt(&mut self) -> Option<Span> {
        None
    }
    /// Returns the counters of this end since the start.
    fn counters(&self) -> SenderStats {
        SenderStats::default()
    }
    /// Returns the transfers of a known size that this end has sent and whose last bytes are
    /// acknowledged, oldest first.
    fn transfers(&self) -> &[Transfer] {
        &[]
    }
    /// Returns the transfer of a known size that is not finished at `now`, with `now` as its end.
    fn unfinished_transfer(&self, _now: Time) -> Option<Transfer> {
        None
    }
    /// Returns the frames of a video, or the packets of audio, that this end has sent, and when they
    /// arrived; `None` for other workloads.
    fn media(&self) -> Option<Media> {
        None
    }
    /// Returns the counts of frames since the start.
    fn frame_counts(&self) -> VideoStats {
        VideoStats::default()
    }
    /// Returns the results of the programs that run at this end.
    fn programs(&self) -> Vec<ProgramOutcome> {
        Vec::new()
    }
    /// Returns why this end has stopped working, for example because a program ended. The run then
    /// has no outcome: `paceline_sim::Simulation::outcome` returns an error with
    /// this text.
    fn failure(&self) -> Option<String> {
        None
    }
    /// Passes names and values of internal state to `see`, for plots: windows in packets, rates in
    /// Mbit/s, times in milliseconds.
    fn inspect(&self, _see: &mut dyn FnMut(&'static str, f64)) {}
}

/// Frames of a video, or packets of audio, that a transport has carried.
#[derive(Clone, Debug)]
pub struct Media {
    /// The frames, oldest first.
    pub frames: Vec<Frame>,
    /// Segments that have arrived completely, by the numbers in the frames, and when.
    pub arrivals: Vec<(u64, Time)>,
    /// True for audio.
    pub is_audio: bool,
}

/// What the ends of a transport are built from.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TransportSetup {
    /// Maximum packet size in bytes on the wire.
    pub mss: u32,
    /// The data sent from the first end to the second.
    pub workload: Workload,
    /// Programs that run at the ends in place of the workload.
    pub programs: Option<Programs>,
    /// When sending starts.
    pub start: Time,
    /// When sending stops.
    pub stop: Time,
    /// When the run ends.
    pub end: Time,
    /// Name of the flow.
    pub name: String,
    /// Receives the packets that the ends send and receive, if they have bytes.
    pub capture: Option<Capture>,
    /// Receives what the ends do, if they keep a log.
    pub log: Option<ConnectionLog>,
    /// Receives the events of the ends' TCP sockets, if they are those of Linux hosts.
    pub probe: Option<TcpProbe>,
    seed: u64,
    flow: u32,
}

impl TransportSetup {
    /// Creates the setup of flow number `flow` of a run with this seed.
    pub fn new(seed: u64, flow: u32) -> TransportSetup {
        TransportSetup {
            mss: 1500,
            workload: Workload::Bulk,
            programs: None,
            start: Time::ZERO,
            stop: Time::NEVER,
            end: Time::NEVER,
            name: String::new(),
            capture: None,
            log: None,
            probe: None,
            seed,
            flow,
        }
    }

    /// Returns the flow's number in the run.
    pub fn number(&self) -> u32 {
        self.flow
    }

    /// Returns this flow's random stream called `name`.
    pub fn random(&self, name: &str) -> Stream {
        Stream::new(self.seed, &format!("flow {} {name}", self.flow))
    }
}

/// The two ends of a transport: the one that sends data, and the one that receives it.
pub type TransportEnds = (Box<dyn TransportEnd>, Box<dyn TransportEnd>);

/// Builds the ends of a transport, or returns an error in words.
pub type MakeTransport =
    Arc<dyn Fn(&TransportSetup) -> Result<TransportEnds, String> + Send + Sync>;

/// Builds the ends of all flows of a pair of hosts, from each flow's label and setup, or returns an
/// error in words. The ends of a flow have its place in the list.
pub type MakeHosts =
    Arc<dyn Fn(&[(String, TransportSetup)]) -> Result<Vec<TransportEnds>, String> + Send + Sync>;

/// A pair of hosts that several flows share.
#[derive(Clone)]
struct SharedHosts {
    name: String,
    make: MakeHosts,
}

/// A complete transport, as the scheme of a flow.
#[derive(Clone)]
pub struct CustomTransport {
    label: String,
    make: MakeTransport,
    queue: Option<Spec>,
    shared: Option<SharedHosts>,
    runs_programs: bool,
    has_bytes: bool,
    keeps_log: bool,
    has_probe: bool,
    /// True if its ends draw random numbers from the system.
    has_system_random: bool,
    /// True if its label is a name that its family can read.
    has_name: bool,
}

impl CustomTransport {
    /// Creates a transport whose ends `make` builds, once for each flow and run.
    pub fn new(
        label: impl Into<String>,
        make: impl Fn(&TransportSetup) -> Result<TransportEnds, String> + Send + Sync + 'static,
    ) -> CustomTransport {
        CustomTransport {
            label: label.into(),
            make: Arc::new(make),
            queue: None,
            shared: None,
            runs_programs: false,
            has_bytes: false,
            keeps_log: false,
            has_probe: false,
            has_system_random: false,
            has_name: false,
        }
    }

    /// Lets all flows of a scenario whose transports have this name of hosts share one pair of hosts.
    /// `make` builds the ends of all of them together, once for each run. After each call of one of
    /// these ends, the simulator asks those of the same side for their wake-ups again.
    #[must_use]
    pub fn with_hosts(
        mut self,
        name: impl Into<String>,
        make: impl Fn(&[(String, TransportSetup)]) -> Result<Vec<TransportEnds>, String>
        + Send
        + Sync
        + 'static,
    ) -> CustomTransport {
        self.shared = Some(SharedHosts { name: name.into(), make: Arc::new(make) });
        self
    }

    /// Returns the name of the hosts that its flow shares with others.
    pub fn hosts(&self) -> Option<&str> {
        self.shared.as_ref().map(|shared| shared.name.as_str())
    }

    /// Sets the queue for links that leave their queue to their flows.
    #[must_use]
    pub fn with_queue(mut self, queue: Option<Spec>) -> CustomTransport {
        self.queue = queue;
        self
    }

    /// Marks it as a transport whose ends run [`TransportSetup::programs`].
    #[must_use]
    pub fn with_programs(mut self) -> CustomTransport {
        self.runs_programs = true;
        self
    }

    /// Returns true if its ends run programs.
    pub fn runs_programs(&self) -> bool {
        self.runs_programs
    }

    /// Marks it as a transport whose ends pass their packets to [`TransportSetup::capture`].
    #[must_use]
    pub fn with_bytes(mut self) -> CustomTransport {
        self.has_bytes = true;
        self
    }

    /// Returns true if captures get its packets.
    pub fn has_bytes(&self) -> bool {
        self.has_bytes
    }

    /// Marks it as a transport whose ends pass what they do to [`TransportSetup::log`].
    #[must_use]
    pub fn with_log(mut self) -> CustomTransport {
        self.keeps_log = true;
        self
    }

    /// Returns true if logs get what its ends do.
    pub fn keeps_log(&self) -> bool {
        self.keeps_log
    }

    /// Marks it as a transport whose ends pass the events of TCP to [`TransportSetup::probe`].
    #[must_use]
    pub fn with_probe(mut self) -> CustomTransport {
        self.has_probe = true;
        self
    }

    /// Returns true if probes get the events of its ends.
    pub fn has_probe(&self) -> bool {
        self.has_probe
    }

    /// Marks it as a transport whose ends draw random numbers from the system, so that equal
    /// scenarios and seeds do not give equal runs.
    #[must_use]
    pub fn with_system_random(mut self) -> CustomTransport {
        self.has_system_random = true;
        self
    }

    /// Returns true if equal scenarios and seeds do not give equal runs with it.
    pub fn has_system_random(&self) -> bool {
        self.has_system_random
    }

    /// Marks its label as a name that its family can read.
    pub fn with_name(mut self) -> CustomTransport {
        self.has_name = true;
        self
    }

    /// Returns true if its label is a name that scenario files can have.
    pub fn has_name(&self) -> bool {
        self.has_name
    }

    /// Returns the queue that it prefers at the bottleneck.
    pub fn queue(&self) -> Option<&Spec> {
        self.queue.as_ref()
    }

    /// Returns its name in outcomes and errors.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Builds its ends.
    ///
    /// # Errors
    /// The ends cannot be built.
    pub fn make(&self, setup: &TransportSetup) -> Result<TransportEnds, String> {
        (self.make)(setup)
    }

    /// Builds the ends of all flows that share its hosts.
    ///
    /// # Errors
    /// The ends cannot be built.
    pub fn make_hosts(
        &self,
        flows: &[(String, TransportSetup)],
    ) -> Result<Vec<TransportEnds>, String> {
        let Some(shared) = &self.shared else {
            return flows.iter().map(|(_, setup)| self.make(setup)).collect();
        };
        let ends = (shared.make)(flows)?;
        match ends.len() == flows.len() {
            true => Ok(ends),
            false => Err(format!("{} flows have {} pairs of ends", flows.len(), ends.len())),
        }
    }

    /// Returns true if both make the same ends.
    pub fn is(&self, other: &CustomTransport) -> bool {
        Arc::ptr_eq(&self.make, &other.make)
    }
}

impl fmt::Debug for CustomTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "transport made elsewhere: {}", self.label)
    }
}
