//! s2n-quic's trait, on top of a [`QuicController`].

use std::fmt;
use std::time::Duration;

use num_rational::Ratio;
use paceline_cc::{Rate, Time};
use paceline_quic::{LossReport, QuicController, QuicScheme};
use s2n_quic_core::random::Generator;
use s2n_quic_core::recovery::RttEstimator;
use s2n_quic_core::recovery::bandwidth::Bandwidth;
use s2n_quic_core::recovery::congestion_controller::{CongestionController, Publisher};
use s2n_quic_core::time::Timestamp;

use crate::clock::Clock;
use crate::departure::Departure;

/// A scheme of Paceline for a path of an s2n-quic connection.
pub struct Controller {
    scheme: QuicScheme,
    inner: QuicController,
    mtu: u16,
    /// The clock; created at the first call with a time.
    clock: Option<Clock>,
    /// Bytes in flight, which s2n-quic's controllers count themselves.
    in_flight: u32,
    departure: Departure,
    /// Pacing rate published last.
    published: Option<Rate>,
    app_limited: bool,
    /// Time at which the newest acknowledged packet was sent.
    newest_acked: Time,
    /// Time of the last report of persistent congestion, which s2n-quic repeats with each lost
    /// packet.
    persistent_at: Option<Timestamp>,
    /// True from the reaction to a loss until a packet is sent (RFC 9002 §7.3.2).
    may_retransmit: bool,
}

/// Data that s2n-quic stores for a packet in flight.
#[derive(Copy, Clone, Debug)]
pub struct SentPacket {
    sent: Time,
}

impl Controller {
    pub(crate) fn new(scheme: QuicScheme, mtu: u16) -> Controller {
        Controller {
            inner: scheme.controller(mtu),
            scheme,
            mtu,
            clock: None,
            in_flight: 0,
            departure: Departure::default(),
            published: None,
            app_limited: false,
            newest_acked: Time::ZERO,
            persistent_at: None,
            may_retransmit: false,
        }
    }

    /// Calls `see` with names and values of the scheme's inner state, such as `cwnd` in packets.
    pub fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.inner.inspect(see);
    }

    /// Publishes the pacing rate if it has changed, for s2n-quic's events.
    fn publish<Pub: Publisher>(&mut self, publisher: &mut Pub) {
        let rate = self.inner.pacing_rate();
        if let Some(rate) = rate
            && self.published != Some(rate)
        {
            let bandwidth = Bandwidth::new(rate.as_bps() / 8, Duration::from_secs(1));
            let burst = u32::try_from(self.inner.burst()).unwrap_or(u32::MAX);
            publisher.on_pacing_rate_updated(bandwidth, burst, Ratio::from_integer(1));
        }
        self.published = rate;
    }

    fn time(&mut self, at: Timestamp) -> Time {
        self.clock.get_or_insert(Clock::from(at)).time(at)
    }
}

/// Returns a fresh controller of this scheme for this path, because a scheme's state cannot be
/// copied.
impl Clone for Controller {
    fn clone(&self) -> Controller {
        Controller::new(self.scheme.clone(), self.mtu)
    }
}

impl fmt::Debug for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (spec, window) = (self.scheme.spec(), self.inner.window());
        f.debug_struct("Controller").field("scheme", &spec).field("window", &window).finish()
    }
}

impl CongestionController for Controller {
    type PacketInfo = SentPacket;

    fn congestion_window(&self) -> u32 {
        u32::try_from(self.inner.window()).unwrap_or(u32::MAX)
    }

    fn bytes_in_flight(&self) -> u32 {
        self.in_flight
    }

    fn is_congestion_limited(&self) -> bool {
        let room = self.congestion_window().saturating_sub(self.in_flight);
        room < u32::from(self.mtu)
    }

    fn requires_fast_retransmission(&self) -> bool {
        self.may_retransmit
    }

    fn on_packet_sent<Pub: Publisher>(
        &mut self,
        time_sent: Timestamp,
        sent_bytes: usize,
        app_limited: Option<bool>,
        _rtt_estimator: &RttEstimator,
        publisher: &mut Pub,
    ) -> SentPacket {
        let sent = self.time(time_sent);
        // Packets with acknowledgements only are not congestion-controlled.
        if let Ok(size @ 1..) = u32::try_from(sent_bytes) {
            self.inner.on_sent(sent, u64::from(size));
            self.in_flight = self.in_flight.saturating_add(size);
            let (rate, burst) = (self.inner.pacing_rate(), self.inner.burst());
            self.departure.on_sent(sent, size, rate, burst);
            self.app_limited = app_limited.unwrap_or(self.app_limited);
            self.may_retransmit = false;
            self.publish(publisher);
        }
        SentPacket { sent }
    }

    fn on_rtt_update<Pub: Publisher>(
        &mut self,
        time_sent: Timestamp,
        _now: Timestamp,
        _rtt_estimator: &RttEstimator,
        _publisher: &mut Pub,
    ) {
        self.newest_acked = self.time(time_sent);
    }

    fn on_ack<Pub: Publisher>(
        &mut self,
        newest_acked_time_sent: Timestamp,
        bytes_acknowledged: usize,
        _newest_acked_packet_info: SentPacket,
        _rtt_estimator: &RttEstimator,
        _random_generator: &mut dyn Generator,
        ack_receive_time: Timestamp,
        publisher: &mut Pub,
    ) {
        let (now, newest) = (self.time(ack_receive_time), self.time(newest_acked_time_sent));
        let bytes = u32::try_from(bytes_acknowledged).unwrap_or(u32::MAX);
        self.in_flight = self.in_flight.saturating_sub(bytes);
        self.inner.on_acked_together(now, newest, u64::from(bytes));
        self.inner.on_acks_end(now, u64::from(self.in_flight), self.app_limited);
        self.publish(publisher);
    }

    fn on_packet_lost<Pub: Publisher>(
        &mut self,
        lost_bytes: u32,
        packet_info: SentPacket,
        persistent_congestion: bool,
        _new_loss_burst: bool,
        _random_generator: &mut dyn Generator,
        timestamp: Timestamp,
        _publisher: &mut Pub,
    ) {
        let now = self.time(timestamp);
        let persistent = persistent_congestion && self.persistent_at != Some(timestamp);
        if persistent {
            self.persistent_at = Some(timestamp);
        }
        self.in_flight = self.in_flight.saturating_sub(lost_bytes);
        let before = self.inner.window();
        let (bytes, newest_sent) = (u64::from(lost_bytes), packet_info.sent);
        self.inner.on_lost(now, LossReport { bytes, newest_sent, persistent });
        self.may_retransmit |= self.inner.window() < before;
    }

    fn on_explicit_congestion<Pub: Publisher>(
        &mut self,
        ce_count: u64,
        event_time: Timestamp,
        _publisher: &mut Pub,
    ) {
        let now = self.time(event_time);
        let packets = u32::try_from(ce_count).unwrap_or(u32::MAX);
        self.inner.on_marked(now, self.newest_acked, packets);
    }

    fn on_mtu_update<Pub: Publisher>(&mut self, max_data_size: u16, _publisher: &mut Pub) {
        self.mtu = max_data_size;
        self.inner.on_mtu(u32::from(max_data_size));
    }

    fn on_packet_discarded<Pub: Publisher>(&mut self, bytes_sent: usize, _publisher: &mut Pub) {
        let bytes = u32::try_from(bytes_sent).unwrap_or(u32::MAX);
        self.in_flight = self.in_flight.saturating_sub(bytes);
        self.inner.on_discarded(u64::from(bytes));
    }

    fn earliest_departure_time(&self) -> Option<Timestamp> {
        let next = self.departure.next()?;
        self.clock.map(|clock| clock.timestamp(next))
    }

    fn send_quantum(&self) -> Option<usize> {
        self.inner.pacing_rate()?;
        usize::try_from(self.inner.burst()).ok()
    }
}
