//! The sender of a flow: sends what the workload has, as fast as the controller plans, and
//! repairs what is lost.

mod feedback;
mod timers;

use std::collections::VecDeque;

use paceline_cc::packet::NO_SEGMENT;
use paceline_cc::scheme::MakeController;
use paceline_cc::{
    Body, Controller, Data, Ecn, EcnFeedback, Fate, Header, Outgoing, Packet, Plan, Rate, Setup,
    Signals, Span, Stage, Stream, Time, TrafficClass,
};

use crate::ledger::{Entry, Ledger};
use crate::pacer::Pacer;
use crate::rate::RateSampler;
use crate::recovery::Recovery;
use crate::rtt::{RtoBounds, RttEstimator};
use crate::workload::{Frame, Source, Transfer, VideoStats, Workload};

/// What a sender is made from.
#[derive(Clone)]
pub struct SenderConfig {
    /// The flow's number.
    pub flow: u32,
    /// The route of its packets, copied into [`Packet::route`].
    pub route: u32,
    /// The largest packet, in bytes on the wire.
    pub mss: u32,
    /// The class of its packets.
    pub class: TrafficClass,
    /// What it sends.
    pub workload: Workload,
    /// When it starts.
    pub start: Time,
    /// When it stops, whatever is left to send.
    pub stop: Time,
    /// True if lost data is sent again.
    pub reliable: bool,
    /// The most bytes beyond the last in-order one that the receiver takes (RFC 9293 §3.8.6), or
    /// that either end's socket buffer holds; `u64::MAX` for no limit. Without meaning for flows
    /// that send nothing again.
    pub receive_window: u64,
    /// How congestion marks come back to it.
    pub ecn: EcnFeedback,
    /// The bounds of its retransmission timeout.
    pub rto: RtoBounds,
    /// The seed of the run.
    pub seed: u64,
}

impl SenderConfig {
    /// A bulk flow of 1500-byte packets from the start on.
    pub fn bulk(flow: u32) -> SenderConfig {
        SenderConfig {
            flow,
            route: 0,
            mss: 1500,
            class: TrafficClass::DEFAULT,
            workload: Workload::Bulk,
            start: Time::ZERO,
            stop: Time::NEVER,
            reliable: true,
            receive_window: u64::MAX,
            ecn: EcnFeedback::Accurate,
            rto: RtoBounds::LINUX,
            seed: 1,
        }
    }
}

/// Counters of a sender.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct SenderStats {
    /// Packets sent.
    pub sent: u64,
    /// Of these, packets that repeated lost data.
    pub retransmits: u64,
    /// Packets declared lost.
    pub lost: u64,
    /// Of these, packets whose acknowledgement came after all.
    pub late: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Tail loss probes sent.
    pub probes: u64,
    /// Acknowledgements that came.
    pub acks: u64,
    /// Reports that came.
    pub reports: u64,
}

/// Bytes of a packet without data on the wire: IP and UDP headers and a scheme's own.
const BEAT_SIZE: u32 = 64;

/// A segment to be sent again.
#[derive(Copy, Clone, Debug)]
struct Lost {
    number: u64,
    segment: u64,
    size: u32,
}

/// The sender of a flow. Push acknowledgements in; pop data packets.
pub struct Sender {
    config: SenderConfig,
    make: MakeController,
    controller: Box<dyn Controller>,
    needs: Signals,
    plan: Plan,
    ledger: Ledger,
    rtt: RttEstimator,
    rates: RateSampler,
    recovery: Recovery,
    pacer: Pacer,
    source: Source,
    lost: VecDeque<Lost>,
    fates: Vec<Fate>,
    transfers: Vec<Transfer>,
    stats: SenderStats,
    /// The segment that new data gets.
    next_segment: u64,
    /// The number of the newest packet with data.
    newest_data: u64,
    /// All segments below are acknowledged.
    cumulative: u64,
    /// How many segments the receiver takes from there on.
    receive_window: u64,
    marked: u32,
    /// Classic ECN: the next packet tells that the window was reduced.
    cwr: bool,
    round: u64,
    round_end: u64,
    /// The number that was next when the window last kept data back.
    limited_at: u64,
    /// When the last packet was sent.
    last_sent: Time,
    timers: timers::Timers,
    latest_rtt: Option<Span>,
}

/// The controller needs signals that the driver does not have.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("the scheme needs signals that this driver does not have: {}", .missing.join(", "))]
pub struct MissingSignals {
    /// The names of the signals.
    pub missing: Vec<&'static str>,
}

/// The signals that this sender gives to controllers.
pub const SENDER_SIGNALS: Signals = Signals::ECN
    .and(Signals::ABC_ECHO)
    .and(Signals::DELIVERY_RATE)
    .and(Signals::FATES)
    .and(Signals::RECEIVE_TIME)
    .and(Signals::HEADERS)
    .and(Signals::REPORTS);

impl Sender {
    /// A sender under the controllers that `make` makes.
    ///
    /// # Errors
    /// If the controller needs signals outside `available`.
    pub fn new(
        config: SenderConfig,
        make: MakeController,
        available: Signals,
    ) -> Result<Sender, MissingSignals> {
        let controller = make(&config.setup());
        let missing = controller.needs().missing_from(available);
        if !missing.is_empty() {
            return Err(MissingSignals { missing });
        }
        let random = Stream::new(config.seed, &format!("flow {} workload", config.flow));
        let source = Source::new(config.workload.clone(), config.start, config.stop, random);
        let needs = controller.needs();
        let plan = controller.plan();
        let rtt = RttEstimator::new(config.rto);
        let segments = (config.receive_window / u64::from(config.mss.max(1))).max(1);
        let receive_window = if config.reliable { segments } else { u64::MAX };
        let mut sender = Sender {
            config,
            make,
            controller,
            needs,
            plan,
            ledger: Ledger::new(),
            rtt,
            rates: RateSampler::new(),
            recovery: Recovery::new(),
            pacer: Pacer::default(),
            source,
            lost: VecDeque::new(),
            fates: Vec::new(),
            transfers: Vec::new(),
            stats: SenderStats::default(),
            next_segment: 0,
            newest_data: 0,
            cumulative: 0,
            receive_window,
            marked: 0,
            cwr: false,
            round: 0,
            round_end: 0,
            limited_at: 0,
            last_sent: Time::NEVER,
            timers: timers::Timers::new(),
            latest_rtt: None,
        };
        sender.replan();
        sender.timers.arm(sender.source.next());
        Ok(sender)
    }

    /// The flow's number.
    pub fn flow(&self) -> u32 {
        self.config.flow
    }
    /// Counters since the start.
    pub fn stats(&self) -> SenderStats {
        self.stats
    }
    /// Bytes in flight.
    pub fn in_flight(&self) -> u64 {
        self.ledger.in_flight()
    }
    /// Estimates of the round-trip time.
    pub fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }
    /// The RTT sample of the latest acknowledgement, taken once.
    pub fn take_rtt(&mut self) -> Option<Span> {
        self.latest_rtt.take()
    }
    /// The controller's current plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }
    /// The controller's inner state.
    pub fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.controller.inspect(see);
    }
    /// The counted transfers that have finished, oldest first.
    pub fn transfers(&self) -> &[Transfer] {
        &self.transfers
    }
    /// How long until `now` the application had something to send, or waited for the last
    /// acknowledgement of it: of an on-off workload, its on-periods.
    pub fn on_time(&self, now: Time) -> Span {
        self.source.on_time(now)
    }
    /// The frames of a video workload so far.
    pub fn video(&self) -> Option<(&[Frame], VideoStats)> {
        self.source.video()
    }
    /// The rate that an adaptive application should make data at: what the controller says, or
    /// else what it would let through, a window per RTT and no more than it paces at; zero if
    /// neither is known.
    pub fn media_rate(&self) -> Rate {
        self.controller.target().unwrap_or_else(|| {
            let rtt = self.rtt.smoothed();
            let window = if rtt.is_zero() { None } else { Some(self.plan.cwnd) };
            let window = window.map(|cwnd| Rate::from_bytes_in(cwnd, rtt));
            self.plan.pacing.into_iter().chain(window).min().unwrap_or(Rate::ZERO)
        })
    }
    /// The most bytes that may be in flight now.
    pub fn window(&self) -> u64 {
        if self.recovery.is_reducing() && self.plan.prr {
            self.recovery.allowance()
        } else {
            self.plan.cwnd
        }
    }

    /// Asks the controller for its plan.
    #[inline]
    fn replan(&mut self) {
        // Field by field: a copy of what has just been written in parts would stall.
        let Plan { cwnd, pacing, burst, ecn, timer, prr, beat, exact } = self.controller.plan();
        self.plan.cwnd = cwnd;
        self.plan.pacing = pacing;
        self.plan.burst = burst;
        self.plan.ecn = if self.config.ecn == EcnFeedback::Off { Ecn::NotEct } else { ecn };
        self.plan.timer = timer;
        self.plan.prr = prr;
        self.plan.beat = beat;
        self.plan.exact = exact;
        self.pacer.set_rate(self.plan.pacing);
    }

    /// Sends one packet, if there is something to send and all limits allow it.
    #[inline]
    fn send(&mut self, now: Time, place: &mut Packet) -> bool {
        let in_flight = self.ledger.in_flight();
        let ready = self.source.ready();
        let repeats = !self.lost.is_empty();
        if ready == 0 && !repeats {
            if in_flight < self.plan.cwnd {
                self.rates.on_app_limited(in_flight);
            }
            return false;
        }
        // Linux sends a packet as long as one whole packet fits; one is always allowed. A full
        // window counts as such even if the pacer is closed, too.
        let mut largest = self.config.mss as u64;
        let full = if self.plan.exact {
            largest = largest.min(self.window().saturating_sub(in_flight));
            largest < BEAT_SIZE as u64
        } else {
            in_flight > 0 && in_flight + largest > self.window()
        };
        if full {
            self.limited_at = self.ledger.next();
            return false;
        }
        if self.pacer.next() > now {
            return false;
        }
        if !repeats && self.next_segment - self.cumulative >= self.receive_window {
            // Not the controller's window: it is not to be told that it was used up.
            return false;
        }
        if in_flight == 0 && self.last_sent < now {
            self.controller.on_idle(now, now.since(self.last_sent), self.rtt.rto());
            self.replan();
        }
        let (segment, size) = match self.lost.pop_front() {
            Some(lost) => (lost.segment, lost.size),
            None => {
                let size = ready.min(largest) as u32;
                self.source.take(size as u64);
                self.next_segment += 1;
                (self.next_segment - 1, size)
            }
        };
        self.emit(now, segment, size, repeats, place);
        true
    }

    /// Builds a packet and notes it in the ledger.
    #[inline]
    fn emit(&mut self, now: Time, segment: u64, size: u32, again: bool, place: &mut Packet) {
        let in_flight = self.ledger.in_flight();
        let number = self.ledger.next();
        let mut outgoing = Outgoing::new(number, size, in_flight);
        outgoing.retransmission = again;
        outgoing.beat = segment == NO_SEGMENT;
        outgoing.last = self.source.ready() == 0 && self.lost.is_empty();
        let tag = self.controller.on_send(now, &mut outgoing);
        // A copy of what has just been written would stall.
        let headed = self.needs.contains(Signals::HEADERS);
        let header = if headed { outgoing.header } else { Header::None };
        let mut entry = Entry { sent: now, segment, tag, size, ..Entry::default() };
        self.rates.on_send(now, self.ledger.oldest().is_none(), &mut entry);
        self.ledger.on_send(entry);
        self.pacer.on_send(now, size, self.plan.burst);
        self.recovery.on_send(size);
        self.last_sent = now;
        if segment != NO_SEGMENT {
            self.newest_data = number;
        }
        self.stats.sent += 1;
        self.stats.retransmits += again as u64;
        if in_flight == 0 {
            self.timers.restart(now);
        }
        *place = Packet {
            flow: self.config.flow,
            size,
            route: self.config.route,
            ecn: self.plan.ecn,
            class: self.config.class,
            sent: now,
            queued: now,
            body: Body::Data(Data { number, segment, header, cwr: std::mem::take(&mut self.cwr) }),
        };
    }

    /// Sends a packet without data.
    #[cold]
    fn beat(&mut self, now: Time, place: &mut Packet) {
        self.emit(now, NO_SEGMENT, BEAT_SIZE, false, place);
        self.replan();
    }

    /// True if nothing will be sent any more, and nothing is waited for.
    fn is_over(&self) -> bool {
        let source = &self.source;
        source.ready() == 0 && source.next() == Time::NEVER && !source.is_draining()
    }

    /// Begins a new connection: window and estimates start anew.
    fn reconnect(&mut self) {
        self.controller = (self.make)(&self.config.setup());
        self.ledger.abandon();
        self.rtt = RttEstimator::new(self.config.rto);
        self.recovery = Recovery::new();
        self.lost.clear();
        self.next_segment = crate::reassembly::next_connection(self.next_segment);
        self.cumulative = self.next_segment;
        self.last_sent = Time::NEVER;
        self.replan();
    }
}

impl SenderConfig {
    fn setup(&self) -> Setup {
        Setup { mss: self.mss, seed: self.seed, flow: self.flow }
    }
}

impl Stage for Sender {
    fn push(&mut self, now: Time, packet: &Packet) {
        match &packet.body {
            Body::Ack(ack) => self.on_ack(now, ack),
            Body::Report(report) => {
                self.stats.reports += 1;
                self.controller.on_report(now, report);
                self.replan();
                self.timers.attend();
            }
            Body::Data(_) | Body::Opaque(_) => {}
        }
    }

    #[inline]
    fn pop_into(&mut self, now: Time, place: &mut Packet) -> bool {
        if self.timers.due() <= now && self.on_timers(now, place) {
            return true;
        }
        if self.plan.beat && !self.is_over() {
            self.beat(now, place);
            return true;
        }
        let sent = self.send(now, place);
        if !sent {
            self.rearm(now);
        }
        sent
    }

    #[inline]
    fn wake(&self) -> Time {
        self.timers.next()
    }
}
