//! Linux hosts as ends of flows: the simulator's packets are the frames of their devices.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use paceline_cc::{Body, Packet, Span, Stage, Time, TrafficClass};
use paceline_flow::{SenderStats, Transfer, VideoStats, Workload};
use paceline_sim::{
    Capture, CapturedFrame, Media, ProgramOutcome, TransportEnd, TransportEnds, TransportSetup,
};

use crate::account::{Arrivals, Departures};
use crate::build::{BuiltGuest, BuiltModule, find_module};
use crate::error::Error;
use crate::frame;
use crate::frames::{self, Sample, SocketSample, TcpInfo};
use crate::guest::{Guest, ORIGIN};
use crate::host::{self, Role};
use crate::launch::Start;
use crate::media::SentMedia;
use crate::probe::Probe;
use crate::programs;
use crate::settings::HostSettings;
use crate::store::Frames;
use crate::transfers::{Plan, Transfers};
use crate::vhost::Device;

/// Longest time between two readings of the clock by a guest that computes: four steps of its
/// clock, 256 ns each. A guest that wants to run again within this time has not finished.
const COMPUTING: Span = Span::from_nanos(1024);
/// Readings of the clock in a row after which a program counts as waiting in a loop that asks the time,
/// and not as computing.
const SPINS: u64 = 256;
/// Time by which a host with such a program may be ahead of the simulator, so that not each reading
/// needs messages. `iperf3` waits an RTT in this way.
const SPIN_LEAD: Span = Span::from_micros(100);
/// Longest time from the first to the last report of one sample of all sockets, in ns: each report
/// takes a step of the guest's clock.
const LONGEST_SAMPLING: u64 = 500_000;
/// Most bytes of a program's standard output, and of its standard error, that are kept (`MOST_KEPT` of /init).
const MOST_OUTPUT: usize = 256 << 10;

/// Boots the two hosts of one or several flows, up to simulated time 0. Returns the ends of each flow.
///
/// # Errors
/// The guest does not have the congestion control or the workload, or the flows disagree about their
/// hosts; the errors of [`Guest::boot`].
pub(crate) fn ends(
    built: &BuiltGuest,
    flows: &[(HostSettings, TransportSetup)],
) -> Result<Vec<TransportEnds>, Error> {
    let mut flows = flows.to_vec();
    let mut modules: Vec<BuiltModule> = Vec::new();
    for (settings, _) in &mut flows {
        let module = find_module(built, &settings.scheme, &settings.parameters)
            .map_err(|error| Error::Unusable(error.to_string()))?;
        let Some(module) = module else { continue };
        settings.scheme.clone_from(&module.scheme);
        if modules.contains(&module) {
            continue;
        }
        if modules.iter().any(|other| other.scheme == module.scheme) {
            return Err(Error::Unusable(format!(
                "flows of one host have the module `{}` in two versions, or with two sets of parameters; give the \
                 flows different hosts",
                module.scheme
            )));
        }
        modules.push(module);
    }
    let files: Vec<(String, PathBuf)> = (modules.iter().enumerate())
        .map(|(number, module)| (host::module_name(number), module.path.clone()))
        .collect();
    let (there, back) = (Frames::default(), Frames::default());
    let host = |role: Role, leaving: &Frames, arriving: &Frames| {
        let mut words = host::words(role, &flows)?;
        if !files.is_empty() {
            let names: Vec<_> = files.iter().map(|(name, _)| name.as_str()).collect();
            words.push(format!("pl.module={}", names.join(",")));
            if modules.len() > 1 && modules.iter().any(|module| !module.args.is_empty()) {
                return Err(Error::Unusable(
                    "a host with several modules cannot give them parameters; give the flows different hosts".into(),
                ));
            }
            let args: Vec<_> = modules.iter().map(|module| module.args.as_str()).collect();
            if args.iter().any(|args| !args.is_empty()) {
                words.push(format!("pl.module_args={}", host::escaped(&args.join(";"))));
            }
        }
        let device = Device::new(role.mac(), host::mtu(&flows)?);
        let programs = programs::of_host(role, &flows)?;
        let start = Start { words, files: files.clone(), archive: programs.archive };
        let (guest, hello) = Guest::boot(built, &start, device)?;
        for (settings, _) in &flows {
            if !hello.schemes.contains(&settings.scheme) {
                return Err(Error::Unusable(format!(
                    "the Linux guest has no congestion control `{}`; it has {}",
                    settings.scheme,
                    hello.schemes.join(", ")
                )));
            }
        }
        let mut connections = Vec::new();
        for ((settings, setup), arguments) in flows.iter().zip(programs.arguments) {
            let plan = if role == Role::Sender && arguments.is_none() {
                host::transfers(&flows, setup)?
            } else {
                Plan::default()
            };
            let program = arguments.map(|arguments| {
                let mut program = ProgramOutcome::new(role.name(), arguments);
                program.files_sha256.clone_from(&programs.files_sha256);
                program
            });
            let mut connection = Connection::new(plan, program, &settings.scheme);
            if matches!(setup.workload, Workload::Video(_) | Workload::Audio(_)) {
                match role {
                    Role::Sender => connection.media = SentMedia::of(setup, host::mtu(&flows)?),
                    Role::Receiver => connection.arrivals.record_progress(),
                }
            }
            connections.push(connection);
        }
        let mut host = Host::new(guest, role, connections, leaving.clone(), arriving.clone());
        if let Some((settings, setup)) = flows.first() {
            let name = settings.host.as_ref().unwrap_or(&setup.name);
            host.tap.host = format!("{name}.{}", role.name());
            host.tap.capture.clone_from(&setup.capture);
            let names = flows.iter().map(|(_, setup)| setup.name.clone()).collect();
            let probe = |to| Probe::new(to, &host.tap.host, role == Role::Sender, names);
            host.probe = setup.probe.clone().map(probe);
        }
        Ok(Arc::new(Mutex::new(host)))
    };
    let sender = host(Role::Sender, &there, &back)?;
    let receiver = host(Role::Receiver, &back, &there)?;
    let end = |host: &Arc<Mutex<Host>>, flow: usize, peer: Option<&Arc<Mutex<Host>>>| {
        let peer = peer.map(Arc::clone);
        Box::new(End { host: Arc::clone(host), peer, flow, transfers: Vec::new() })
    };
    let ends = (0..flows.len()).map(|flow| -> TransportEnds {
        (end(&sender, flow, Some(&receiver)), end(&receiver, flow, None))
    });
    Ok(ends.collect())
}

/// One end of a flow: a connection of a host. With several connections, the simulator has an end for
/// each of them, and asks all of them for their wake-ups after each call of one.
struct End {
    host: Arc<Mutex<Host>>,
    /// The receiving host, at the end that sends.
    peer: Option<Arc<Mutex<Host>>>,
    /// Number of the connection.
    flow: usize,
    /// Transfers of a known size that have finished.
    transfers: Vec<Transfer>,
}

/// One connection of a host, or with fresh on-periods a series of them.
struct Connection {
    /// Whether its hosts run ABC, so that the packets are of the class that ABC's routers mark.
    is_abc: bool,
    arrivals: Arrivals,
    departures: Departures,
    /// Frames of a video or packets of audio that it sends.
    media: Option<SentMedia>,
    /// Latest report of the built-in sender or receiver.
    sample: Option<Sample>,
    /// Latest reports of the sockets of programs, with the guest's times.
    sockets: Vec<(u64, SocketSample)>,
    /// Results of the user's program that it belongs to.
    program: Option<ProgramOutcome>,
}

impl Connection {
    fn new(plan: Plan, program: Option<ProgramOutcome>, scheme: &str) -> Connection {
        let departures = Departures::of(Transfers::new(plan));
        let is_abc = scheme == "abc_ecn";
        let arrivals = Arrivals::default();
        let (media, sample, sockets) = (None, None, Vec::new());
        Connection { is_abc, arrivals, departures, media, sample, sockets, program }
    }

    /// Stores the report of a program's socket, and drops those of earlier samples.
    fn on_socket(&mut self, time_ns: u64, socket: SocketSample) {
        let ports = |it: &SocketSample| (it.local_port, it.remote_port);
        self.sockets.retain(|(time, other)| {
            time.saturating_add(LONGEST_SAMPLING) >= time_ns && ports(other) != ports(&socket)
        });
        self.sockets.push((time_ns, socket));
    }

    /// Returns the state of the connection's socket. Of several sockets of a program it is the one
    /// whose peer has acknowledged most bytes.
    fn info(&self) -> Option<&TcpInfo> {
        let of_programs = self.sockets.iter().map(|(_, socket)| &socket.info);
        let most = of_programs.max_by_key(|info| info.bytes_acked);
        most.or_else(|| self.sample.as_ref().map(|sample| &sample.info))
    }
}

/// Adds output to the results of a program.
fn add_output(program: &mut ProgramOutcome, output: &frames::Output) {
    let (kept, total) = match output.is_error {
        false => (&mut program.stdout, &mut program.stdout_bytes),
        true => (&mut program.stderr, &mut program.stderr_bytes),
    };
    let room = MOST_OUTPUT.saturating_sub(kept.len());
    kept.extend(output.bytes.iter().take(room));
    *total = output.total;
}

/// The run's capture at the device of a host.
#[derive(Default)]
struct Tap {
    /// Name of the host.
    host: String,
    /// `None` if the run has no capture.
    capture: Option<Capture>,
}

impl Tap {
    fn see(&self, time: Time, is_inbound: bool, bytes: &[u8]) {
        if let Some(capture) = &self.capture {
            capture.on_frame(CapturedFrame { host: &self.host, is_inbound, time, bytes });
        }
    }
}

/// One host.
struct Host {
    /// `None` once it has failed.
    guest: Option<Guest>,
    failure: Option<String>,
    role: Role,
    tap: Tap,
    /// Passes on the events of TCP, if the run asks for them.
    probe: Option<Probe>,
    /// Frames that this host has sent, and frames that will arrive at it.
    leaving: Frames,
    arriving: Frames,
    /// Frames that have arrived while the guest computes, and that its device has not received.
    arrived: VecDeque<Vec<u8>>,
    /// Packets that the host has sent and the simulator has not taken, with the numbers of their
    /// connections.
    ready: VecDeque<(usize, Packet)>,
    /// Simulated time at which the guest wants to run.
    wake: Time,
    /// Times that the guest has run in a row, and has wanted to run on, without a frame.
    spins: u64,
    connections: Vec<Connection>,
}

/// Converts simulated time to guest time.
fn guest_time(now: Time) -> u64 {
    now.as_nanos().saturating_add(ORIGIN)
}

impl Host {
    fn new(
        guest: Guest,
        role: Role,
        connections: Vec<Connection>,
        leaving: Frames,
        arriving: Frames,
    ) -> Host {
        Host {
            wake: wake(&guest),
            spins: 0,
            guest: Some(guest),
            failure: None,
            role,
            tap: Tap::default(),
            probe: None,
            leaving,
            arriving,
            arrived: VecDeque::new(),
            ready: VecDeque::new(),
            connections,
        }
    }

    /// Calls `act` with the guest; ends a guest that fails.
    fn with_guest(&mut self, act: impl FnOnce(&mut Guest) -> Result<(), Error>) {
        let Some(guest) = &mut self.guest else { return };
        match act(guest) {
            Ok(()) => self.wake = wake(guest),
            Err(error) => self.fail(error.to_string()),
        }
    }

    fn fail(&mut self, problem: String) {
        let host =
            if self.role == Role::Sender { "the sending host" } else { "the receiving host" };
        self.failure.get_or_insert(format!("{host}: {problem}"));
        self.guest = None;
        self.wake = Time::NEVER;
    }

    /// Runs the guest for its events up to `now`. Delivers a frame that has arrived whenever the
    /// guest is idle.
    ///
    /// A link over a recording delivers several frames at one instant. A real host behind a TUN
    /// device processes them one by one: the write of each frame runs TCP to its end. If the guest
    /// received them together, TCP would process all of them before the application reads the
    /// first one, and send one acknowledgement for all. A program that asks the time in a loop, until a
    /// frame arrives, never is idle; it gets its frames after [`SPINS`] readings.
    fn run(&mut self, now: Time) {
        self.order_frames(now);
        loop {
            if self.wake <= now {
                let ready = self.ready.len();
                let until = if self.spins < SPINS { now } else { now + SPIN_LEAD };
                self.with_guest(|guest| guest.advance(guest_time(now), guest_time(until)));
                self.collect(now);
                let computes = self.wake <= until + COMPUTING && self.ready.len() == ready;
                self.spins = if computes { self.spins + 1 } else { 0 };
            }
            if self.wake <= now + COMPUTING && self.spins < SPINS {
                return;
            }
            let Some(frame) = self.arrived.pop_front() else { return };
            self.spins = 0;
            if frame::ether_type(&frame) != frames::ETHER_TYPE {
                self.tap.see(now, true, &frame);
            }
            self.with_guest(|guest| guest.deliver(guest_time(now), &frame));
        }
    }

    /// Makes the frames of videos that are due up to `now`, and orders the guest to write them.
    fn order_frames(&mut self, now: Time) {
        for (number, connection) in (0..).zip(&mut self.connections) {
            let Some(mut media) = connection.media.take() else { continue };
            while media.next() <= now && self.guest.is_some() {
                let sent = connection.departures.sent_end();
                if let Some(bytes) = media.make(sent, connection.info()) {
                    self.arrived.push_back(frames::order(self.role.mac(), number, bytes));
                }
            }
            connection.media = Some(media);
        }
    }

    /// Returns when the next frame of a video is due.
    fn next_frame(&self) -> Time {
        let due = self.connections.iter().filter_map(|it| it.media.as_ref()).map(SentMedia::next);
        due.min().filter(|_| self.guest.is_some()).unwrap_or(Time::NEVER)
    }

    /// Collects the frames that the guest has sent, and its reports.
    fn collect(&mut self, now: Time) {
        let Some(guest) = &mut self.guest else { return };
        let peer = self.role.peer().mac();
        let connections = self.connections.len();
        for frame in guest.take_frames() {
            self.tap.see(now, false, &frame);
            // Frames to other receivers, such as IPv6 router solicitations, are dropped.
            if frame[..6] != peer || !frame::is_ipv4(&frame) {
                continue;
            }
            let mut number = 0;
            if let Some(segment) = frame::segment(&frame) {
                number = host::number_of([segment.from, segment.to], connections);
                if let Some(connection) = self.connections.get_mut(number) {
                    connection.departures.on_segment(now, &segment);
                }
            }
            let mut packet = Packet::opaque(frame::ip_length(&frame));
            packet.ecn = frame::ecn(&frame);
            if packet.ecn.is_capable() && self.connections.get(number).is_some_and(|it| it.is_abc) {
                packet.class = TrafficClass::EXPLICIT;
            }
            packet.body = Body::Opaque(self.leaving.put(frame));
            self.ready.push_back((number, packet));
        }
        let mut problem = None;
        for report in guest.take_reports() {
            match report.body {
                frames::Body::Sample(sample) | frames::Body::End(sample) => {
                    let number = report.connection.map_or(0, usize::from);
                    if let Some(connection) = self.connections.get_mut(number) {
                        connection.sample = Some(sample);
                    }
                }
                frames::Body::Socket(socket) => {
                    let number = report.connection.map_or(0, usize::from);
                    if let Some(connection) = self.connections.get_mut(number) {
                        connection.on_socket(report.time_ns, socket);
                    }
                }
                frames::Body::Error(text) => {
                    problem = Some(Error::Reported(text).to_string());
                }
                frames::Body::Exit(status) => {
                    if let Some(program) = program_of(&mut self.connections, report.connection) {
                        let at = report.time_ns.cast_signed() - ORIGIN.cast_signed();
                        (program.status, program.ended_s) = (Some(status), Some(at as f64 / 1e9));
                    }
                }
                frames::Body::Output(output) => {
                    if let Some(program) = program_of(&mut self.connections, report.connection) {
                        add_output(program, &output);
                    }
                }
                frames::Body::Trace(text) => {
                    if let Some(probe) = &mut self.probe {
                        probe.add(&text);
                    }
                }
                frames::Body::Note(_) | frames::Body::Hello { .. } => {}
            }
        }
        if let Some(problem) = problem {
            self.fail(problem);
        }
    }
}

/// Returns the results of a connection's program.
fn program_of(connections: &mut [Connection], number: Option<u8>) -> Option<&mut ProgramOutcome> {
    connections.get_mut(usize::from(number?))?.program.as_mut()
}

/// Returns the simulated time at which a guest wants to run.
fn wake(guest: &Guest) -> Time {
    match guest.wake() {
        u64::MAX => Time::NEVER,
        at => Time::from_nanos(at.saturating_sub(ORIGIN)),
    }
}

impl Host {
    fn push(&mut self, now: Time, packet: &Packet) {
        let Body::Opaque(handle) = packet.body else { return };
        let Some(mut frame) = self.arriving.get(handle) else { return };
        frame::set_ecn(&mut frame, packet.ecn);
        if let Some(segment) = frame::segment(&frame) {
            let number = host::number_of([segment.from, segment.to], self.connections.len());
            match (self.role, self.connections.get_mut(number)) {
                (Role::Receiver, Some(it)) => it.arrivals.on_segment(now, &segment),
                (Role::Sender, Some(it)) => {
                    it.departures.on_acknowledgement(now, &segment, &frame::sack(&frame));
                }
                (_, None) => {}
            }
        }
        self.arrived.push_back(frame);
        self.run(now);
    }

    /// Takes the oldest packet that the host has sent, if connection `number` has sent it.
    fn pop_into(&mut self, now: Time, number: usize, place: &mut Packet) -> bool {
        if self.ready.is_empty() {
            self.run(now);
        }
        match self.ready.pop_front_if(|(of, _)| *of == number) {
            Some((_, packet)) => {
                *place = packet;
                true
            }
            None => false,
        }
    }

    /// Returns the time at which connection `number` has to be called. Packets leave in the order in
    /// which the host has sent them, so a connection waits for older packets of others.
    fn wake(&self, number: usize) -> Time {
        match self.ready.front() {
            None => self.wake.min(self.next_frame()),
            Some((of, _)) if *of == number => Time::ZERO,
            Some(_) => Time::NEVER,
        }
    }
}

/// Locks a host. If a thread has panicked meanwhile, the host is used as it is.
fn lock(host: &Mutex<Host>) -> MutexGuard<'_, Host> {
    host.lock().unwrap_or_else(PoisonError::into_inner)
}

impl End {
    fn host(&self) -> MutexGuard<'_, Host> {
        lock(&self.host)
    }
}

impl Stage for End {
    fn push(&mut self, now: Time, packet: &Packet) {
        let mut host = lock(&self.host);
        host.push(now, packet);
        if let Some(connection) = host.connections.get_mut(self.flow) {
            self.transfers.extend(connection.departures.transfers.take_finished());
        }
    }

    fn pop_into(&mut self, now: Time, place: &mut Packet) -> bool {
        self.host().pop_into(now, self.flow, place)
    }

    fn wake(&self) -> Time {
        self.host().wake(self.flow)
    }
}

impl TransportEnd for End {
    fn received(&self) -> u64 {
        self.host().connections.get(self.flow).map_or(0, |it| it.arrivals.bytes())
    }

    fn take_rtt(&mut self) -> Option<Span> {
        self.host().connections.get_mut(self.flow)?.departures.take_rtt()
    }

    fn counters(&self) -> SenderStats {
        let mut counters = SenderStats::default();
        let host = self.host();
        let Some(connection) = host.connections.get(self.flow) else { return counters };
        let Departures { segments, repeated, .. } = connection.departures;
        (counters.sent, counters.retransmits, counters.lost) = (segments, repeated, repeated);
        counters.timeouts = connection.info().map_or(0, |info| info.timeouts.into());
        counters
    }

    fn transfers(&self) -> &[Transfer] {
        &self.transfers
    }

    fn unfinished_transfer(&self, now: Time) -> Option<Transfer> {
        self.host().connections.get(self.flow)?.departures.transfers.unfinished(now)
    }

    fn media(&self) -> Option<Media> {
        let peer = lock(self.peer.as_ref()?);
        let progress = peer.connections.get(self.flow)?.arrivals.progress();
        Some(self.host().connections.get(self.flow)?.media.as_ref()?.media(progress))
    }

    fn frame_counts(&self) -> VideoStats {
        let host = self.host();
        let media = host.connections.get(self.flow).and_then(|it| it.media.as_ref());
        media.map_or_else(VideoStats::default, SentMedia::counts)
    }

    fn programs(&self) -> Vec<ProgramOutcome> {
        let host = self.host();
        host.connections.get(self.flow).and_then(|it| it.program.clone()).into_iter().collect()
    }

    fn failure(&self) -> Option<String> {
        self.host().failure.clone()
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let host = self.host();
        let Some(info) = host.connections.get(self.flow).and_then(Connection::info) else {
            return;
        };
        let ms = |us: u32| f64::from(us) / 1e3;
        let mbps = |bytes_per_second: u64| bytes_per_second as f64 * 8e-6;
        see("cwnd", f64::from(info.cwnd));
        // Linux' value for "no threshold" is 2³¹ - 1.
        if info.ssthresh < i32::MAX as u32 {
            see("ssthresh", f64::from(info.ssthresh));
        }
        see("rtt", ms(info.srtt_us));
        if info.pacing_rate < u64::MAX {
            see("pacing", mbps(info.pacing_rate));
        }
        see("rttvar", ms(info.rttvar_us));
        see("rto", ms(info.rto_us));
        see("delivery_rate", mbps(info.delivery_rate));
        see("unacked", f64::from(info.unacked));
        see("lost", f64::from(info.lost));
        see("retransmits", f64::from(info.retransmits));
        see("ca_state", f64::from(info.ca_state));
    }
}
