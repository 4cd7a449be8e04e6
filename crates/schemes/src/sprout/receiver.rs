//! The receiver's half: advances the model by ticks, and sends forecasts back.

use paceline_cc::{
    Body, Forecast, Header, Packet, Report, Reporter, Span, SproutHeader, Time, Verdict,
};

use super::belief::TICK;
use super::model::Model;
use super::total::ReceivedTotal;
use super::{FeedbackTiming, REST, payload};

/// Number of ticks without packets after which the model no longer changes.
const SETTLED: u64 = 1000;
/// Time without even a heartbeat after which the receiver stops sending forecasts, since the sender
/// or the path has ended. It starts again with the next packet.
const SILENCE: Span = Span::from_secs(2);
/// Ticks end when their time has passed, strictly.
const OVER: Span = Span::from_nanos(1);

/// Pauses between flights of the other direction, in turn: 35 ms on average, 50 ms at the 90th
/// percentile, as measured with the authors' program.
const FLIGHTS: [Span; 4] =
    [Span::from_millis(20), Span::from_millis(40), Span::from_millis(30), Span::from_millis(50)];

/// Configuration of a receiver.
#[derive(Copy, Clone, Debug)]
pub struct ReceiverRules {
    /// When forecasts are sent back.
    pub feedback: FeedbackTiming,
    /// Bytes of payload that count as a packet.
    pub packet: u32,
    /// Longest pause between forecasts that replace heartbeats.
    pub heartbeat: Span,
}

/// The receiver's half of Sprout and Sprout-EWMA.
#[derive(Clone, Debug)]
pub struct SproutReceiver<M> {
    model: M,
    rules: ReceiverRules,
    /// The connection of the packets; `None` before the first packet.
    connection: Option<u32>,
    total: ReceivedTotal,
    /// When the present tick began; `None` before the first packet.
    tick: Option<Time>,
    /// Ticks that begin earlier and are empty do not count: the sender had announced a pause.
    expected: Time,
    /// True if the sender has announced a rest: a pause until its next packet, without forecasts.
    rests: bool,
    /// Payload of this tick's packets so far, in packets.
    packets: f64,
    /// The tick of the last forecast, and when that was made.
    forecast_of: Option<Time>,
    forecast_at: Time,
    /// Number of forecasts made.
    made: usize,
    /// When the last packet arrived.
    heard: Time,
}

impl<M: Model> SproutReceiver<M> {
    /// Returns a receiver before its first packet.
    pub fn new(model: M, rules: ReceiverRules) -> SproutReceiver<M> {
        SproutReceiver {
            model,
            rules,
            connection: None,
            total: ReceivedTotal::default(),
            tick: None,
            expected: Time::ZERO,
            rests: false,
            packets: 0.0,
            forecast_of: None,
            forecast_at: Time::ZERO,
            made: 0,
            heard: Time::ZERO,
        }
    }

    /// Returns whether a packet belongs to the present connection. A packet of a newer connection
    /// starts the receiver anew; a late packet of an older one does not count.
    fn belongs(&mut self, connection: u32) -> bool {
        // Numbers wrap around.
        match self.connection.map(|present| connection.wrapping_sub(present)) {
            Some(0) => return true,
            Some(ahead) if ahead > u32::MAX / 2 => return false,
            Some(_) => {
                self.model.restart();
                self.total = ReceivedTotal::default();
                (self.tick, self.forecast_of) = (None, None);
                self.packets = 0.0;
            }
            None => {}
        }
        self.connection = Some(connection);
        true
    }

    /// Returns the model.
    pub fn model(&self) -> &M {
        &self.model
    }

    /// Ends the ticks that are over at `now`.
    pub fn advance(&mut self, now: Time) {
        let Some(mut start) = self.tick else { return };
        while start + TICK < now {
            self.model.evolve();
            if start >= self.expected || self.packets > 0.0 {
                self.model.observe(self.packets);
                self.packets = 0.0;
            }
            start += TICK;
            let ahead = now.since(start).as_nanos() / TICK.as_nanos();
            if ahead > SETTLED {
                start += TICK * (ahead - SETTLED);
            }
        }
        self.tick = Some(start);
    }

    /// Takes in a packet of `size` bytes on the wire.
    pub fn take(&mut self, now: Time, header: &SproutHeader, size: u32) {
        if !self.belongs(header.connection) {
            return;
        }
        self.advance(now);
        let start = *self.tick.get_or_insert_with(|| {
            self.expected = now;
            now
        });
        let payload = payload(size);
        self.packets += payload as f64 / self.rules.packet as f64;
        if header.time_to_next == REST {
            (self.rests, self.expected) = (true, Time::NEVER);
        } else {
            if std::mem::take(&mut self.rests) {
                self.expected = start;
            }
            let pause = Span::from_millis(header.time_to_next.min(u16::MAX as u32) as u64);
            self.expected = self.expected.max(start + pause);
        }
        self.total.on_arrival(header, payload);
        self.heard = now;
    }

    /// Returns the forecast at `now`, once for each tick. `clock` is the time on the receiver's own
    /// clock.
    fn forecast(&mut self, now: Time, clock: Time) -> Option<Forecast> {
        self.advance(now);
        let start = self.tick?;
        if self.forecast_of == Some(start) {
            return None;
        }
        self.forecast_of = Some(start);
        self.forecast_at = now;
        self.made = self.made.wrapping_add(1);
        let from = clock - now.since(start);
        Some(Forecast { total: self.total.bytes(), from, counts: self.model.forecast() })
    }
}

impl<M: Model> Reporter for SproutReceiver<M> {
    fn on_arrival(&mut self, now: Time, packet: &Packet) -> Verdict {
        if let Body::Data(data) = &packet.body
            && let Header::Sprout(header) = &data.header
        {
            self.take(now, header, packet.size);
        }
        Verdict::default()
    }

    fn wake(&self) -> Time {
        let Some(start) = self.tick else { return Time::NEVER };
        match self.forecast_of {
            // At once, for the first packet.
            None => start,
            _ if self.rests && self.forecast_at >= self.heard => Time::NEVER,
            _ if self.forecast_at > self.heard + SILENCE => Time::NEVER,
            Some(_) if self.rules.feedback == FeedbackTiming::Heartbeat => {
                self.forecast_at + self.rules.heartbeat
            }
            Some(of) if self.rules.feedback == FeedbackTiming::Flights => {
                // At most one forecast for each tick.
                let flight = self.forecast_at + FLIGHTS[self.made % FLIGHTS.len()];
                if of == start { flight.max(start + TICK + OVER) } else { flight }
            }
            // A packet ended the tick before the timer did.
            Some(of) if of != start => start,
            Some(_) => start + TICK + OVER,
        }
    }

    fn report(&mut self, now: Time, clock: Time) -> Option<Report> {
        self.forecast(now, clock).map(Report::Forecast)
    }
}
