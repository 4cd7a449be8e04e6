//! A TCP socket around a [`Sender`]: accepts acknowledgements with sequence numbers, returns
//! segments and `tcp_info`.
//!
//! The sender numbers segments from 0, and every transmission. Sequence number 1 begins segment 0.

mod acks;
mod info;
mod watch;

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};

use paceline_cc::{
    Body, Controller, Ecn, EcnFeedback, Established, Packet, Setup, Span, Spec, Stage, Time,
};
use paceline_flow::{
    LossRecovery, RttSamples, SENDER_SIGNALS, Sender, SenderConfig, Ticks, Workload,
};
use paceline_schemes::registry;

pub use acks::Acknowledgement;
pub use info::Info;
use watch::{Watch, Watched};

/// Time zero of the script on the sender's clock, which differs from the clock's own zero.
const START: Time = Time::from_secs(1);
/// Time after which the expiries of Linux' timers repeat: 4096 ticks.
const TICK_CYCLE: Span = Span::from_millis(4096 * 4);

/// Parameters of a connection, from its handshake and the host's settings.
#[derive(Clone, Debug)]
pub struct Terms {
    /// Bytes of data in a full segment.
    pub mss: u64,
    /// Whether the receiver acknowledges selectively.
    pub sack: bool,
    /// Whether both ends use timestamps.
    pub timestamps: bool,
    /// Whether both ends agreed on classic ECN.
    pub ecn: bool,
    /// Congestion control, by its name in the registry of schemes.
    pub scheme: String,
    /// Whether idle times reduce the window (Linux' `tcp_slow_start_after_idle`).
    pub slow_start_after_idle: bool,
    /// Time at which the connection was established, since the script began, and RTT of its
    /// handshake.
    pub established: (Span, Span),
    /// Time that the kernel's tick count had reached when the script began; `None` if timers expire
    /// exactly.
    pub uptime: Option<Span>,
}

/// A segment that has left the sender.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Departure time since the script began.
    pub time: Span,
    /// First sequence number, and last sequence number plus one.
    pub range: (u64, u64),
    /// ECN field.
    pub ecn: Ecn,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Fate {
    InFlight,
    Lost,
    Arrived,
}

#[derive(Copy, Clone, Debug)]
struct Transmission {
    /// Index of the segment; `None` for a packet without data.
    segment: Option<usize>,
    sent: Time,
    /// Whether the segment was sent before.
    repeats: bool,
    fate: Fate,
}

#[derive(Clone, Debug)]
struct Segment {
    /// First sequence number, and last sequence number plus one.
    range: (u64, u64),
    /// Numbers of its transmissions.
    numbers: Vec<usize>,
}

/// The sending end of a TCP connection, in virtual time.
pub struct Tcp {
    mss: u64,
    sack: bool,
    timestamps: bool,
    sender: Sender,
    watched: Arc<Mutex<Watched>>,
    now: Time,
    /// Bytes that the application has written and the sender has not taken.
    waiting: u64,
    /// Transmissions, by number.
    transmissions: Vec<Transmission>,
    segments: Vec<Segment>,
    /// First segment that is not acknowledged, and the segments beyond it that are acknowledged
    /// selectively.
    cumulative: usize,
    sacked: BTreeSet<usize>,
    /// Transmission numbers that have arrived, as ascending ranges that include both ends.
    arrived: Vec<(u64, u64)>,
    /// Later transmissions of segments that have arrived.
    copies: Vec<usize>,
    departed: VecDeque<Departure>,
}

impl Tcp {
    /// Returns an established connection with `terms`.
    ///
    /// # Errors
    ///
    /// The scheme does not exist, or needs signals that the sender does not have.
    pub fn new(terms: &Terms) -> Result<Tcp, String> {
        let spec = Spec::parse(&terms.scheme).map_err(|error| error.to_string())?;
        let halves = registry::build(&spec).map_err(|error| error.to_string())?;
        let setup = Setup::new(1, 0).with(|setup| setup.mss = terms.mss as u32);
        let config = SenderConfig::of(&halves, setup).with(|config| {
            config.workload = Workload::Supplied;
            config.ticks = terms.uptime.map(ticks);
            config.ecn = if terms.ecn { EcnFeedback::Classic } else { EcnFeedback::Off };
            config.slow_start_after_idle = terms.slow_start_after_idle;
            if !terms.sack {
                config.recovery = LossRecovery::NewReno(RttSamples::One);
            }
        });
        let watched = Arc::new(Mutex::new(Watched::default()));
        let make = halves.controller;
        let shared = watched.clone();
        let make_watch = Arc::new(move |setup: &Setup| {
            Box::new(Watch::new(make(setup), shared.clone())) as Box<dyn Controller>
        });
        let mut sender =
            Sender::new(config, make_watch, SENDER_SIGNALS).map_err(|error| error.to_string())?;
        sender.log_losses();
        let (established_at, rtt) = terms.established;
        let now = START + established_at;
        sender.set_established(&Established::new(now, rtt));
        let mut tcp = Tcp {
            mss: terms.mss,
            sack: terms.sack,
            timestamps: terms.timestamps,
            sender,
            watched,
            now,
            waiting: 0,
            transmissions: Vec::new(),
            segments: Vec::new(),
            cumulative: 0,
            sacked: BTreeSet::new(),
            arrived: Vec::new(),
            copies: Vec::new(),
            departed: VecDeque::new(),
        };
        tcp.pop_all();
        Ok(tcp)
    }

    /// Returns the time since the script began.
    pub fn now(&self) -> Span {
        self.now.since(START)
    }

    /// Returns the segments that have left, oldest first. Callers remove those that they have
    /// handled.
    pub fn departed(&mut self) -> &mut VecDeque<Departure> {
        &mut self.departed
    }

    /// Advances the time to `end`, and runs the sender's timers.
    pub fn advance(&mut self, end: Span) {
        while self.step(START + end) {}
        self.now = self.now.max(START + end);
    }

    /// Advances the time until a segment has left, but at most to `end`.
    pub fn await_departure(&mut self, end: Span) {
        while self.departed.is_empty() && self.step(START + end) {}
        if self.departed.is_empty() {
            self.now = self.now.max(START + end);
        }
    }

    /// Returns the sequence number after the last one sent.
    pub fn sent_end(&self) -> u64 {
        self.segments.last().map_or(1, |segment| segment.range.1)
    }

    /// Writes `bytes` as the application.
    pub fn write(&mut self, bytes: u64) {
        self.waiting += bytes;
        self.pop_all();
    }

    /// Runs the sender's next event, if it is due by `end`.
    fn step(&mut self, end: Time) -> bool {
        let next = self.sender.wake().max(self.now);
        if next > end {
            return false;
        }
        self.now = next;
        self.pop_all();
        true
    }

    /// Sends all packets that may leave now.
    fn pop_all(&mut self) {
        let mut place = Packet::opaque(0);
        loop {
            self.sender.set_ready(self.waiting);
            let has_sent = self.sender.pop_into(self.now, &mut place);
            self.note_losses();
            if !has_sent {
                return;
            }
            if let Body::Data(data) = &place.body {
                self.note_departure(data.segment, &place);
            }
        }
    }

    fn note_departure(&mut self, segment: u64, packet: &Packet) {
        let number = self.transmissions.len();
        let index = usize::try_from(segment).ok().filter(|index| *index <= self.segments.len());
        let repeats = index.is_some_and(|index| index < self.segments.len());
        let (sent, fate) = (self.now, Fate::InFlight);
        self.transmissions.push(Transmission { segment: index, sent, repeats, fate });
        let Some(index) = index else { return };
        if !repeats {
            let size = u64::from(packet.size);
            let first = self.sent_end();
            self.segments.push(Segment { range: (first, first + size), numbers: Vec::new() });
            self.waiting = self.waiting.saturating_sub(size);
        }
        self.segments[index].numbers.push(number);
        let (time, range) = (self.now(), self.segments[index].range);
        self.departed.push_back(Departure { time, range, ecn: packet.ecn });
    }

    /// Marks the transmissions that the sender has declared lost.
    fn note_losses(&mut self) {
        for loss in self.sender.drain_losses() {
            if let Some(transmission) = self.transmissions.get_mut(loss.number as usize) {
                transmission.fate = Fate::Lost;
            }
        }
    }

    fn watched(&self) -> std::sync::MutexGuard<'_, Watched> {
        self.watched.lock().expect("a controller panicked")
    }
}

/// Returns the ticks of a kernel whose tick count had reached `uptime` when the script began.
fn ticks(uptime: Span) -> Ticks {
    Ticks::new(uptime + TICK_CYCLE - START.since(Time::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(millis: u64) -> Span {
        Span::from_millis(millis)
    }

    /// Returns a connection with NewReno and an RTT of 100 ms, established at 100 ms.
    fn connection() -> Tcp {
        let terms = Terms {
            mss: 1000,
            sack: true,
            timestamps: false,
            ecn: false,
            scheme: "newreno".to_string(),
            slow_start_after_idle: false,
            established: (millis(100), millis(100)),
            uptime: None,
        };
        Tcp::new(&terms).expect("a connection")
    }

    fn acknowledge(tcp: &mut Tcp, time: u64, ack: u64, sacks: &[(u64, u64)]) {
        tcp.advance(millis(time));
        let acknowledgement = Acknowledgement { ack, sacks, ..Acknowledgement::default() };
        tcp.acknowledge(&acknowledgement).expect("a possible acknowledgement");
    }

    fn ranges(tcp: &mut Tcp) -> Vec<(u64, u64)> {
        tcp.departed().drain(..).map(|departure| departure.range).collect()
    }

    #[test]
    fn segments_have_sequence_numbers_and_the_last_may_be_short() {
        let mut tcp = connection();
        tcp.write(2500);
        assert_eq!(ranges(&mut tcp), [(1, 1001), (1001, 2001), (2001, 2501)]);
        acknowledge(&mut tcp, 200, 2501, &[]);
        assert_eq!((tcp.info().unacked, tcp.sent_end()), (0, 2501));
        assert_eq!(tcp.look_up("tcpi_rtt"), Some(100_000.0));
    }

    #[test]
    fn a_hole_shows_in_tcp_info_and_is_repaired() {
        let mut tcp = connection();
        tcp.write(10_000);
        tcp.departed().clear();
        acknowledge(&mut tcp, 200, 1, &[(1001, 2001)]);
        assert_eq!((tcp.info().ca_state, tcp.info().sacked, tcp.info().unacked), (1, 1, 10));
        acknowledge(&mut tcp, 201, 1, &[(1001, 4001)]);
        assert_eq!(ranges(&mut tcp), [(1, 1001)]);
        let info = tcp.info();
        assert_eq!((info.ca_state, info.ssthresh, info.lost, info.retrans), (3, 5, 1, 1));
        acknowledge(&mut tcp, 301, 10_001, &[]);
        assert_eq!((tcp.info().unacked, tcp.info().lost), (0, 0));
    }

    #[test]
    fn an_acknowledgement_sooner_than_the_rtt_is_the_originals() {
        let mut tcp = connection();
        tcp.write(10_000);
        acknowledge(&mut tcp, 200, 1, &[(1001, 4001)]);
        // The retransmission left at 200 ms and cannot have arrived, so the original was not lost.
        acknowledge(&mut tcp, 210, 4001, &[]);
        assert_eq!((tcp.info().ca_state, tcp.info().ssthresh), (0, 0x7fff_ffff));
        // The retransmission does not count as in flight any more, because its data has arrived.
        acknowledge(&mut tcp, 305, 9001, &[]);
        assert_eq!(tcp.sender.in_flight(), 1000);
        acknowledge(&mut tcp, 306, 10_001, &[]);
        assert_eq!(tcp.sender.in_flight(), 0);
    }

    #[test]
    fn an_echoed_timestamp_is_that_of_the_oldest_segment() {
        let mut tcp = connection();
        tcp.timestamps = true;
        tcp.write(10_000);
        acknowledge(&mut tcp, 200, 1, &[(2001, 5001)]);
        acknowledge(&mut tcp, 205, 1, &[(2001, 10_001)]);
        let repairs = [tcp.segments[0].numbers[1], tcp.segments[1].numbers[1]];
        // The original of the first segment has arrived late, and the repair of the second.
        tcp.advance(millis(320));
        let echoed = Some(millis(100));
        let acknowledgement = Acknowledgement { ack: 10_001, echoed, ..Acknowledgement::default() };
        tcp.acknowledge(&acknowledgement).expect("a possible acknowledgement");
        let arrived = repairs.map(|number| tcp.transmissions[number].fate == Fate::Arrived);
        assert_eq!(arrived, [false, true]);
    }

    #[test]
    fn what_is_impossible_is_refused() {
        let mut tcp = connection();
        tcp.write(2000);
        for (ack, sacks) in [(501, vec![]), (3001, vec![]), (1, vec![(1, 1500)])] {
            let sacks = &sacks;
            let acknowledgement = Acknowledgement { ack, sacks, ..Acknowledgement::default() };
            assert!(tcp.acknowledge(&acknowledgement).is_err(), "{ack} {sacks:?}");
        }
    }
}
