//! The sender's half: computes how much may leave so that it clears the queue in time (thesis
//! §2.2.5).

use paceline_cc::{
    Controller, FORECAST_TICKS, Feedback, Forecast, Header, Outgoing, Plan, Rate, Report, Setup,
    Signals, Span, SproutHeader, Time,
};

use super::recent::RecentlySent;
use super::{Drain, HEADERS, REST, SproutParams, belief::TICK, payload};

/// Bytes that the authors add to each packet's payload when they count the bytes sent.
const COUNTED_HEADERS: u64 = 50;
/// Time by which a heartbeat waits for data that may leave instead.
const GRACE: Span = Span::from_micros(1);
/// Smallest payload that is worth a packet: a heartbeat's.
const LEAST: u64 = 4;
/// Number of heartbeats that announce a rest, so that the receiver learns of it even if one or two
/// are lost.
const REST_HEARTBEATS: u32 = 3;
/// Index of the last tick of a forecast.
const LAST: usize = FORECAST_TICKS - 1;

/// The sender's half of Sprout and Sprout-EWMA.
#[derive(Clone, Debug)]
pub struct SproutSender {
    params: SproutParams,
    connection: u32,
    /// Size of the largest packet on the wire, and its payload, in bytes.
    mss: u64,
    largest: u64,
    /// Bytes sent, headers included.
    sent: u64,
    recent: RecentlySent,
    forecast: Option<Forecast>,
    /// Index of the forecast's present tick, and when the next one begins.
    tick: usize,
    next_tick: Time,
    /// Estimated payload that waits in the network, in bytes.
    queue: u64,
    /// Bytes on the wire in flight.
    in_flight: u64,
    last_sent: Time,
    beat: bool,
    /// While the application rests, the number of heartbeats still to be sent to announce it.
    rest: Option<u32>,
    /// When the loop last woke up, for a report or to check the end of a tick.
    awake: Time,
}

impl SproutSender {
    /// Returns a sender for `setup`.
    pub fn new(params: &SproutParams, setup: &Setup) -> SproutSender {
        let mss = setup.mss.max(HEADERS + 1);
        SproutSender {
            params: params.clone(),
            connection: setup.connection,
            mss: mss as u64,
            largest: payload(mss) as u64,
            sent: 0,
            recent: RecentlySent::default(),
            forecast: None,
            tick: 0,
            next_tick: Time::NEVER,
            queue: 0,
            in_flight: 0,
            last_sent: Time::ZERO,
            // Before the first forecast, only a packet without data may leave.
            beat: true,
            rest: None,
            awake: Time::ZERO,
        }
    }

    /// Returns the payload, in bytes, of `count` packets of a forecast.
    fn bytes(&self, count: u16) -> u64 {
        count as u64 * self.params.sent_packet as u64
    }

    /// Returns the payload that may leave now: the bytes that the link delivers until the
    /// look-ahead's end, minus those that wait for it already.
    pub fn window(&self) -> u64 {
        let Some(forecast) = &self.forecast else { return 0 };
        let ahead = (self.tick + self.params.lookahead as usize).min(LAST);
        let counts = &forecast.counts;
        let drains = self.bytes(counts[ahead].saturating_sub(counts[self.tick]));
        let window = drains.saturating_sub(self.queue);
        if window < LEAST { 0 } else { window }
    }

    /// Returns the estimated payload that waits in the network.
    pub fn queue(&self) -> u64 {
        self.queue
    }

    /// Returns the window on the wire: whole packets, and a last one as short as the rest.
    fn on_wire(&self) -> u64 {
        let window = self.window();
        let rest = window % self.largest;
        let last = if rest >= LEAST { rest + HEADERS as u64 } else { 0 };
        window / self.largest * self.mss + last
    }

    /// Ends the forecast's ticks that are over, and drains the queue.
    fn advance(&mut self, now: Time) {
        while self.next_tick <= now {
            let Some(forecast) = &self.forecast else { return };
            let counts = &forecast.counts;
            let before = match self.params.drain {
                Drain::Incremental if self.tick > 0 => counts[self.tick - 1],
                _ => 0,
            };
            let drained = counts[self.tick].saturating_sub(before);
            self.queue = self.queue.saturating_sub(self.bytes(drained));
            self.tick += 1;
            self.next_tick = if self.tick < LAST { self.next_tick + TICK } else { Time::NEVER };
        }
    }

    /// Returns when the loop notices the end of the tick: it sleeps again and again for `poll`.
    fn notices(&self) -> Time {
        let poll = self.params.poll.as_nanos();
        if poll == 0 || self.next_tick == Time::NEVER {
            return self.next_tick;
        }
        let sleeps = self.next_tick.since(self.awake).as_nanos().div_ceil(poll);
        self.awake + self.params.poll * sleeps
    }

    /// Returns when a packet without data is to leave if no data leaves before.
    fn beat_at(&self) -> Time {
        let due = self.last_sent + self.params.heartbeat;
        if self.beat || self.rest == Some(0) {
            Time::NEVER
        } else if self.window() > 0 {
            due + GRACE
        } else {
            due
        }
    }

    fn on_forecast(&mut self, now: Time, forecast: &Forecast) {
        // Reports may overtake each other, and one of an earlier connection may still arrive.
        let stale = self.forecast.is_some_and(|last| forecast.from <= last.from);
        if stale || forecast.total > self.sent {
            return;
        }
        self.queue = self.sent - forecast.total;
        self.forecast = Some(*forecast);
        self.tick = 0;
        self.next_tick = now + TICK;
    }
}

impl Controller for SproutSender {
    fn needs(&self) -> Signals {
        Signals::HEADERS.and(Signals::REPORTS)
    }

    fn on_send(&mut self, now: Time, packet: &mut Outgoing) -> u64 {
        self.advance(now);
        let payload = payload(packet.size) as u64;
        let throwaway = self.recent.on_send(now, self.sent);
        let offset = self.sent;
        self.sent = offset.saturating_add(payload + COUNTED_HEADERS);
        self.queue = self.queue.saturating_add(payload);
        self.in_flight = packet.in_flight + packet.size as u64;
        self.last_sent = now;
        self.beat &= !packet.empty;
        let flight_ends = packet.empty || packet.last || self.window() == 0;
        let pause = match &mut self.rest {
            Some(left) => {
                *left = left.saturating_sub(1);
                REST
            }
            None => self.params.heartbeat.as_nanos().div_ceil(1_000_000) as u32,
        };
        let time_to_next = if flight_ends { pause } else { 0 };
        let connection = self.connection;
        packet.header =
            Header::Sprout(SproutHeader { connection, offset, throwaway, time_to_next });
        0
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        // The authors' protocol has no acknowledgements that would wake its loop up.
        if feedback.now >= self.notices() {
            self.advance(feedback.now);
        }
        self.in_flight = feedback.in_flight;
    }

    fn on_report(&mut self, now: Time, report: &Report) {
        self.advance(now);
        self.awake = now;
        if let Report::Forecast(forecast) = report {
            self.on_forecast(now, forecast);
        }
    }

    fn on_timer(&mut self, now: Time) {
        self.advance(now);
        self.awake = now;
        self.beat |= self.beat_at() <= now;
    }

    fn on_rest(&mut self, now: Time, rests: bool) {
        self.advance(now);
        self.rest = rests.then_some(REST_HEARTBEATS);
        // The last forecast is over. A packet without data, which may always leave, makes the
        // receiver's half send one.
        self.beat |= !rests && self.window() == 0;
    }

    fn plan(&self) -> Plan {
        Plan::window(self.in_flight + self.on_wire())
            .exact()
            .timer(self.notices().min(self.beat_at()))
            .empty_packet(self.beat)
    }

    fn target(&self) -> Option<Rate> {
        let forecast = self.forecast.as_ref()?;
        let ahead = (self.params.lookahead as usize).min(LAST);
        let bytes = self.bytes(forecast.counts[ahead]);
        Some(Rate::from_bytes_in(bytes, TICK * (ahead as u64 + 1)))
    }

    fn forecast(&self) -> Option<u64> {
        self.forecast.as_ref().map(|forecast| self.bytes(forecast.counts[LAST]))
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let packets = |bytes: u64| bytes as f64 / self.largest as f64;
        see("window", packets(self.window()));
        see("queue", packets(self.queue));
        if let Some(forecast) = &self.forecast {
            see("forecast", forecast.counts[LAST] as f64);
        }
    }
}
