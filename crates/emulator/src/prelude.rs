//! What carries packets until an emulation begins by its trigger: an equal path, whose packets are not counted.
//!
//! Schedules, traces, logs and figures of the emulation proper begin at the trigger. Packets that are on the way then
//! stay on the path of the prelude, and leave it at their times.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use paceline_cc::{Span, Time};
use paceline_ip::offload::{HEADER, Layout};
use paceline_ip::packet::{TCP, UDP, parse};

use super::chain::Chain;
use super::clock::{Clock, Monotonic};
use super::lane::{DeviceState, Lane};
use super::port::Port;
use super::summary::Direction;
use super::watch::Watchers;

/// The smallest size of a packet of data: those of handshakes are smaller.
pub(super) const DATA_SIZE: u32 = 200;
/// Time between two looks for the file that begins an emulation.
const LOOK: Span = Span::from_millis(5);

/// The event with which an emulation begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// A packet of data (200 bytes or more) enters, in either direction. `Some` names the number of its protocol above
    /// IP.
    Data(Option<u8>),
    /// This file appears.
    File(PathBuf),
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trigger::Data(None) => f.write_str("data"),
            Trigger::Data(Some(protocol)) => {
                write!(f, "data/{}", if *protocol == UDP { "udp" } else { "tcp" })
            }
            Trigger::File(path) => write!(f, "file:{}", path.display()),
        }
    }
}

/// Reads `data`, `data/udp`, `data/tcp` or `file:PATH`.
impl FromStr for Trigger {
    type Err = String;

    fn from_str(text: &str) -> Result<Trigger, String> {
        match text {
            "data" => Ok(Trigger::Data(None)),
            "data/udp" => Ok(Trigger::Data(Some(UDP))),
            "data/tcp" => Ok(Trigger::Data(Some(TCP))),
            _ => match text.strip_prefix("file:") {
                Some(path) if !path.is_empty() => Ok(Trigger::File(path.into())),
                _ => Err("expected data, data/udp, data/tcp or file:PATH".into()),
            },
        }
    }
}

impl Trigger {
    /// Returns true if a piece that was read from a device begins the emulation. `headers` are the device's bytes in
    /// front.
    fn is_met_by(&self, piece: &[u8], headers: usize) -> bool {
        let Trigger::Data(wanted) = self else { return false };
        let size = piece.split_at_checked(headers).and_then(|(header, packet)| {
            let parsed = parse(packet).ok()?;
            let layout = Layout::new(header, packet, &parsed).ok()?;
            wanted.is_none_or(|wanted| wanted == parsed.protocol).then(|| layout.size(0))
        });
        size.is_some_and(|size| size >= DATA_SIZE)
    }

    /// Returns true if the file of this trigger exists.
    fn has_file(&self) -> bool {
        matches!(self, Trigger::File(path) if path.exists())
    }
}

/// The result of reading from the devices.
pub(super) enum Early {
    /// The trigger has not come.
    Waits,
    /// The piece of this direction, of `length` bytes, begins the emulation. It has not entered the path.
    Begins { direction: Direction, length: usize },
    /// The device that packets of this direction come from has gone.
    Closed(Direction),
}

/// The path that carries packets until the trigger.
pub(super) struct Prelude {
    pub(super) trigger: Trigger,
    pub(super) clock: Monotonic,
    pub(super) up: Lane,
    pub(super) down: Lane,
    next_look: Time,
    /// There are none: figures begin at the trigger.
    watchers: Watchers,
}

impl Prelude {
    pub(super) fn new(trigger: Trigger, up: Chain, down: Chain, memory: usize) -> Prelude {
        Prelude {
            trigger,
            clock: Monotonic::start().0,
            up: Lane::new(Direction::Up, up, memory),
            down: Lane::new(Direction::Down, down, memory),
            next_look: Time::ZERO,
            watchers: Watchers::default(),
        }
    }

    /// Starts the clock of the path.
    pub(super) fn begin(&mut self) {
        self.clock = Monotonic::start().0;
    }

    /// Returns true if the file of the trigger has appeared. Looks for it every 5 ms.
    pub(super) fn is_triggered(&mut self) -> bool {
        let now = self.clock.now();
        if !matches!(self.trigger, Trigger::File(_)) || now < self.next_look {
            return false;
        }
        self.next_look = now + LOOK;
        self.trigger.has_file()
    }

    /// Reads pieces from the devices that are ready, at most `batch` of each, until one meets the trigger. The others
    /// enter the path.
    pub(super) fn receive<P: Port, Q: Port>(
        &mut self,
        (inner, is_inner_ready): (&mut P, bool),
        (outer, is_outer_ready): (&mut Q, bool),
        batch: usize,
    ) -> Early {
        let Prelude { trigger, clock, up, down, .. } = self;
        if is_inner_ready {
            let read = read(up, inner, trigger, clock, batch);
            if !matches!(read, Early::Waits) {
                return read;
            }
        }
        match is_outer_ready {
            true => read(down, outer, trigger, clock, batch),
            false => Early::Waits,
        }
    }

    /// Writes the packets that are due. Returns the direction whose device has gone.
    pub(super) fn release<P: Port, Q: Port>(
        &mut self,
        inner: &mut P,
        outer: &mut Q,
    ) -> Option<Direction> {
        let now = self.clock.now();
        let up = self.up.release(now, outer, &self.clock);
        let down = self.down.release(now, inner, &self.clock);
        self.up.settle(now, &mut self.watchers);
        self.down.settle(now, &mut self.watchers);
        match (up, down) {
            (DeviceState::Closed, _) => Some(Direction::Down),
            (_, DeviceState::Closed) => Some(Direction::Up),
            _ => None,
        }
    }

    /// Returns when a packet is due, or the file is looked for. `waits` is true before the trigger.
    pub(super) fn wake(&self, waits: bool) -> Time {
        let packets = self.up.wake().min(self.down.wake());
        let packets = match self.up.is_blocked() || self.down.is_blocked() {
            true => packets.min(self.clock.now() + super::run::RETRY),
            false => packets,
        };
        match self.trigger {
            Trigger::File(_) if waits => packets.min(self.next_look),
            _ => packets,
        }
    }

    /// Returns true if no packet is on the path.
    pub(super) fn is_empty(&self) -> bool {
        self.up.is_empty() && self.down.is_empty()
    }
}

fn read<P: Port>(
    lane: &mut Lane,
    port: &mut P,
    trigger: &Trigger,
    clock: &impl Clock,
    batch: usize,
) -> Early {
    let headers = if port.has_header() { HEADER } else { 0 };
    for _ in 0..batch {
        match lane.read(port) {
            Ok(length) if trigger.is_met_by(lane.piece(length), headers) => {
                return Early::Begins { direction: lane.direction(), length };
            }
            Ok(length) => lane.enter(clock.now(), length, headers),
            Err(DeviceState::Open) => {}
            Err(DeviceState::Exhausted) => return Early::Waits,
            Err(DeviceState::Closed) => return Early::Closed(lane.direction()),
        }
    }
    Early::Waits
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_testing::packets::PacketSpec;

    #[test]
    fn triggers_are_read_and_written() {
        for text in ["data", "data/udp", "data/tcp", "file:/tmp/go"] {
            assert_eq!(text.parse::<Trigger>().expect(text).to_string(), text);
        }
        for text in ["", "data/sctp", "file:", "udp"] {
            let error = text.parse::<Trigger>().expect_err(text);
            assert!(error.contains("file:PATH"), "{text}: {error}");
        }
    }

    #[test]
    fn data_are_packets_of_200_bytes_of_the_protocol() {
        let trigger = |text: &str| text.parse::<Trigger>().expect(text);
        // An IPv4 and a UDP header have 28 bytes.
        let small = PacketSpec::UDP4.build(&[0; 171], false);
        let large = PacketSpec::UDP4.build(&[0; 172], false);
        for (text, met) in [("data", true), ("data/udp", true), ("data/tcp", false)] {
            assert!(!trigger(text).is_met_by(&small, 0), "{text}");
            assert_eq!(trigger(text).is_met_by(&large, 0), met, "{text}");
        }
        assert!(!trigger("file:/").is_met_by(&large, 0));
        assert!(!trigger("data").is_met_by(&[0; 400], 0), "no IP packet");
    }
}
