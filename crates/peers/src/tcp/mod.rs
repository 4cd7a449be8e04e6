//! A TCP socket around a [`Sender`]: takes acknowledgements with sequence numbers, returns segments and `tcp_info`.
//!
//! The sender counts segments from 0, and numbers every transmission. Sequence number 1 begins segment 0.

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

/// The script's time zero on the sender's clock, which is not to begin at its own zero.
const START: Time = Time::from_secs(1);
/// Linux' timers expire alike if its clock of ticks has run longer by this: 4096 ticks.
const TICK_CYCLE: Span = Span::from_millis(4096 * 4);

/// What a handshake and the host's settings decide about a connection.
#[derive(Clone, Debug)]
pub struct Terms {
    /// Bytes of data in a full segment.
    pub mss: u64,
    /// True if the receiver acknowledges selectively.
    pub sack: bool,
    /// True if both ends use timestamps.
    pub timestamps: bool,
    /// True if both ends agreed on classic ECN.
    pub ecn: bool,
    /// The congestion control, as the registry of schemes names it.
    pub scheme: String,
    /// Linux' `tcp_slow_start_after_idle`: idle times lower the window.
    pub slow_start_after_idle: bool,
    /// When the connection was established, since the script began, and the RTT of its handshake.
    pub established: (Span, Span),
    /// How long the kernel's clock of ticks had run when the script began; `None` if timers expire when they are due.
    pub uptime: Option<Span>,
}

/// A segment that the sender sent.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Departure {
    /// When it left, since the script began.
    pub time: Span,
    /// The first sequence number, and the one after the last.
    pub range: (u64, u64),
    /// The ECN field.
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
    /// `None` for a packet without data.
    segment: Option<usize>,
    sent: Time,
    /// True if the segment had been sent before.
    repeats: bool,
    fate: Fate,
}

#[derive(Clone, Debug)]
struct Segment {
    /// The first sequence number, and the one after the last.
    range: (u64, u64),
    /// The numbers of its transmissions.
    numbers: Vec<usize>,
}

/// A TCP connection's sending end, in virtual time.
pub struct Tcp {
    mss: u64,
    sack: bool,
    timestamps: bool,
    sender: Sender,
    watched: Arc<Mutex<Watched>>,
    now: Time,
    /// Bytes that the application has written and the sender has not taken.
    waiting: u64,
    /// By transmission number.
    transmissions: Vec<Transmission>,
    segments: Vec<Segment>,
    /// All segments below are acknowledged; and those beyond that are acknowledged selectively.
    cumulative: usize,
    sacked: BTreeSet<usize>,
    /// The numbers that have arrived, as ascending ranges, both ends included.
    arrived: Vec<(u64, u64)>,
    /// Later transmissions of segments that have arrived.
    copies: Vec<usize>,
    departed: VecDeque<Departure>,
}

impl Tcp {
    /// An established connection on `terms`.
    ///
    /// # Errors
    ///
    /// A scheme that does not exist, or needs signals that the sender does not have.
    pub fn new(terms: &Terms) -> Result<Tcp, String> {
        let spec = Spec::parse(&terms.scheme).map_err(|error| error.to_string())?;
        let halves = registry::build(&spec).map_err(|error| error.to_string())?;
        let setup = Setup::new(1, 0).with(|setup| setup.mss = terms.mss as u32);
        let config = SenderConfig::of(&halves, setup).with(|config| {
            config.workload = Workload::Supplied;
            config.ticks = terms.uptime.map(ticks);
            config.ecn = if terms.ecn { EcnFeedback::Classic } else { EcnFeedback::Off };
            if !terms.sack {
                config.recovery = LossRecovery::NewReno(RttSamples::One);
            }
        });
        let watched = Arc::new(Mutex::new(Watched::default()));
        let (make, restarts) = (halves.controller, terms.slow_start_after_idle);
        let shared = watched.clone();
        let make_watch = Arc::new(move |setup: &Setup| {
            Box::new(Watch::new(make(setup), shared.clone(), restarts)) as Box<dyn Controller>
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

    /// The time since the script began.
    pub fn now(&self) -> Span {
        self.now.since(START)
    }

    /// The segments that have left, oldest first. Callers remove those that they have handled.
    pub fn departed(&mut self) -> &mut VecDeque<Departure> {
        &mut self.departed
    }

    /// Lets time pass until `end`; the sender's timers run.
    pub fn advance(&mut self, end: Span) {
        while self.step(START + end) {}
        self.now = self.now.max(START + end);
    }

    /// Lets time pass until a segment has departed, but not beyond `end`.
    pub fn await_departure(&mut self, end: Span) {
        while self.departed.is_empty() && self.step(START + end) {}
        if self.departed.is_empty() {
            self.now = self.now.max(START + end);
        }
    }

    /// The sequence number after the last one sent.
    pub fn sent_end(&self) -> u64 {
        self.segments.last().map_or(1, |segment| segment.range.1)
    }

    /// The application writes `bytes`.
    pub fn write(&mut self, bytes: u64) {
        self.waiting += bytes;
        self.pop_all();
    }

    /// Runs the sender's next event, if it is not later than `end`.
    fn step(&mut self, end: Time) -> bool {
        let next = self.sender.wake().max(self.now);
        if next > end {
            return false;
        }
        self.now = next;
        self.pop_all();
        true
    }

    /// Lets leave what may leave now.
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

    /// Takes over what the sender has declared lost.
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

/// The ticks of a kernel whose clock had run for `uptime` when the script began.
fn ticks(uptime: Span) -> Ticks {
    Ticks::new(uptime + TICK_CYCLE - START.since(Time::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(millis: u64) -> Span {
        Span::from_millis(millis)
    }

    /// NewReno with an RTT of 100 ms, established at 100 ms.
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
        // The repair left at 200 ms and cannot have arrived: the loss was none.
        acknowledge(&mut tcp, 210, 4001, &[]);
        assert_eq!((tcp.info().ca_state, tcp.info().ssthresh), (0, 0x7fff_ffff));
        // The repair does not count as in flight any more, as its data has arrived.
        acknowledge(&mut tcp, 305, 9001, &[]);
        assert_eq!(tcp.sender.in_flight(), 1000);
        acknowledge(&mut tcp, 306, 10_001, &[]);
        assert_eq!(tcp.sender.in_flight(), 0);
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
