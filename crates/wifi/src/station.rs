//! A station at a medium: its ports, its frame, its rate, its retry counters.

use paceline_cc::{Batch, Packet, Rate, Span, Time};
use paceline_path::{Schedule, Service, ServiceError, TakenPacket};

use super::MediumConfig;
use super::aggregate::{Aggregator, Air};
use super::errors::FrameErrors;
use super::idle::{IdleTime, UnusedCapacity};
use super::minstrel::Minstrel;
use super::phy::Phy;
use super::ports::StationPorts;
use super::sequence::Sequence;
use super::station_config::StationConfig;
use super::transmit_queue::Mpdu;
use super::turns::Turns;

/// Counters of a station on air since the start.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StationStats {
    /// Frames (or A-MPDUs) transmitted, including retransmissions; an RTS counts in its frame's
    /// place.
    pub transmissions: u64,
    /// Of these, frames (or RTS) that collided.
    pub collisions: u64,
    /// Of these, frames damaged without a collision; A-MPDUs of which no MPDU arrived.
    pub errors: u64,
    /// Time for which the medium was busy with the station's frames and the answers to them.
    pub airtime: Span,
}

/// A station.
pub(super) struct Station {
    pub(super) ports: StationPorts,
    /// The capacity passed to routers.
    pub(super) capacity: Service,
    /// Single frames: the packet that contends for the medium or is on air, and the index of its
    /// port.
    frame: Option<TakenPacket>,
    frame_port: usize,
    /// True while it transmits a frame, or waits for the answer to one.
    pub(super) on_air: bool,
    /// Failed transmissions of the frame: of RTS or of frames without RTS, and of frames after an
    /// RTS.
    short_retries: u32,
    long_retries: u32,
    rates: Schedule,
    pub(super) errors: FrameErrors,
    /// Single frames: rate controls of frames to and from the station, if senders choose rates.
    pub(super) controls: Option<Box<[Minstrel; 2]>>,
    /// Single frames: the transmission whose rate the sender has chosen.
    pub(super) chosen: Option<Chosen>,
    /// Single frames: rate, bytes and times of the last one.
    last: Option<(Rate, u32, Sequence)>,
    /// Layers with A-MPDUs: assembles them.
    pub(super) aggregator: Option<Box<Aggregator>>,
    /// True if its router receives the measured capacity.
    measures: bool,
    pub(super) stats: StationStats,
    /// When it had packets to send.
    pub(super) turns: Turns,
    /// When the frame came to the head of the queue.
    taken: Time,
    /// Means over the last frames: bytes of packets that arrived, and seconds from the head of the
    /// queue to the end of the exchange in which the packet arrived or was given up.
    bytes: f64,
    seconds: f64,
    /// Single frames: what each port could have carried in addition. Empty without routers.
    unused: Box<[UnusedCapacity]>,
}

/// A rate that was chosen for a transmission.
#[derive(Copy, Clone, Debug)]
pub(super) struct Chosen {
    /// The station that is not the access point.
    pub(super) other: usize,
    /// Index of its rate control.
    pub(super) way: usize,
    /// Index of the rate.
    pub(super) rate: usize,
}

/// Weight of a frame in the means of bytes and times.
const WEIGHT: f64 = 1.0 / 16.0;

impl Station {
    pub(super) fn new(
        config: &StationConfig,
        (ports, capacity): (StationPorts, Service),
        phy: &Phy,
        aggregator: Option<Aggregator>,
    ) -> Result<Station, ServiceError> {
        let routed = ports.all().iter().any(|port| port.router().is_some());
        let counted = if aggregator.is_none() && routed { ports.all().len() } else { 0 };
        Ok(Station {
            ports,
            capacity,
            frame: None,
            frame_port: 0,
            on_air: false,
            short_retries: 0,
            long_retries: 0,
            rates: Schedule::new(&config.rates, None)?,
            errors: FrameErrors::new(config, phy)?,
            controls: None,
            chosen: None,
            last: None,
            aggregator: aggregator.map(Box::new),
            measures: true,
            stats: StationStats::default(),
            turns: Turns::new(),
            taken: Time::ZERO,
            bytes: 0.0,
            seconds: 0.0,
            unused: vec![UnusedCapacity::default(); counted].into(),
        })
    }

    /// Returns the rate of data frames to and from the station.
    pub(super) fn rate(&self, now: Time) -> Rate {
        self.rates.rate_at(now)
    }

    /// Returns the exchange of a single frame: [`Sequence::of`], or that of the last frame if it was
    /// like this one.
    #[inline]
    pub(super) fn sequence(&mut self, config: &MediumConfig, rate: Rate, size: u32) -> Sequence {
        match self.last {
            Some((at, bytes, times)) if (at, bytes) == (rate, size) => times,
            _ => self.last.insert((rate, size, Sequence::of(config, rate, size))).2,
        }
    }

    /// Returns the number of failed transmissions of the frame.
    pub(super) fn failed(&self) -> u32 {
        self.short_retries + self.long_retries
    }

    /// Returns true if a frame or an A-MPDU contends for the medium, or is on air.
    #[inline]
    pub(super) fn has_frame(&self) -> bool {
        match &self.aggregator {
            None => self.frame.is_some(),
            Some(aggregator) => aggregator.on_air.is_some(),
        }
    }

    /// Returns the packet that contends for the medium or is on air, for layers without A-MPDUs.
    #[inline]
    pub(super) fn frame(&self) -> Option<&Packet> {
        self.frame.as_ref().map(|taken| &taken.packet)
    }

    /// Adds a packet for a receiver, counted from 0.
    pub(super) fn enqueue(&mut self, now: Time, packet: &Packet, receiver: usize) {
        if let Some(port) = self.ports.to_receiver_mut(receiver) {
            port.enqueue(now, packet, &self.capacity);
        }
    }

    /// Reports to the router of a port, before a packet for the receiver comes, what the port could
    /// have carried in addition. A-MPDUs tell their routers by their sizes.
    pub(super) fn report_unused(&mut self, now: Time, receiver: usize, idle: &IdleTime) {
        let port = receiver.min(self.unused.len().saturating_sub(1));
        let Some(unused) = self.unused.get_mut(port) else { return };
        let bytes = unused.take(idle);
        if let Some(port) = self.ports.to_receiver_mut(receiver).filter(|_| bytes > 0) {
            port.tell_unused(now, bytes);
        }
    }

    /// Passes a received packet to the router, with the index of its sender among the station's
    /// receivers.
    pub(super) fn show_input(&mut self, now: Time, packet: &mut Packet, sender: usize) {
        if let Some(port) = self.ports.to_receiver_mut(sender) {
            port.show_input(now, packet, &self.capacity);
        }
    }

    /// Takes the next packets from the ports. Returns false if there are none.
    pub(super) fn take(&mut self, now: Time, air: &Air<'_>) -> bool {
        if let Some(aggregator) = &mut self.aggregator {
            return aggregator.prepare(now, (&mut self.ports, &self.capacity), air);
        }
        self.taken = now;
        self.frame = self.take_frame(now);
        self.frame.is_some()
    }

    /// Takes a packet from the ports in turn. If there is none, tells the routers.
    fn take_frame(&mut self, now: Time) -> Option<TakenPacket> {
        let ports = self.ports.all_mut();
        let mut place = TakenPacket::unmarked(Packet::opaque(0));
        for turn in 1..=ports.len() {
            let at = (self.frame_port + turn) % ports.len();
            if ports[at].take(now, &self.capacity, &mut place) {
                self.frame_port = at;
                return Some(place);
            }
        }
        ports.iter_mut().for_each(|port| port.tell_unused(now, 0));
        None
    }

    /// Starts or stops to record turns, unless the capacity is set.
    pub(super) fn record_turns(&mut self, on: bool) {
        self.turns.record(on && self.measures);
    }

    /// Returns the turns, unless the capacity is set.
    pub(super) fn measured_turns(&self) -> Option<&Turns> {
        self.measures.then_some(&self.turns)
    }

    /// Passes this capacity to routers from now on, instead of the measured one.
    pub(super) fn set_capacity(&mut self, capacity: Service) {
        self.measures = false;
        self.capacity = capacity;
    }

    /// Delivers the frame at `now`.
    pub(super) fn deliver(&mut self, now: Time) -> Option<Packet> {
        let taken = self.frame.take()?;
        self.ports.to_receiver_mut(self.frame_port)?.finish(now, &taken);
        self.turns.carry(taken.packet.size);
        Some(taken.packet)
    }

    /// Gives up the frame at `now`.
    pub(super) fn give_up(&mut self, now: Time) {
        if let Some(taken) = self.frame.take()
            && let Some(port) = self.ports.to_receiver_mut(self.frame_port)
        {
            port.give_up(now, &taken);
        }
        self.measure(0.0, now.since(self.taken).as_secs_f64());
    }

    /// Removes the next MPDU that has arrived at its receiver by `now` and is in order.
    pub(super) fn deliver_mpdu(&mut self, now: Time) -> Option<Packet> {
        let aggregator = self.aggregator.as_mut()?;
        let Mpdu { taken, .. } = aggregator.deliver()?;
        self.ports.to_receiver_mut(aggregator.receiver())?.finish(now, &taken);
        Some(taken.packet)
    }

    /// Gives up the MPDUs of the last A-MPDU that are not transmitted again, at `now`.
    pub(super) fn give_up_mpdus(&mut self, now: Time) {
        let Some(aggregator) = &mut self.aggregator else { return };
        let Some(port) = self.ports.to_receiver_mut(aggregator.receiver()) else { return };
        while let Some(Mpdu { taken, .. }) = aggregator.pop_given_up() {
            port.give_up(now, &taken);
        }
    }

    /// Notes that an A-MPDU assembled at `since` was acknowledged, or that nothing of it arrived.
    /// Computes the station's capacity for a full one. `announced` is true if only the RTS was
    /// transmitted, whose time does not depend on the A-MPDU.
    pub(super) fn note_batch(
        &mut self,
        now: Time,
        (batch, since): (&Batch, Time),
        announced: bool,
    ) {
        self.turns.carry(batch.acked_bytes);
        let frames = f64::from(batch.frames.max(1));
        let missing = f64::from(batch.max_frames.saturating_sub(batch.frames)) / frames;
        let on_air = f64::from(batch.air_bytes) * 8.0 / batch.rate.as_bps().max(1) as f64;
        let longer = if announced { 0.0 } else { missing * on_air };
        let bytes = f64::from(batch.acked_bytes) * (1.0 + missing);
        self.measure(bytes, now.since(since).as_secs_f64() + longer);
        if batch.acked_bytes == 0 {
            return;
        }
        if let Some(port) = self.ports.to_receiver_mut(batch.station as usize) {
            port.tell_batch(now, batch);
        }
    }

    /// Adds a frame to the means from which routers get the station's capacity. A driver knows it
    /// from the times that frames take.
    fn measure(&mut self, bytes: f64, seconds: f64) {
        if !self.measures {
            return;
        }
        let weight = if self.seconds > 0.0 { WEIGHT } else { 1.0 };
        self.bytes += weight * (bytes - self.bytes);
        self.seconds += weight * (seconds - self.seconds);
        let rate = Rate::from_bytes_per_sec(self.bytes / self.seconds.max(1e-9));
        self.capacity = Service::constant(rate);
    }

    /// Notes that the acknowledgement of the frame that arrived in this turn has ended at `now`.
    pub(super) fn note_ack(&mut self, now: Time, idle: &IdleTime) {
        self.on_ack();
        let bytes = self.turns.carried() as f64;
        self.measure(bytes, now.since(self.taken).as_secs_f64());
        if let Some(unused) = self.unused.get_mut(self.frame_port) {
            unused.carry(now, bytes, idle);
        }
    }

    /// Handles the acknowledgement of the frame.
    pub(super) fn on_ack(&mut self) {
        (self.short_retries, self.long_retries) = (0, 0);
    }

    /// Handles a missing answer to an RTS, to a frame without one, or (`long`) to a frame after an
    /// RTS. Returns true if the packet is to be given up.
    pub(super) fn on_silence(&mut self, long: bool, limits: (u32, u32)) -> bool {
        let (retries, limit) = match long {
            true => (&mut self.long_retries, limits.1),
            false => (&mut self.short_retries, limits.0),
        };
        *retries += 1;
        let over = *retries >= limit;
        if over {
            self.on_ack();
        }
        over
    }
}
