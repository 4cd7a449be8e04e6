//! A-MPDUs: how a station assembles them, and what happens to them (IEEE 802.11-2020, 10.12 and
//! 10.25).

use paceline_cc::{Batch, Packet, Rate, Span, Time};
use paceline_path::{Schedule, Service, ServiceError, TakenPacket};

use super::errors::FrameErrors;
use super::mcs::Mcs;
use super::minstrel::Minstrel;
use super::phy::Phy;
use super::ports::StationPorts;
use super::transmit_queue::{Ampdu, AmpduLimits, Mpdu, TransmitQueue, subframe};
use super::{Addresses, StationConfig};

/// The limits of A-MPDUs.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Aggregation {
    /// Maximum number of MPDUs in an A-MPDU, at most 64, which a block acknowledgement covers.
    pub max_mpdus: u32,
    /// Maximum number of bytes of an A-MPDU.
    pub max_bytes: u32,
    /// Maximum duration of an A-MPDU, including its preamble.
    pub max_duration: Span,
    /// Number of transmissions of an MPDU before it is given up.
    pub transmissions: u32,
}

impl Default for Aggregation {
    /// Returns the standard's maxima: 64 MPDUs, 65,535 bytes, 5.484 ms (the maximum that a preamble
    /// in mixed format can announce); and eight transmissions of an MPDU: a first one and seven
    /// retries. Claims over access points were measured with them.
    fn default() -> Aggregation {
        Aggregation {
            max_mpdus: 64,
            max_bytes: 65_535,
            max_duration: Span::from_micros(5484),
            transmissions: 8,
        }
    }
}

impl Aggregation {
    /// Returns the limits of an A-MPDU at `mcs` to or from a station that accepts `max_mpdus`
    /// MPDUs.
    pub(super) fn limits(&self, phy: &Phy, mcs: Mcs, max_mpdus: u32) -> AmpduLimits {
        AmpduLimits {
            frames: max_mpdus,
            bytes: self.max_bytes.min(phy.ampdu_bytes_within(mcs, self.max_duration)),
        }
    }
}

/// The properties of the medium that stations need to assemble an A-MPDU.
pub(super) struct Air<'a> {
    pub(super) phy: &'a Phy,
    pub(super) aggregation: &'a Aggregation,
    pub(super) mac_overhead: u32,
    pub(super) addresses: &'a Addresses,
}

/// A sender's state for a receiver, and its MPDUs for that receiver.
pub(super) struct Peer {
    queue: TransmitQueue,
    /// Modulation and coding over time; the "rate" of a step is the index of the scheme.
    mcs: Schedule,
    max_mpdus: u32,
    errors: FrameErrors,
    /// Chooses the modulation and coding, if the sender does.
    control: Option<Box<Minstrel>>,
    /// Number of successive A-MPDUs of which no MPDU arrived.
    failed: u32,
}

impl Peer {
    /// Creates a peer with the settings of the station at the other end, or of the sender itself if
    /// the peer is the access point.
    pub(super) fn new(
        config: &StationConfig,
        aggregation: &Aggregation,
        phy: &Phy,
        control: Option<Minstrel>,
    ) -> Result<Peer, ServiceError> {
        Ok(Peer {
            queue: TransmitQueue::default(),
            mcs: mcs_schedule(config)?,
            max_mpdus: config.max_mpdus.unwrap_or(aggregation.max_mpdus),
            errors: FrameErrors::new(config, phy)?,
            control: control.map(Box::new),
            failed: 0,
        })
    }

    /// Returns the expected modulation and coding, before it is chosen.
    fn likely_mcs(&self, now: Time) -> Mcs {
        let index = match &self.control {
            Some(control) => control.best() as u64,
            None => self.mcs.rate_at(now).as_bps(),
        };
        mcs_of(index)
    }

    /// Returns the modulation and coding of the next A-MPDU, and its maximum number of MPDUs. A
    /// sample, which may be lost, has one.
    fn choose(&mut self, now: Time) -> (Mcs, u32) {
        let Some(control) = &mut self.control else {
            return (self.likely_mcs(now), self.max_mpdus);
        };
        if self.failed == 0 {
            control.begin(now);
        }
        let most = if control.samples(self.failed) { 1 } else { self.max_mpdus };
        (mcs_of(control.rate(self.failed) as u64), most)
    }

    /// Reports that an A-MPDU of `frames` MPDUs was transmitted, of which `arrived` arrived.
    fn report(&mut self, mcs: Mcs, frames: u32, arrived: u32) {
        let Some(control) = &mut self.control else { return };
        control.report(usize::from(mcs.index()), frames, arrived);
        self.failed = if arrived > 0 || self.failed >= MOST_FAILED { 0 } else { self.failed + 1 };
    }
}

/// After this many successive failed transmissions rates are chosen again.
const MOST_FAILED: u32 = 6;

fn mcs_of(index: u64) -> Mcs {
    Mcs::new(index.min(u64::from(Mcs::MAX)) as u8).unwrap_or(Mcs::LOWEST)
}

/// Returns the modulation and coding of a station over time, with indices in place of rates.
pub(super) fn mcs_schedule(config: &StationConfig) -> Result<Schedule, ServiceError> {
    let index = |&(at, mcs): &(Span, Mcs)| (at, Rate::from_bps(u64::from(mcs.index())));
    let steps: Vec<_> = config.mcs.iter().map(index).collect();
    let steps = if steps.is_empty() { vec![(Span::ZERO, Rate::ZERO)] } else { steps };
    Schedule::new(&steps, config.mcs_period)
}

/// An A-MPDU that contends for the medium or is on air.
#[derive(Copy, Clone, Debug)]
pub(super) struct OnAir {
    /// Index of the receiver among the peers.
    peer: usize,
    pub(super) mcs: Mcs,
    pub(super) ampdu: Ampdu,
    /// Maximum number of MPDUs of this size that it could have had.
    most: u32,
    /// MPDUs that have arrived, and the bytes of their packets.
    acked: (u32, u32),
    /// When it was assembled.
    since: Time,
}

impl OnAir {
    /// Returns true if any of its MPDUs has arrived.
    pub(super) fn arrived(&self) -> bool {
        self.acked.0 > 0
    }
}

/// The part of a station that transmits A-MPDUs. It takes packets from the station's queue, as many
/// as fit into an A-MPDU, and keeps them until they are acknowledged or given up.
///
/// An A-MPDU is assembled when the station begins to contend, as drivers pass them to their
/// hardware; packets that arrive later wait for a later A-MPDU. Receivers are served in turn. With
/// one queue for all receivers, the aggregator also takes packets for other receivers that are
/// ahead in the queue, as long as it holds fewer than two full A-MPDUs; with a queue per receiver
/// there are no such packets.
pub(super) struct Aggregator {
    peers: Vec<Peer>,
    /// Station number of the first peer.
    first: u32,
    /// Index of the peer that was served last.
    last: usize,
    pub(super) on_air: Option<OnAir>,
    /// MPDUs given up after the last A-MPDU, in reverse order.
    given_up: Vec<Mpdu>,
    /// Damage probability for the last size of a subframe.
    damage: (u32, f64),
    /// Buffer for packets between the port and the queue of their receiver.
    place: TakenPacket,
}

impl Aggregator {
    /// Creates an aggregator. `peers` are the possible receivers, of which the first has this
    /// station number.
    pub(super) fn new(peers: Vec<Peer>, first: u32) -> Aggregator {
        Aggregator {
            peers,
            first,
            last: 0,
            on_air: None,
            given_up: Vec::with_capacity(64),
            damage: (0, 0.0),
            place: TakenPacket::unmarked(Packet::opaque(0)),
        }
    }

    /// Takes packets out of the station's ports, and assembles the next A-MPDU. Returns false if
    /// there is no packet to send.
    pub(super) fn prepare(
        &mut self,
        now: Time,
        (ports, capacity): (&mut StationPorts, &Service),
        air: &Air<'_>,
    ) -> bool {
        let count = self.peers.len();
        let last = self.last;
        for at in (1..=count).map(|turn| (last + turn) % count) {
            self.fill(at, now, (&mut *ports, capacity), air);
            let Some(peer) = self.peers.get_mut(at).filter(|peer| peer.queue.waiting() > 0) else {
                continue;
            };
            let (mcs, most) = peer.choose(now);
            let ampdu = peer.queue.next_ampdu(air.aggregation.limits(air.phy, mcs, most));
            let limits = air.aggregation.limits(air.phy, mcs, peer.max_mpdus);
            let most = limits.most(ampdu.air_bytes / ampdu.frames.max(1));
            self.last = at;
            self.on_air = Some(OnAir { peer: at, mcs, ampdu, most, acked: (0, 0), since: now });
            return true;
        }
        false
    }

    /// Takes packets from the port until there is a full A-MPDU for a peer.
    fn fill(
        &mut self,
        at: usize,
        now: Time,
        (ports, capacity): (&mut StationPorts, &Service),
        air: &Air<'_>,
    ) {
        let Some(peer) = self.peers.get(at) else { return };
        let limits = air.aggregation.limits(air.phy, peer.likely_mcs(now), peer.max_mpdus);
        let held = match ports.is_per_receiver() {
            true => usize::MAX,
            false => 2 * peer.max_mpdus.max(1) as usize,
        };
        let Some(port) = ports.to_receiver_mut(at) else { return };
        let mut waiting: usize = self.peers.iter().map(|peer| peer.queue.waiting()).sum();
        while waiting < held && self.peers.get(at).is_some_and(|peer| !peer.queue.is_full(limits)) {
            if !port.take(now, capacity, &mut self.place) {
                return;
            }
            let to = air.addresses.hop(&self.place.packet).to.saturating_sub(self.first) as usize;
            let to = to.min(self.peers.len().saturating_sub(1));
            if let Some(peer) = self.peers.get_mut(to) {
                peer.queue.push(Mpdu::new(self.place), air.mac_overhead);
            }
            waiting += 1;
        }
    }

    /// Transmits the A-MPDU. `chance` decides whether an MPDU is damaged, given the probability.
    /// Returns the number of MPDUs that arrive.
    pub(super) fn transmit(&mut self, now: Time, mut chance: impl FnMut(f64) -> bool) -> u32 {
        let Aggregator { peers, on_air: Some(on_air), damage, .. } = self else { return 0 };
        let Some(peer) = peers.get_mut(on_air.peer) else { return 0 };
        let (queue, errors) = (&mut peer.queue, &peer.errors);
        let rate = usize::from(on_air.mcs.index());
        *damage = (0, 0.0);
        on_air.acked = queue.transmit(|bytes| {
            if damage.0 != bytes {
                *damage = (bytes, errors.damage(now, rate, bytes));
            }
            damage.1 == 0.0 || !chance(damage.1)
        });
        on_air.acked.0
    }

    /// Returns the receiver of the A-MPDU that was assembled last.
    pub(super) fn receiver(&self) -> usize {
        self.last
    }

    /// Removes the next packet that has arrived and is in order.
    pub(super) fn deliver(&mut self) -> Option<Mpdu> {
        self.peers.get_mut(self.last)?.queue.deliver()
    }

    /// Ends the A-MPDU: the sender has its block acknowledgement, or there is none. Returns the
    /// A-MPDU, with no acknowledged bytes if nothing arrived, and when it was assembled.
    /// `announced` is true if only the RTS was transmitted, and lost.
    pub(super) fn finish(&mut self, air: &Air<'_>, announced: bool) -> Option<(Batch, Time)> {
        let on_air = self.on_air.take()?;
        let peer = self.peers.get_mut(on_air.peer)?;
        if !announced {
            peer.report(on_air.mcs, on_air.ampdu.frames, on_air.acked.0);
        }
        peer.queue.retry_or_give_up(air.aggregation.transmissions, &mut self.given_up);
        let Ampdu { frames, bytes, air_bytes } = on_air.ampdu;
        let batch = Batch {
            station: on_air.peer as u32,
            frames,
            max_frames: on_air.most,
            bytes,
            acked_bytes: on_air.acked.1,
            air_bytes,
            rate: air.phy.ampdu_rate(on_air.mcs),
        };
        Some((batch, on_air.since))
    }

    /// Removes the next MPDU that was given up after the last A-MPDU.
    pub(super) fn pop_given_up(&mut self) -> Option<Mpdu> {
        self.given_up.pop()
    }
}

/// Returns the number of MPDUs, and the bytes on air, of a full A-MPDU with packets of `packet`
/// bytes.
pub(super) fn full(air: &Air<'_>, mcs: Mcs, max_mpdus: u32, packet: u32) -> (u32, u32) {
    let each = subframe(packet, air.mac_overhead);
    let frames = air.aggregation.limits(air.phy, mcs, max_mpdus).most(each);
    (frames, frames.saturating_mul(each))
}
