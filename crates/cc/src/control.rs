//! The sender's half of a scheme: what it is told, and what it decides.

use crate::header::{Header, Report};
use crate::packet::Ecn;
use crate::units::{Rate, Span, Time};

/// Signals that a scheme needs and a driver has, as a set of bits.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Signals(u16);

impl Signals {
    /// Acknowledged and lost bytes, RTTs and timers: what every driver has.
    pub const NONE: Signals = Signals(0);
    /// Counts of packets received with CE.
    pub const ECN: Signals = Signals(1);
    /// ABC's accelerate and brake marks, echoed per acknowledgement.
    pub const ABC_ECHO: Signals = Signals(1 << 1);
    /// Delivery-rate samples.
    pub const DELIVERY_RATE: Signals = Signals(1 << 2);
    /// The fate of each packet: [`Feedback::fates`].
    pub const FATES: Signals = Signals(1 << 3);
    /// Receive times on the receiver's clock: [`Fate::received`].
    pub const RECEIVE_TIME: Signals = Signals(1 << 4);
    /// Congestion headers, and what receivers return of them: [`Outgoing::header`],
    /// [`Feedback::explicit`].
    pub const HEADERS: Signals = Signals(1 << 5);
    /// Reports of the receiver's half: [`Controller::on_report`].
    pub const REPORTS: Signals = Signals(1 << 6);

    const NAMES: [(Signals, &'static str); 7] = [
        (Signals::ECN, "ecn"),
        (Signals::ABC_ECHO, "abc-echo"),
        (Signals::DELIVERY_RATE, "delivery-rate"),
        (Signals::FATES, "fates"),
        (Signals::RECEIVE_TIME, "receive-time"),
        (Signals::HEADERS, "headers"),
        (Signals::REPORTS, "reports"),
    ];

    /// The union of two sets.
    pub const fn and(self, other: Signals) -> Signals {
        Signals(self.0 | other.0)
    }
    /// True if every signal of `other` is in this set.
    pub const fn contains(self, other: Signals) -> bool {
        self.0 & other.0 == other.0
    }
    /// The names of the signals of this set that `available` lacks.
    pub fn missing_from(self, available: Signals) -> Vec<&'static str> {
        let lacking = |set: Signals| self.contains(set) && !available.contains(set);
        Signals::NAMES.iter().filter(|(set, _)| lacking(*set)).map(|(_, name)| *name).collect()
    }
}

/// What the connection's state machine makes of losses and marks, at most once per window.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// A packet was lost that was sent after the last reaction to congestion.
    Loss,
    /// A packet was lost within one round trip of the last [`Congestion::Ecn`]. Schemes that halve
    /// their window for a mark ignore it (RFC 3168 §6.1.2). Schemes that reduce by less for a mark
    /// treat it as [`Congestion::Loss`] (RFC 8257 §3.5). No [`Congestion::Undo`] follows it.
    LossAfterMark,
    /// A packet was CE-marked that was sent after the last reaction to congestion.
    Ecn,
    /// The retransmission timer expired; everything in flight counts as lost.
    Timeout,
    /// The last reaction was a mistake: the packets had only been late (RFC 4015, RFC 5682).
    Undo,
}

/// A delivery-rate sample (draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Copy, Clone, Debug)]
#[non_exhaustive]
pub struct RateSample {
    /// Bytes delivered over the sample's interval, per that interval.
    pub rate: Rate,
    /// The sample's interval: the longer of its send and acknowledgement phases.
    pub interval: Span,
    /// Bytes delivered within the interval.
    pub delivered: u64,
    /// The total delivered when the newest acknowledged packet was sent.
    pub prior_delivered: u64,
    /// True if the application, not the window, limited sending.
    pub app_limited: bool,
}

impl RateSample {
    /// A sample of `delivered` bytes in `interval`, not limited by the application, of a packet
    /// that was sent when `prior_delivered` bytes had been delivered.
    #[inline]
    pub fn new(delivered: u64, interval: Span, prior_delivered: u64) -> RateSample {
        RateSample {
            rate: Rate::from_bytes_in(delivered, interval),
            interval,
            delivered,
            prior_delivered,
            app_limited: false,
        }
    }

    /// The same with a change: `sample.with(|sample| sample.app_limited = true)`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut RateSample)) -> RateSample {
        change(&mut self);
        self
    }
}

/// What became of one packet.
///
/// A packet can have two fates: one that was declared lost too early, because it was only late, is
/// reported as lost first, and as acknowledged when its acknowledgement comes after all. Then
/// [`Feedback::acked`] counts it although [`Feedback::lost`] has counted it before. (When the
/// sender takes a whole reaction back, [`Congestion::Undo`], what has not come yet is in flight
/// again, and may also be declared lost a second time.) A scheme that adds up fates must expect
/// more of them than packets that were sent; `number` tells which packet it is. After a packet has
/// been acknowledged, nothing more is told of it.
#[derive(Copy, Clone, Debug)]
#[non_exhaustive]
pub struct Fate {
    /// Its transmission number.
    pub number: u64,
    /// Its bytes on the wire.
    pub size: u32,
    /// True if it was declared lost, false if it was acknowledged.
    pub lost: bool,
    /// True if it was acknowledged after it had been reported as lost.
    pub late: bool,
    /// The tag that [`Controller::on_send`] returned for it.
    pub tag: u64,
    /// When it was sent.
    pub sent: Time,
    /// When it arrived, on the receiver's clock, whose offset is arbitrary. Known for the newest
    /// packet of an acknowledgement; [`Time::NEVER`] for the others.
    pub received: Time,
}

impl Fate {
    /// The fate of packet `number`, of `size` bytes, which was sent at `sent` under `tag`. When it
    /// arrived is not known.
    #[inline]
    pub fn new(number: u64, size: u32, sent: Time, tag: u64, lost: bool) -> Fate {
        Fate { number, size, lost, late: false, tag, sent, received: Time::NEVER }
    }

    /// The same with a change: `fate.with(|fate| fate.late = true)`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Fate)) -> Fate {
        change(&mut self);
        self
    }
}

/// Everything that one acknowledgement, or one expiry of a loss timer, tells.
///
/// [`Feedback::new`] makes one in which nothing has happened; a driver sets the fields that differ.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Feedback<'a> {
    /// The time at the sender.
    pub now: Time,
    /// The largest packet, in bytes on the wire: the unit in which windows grow.
    pub mss: u32,
    /// Bytes newly acknowledged.
    pub acked: u64,
    /// Packets newly acknowledged.
    pub acked_packets: u32,
    /// Bytes newly declared lost.
    pub lost: u64,
    /// Packets newly declared lost.
    pub lost_packets: u32,
    /// Packets newly reported as received with CE.
    pub marked_packets: u32,
    /// The mark that the acknowledgement echoes.
    pub echo: Ecn,
    /// What the receiver's half wrote into the acknowledgement; 0 without an acknowledgement.
    pub explicit: u32,
    /// Bytes in flight before this acknowledgement.
    pub prior_in_flight: u64,
    /// Bytes in flight after it.
    pub in_flight: u64,
    /// True if the window, not the application or the pacer, limited sending in the last window of data,
    /// or if that filled it exactly (Linux `tcp_cwnd_validate`).
    pub cwnd_limited: bool,
    /// The most bytes in flight in the last window of data, if the window did not limit sending (Linux
    /// `max_packets_out`): slow start goes on until the window is twice as large.
    pub max_in_flight: u64,
    /// False if the acknowledgement acknowledges packets beyond a gap alone, and less reordering has
    /// been seen than would explain it: windows stay as they are (RFC 3042, Linux `tcp_may_raise_cwnd`).
    pub may_raise_cwnd: bool,
    /// The RTT of the newest packet that is newly acknowledged, if there is one. It includes the
    /// receiver's delay of the acknowledgement, as TCP timestamps do.
    pub rtt: Option<Span>,
    /// The smoothed RTT (RFC 6298); zero before the first sample.
    pub srtt: Span,
    /// The smallest RTT of the connection; zero before the first sample.
    pub min_rtt: Span,
    /// Total bytes delivered since the start.
    pub delivered: u64,
    /// Round trips since the start: goes up when a packet is acknowledged that was sent after
    /// the previous round trip's end.
    pub round: u64,
    /// True on the first acknowledgement of a round trip.
    pub round_start: bool,
    /// A delivery-rate sample, if this acknowledgement gives one.
    pub sample: Option<RateSample>,
    /// What the connection's state machine concludes, at most once per window.
    pub congestion: Option<Congestion>,
    /// True while losses of the last congestion event, a timeout included, are being repaired, and
    /// for one round trip after a mark: windows do not grow, except in slow start after a timeout.
    pub in_recovery: bool,
    /// The packets' fates, if the scheme needs [`Signals::FATES`]; else empty.
    pub fates: &'a [Fate],
}

impl<'a> Feedback<'a> {
    /// Feedback at `now` in which nothing has happened, for a sender of packets of `mss` bytes:
    /// no packets acknowledged, lost, marked or in flight, no RTT, no sample.
    #[inline]
    pub fn new(now: Time, mss: u32) -> Feedback<'static> {
        Feedback {
            now,
            mss,
            acked: 0,
            acked_packets: 0,
            lost: 0,
            lost_packets: 0,
            marked_packets: 0,
            echo: Ecn::NotEct,
            explicit: 0,
            prior_in_flight: 0,
            in_flight: 0,
            cwnd_limited: false,
            max_in_flight: 0,
            may_raise_cwnd: true,
            rtt: None,
            srtt: Span::ZERO,
            min_rtt: Span::ZERO,
            delivered: 0,
            round: 0,
            round_start: false,
            sample: None,
            congestion: None,
            in_recovery: false,
            fates: &[],
        }
    }

    /// The same with a change: `feedback.with(|feedback| feedback.round_start = true)`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Feedback<'a>)) -> Feedback<'a> {
        change(&mut self);
        self
    }
}

/// What a handshake tells a controller when the connection is established.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Established {
    /// When the connection was established, at the sender.
    pub now: Time,
    /// RTT of the handshake: the connection's first sample, of a packet without data.
    pub rtt: Span,
    /// True if the SYN was sent again more than once because it was lost: then Linux begins with a
    /// window of one packet (`tcp_init_transfer`, RFC 5681 §3.1).
    pub after_losses: bool,
}

impl Established {
    /// A connection that a single SYN has established at `now`, with an RTT of `rtt`.
    pub fn new(now: Time, rtt: Span) -> Established {
        Established { now, rtt, after_losses: false }
    }
}

/// What the controller wants of its sender until it is asked again.
///
/// [`Plan::window`] makes the plan of a scheme that has a window and nothing else; the other
/// methods add what a scheme wants beside it.
#[derive(Copy, Clone, Debug)]
#[non_exhaustive]
pub struct Plan {
    /// The congestion window: bytes on the wire that may be in flight.
    pub cwnd: u64,
    /// The pacing rate; `None` sends as soon as the window allows.
    pub pacing: Option<Rate>,
    /// The least time between two packets, beside the pacing rate; zero for none. Unlike a rate, it
    /// is exact to the nanosecond, and the same for packets of all sizes.
    pub gap: Span,
    /// Under pacing, packets leave in groups of so many bytes back to back (segmentation offload's
    /// bursts, BBR's send quantum); a group has at least one packet.
    pub burst: u32,
    /// The ECN code point of outgoing packets.
    pub ecn: Ecn,
    /// When [`Controller::on_timer`] is to be called; [`Time::NEVER`] for no timer.
    pub timer: Time,
    /// True if the sender spreads a reduction of the window over a round trip by Proportional
    /// Rate Reduction (RFC 6937) while it repairs losses.
    pub reduces_by_prr: bool,
    /// True if one packet without data is to leave now, whatever the window: a heartbeat. The plan
    /// after it has left must not ask for it again.
    pub sends_empty_packet: bool,
    /// True if the window holds to the byte. Then a packet is made smaller if only part of it
    /// fits, and none exceeds the window, neither when nothing is in flight nor to probe for a
    /// lost tail. Other windows let a whole packet go where nothing is in flight.
    pub exact_window: bool,
}

impl Plan {
    /// A plan of window only: unpaced, not ECN-capable, reduced by PRR.
    #[inline]
    pub fn window(cwnd: u64) -> Plan {
        Plan {
            cwnd,
            pacing: None,
            gap: Span::ZERO,
            burst: 0,
            ecn: Ecn::NotEct,
            timer: Time::NEVER,
            reduces_by_prr: true,
            sends_empty_packet: false,
            exact_window: false,
        }
    }

    /// The same, paced at `rate` in groups of `burst` bytes; 0 for single packets.
    #[inline]
    pub fn paced(self, rate: Rate, burst: u32) -> Plan {
        Plan { pacing: Some(rate), burst, ..self }
    }
    /// The same with packets at least `gap` apart: see [`Plan::gap`].
    #[inline]
    pub fn spaced(self, gap: Span) -> Plan {
        Plan { gap, ..self }
    }
    /// The same with this ECN code point on outgoing packets.
    #[inline]
    pub fn ecn(self, ecn: Ecn) -> Plan {
        Plan { ecn, ..self }
    }
    /// The same with a call of [`Controller::on_timer`] at `timer`.
    #[inline]
    pub fn timer(self, timer: Time) -> Plan {
        Plan { timer, ..self }
    }
    /// The same with reductions of the window that hold at once, instead of PRR.
    #[inline]
    pub fn without_prr(self) -> Plan {
        Plan { reduces_by_prr: false, ..self }
    }
    /// The same with a window that holds to the byte, at once: see [`Plan::exact_window`].
    #[inline]
    pub fn exact(self) -> Plan {
        Plan { exact_window: true, reduces_by_prr: false, ..self }
    }
    /// The same with one packet without data that leaves now, if `wanted`: see
    /// [`Plan::sends_empty_packet`].
    #[inline]
    pub fn empty_packet(self, wanted: bool) -> Plan {
        Plan { sends_empty_packet: wanted, ..self }
    }
}

/// A packet about to be sent.
#[derive(Copy, Clone, Debug)]
#[non_exhaustive]
pub struct Outgoing {
    /// Its transmission number.
    pub number: u64,
    /// Its bytes on the wire.
    pub size: u32,
    /// True if it repeats data that was lost.
    pub retransmission: bool,
    /// Bytes in flight before it.
    pub in_flight: u64,
    /// True if it carries no data: the packet that [`Plan::sends_empty_packet`] asked for.
    pub empty: bool,
    /// True if the application has nothing more to send at present.
    pub last: bool,
    /// Its congestion header, for the controller to fill in.
    pub header: Header,
}

impl Outgoing {
    /// A packet of new data.
    pub fn new(number: u64, size: u32, in_flight: u64) -> Outgoing {
        Outgoing {
            number,
            size,
            retransmission: false,
            in_flight,
            empty: false,
            last: false,
            header: Header::None,
        }
    }
}

/// The sender's half of a scheme.
pub trait Controller: Send {
    /// The signals it cannot work without.
    fn needs(&self) -> Signals {
        Signals::NONE
    }
    /// A packet is about to leave: fills in its congestion header, and returns a tag that comes
    /// back in its [`Fate`].
    fn on_send(&mut self, _now: Time, _packet: &mut Outgoing) -> u64 {
        0
    }
    /// The handshake is over, and data may leave from now on. Not called where connections have no
    /// handshake.
    fn on_established(&mut self, _established: &Established) {}
    /// An acknowledgement came, or a loss timer expired.
    fn on_feedback(&mut self, feedback: &Feedback<'_>);
    /// A report of the receiver's half came.
    fn on_report(&mut self, _now: Time, _report: &Report) {}
    /// The time of [`Plan::timer`] has come.
    fn on_timer(&mut self, _now: Time) {}
    /// Sending resumes with nothing in flight, `idle` after the last packet was sent (RFC 5681
    /// §4.1).
    fn on_idle(&mut self, _now: Time, _idle: Span, _rto: Span) {}
    /// The application has carried nothing for a while (`rests`), or has something to send again. While it rests, packets
    /// without data are not wanted ([`Plan::empty_packet`]), but for a few that tell the receiver's half.
    fn on_rest(&mut self, _now: Time, _rests: bool) {}
    /// What the sender may do now.
    fn plan(&self) -> Plan;
    /// The rate at which an adaptive application should make data, if the scheme has an opinion.
    fn target(&self) -> Option<Rate> {
        None
    }
    /// Bytes that the network delivers within the life of the scheme's forecast, if it makes one.
    /// What waits beyond them will be late.
    fn forecast(&self) -> Option<u64> {
        None
    }
    /// Names and values of inner state, for plots: windows in packets, rates in Mbit/s, times in
    /// milliseconds.
    fn inspect(&self, _see: &mut dyn FnMut(&'static str, f64)) {}
}
