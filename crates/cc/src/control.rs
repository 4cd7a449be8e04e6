//! The sender's half of a scheme: its input (feedback, reports, timers) and its output (plans).

use crate::header::{Header, Report};
use crate::packet::Ecn;
use crate::units::{Rate, Span, Time};

/// A set of signals that a scheme needs or a driver provides, as bits.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Signals(u16);

impl Signals {
    /// No further signals: acknowledged and lost bytes, RTTs and timers, which every driver
    /// provides.
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
    /// Congestion headers and the values that receivers return of them: [`Outgoing::header`],
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

    /// Returns the union of the two sets.
    pub const fn and(self, other: Signals) -> Signals {
        Signals(self.0 | other.0)
    }
    /// Returns true if every signal of `other` is in this set.
    pub const fn contains(self, other: Signals) -> bool {
        self.0 & other.0 == other.0
    }
    /// Returns the names of the signals in this set that `available` lacks.
    pub fn missing_from(self, available: Signals) -> Vec<&'static str> {
        let lacking = |set: Signals| self.contains(set) && !available.contains(set);
        Signals::NAMES.iter().filter(|(set, _)| lacking(*set)).map(|(_, name)| *name).collect()
    }
}

/// What the connection's state machine concludes from losses and marks, at most once per window.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// A packet sent after the last reaction to congestion was lost.
    Loss,
    /// A packet was lost within one round trip of the last [`Congestion::Ecn`]. Schemes that halve
    /// their window for a mark ignore it (RFC 3168 §6.1.2). Schemes that reduce by less for a mark
    /// treat it as [`Congestion::Loss`] (RFC 8257 §3.5). No [`Congestion::Undo`] follows it.
    LossAfterMark,
    /// A packet sent after the last reaction to congestion was CE-marked.
    Ecn,
    /// The retransmission timer expired; everything in flight counts as lost.
    Timeout,
    /// The last reaction was a mistake: the packets were only late (RFC 4015, RFC 5682).
    Undo,
}

/// A delivery-rate sample (draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Copy, Clone, Debug)]
#[non_exhaustive]
pub struct RateSample {
    /// Bytes delivered over the interval, divided by the interval.
    pub rate: Rate,
    /// The sample's interval: the longer of its send and acknowledgement phases.
    pub interval: Span,
    /// Bytes delivered within the interval.
    pub delivered: u64,
    /// Total bytes delivered when the newest acknowledged packet was sent.
    pub prior_delivered: u64,
    /// True if the application, not the window, limited sending.
    pub app_limited: bool,
}

impl RateSample {
    /// Returns a sample of `delivered` bytes in `interval`, not limited by the application.
    /// `prior_delivered` bytes had been delivered when the packet was sent.
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

    /// Returns this sample changed by `change`: `sample.with(|sample| sample.app_limited = true)`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut RateSample)) -> RateSample {
        change(&mut self);
        self
    }
}

/// The fate of one packet: acknowledged or declared lost.
///
/// A packet can have two fates: if it was declared lost too early, it is reported first as lost,
/// and as acknowledged when its acknowledgement arrives after all. Then [`Feedback::acked`] counts
/// it although [`Feedback::lost`] has counted it before. (After [`Congestion::Undo`], packets
/// declared lost and not yet acknowledged are in flight again, and may be declared lost a second
/// time.) So a scheme may get more fates than packets were sent; `number` identifies the packet.
/// After a packet is acknowledged it has no further fate.
#[derive(Copy, Clone, Debug)]
#[non_exhaustive]
pub struct Fate {
    /// Transmission number.
    pub number: u64,
    /// Size in bytes on the wire.
    pub size: u32,
    /// True if it was declared lost, false if it was acknowledged.
    pub lost: bool,
    /// True if it was acknowledged after it had been reported as lost.
    pub late: bool,
    /// The tag that [`Controller::on_send`] returned for it.
    pub tag: u64,
    /// When it was sent.
    pub sent: Time,
    /// When it arrived, on the receiver's clock, whose offset is arbitrary. Set for the newest
    /// packet of an acknowledgement; [`Time::NEVER`] for the others.
    pub received: Time,
}

impl Fate {
    /// Returns the fate of packet `number`, of `size` bytes, sent at `sent` with `tag`. The arrival
    /// time is unknown.
    #[inline]
    pub fn new(number: u64, size: u32, sent: Time, tag: u64, lost: bool) -> Fate {
        Fate { number, size, lost, late: false, tag, sent, received: Time::NEVER }
    }

    /// Returns this fate changed by `change`: `fate.with(|fate| fate.late = true)`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Fate)) -> Fate {
        change(&mut self);
        self
    }
}

/// The information in one acknowledgement, or in one expiry of a loss timer.
///
/// [`Feedback::new`] makes feedback without any event; a driver sets the fields that differ.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Feedback<'a> {
    /// Current time at the sender.
    pub now: Time,
    /// Size of the largest packet in bytes on the wire: the unit in which windows grow.
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
    /// Value that the receiver's half wrote into the acknowledgement; 0 without an acknowledgement.
    pub explicit: u32,
    /// Bytes in flight before this acknowledgement.
    pub prior_in_flight: u64,
    /// Bytes in flight after it.
    pub in_flight: u64,
    /// True if the window, not the application or the pacer, limited sending in the last window of
    /// data, or if the data filled the window exactly (Linux `tcp_cwnd_validate`).
    pub cwnd_limited: bool,
    /// The most bytes in flight in the last window of data, if the window did not limit sending
    /// (Linux `max_packets_out`). Slow start continues until the window is twice as large.
    pub max_in_flight: u64,
    /// False if the acknowledgement acknowledges only packets beyond a gap, and the reordering seen
    /// so far does not explain the gap: then windows do not grow (RFC 3042, Linux
    /// `tcp_may_raise_cwnd`).
    pub may_raise_cwnd: bool,
    /// RTT of the newest packet newly acknowledged; `None` if there is none. It includes the
    /// receiver's delay of the acknowledgement, as TCP timestamps do.
    pub rtt: Option<Span>,
    /// The smoothed RTT (RFC 6298); zero before the first sample.
    pub srtt: Span,
    /// The smallest RTT of the connection; zero before the first sample.
    pub min_rtt: Span,
    /// Total bytes delivered since the start.
    pub delivered: u64,
    /// Round trips since the start. Increases when a packet is acknowledged that was sent after the
    /// end of the previous round trip.
    pub round: u64,
    /// True on the first acknowledgement of a round trip.
    pub round_start: bool,
    /// Delivery-rate sample, if this acknowledgement gives one.
    pub sample: Option<RateSample>,
    /// The state machine's conclusion, at most once per window.
    pub congestion: Option<Congestion>,
    /// True while losses of the last congestion event, including a timeout, are being repaired, and
    /// for one round trip after a mark. Windows do not grow meanwhile, except in slow start after a
    /// timeout.
    pub in_recovery: bool,
    /// The packets' fates, if the scheme needs [`Signals::FATES`]; else empty.
    pub fates: &'a [Fate],
}

impl<'a> Feedback<'a> {
    /// Returns feedback at `now` without any event, for a sender of packets of `mss` bytes: no
    /// packets acknowledged, lost, marked or in flight, no RTT, no sample.
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

    /// Returns this feedback changed by `change`: `feedback.with(|feedback| feedback.round_start =
    /// true)`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Feedback<'a>)) -> Feedback<'a> {
        change(&mut self);
        self
    }
}

/// The result of a handshake, for the controller.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Established {
    /// When the connection was established, at the sender.
    pub now: Time,
    /// RTT of the handshake: the connection's first sample, measured with a packet without data.
    pub rtt: Span,
    /// True if the SYN was repeated more than once because of loss: then Linux begins with a window
    /// of one packet (`tcp_init_transfer`, RFC 5681 §3.1).
    pub after_losses: bool,
}

impl Established {
    /// Returns the result of a handshake with a single SYN, which ended at `now` and took `rtt`.
    pub fn new(now: Time, rtt: Span) -> Established {
        Established { now, rtt, after_losses: false }
    }
}

/// The controller's instructions to its sender, valid until the next plan.
///
/// [`Plan::window`] makes the plan of a scheme that only has a window; the other methods add to it.
#[derive(Copy, Clone, Debug)]
#[non_exhaustive]
pub struct Plan {
    /// The congestion window: bytes on the wire that may be in flight.
    pub cwnd: u64,
    /// The pacing rate; `None` sends as soon as the window allows.
    pub pacing: Option<Rate>,
    /// Minimum time between two packets, in addition to the pacing rate; zero for none. Unlike a
    /// rate, it is exact to the nanosecond, and equal for packets of all sizes.
    pub gap: Span,
    /// With pacing, packets leave back to back in groups of this many bytes (segmentation offload's
    /// bursts, BBR's send quantum). A group has at least one packet.
    pub burst: u32,
    /// The ECN code point of outgoing packets.
    pub ecn: Ecn,
    /// When [`Controller::on_timer`] is to be called; [`Time::NEVER`] for no timer.
    pub timer: Time,
    /// True if the sender spreads a reduction of the window over a round trip, by Proportional Rate
    /// Reduction (RFC 6937), while it repairs losses.
    pub reduces_by_prr: bool,
    /// True if one packet without data is to leave now, even beyond the window: a heartbeat. Once
    /// it has left, the plan must not ask for it again.
    pub sends_empty_packet: bool,
    /// True if the window is a limit to the byte. Then a packet is made smaller if only part of it
    /// fits, and no packet exceeds the window, not even with nothing in flight or as a tail loss
    /// probe. With other windows, a whole packet may leave when nothing is in flight.
    pub exact_window: bool,
}

impl Plan {
    /// Returns a plan with a window only: not paced, not ECN-capable, reduced by PRR.
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

    /// Returns this plan, paced at `rate` in groups of `burst` bytes; 0 for single packets.
    #[inline]
    pub fn paced(self, rate: Rate, burst: u32) -> Plan {
        Plan { pacing: Some(rate), burst, ..self }
    }
    /// Returns this plan with packets at least `gap` apart: see [`Plan::gap`].
    #[inline]
    pub fn spaced(self, gap: Span) -> Plan {
        Plan { gap, ..self }
    }
    /// Returns this plan with this ECN code point on outgoing packets.
    #[inline]
    pub fn ecn(self, ecn: Ecn) -> Plan {
        Plan { ecn, ..self }
    }
    /// Returns this plan with a call of [`Controller::on_timer`] at `timer`.
    #[inline]
    pub fn timer(self, timer: Time) -> Plan {
        Plan { timer, ..self }
    }
    /// Returns this plan with reductions of the window that take effect at once, instead of by PRR.
    #[inline]
    pub fn without_prr(self) -> Plan {
        Plan { reduces_by_prr: false, ..self }
    }
    /// Returns this plan with a window exact to the byte that takes effect at once: see
    /// [`Plan::exact_window`].
    #[inline]
    pub fn exact(self) -> Plan {
        Plan { exact_window: true, reduces_by_prr: false, ..self }
    }
    /// Returns this plan with one packet without data that leaves now, if `wanted`: see
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
    /// Transmission number.
    pub number: u64,
    /// Size in bytes on the wire.
    pub size: u32,
    /// True if it retransmits lost data.
    pub retransmission: bool,
    /// Bytes in flight before it.
    pub in_flight: u64,
    /// True if it carries no data: the packet that [`Plan::sends_empty_packet`] asked for.
    pub empty: bool,
    /// True if the application has nothing more to send at present.
    pub last: bool,
    /// Its congestion header, which the controller fills in.
    pub header: Header,
}

impl Outgoing {
    /// Returns a packet of new data.
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
    /// Returns the signals that the controller cannot work without.
    fn needs(&self) -> Signals {
        Signals::NONE
    }
    /// Fills in the congestion header of a packet about to leave. Returns a tag, which comes back
    /// in the packet's [`Fate`].
    fn on_send(&mut self, _now: Time, _packet: &mut Outgoing) -> u64 {
        0
    }
    /// Takes the result of the handshake in; data may leave from now on. Not called for connections
    /// without a handshake.
    fn on_established(&mut self, _established: &Established) {}
    /// Takes in an acknowledgement, or the expiry of a loss timer.
    fn on_feedback(&mut self, feedback: &Feedback<'_>);
    /// Takes in a report of the receiver's half.
    fn on_report(&mut self, _now: Time, _report: &Report) {}
    /// Called when the time of [`Plan::timer`] has come.
    fn on_timer(&mut self, _now: Time) {}
    /// Called when sending resumes with nothing in flight, `idle` after the last packet was sent
    /// (RFC 5681 §4.1).
    fn on_idle(&mut self, _now: Time, _idle: Span, _rto: Span) {}
    /// Called when the application has had no data for a while (`rests`), and when it has data
    /// again. While it rests, packets without data ([`Plan::empty_packet`]) are not wanted, except
    /// for a few that inform the receiver's half.
    fn on_rest(&mut self, _now: Time, _rests: bool) {}
    /// Returns the present plan for the sender.
    fn plan(&self) -> Plan;
    /// Returns the rate at which an adaptive application should produce data; `None` if the scheme
    /// does not say.
    fn target(&self) -> Option<Rate> {
        None
    }
    /// Returns the bytes that the network will deliver within the scheme's forecast; `None` without
    /// a forecast. Data that waits beyond them will be late.
    fn forecast(&self) -> Option<u64> {
        None
    }
    /// Calls `see` with names and values of inner state, for plots: windows in packets, rates in
    /// Mbit/s, times in milliseconds.
    fn inspect(&self, _see: &mut dyn FnMut(&'static str, f64)) {}
}
