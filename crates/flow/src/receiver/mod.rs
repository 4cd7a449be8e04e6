//! The receiver of a flow: counts what arrives and acknowledges it.

mod blocks;
mod linux;
pub(crate) mod reassembly;
mod sacks;

use paceline_cc::{
    Ack, AckPolicy, Body, Data, Ecn, EcnFeedback, Halves, Handshake, NO_SEGMENT, Packet, Reporter,
    Setup, Span, Stage, Time, TrafficClass,
};

use self::blocks::{Arrival, Blocks};
use self::linux::LinuxAcks;
use self::reassembly::Reassembly;

/// Size of an acknowledgement in bytes on the wire: IPv4 and TCP headers with timestamps and one
/// SACK block, as in most of Linux' acknowledgements.
pub const ACK_SIZE: u32 = 64;

/// Packets with CE after which a receiver that reports accurate counts acknowledges at once (RFC 9768 §3.2.2.5.1: "n
/// SHOULD be 2").
const MARKS_PER_ACK: u32 = 2;

/// Configuration of a receiver. Start from [`ReceiverConfig::new`] and change fields.
#[non_exhaustive]
pub struct ReceiverConfig {
    /// The flow's number.
    pub flow: u32,
    /// The route of its acknowledgements, copied into [`Packet::route`].
    pub route: u32,
    /// When it acknowledges.
    pub ack: AckPolicy,
    /// True if it acknowledges as a Linux host does; then [`ReceiverConfig::ack`] is ignored.
    pub linux: bool,
    /// How it reports congestion marks to the sender.
    pub ecn: EcnFeedback,
    /// True if the sender retransmits all lost data; if false, the receiver does not wait for it.
    pub reliable: bool,
    /// The receiver's half of the scheme, if it has one.
    pub reporter: Option<Box<dyn Reporter>>,
    /// Reading of the receiver's clock at the start of the run.
    pub clock_offset: Span,
}

impl ReceiverConfig {
    /// Configures TCP's receiver: delayed acknowledgements, AccECN, lost data retransmitted, no
    /// receiver's half of a scheme, and a clock that shows the driver's time.
    pub fn new(flow: u32) -> ReceiverConfig {
        ReceiverConfig {
            flow,
            route: 0,
            ack: AckPolicy::DELAYED,
            linux: false,
            ecn: EcnFeedback::Accurate,
            reliable: true,
            reporter: None,
            clock_offset: Span::ZERO,
        }
    }

    /// Configures the receiver that the scheme with these halves needs; `setup` is that of the
    /// connection's sender.
    pub fn of(halves: &Halves, setup: Setup) -> ReceiverConfig {
        ReceiverConfig::new(setup.flow).with(|config| {
            config.ack = halves.ack;
            config.reliable = halves.reliable;
            config.reporter = halves.reporter.as_ref().map(|make| make(&setup.of_receiver()));
        })
    }

    /// Returns this configuration changed by `change`: `config.with(|config| config.ack =
    /// AckPolicy::EACH)`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut ReceiverConfig)) -> ReceiverConfig {
        change(&mut self);
        self
    }
}

/// Counters of a receiver.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReceiverStats {
    /// Packets that arrived.
    pub packets: u64,
    /// Bytes of packets that arrived.
    pub bytes: u64,
    /// Bytes of segments that arrived for the first time.
    pub goodput: u64,
    /// Packets that arrived with CE.
    pub ce_packets: u64,
    /// Acknowledgements sent.
    pub acks: u64,
    /// Reports sent.
    pub reports: u64,
    /// SYNs that arrived, each of which was answered by a SYN-ACK; `packets` does not count them.
    pub syns: u64,
    /// Acknowledgements of its SYN-ACKs that arrived; `packets` does not count them.
    pub handshake_acks: u64,
}

/// A packet that is sent before anything else.
#[derive(Debug)]
enum Urgent {
    /// The acknowledgement of the packets before the newest one, which is sent because of the
    /// newest one.
    Flushed(Ack),
    /// The answer to a SYN.
    SynAck(Handshake),
}

/// The ECN fields of a connection's data packets so far.
#[derive(Debug)]
struct EcnSeen {
    /// The field of the newest packet.
    last: Ecn,
    /// True if a packet was ECN-capable.
    capable: bool,
    /// The field of packets that [`Receiver::on_ecn`] need not see, as a number; [`EcnSeen::NONE`] if it is to see the
    /// next one in any case.
    unremarkable: u8,
    /// Packets with CE that no acknowledgement has reported.
    unreported: u32,
}

impl EcnSeen {
    /// No field.
    const NONE: u8 = u8::MAX;

    fn new() -> EcnSeen {
        EcnSeen {
            last: Ecn::NotEct,
            capable: false,
            unremarkable: Ecn::NotEct as u8,
            unreported: 0,
        }
    }
}

/// The receiver of a flow. Push data packets in; pop acknowledgements.
pub struct Receiver {
    config: ReceiverConfig,
    blocks: Blocks,
    reassembly: Reassembly,
    /// The segments that have arrived of a flow that need not retransmit lost data: `reassembly` stays empty.
    datagrams: Option<Box<Reassembly>>,
    stats: ReceiverStats,
    /// Number of packets that the delayed acknowledgement will cover.
    pending: u32,
    /// When the delayed acknowledgement is due.
    due: Time,
    /// When the packet with the largest number arrived.
    newest_at: Time,
    urgent: Option<Urgent>,
    /// The first SYN of the newest connection.
    first_syn: Option<Handshake>,
    /// Classic ECN: true if a packet with CE has arrived, and none with CWR since.
    ece: bool,
    ecn: EcnSeen,
    /// True if the next acknowledgement is not delayed.
    now: bool,
    /// When the reporter wants to report.
    report_at: Time,
    linux: Option<LinuxAcks>,
}

impl Receiver {
    /// Returns a receiver that has received nothing.
    pub fn new(config: ReceiverConfig) -> Receiver {
        Receiver {
            blocks: Blocks::new(),
            reassembly: Reassembly::new(),
            datagrams: (!config.reliable).then(|| Box::new(Reassembly::new())),
            stats: ReceiverStats::default(),
            pending: 0,
            due: Time::NEVER,
            newest_at: Time::ZERO,
            urgent: None,
            first_syn: None,
            ece: false,
            ecn: EcnSeen::new(),
            now: false,
            report_at: Time::NEVER,
            linux: config.linux.then(LinuxAcks::new),
            config,
        }
    }

    /// Returns the counters since the start.
    pub fn stats(&self) -> ReceiverStats {
        self.stats
    }

    /// Returns the ranges of numbers below the blocks of `ack`, an acknowledgement of this
    /// receiver, newest first, as they were when it was made. The driver passes them to
    /// [`Sender::push_ack`](crate::Sender::push_ack) with the acknowledgement.
    pub fn older_ranges(&self, ack: &Ack) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.blocks.older(ack)
    }

    #[inline(always)]
    fn ack(&mut self) -> Ack {
        let (largest, lengths, gaps) = self.blocks.newest();
        let (mut echo, mut explicit) = (Ecn::NotEct, 0);
        if let Some(reporter) = &mut self.config.reporter {
            echo = reporter.echo();
            explicit = reporter.explicit();
        }
        Ack {
            largest,
            lengths,
            gaps,
            echo,
            explicit,
            older: self.blocks.changes(),
            cumulative: self.reassembly.cumulative(),
            received: self.newest_at + self.config.clock_offset,
            ce_packets: match self.config.ecn {
                EcnFeedback::Accurate => self.stats.ce_packets as u32,
                EcnFeedback::Classic | EcnFeedback::Off => 0,
            },
            ece: self.ece,
        }
    }

    /// Passes a packet that is not counted yet to the reporter, if there is one. If the packet
    /// flushes an acknowledgement, the reporter first adds its data to that, so that the data does
    /// not include the packet.
    #[inline(always)]
    fn tell_reporter(&mut self, now: Time, packet: &Packet) {
        let Some(reporter) = &self.config.reporter else { return };
        if self.pending > 0 && reporter.flushes(packet) {
            self.urgent = Some(Urgent::Flushed(self.ack()));
            self.pending = 0;
            if let Some(linux) = &mut self.linux {
                linux.on_ack(now);
            }
        }
        if let Some(reporter) = &mut self.config.reporter {
            self.now |= reporter.on_arrival(now, packet).now;
            self.report_at = reporter.wake();
        }
    }

    #[inline(always)]
    fn write(&self, now: Time, size: u32, body: Body, place: &mut Packet) {
        *place = Packet {
            flow: self.config.flow,
            size,
            route: self.config.route,
            ecn: Ecn::NotEct,
            class: TrafficClass::DEFAULT,
            sent: now,
            queued: now,
            body,
        };
    }

    #[inline(always)]
    fn acknowledge(&mut self, now: Time, ack: Ack, place: &mut Packet) {
        self.stats.acks += 1;
        self.write(now, ACK_SIZE, Body::Ack(ack), place);
    }

    /// Takes a data packet in at `now`. If it is to be acknowledged at once, puts the
    /// acknowledgement into `place`: [`Stage::push`] and [`Stage::pop_into`] in one step.
    #[inline]
    pub fn answer(&mut self, now: Time, packet: &Packet, place: &mut Packet) -> bool {
        self.push(now, packet);
        if self.urgent.is_some() || self.report_at <= now {
            return self.pop_into(now, place);
        }
        self.due <= now && self.pop_ack(now, place)
    }

    /// Takes in the ECN field and the CWR of a data packet that is not counted in `pending` yet, and decides whether
    /// they have it acknowledged at once. Packets need not come here whose field is unremarkable and that lack CWR.
    #[inline(never)]
    fn on_ecn(&mut self, ecn: Ecn, cwr: bool) {
        let is_ce = ecn == Ecn::Ce;
        let changes = std::mem::replace(&mut self.ecn.last, ecn) != ecn;
        let was_echoing = self.ece && !cwr;
        self.stats.ce_packets += u64::from(is_ce);
        match self.config.ecn {
            EcnFeedback::Classic => self.ece = is_ce || was_echoing,
            EcnFeedback::Accurate => self.on_accurate_ecn(is_ce, changes),
            EcnFeedback::Off => {}
        }
        self.ecn.capable |= ecn.is_capable();
        let is_unremarkable = !is_ce && ecn.is_capable() == self.ecn.capable;
        self.ecn.unremarkable = if is_unremarkable { ecn as u8 } else { EcnSeen::NONE };
        let Some(linux) = &mut self.linux else { return };
        if self.config.ecn == EcnFeedback::Off {
            return;
        }
        // Linux `tcp_data_ecn_check`: a first mark has the next two packets acknowledged at once, and so has a packet that
        // is not ECN-capable after some that were, which is probably a retransmission.
        let is_odd = !ecn.is_capable() && self.ecn.capable;
        let begins_echo = self.config.ecn == EcnFeedback::Classic && is_ce && !was_echoing;
        if is_odd || begins_echo {
            linux.quicken(2);
        }
        // `tcp_ecn_accept_cwr`: the sender's window may be small now.
        self.now |= cwr && self.config.ecn == EcnFeedback::Classic;
    }

    /// Has a packet acknowledged at once that changes the ECN field, as Linux does (`tcp_ecn_received_counters`).
    /// Other receivers of streams acknowledge when marks begin, and each second mark (RFC 9768 §3.2.2.5.1).
    fn on_accurate_ecn(&mut self, is_ce: bool, changes: bool) {
        if self.linux.is_some() {
            self.now |= changes;
            return;
        }
        if self.pending == 0 {
            self.ecn.unreported = 0;
        }
        self.ecn.unreported += u32::from(is_ce);
        let begins = changes && is_ce;
        self.now |= self.config.reliable && (begins || self.ecn.unreported >= MARKS_PER_ACK);
    }

    /// Sets the time of the next acknowledgement by Linux' rules. `new` says whether the packet's
    /// data arrives for the first time; all segments below `before` had arrived before the packet,
    /// and if `had_gap`, some beyond a missing one.
    #[inline(always)]
    fn schedule_as_linux(
        &mut self,
        now: Time,
        packet: &Packet,
        new: bool,
        (before, had_gap): (u64, bool),
    ) {
        let Body::Data(Data { push, segment, .. }) = packet.body else { return };
        let Some(linux) = &mut self.linux else { return };
        linux.on_packet(now, packet);
        self.pending += 1;
        if !new || had_gap || self.reassembly.has_gap() {
            let size = packet.size;
            return self.schedule_out_of_order(now, (segment, size), new, (before, had_gap));
        }
        if linux.acks_in_order(now, packet.size, self.pending, push) || self.now {
            self.due = now;
        } else if self.pending == 1 {
            self.due = linux.delay(now);
        }
    }

    /// Sets the time of the next acknowledgement by Linux' rules after a packet beyond a gap, in
    /// one, or with data that had arrived before. The last pair is that of
    /// [`Receiver::schedule_as_linux`].
    #[inline(never)]
    fn schedule_out_of_order(
        &mut self,
        now: Time,
        (segment, size): (u64, u32),
        new: bool,
        (before, had_gap): (u64, bool),
    ) {
        let Some(linux) = &mut self.linux else { return };
        let cumulative = self.reassembly.cumulative();
        let has_gap = self.reassembly.has_gap();
        let is_old = !new && segment < cumulative;
        if is_old {
            linux.on_duplicate();
        }
        if segment == before {
            linux.on_filling(now, size, cumulative - before, has_gap);
        } else if new && has_gap && segment != NO_SEGMENT {
            linux.on_beyond_gap(size, self.reassembly.span());
        }
        if is_old || !has_gap {
            self.due = now;
        } else {
            let moved = !had_gap || before != cumulative;
            let due = linux.due_beyond_gap(now, (moved, self.now), segment, cumulative);
            self.due = self.due.min(due);
        }
    }

    /// Puts the acknowledgement that is due into `place`.
    #[inline(always)]
    fn pop_ack(&mut self, now: Time, place: &mut Packet) -> bool {
        self.due = Time::NEVER;
        self.pending = 0;
        self.now = false;
        if let Some(linux) = &mut self.linux {
            linux.on_ack(now);
        }
        let ack = self.ack();
        self.acknowledge(now, ack, place);
        true
    }

    /// Handles packets other than data. Answers a SYN with the number and the time of the first SYN
    /// of its connection that arrived, as Linux does (`tcp_check_req` sends the SYN-ACK of the
    /// first SYN again). The receiver has no timer for SYN-ACKs: a lost one is sent again when the
    /// sender repeats the SYN, at the time at which TCP's own timer would send it.
    #[cold]
    fn on_control(&mut self, now: Time, packet: &Packet) {
        let Body::Handshake(syn) = packet.body else {
            self.stats.handshake_acks += 1;
            if let Some(linux) = &mut self.linux {
                linux.on_established(now);
            }
            return;
        };
        let first = match self.first_syn {
            Some(first) if first.connection >= syn.connection => first,
            _ => {
                self.begin_connection();
                syn
            }
        };
        if let Some(linux) = &mut self.linux {
            linux.on_syn(now);
        }
        self.first_syn = Some(first);
        self.stats.syns += 1;
        self.urgent = Some(Urgent::SynAck(first));
    }

    /// Forgets what the receiver knows about a connection, since the next one has a socket of its own: quickack mode,
    /// receive window, delayed acknowledgement, echo of a mark.
    #[cold]
    fn begin_connection(&mut self) {
        if let Some(linux) = &mut self.linux {
            linux.begin_connection();
        }
        (self.pending, self.due, self.now, self.ece) = (0, Time::NEVER, false, false);
        self.ecn = EcnSeen::new();
    }

    /// Lets the reporter report. Returns true if a report was put into `place`.
    #[cold]
    fn report(&mut self, now: Time, place: &mut Packet) -> bool {
        let Some(reporter) = &mut self.config.reporter else { return false };
        let report = reporter.report(now, now + self.config.clock_offset);
        // Ensures that time goes on even if a reporter leaves its time in the past.
        self.report_at = reporter.wake().max(now + Span::from_micros(1));
        if let Some(report) = report {
            self.stats.reports += 1;
            self.write(now, report.size(), Body::Report(report), place);
        }
        report.is_some()
    }
}

impl Stage for Receiver {
    #[inline(always)]
    fn push(&mut self, now: Time, packet: &Packet) {
        let Body::Data(data) = &packet.body else { return self.on_control(now, packet) };
        self.tell_reporter(now, packet);
        self.stats.packets += 1;
        self.stats.bytes += packet.size as u64;
        if self.ecn.unremarkable != packet.ecn as u8 || data.cwr {
            self.on_ecn(packet.ecn, data.cwr);
        }
        let gap_before = self.reassembly.has_gap();
        let before = self.reassembly.cumulative();
        let arrival = self.blocks.insert(data.number);
        let mut new = true;
        if data.segment != NO_SEGMENT {
            new = match &mut self.datagrams {
                None => self.reassembly.insert(data.segment),
                Some(datagrams) => {
                    arrival != Arrival::Duplicate && datagrams.insert_datagram(data.segment)
                }
            };
            self.stats.goodput += if new { packet.size as u64 } else { 0 };
        }
        if self.blocks.largest() == Some(data.number) {
            self.newest_at = now;
        }
        if self.linux.is_some() {
            return self.schedule_as_linux(now, packet, new, (before, gap_before));
        }
        // RFC 5681 §4.2: acknowledges at once when a packet is out of order, and while a gap is
        // being filled.
        self.now |= arrival != Arrival::InOrder || gap_before || self.reassembly.has_gap();
        self.pending += 1;
        if self.pending >= self.config.ack.every || self.now {
            self.due = now;
        } else if self.pending == 1 {
            self.due = now + self.config.ack.delay;
        }
    }

    #[inline]
    fn pop_into(&mut self, now: Time, place: &mut Packet) -> bool {
        if let Some(urgent) = self.urgent.take() {
            match urgent {
                Urgent::Flushed(ack) => self.acknowledge(now, ack, place),
                Urgent::SynAck(answer) => {
                    self.write(now, ACK_SIZE, Body::Handshake(answer), place);
                }
            }
            return true;
        }
        if self.report_at <= now && self.report(now, place) {
            return true;
        }
        self.due <= now && self.pop_ack(now, place)
    }

    #[inline]
    fn wake(&self) -> Time {
        if self.urgent.is_some() { Time::ZERO } else { self.due.min(self.report_at) }
    }
}
