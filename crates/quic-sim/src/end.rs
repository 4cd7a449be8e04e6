//! One end: a stack with its application, as a stage of the simulator.

use std::collections::VecDeque;

use paceline_cc::{Body, Packet, Span, Stage, Time};
use paceline_flow::{SenderStats, Transfer, Workload};
use paceline_sim::{TransportEnd, TransportEnds, TransportSetup};

use crate::application::{Application, Source};
use crate::clock::Clock;
use crate::datagrams::{Arrival, Datagrams, REORDERING};
use crate::machine::{Machine, MachineStats, Transmission};
use crate::observers::Observers;

/// Bytes of the IPv4 and UDP headers.
pub(crate) const HEADERS: u32 = 28;

/// Number of datagrams that a machine may write at one time: far more than the packets of any
/// path, so that more are a machine's mistake.
const DATAGRAMS_AT_ONCE: u32 = 100_000;

/// Returns the two ends of a flow, from the machines of a client, which sends the flow's data, and
/// of a server.
///
/// # Errors
/// Stacks do not have the flow's workload.
pub fn ends<C: Machine + Send + 'static, S: Machine + Send + 'static>(
    setup: &TransportSetup,
    client: C,
    server: S,
) -> Result<TransportEnds, String> {
    let (sender, receiver) = pair(setup, client, server)?;
    Ok((Box::new(sender), Box::new(receiver)))
}

/// The two ends of a flow.
pub(crate) type Ends<C, S> = (End<C>, End<S>);

/// Returns the two ends of a flow, from its machines.
///
/// # Errors
/// Stacks do not have the flow's workload.
pub(crate) fn pair<C: Machine, S: Machine>(
    setup: &TransportSetup,
    client: C,
    server: S,
) -> Result<Ends<C, S>, String> {
    let (there, back) = (Datagrams::default(), Datagrams::default());
    let clock = Clock::new();
    let source = Application::Source(Source::new(setup)?);
    let mut sender = End::new(client, source, clock, there.clone(), back.clone());
    let mut receiver = End::new(server, Application::Sink(0), clock, back, there);
    let sized = SizedTransfer::of(setup);
    (sender.sized, receiver.expected) = (sized, sized.map(|sized| sized.bytes));
    let largest = setup.mss.saturating_sub(HEADERS) as usize;
    (sender.largest, receiver.largest) = (largest, largest);
    sender.observers = Observers::new(setup, true);
    receiver.observers = Observers::new(setup, false);
    Ok((sender, receiver))
}

/// Returns the largest datagram of a flow, in bytes of UDP payload.
///
/// # Errors
/// QUIC's smallest datagram does not fit into the flow's packets.
pub fn largest_datagram(setup: &TransportSetup) -> Result<u16, String> {
    let mss = setup.mss;
    mss.checked_sub(HEADERS)
        .filter(|room| *room >= 1200)
        .map(|room| u16::try_from(room).unwrap_or(u16::MAX))
        .ok_or_else(|| format!("QUIC needs packets of 1228 bytes or more, and mss is {mss}"))
}

/// The transfer of a flow that sends a given number of bytes.
#[derive(Copy, Clone)]
pub(crate) struct SizedTransfer {
    start: Time,
    stop: Time,
    bytes: u64,
}

impl SizedTransfer {
    /// Returns the transfer of a flow; `None` for other workloads.
    fn of(setup: &TransportSetup) -> Option<SizedTransfer> {
        match setup.workload {
            Workload::Bytes(bytes) => {
                Some(SizedTransfer { start: setup.start, stop: setup.stop, bytes })
            }
            _ => None,
        }
    }

    /// Returns the transfer if it runs at `now`, with `now` as its end.
    pub(crate) fn until(self, now: Time) -> Option<Transfer> {
        let runs = self.start <= now && now < self.stop;
        runs.then(|| Transfer::new(self.start, now, self.bytes))
    }
}

/// A machine, and the application on it.
pub(crate) struct End<M> {
    machine: M,
    application: Application,
    clock: Clock,
    /// Datagrams that this end has sent, and datagrams that will arrive at it.
    leaving: Datagrams,
    arriving: Datagrams,
    /// Packets that the simulator has not taken yet.
    ready: VecDeque<Packet>,
    buffer: Vec<u8>,
    /// Largest datagram in bytes of UDP payload.
    largest: usize,
    /// Time of the newest datagram, and the number of datagrams that left at that time.
    newest: (Time, u32),
    wake: Time,
    stats: MachineStats,
    has_new_rtt: bool,
    observers: Option<Observers>,
    /// At the sending end: the transfer of a given size that is not finished, and the finished one.
    sized: Option<SizedTransfer>,
    finished: Option<Transfer>,
    /// At the receiving end: the bytes of this transfer, until all have arrived.
    expected: Option<u64>,
    /// Why this end does not call the machine any more.
    problem: Option<String>,
}

impl<M: Machine> End<M> {
    fn new(
        machine: M,
        application: Application,
        clock: Clock,
        leaving: Datagrams,
        arriving: Datagrams,
    ) -> End<M> {
        End {
            wake: application.wake(),
            machine,
            application,
            clock,
            leaving,
            arriving,
            ready: VecDeque::new(),
            buffer: Vec::new(),
            largest: 0,
            newest: (Time::ZERO, 0),
            stats: MachineStats::default(),
            has_new_rtt: false,
            observers: None,
            sized: None,
            finished: None,
            expected: None,
            problem: None,
        }
    }

    /// Drives the machine and the application as far as possible at `now`.
    fn drive(&mut self, now: Time) {
        if self.problem.is_some() {
            self.wake = Time::NEVER;
            return;
        }
        let instant = self.clock.instant(now);
        if self.machine.timeout().is_some_and(|at| at <= instant) {
            self.machine.on_timeout(instant);
        }
        loop {
            self.drive_application(now);
            self.buffer.clear();
            let mut buffer = std::mem::take(&mut self.buffer);
            let transmission = self.machine.transmit(instant, &mut buffer);
            if let Some(transmission) = &transmission {
                self.queue(now, transmission, &buffer);
            }
            self.buffer = buffer;
            if transmission.is_none() || self.problem.is_some() {
                break;
            }
        }
        let timer = self.machine.timeout().map_or(Time::NEVER, |at| self.clock.time(at));
        self.wake = timer.min(self.application.wake());
        self.stats = self.machine.stats();
        if let Some(observers) = &mut self.observers {
            let failure = self.machine.failure();
            observers.on_state(now, &self.stats, self.machine.rtt(), failure.as_deref());
        }
    }

    /// Calls the machine no more, for this reason.
    fn stop(&mut self, problem: String) {
        self.problem.get_or_insert(problem);
    }

    /// Drives the application. At the receiving end, notes that all bytes have arrived.
    fn drive_application(&mut self, now: Time) {
        self.application.drive(now, &mut self.machine, self.clock.instant(now));
        if self.expected.is_some_and(|bytes| self.application.received() >= bytes) {
            self.expected = None;
            self.leaving.on_complete();
        }
    }

    /// Turns a transmission's datagrams into packets, which leave at `now`.
    fn queue(&mut self, now: Time, transmission: &Transmission, bytes: &[u8]) {
        let bytes = &bytes[..transmission.size.min(bytes.len())];
        let segment = transmission.segment.unwrap_or(transmission.size).max(1);
        for datagram in bytes.chunks(segment) {
            let count = if self.newest.0 == now { self.newest.1 + 1 } else { 1 };
            self.newest = (now, count);
            if datagram.len() > self.largest {
                let (size, largest) = (datagram.len(), self.largest);
                self.stop(format!(
                    "the machine wrote a datagram of {size} bytes, and the path's largest has \
                     {largest}"
                ));
            } else if count > DATAGRAMS_AT_ONCE {
                self.stop(format!(
                    "the machine wrote more than {DATAGRAMS_AT_ONCE} datagrams at one time: \
                     `transmit` must return none once the machine has to wait"
                ));
            }
            if self.problem.is_some() {
                return;
            }
            let mut packet = Packet::opaque(datagram.len() as u32 + HEADERS);
            packet.body = Body::Opaque(self.leaving.put(now, datagram));
            packet.ecn = transmission.ecn;
            if let Some(observers) = &mut self.observers {
                observers.on_datagram(now, false, packet.ecn, datagram);
            }
            self.ready.push_back(packet);
        }
    }
}

impl<M: Machine> Stage for End<M> {
    fn push(&mut self, now: Time, packet: &Packet) {
        let Body::Opaque(handle) = packet.body else { return };
        if self.problem.is_some() {
            return;
        }
        let datagram = match self.arriving.get(handle) {
            Arrival::Datagram(datagram) => datagram,
            // Stacks ignore copies.
            Arrival::LateCopy => return,
            Arrival::TooLate => {
                self.stop(format!(
                    "a datagram arrived after one that had left more than {} s later: so much \
                     reordering is not simulated",
                    REORDERING.as_secs_f64(),
                ));
                return;
            }
        };
        if self.arriving.left_when_complete(handle)
            && let Some(sized) = self.sized.take()
        {
            self.finished = Some(Transfer::new(sized.start, now, sized.bytes));
        }
        let instant = self.clock.instant(now);
        if let Some(observers) = &mut self.observers {
            observers.on_datagram(now, true, packet.ecn, &datagram);
        }
        let mut answer = Vec::new();
        let answered = self.machine.on_datagram(instant, packet.ecn, &datagram, &mut answer);
        if let Some(transmission) = answered {
            // The answer may acknowledge data that the sink has not read yet.
            if let Application::Sink(_) = self.application {
                self.drive_application(now);
            }
            self.queue(now, &transmission, &answer);
        }
        self.has_new_rtt = true;
        // The simulator asks for the packets at this time, which is now.
        self.wake = now;
    }

    fn pop_into(&mut self, now: Time, place: &mut Packet) -> bool {
        if self.ready.is_empty() && self.wake <= now {
            self.drive(now);
        }
        match self.ready.pop_front() {
            Some(packet) => {
                *place = packet;
                true
            }
            None => false,
        }
    }

    fn wake(&self) -> Time {
        if self.ready.is_empty() { self.wake } else { Time::ZERO }
    }
}

/// Answers of an end, also of one that cannot move between threads.
impl<M: Machine> End<M> {
    /// Returns the bytes of application data that have arrived.
    pub(crate) fn bytes_received(&self) -> u64 {
        self.application.received()
    }

    /// Takes the smoothed RTT if datagrams have arrived since the last call.
    pub(crate) fn take_new_rtt(&mut self) -> Option<Span> {
        if !std::mem::take(&mut self.has_new_rtt) {
            return None;
        }
        let nanos = self.machine.rtt().as_nanos();
        Some(Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
    }

    /// Returns the stack's counters.
    pub(crate) fn sender_stats(&self) -> SenderStats {
        let mut counters = SenderStats::default();
        (counters.sent, counters.lost) = (self.stats.sent, self.stats.lost);
        // Stacks tell neither their retransmissions nor their probe timeouts.
        counters.is_partial = true;
        counters
    }

    /// Returns why the connection has ended although the machine still needs it.
    pub(crate) fn failed(&self) -> Option<String> {
        self.problem.clone().or_else(|| self.machine.failure())
    }

    /// Returns the finished transfer of a given size, if there is one.
    pub(crate) fn finished_transfer(&self) -> Option<Transfer> {
        self.finished
    }

    /// Returns the transfer of a given size that is not finished.
    pub(crate) fn sized_transfer(&self) -> Option<SizedTransfer> {
        self.sized
    }

    /// Passes the state of congestion control to `see`.
    pub(crate) fn inspect_state(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let stats = &self.stats;
        see("cwnd", stats.cwnd as f64 / f64::from(stats.mtu.max(1)));
        see("rtt", self.machine.rtt().as_secs_f64() * 1e3);
        if let Some(bps) = stats.pacing_bps {
            see("pacing", bps as f64 / 1e6);
        }
    }
}

impl<M: Machine + Send> TransportEnd for End<M> {
    fn received(&self) -> u64 {
        self.bytes_received()
    }

    fn take_rtt(&mut self) -> Option<Span> {
        self.take_new_rtt()
    }

    fn counters(&self) -> SenderStats {
        self.sender_stats()
    }

    fn transfers(&self) -> &[Transfer] {
        self.finished.as_slice()
    }

    fn unfinished_transfer(&self, now: Time) -> Option<Transfer> {
        self.sized?.until(now)
    }

    fn failure(&self) -> Option<String> {
        self.failed()
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.inspect_state(see);
    }
}
