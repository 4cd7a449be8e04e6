//! What a sender's half is told: the table of signals, and the feedback of one acknowledgement.

use crate::packet::Ecn;
use crate::units::{Rate, Span, Time};

/// Makes [`Signals`], [`Provided`] and [`SignalInfo::ALL`] from one line per signal.
macro_rules! signals {
    ($($(#[doc = $doc:literal])+ $signal:ident, $field:ident, $name:literal, $told:literal;)+) => {
        /// Positions of the bits in [`Signals`], in the order of the table.
        #[allow(non_camel_case_types)]
        enum Position { $($field),+ }

        impl Signals {
            $(
                $(#[doc = $doc])+
                #[doc = concat!("A driver tells it by [`", $told, "`](crate::", $told, ").")]
                pub const $signal: Signals = Signals(1 << Position::$field as u16);
            )+

            /// Returns the signals that a driver has. A driver lists every signal, so that it does not
            /// compile when the table gets a new one that it has not decided about.
            pub const fn of(provided: Provided) -> Signals {
                let mut bits = 0;
                $(if provided.$field { bits |= Signals::$signal.0 })+
                Signals(bits)
            }
        }

        /// For each signal whether a driver has it: see [`Signals::of`].
        #[derive(Copy, Clone, Debug, PartialEq, Eq)]
        #[allow(clippy::exhaustive_structs)]
        pub struct Provided {
            $($(#[doc = $doc])+ pub $field: bool,)+
        }

        impl SignalInfo {
            /// Every signal, in the order of the bits.
            pub const ALL: &'static [SignalInfo] = &[$(SignalInfo {
                signal: Signals::$signal,
                name: $name,
                doc: concat!($($doc),+),
                told_by: $told,
            }),+];
        }
    };
}

/// Signals that a scheme needs and a driver has, as a set of bits.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Signals(u16);

/// An entry of the table of signals.
#[derive(Copy, Clone, Debug)]
#[non_exhaustive]
pub struct SignalInfo {
    /// Its bit.
    pub signal: Signals,
    /// Its name in messages and in Python.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub doc: &'static str,
    /// Path of the field or method by which a driver tells it.
    pub told_by: &'static str,
}

signals! {
    /// Number of packets received with CE.
    ECN, ecn, "ecn", "Feedback::marked_packets";
    /// The ECN field that acknowledgements echo, beyond CE.
    ECHO, echo, "echo", "Feedback::echo";
    /// Samples of the delivery rate.
    DELIVERY_RATE, delivery_rate, "delivery-rate", "Feedback::sample";
    /// The fate of each packet.
    FATES, fates, "fates", "Feedback::fates";
    /// Receive times on the receiver's clock.
    RECEIVE_TIME, receive_time, "receive-time", "Fate::received";
    /// Congestion headers, and what receivers return of them.
    HEADERS, headers, "headers", "Feedback::explicit";
    /// Reports of the receiver's half.
    REPORTS, reports, "reports", "Controller::on_report";
}

impl Signals {
    /// No signal beyond acknowledged and lost bytes, RTTs and timers, which every driver has.
    pub const NONE: Signals = Signals(0);

    /// Returns the union of two sets.
    pub const fn and(self, other: Signals) -> Signals {
        Signals(self.0 | other.0)
    }

    /// Returns true if every signal of `other` is in this set.
    pub const fn contains(self, other: Signals) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the signal with this name.
    pub fn named(name: &str) -> Option<Signals> {
        SignalInfo::ALL.iter().find(|info| info.name == name).map(|info| info.signal)
    }

    /// Returns the names of the signals in this set, in the order of the table.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        SignalInfo::ALL.iter().filter(move |info| self.contains(info.signal)).map(|info| info.name)
    }

    /// Returns the names of the signals of this set that `available` lacks.
    pub fn missing_from(self, available: Signals) -> Vec<&'static str> {
        Signals(self.0 & !available.0).names().collect()
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
    /// The tag that [`Controller::on_send`](crate::Controller::on_send) returned for it.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_signal_has_a_bit_and_a_name_of_its_own() {
        let all = SignalInfo::ALL;
        for (at, info) in all.iter().enumerate() {
            assert_eq!(Signals::named(info.name), Some(info.signal), "{}", info.name);
            assert_eq!(info.signal, Signals(1 << at), "{}", info.name);
            assert!(info.doc.ends_with('.') && info.told_by.contains("::"), "{info:?}");
        }
        assert_eq!(Signals::named("ec"), None);
    }

    #[test]
    fn a_driver_lacks_what_it_does_not_list_as_true() {
        let driver = Signals::of(Provided {
            ecn: true,
            echo: false,
            delivery_rate: true,
            fates: false,
            receive_time: false,
            headers: false,
            reports: false,
        });
        assert_eq!(driver, Signals::ECN.and(Signals::DELIVERY_RATE));
        let needs = Signals::FATES.and(Signals::ECN).and(Signals::ECHO);
        assert_eq!(needs.missing_from(driver), ["echo", "fates"]);
        assert!(Signals::NONE.missing_from(driver).is_empty());
    }
}
