//! The throughput of a medium whose stations are always backlogged.

use paceline_cc::{Packet, Span, Stage, Stream, Time};
use paceline_path::queue::Fifo;
use paceline_path::{Limit, Port, ServiceError};

use super::{Hop, Medium, MediumConfig, StationPorts};

/// Which senders are backlogged.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum SaturatedSenders {
    /// Every station, to the access point.
    Up,
    /// The access point, to every station in turn from one queue; with A-MPDUs, from a queue per
    /// station.
    Down,
    /// The access point and all stations.
    Both,
}

/// Results of a saturated medium.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Saturation {
    /// Rate of each stream in Mbit/s, by bytes of packets: those of the access point to each
    /// station, then those of each station. A load with one direction has only these.
    pub streams_mbps: Vec<f64>,
    /// Collided frames divided by transmitted frames.
    pub collision_probability: f64,
    /// Packets delivered.
    pub packets: u64,
}

impl Saturation {
    /// Returns the rate of all streams together in Mbit/s.
    pub fn total_mbps(&self) -> f64 {
        self.streams_mbps.iter().sum()
    }
}

/// Time before anything is counted, so that the start has no effect.
const WARMUP: Span = Span::from_secs(1);
/// Packets kept waiting at each sender without A-MPDUs, enough that it never runs out.
const WAITING: usize = 8;
/// Packets kept waiting for each receiver with A-MPDUs: three full ones.
const WAITING_MPDUS: usize = 3 * 64;

/// Runs the stations of `config` (without the access point if they only send up) with packets of
/// this size, for a second that is not measured and then for `span`. `random` is the medium's
/// random stream.
///
/// # Errors
/// Those of [`Medium::new`].
pub fn saturate(
    config: MediumConfig,
    load: SaturatedSenders,
    packet: u32,
    span: Span,
    random: &Stream,
) -> Result<Saturation, ServiceError> {
    let stations = config.stations.len().saturating_sub(1) as u32;
    let port = || Port::new(Box::new(Fifo::new(Limit::NONE)));
    let mut ports: Vec<StationPorts> =
        config.stations.iter().map(|_| StationPorts::shared(port())).collect();
    let ampdus = config.phy.high_throughput().is_some();
    if let Some(access_point) = ports.first_mut().filter(|_| ampdus) {
        // From one queue, packets of all stations would come by turns, too few for one at a time.
        *access_point = StationPorts::per_receiver((0..stations).map(|_| port()).collect());
    }
    let check = check_interval(&config);
    let mut medium = Medium::new(config, ports, random)?;
    let down = |to| Hop { from: 0, to: to + 1 };
    let up = |from| Hop { from: from + 1, to: 0 };
    let mut hops: Vec<Hop> = Vec::new();
    if load != SaturatedSenders::Up {
        hops.extend((0..stations).map(down));
    }
    if load != SaturatedSenders::Down {
        hops.extend((0..stations).map(up));
    }
    medium.set_hops(hops.clone());
    let mut place = Packet::opaque(packet);
    let most = if ampdus { WAITING_MPDUS } else { WAITING };
    fill(&mut medium, Time::ZERO, &hops, packet, most);
    let mut counts = vec![0u64; hops.len()];
    let (begin, end) = (Time::ZERO + WARMUP, Time::ZERO + WARMUP + span);
    let mut before = (0, 0);
    let (mut measuring, mut wakeups, mut last) = (false, 0u64, Time::ZERO);
    loop {
        wakeups += 1;
        if wakeups % check == 0 || medium.wake() == Time::NEVER {
            fill(&mut medium, last, &hops, packet, most);
        }
        let now = medium.wake();
        if !measuring && now >= begin {
            (measuring, before) = (true, frames(&medium));
        }
        if now > end || now == Time::NEVER {
            break;
        }
        last = now;
        while medium.pop_into(now, &mut place) {
            if let Some(count) = counts.get_mut(place.route as usize).filter(|_| measuring) {
                *count += 1;
            }
            // Each delivered packet is replaced; at the access point by one for the same station.
            medium.push(now, &place);
        }
    }
    let after = frames(&medium);
    let mbps = |count: &u64| (*count * u64::from(packet) * 8) as f64 / span.as_secs_f64() / 1e6;
    Ok(Saturation {
        streams_mbps: counts.iter().map(mbps).collect(),
        collision_probability: (after.1 - before.1) as f64 / (after.0 - before.0).max(1) as f64,
        packets: counts.iter().sum(),
    })
}

/// Returns the interval, in wake-ups of the medium, at which given-up packets are replaced: three
/// quarters of the wake-ups after which a sender may have given up all its waiting packets, with
/// two wake-ups for each transmission.
fn check_interval(config: &MediumConfig) -> u64 {
    let (frames, transmissions) = match config.phy.high_throughput() {
        Some(_) => (WAITING_MPDUS / 64, config.aggregation.transmissions),
        None => (WAITING, config.short_retry_limit.min(config.long_retry_limit)),
    };
    (2 * frames as u64 * u64::from(transmissions) * 3 / 4).max(1)
}

/// Adds packets until at least `most` wait at each sender.
fn fill(medium: &mut Medium, now: Time, hops: &[Hop], packet: u32, most: usize) {
    for from in 0..medium.len() {
        let waits = |medium: &Medium| medium.backlog_packets(from);
        let most = match (from, most) {
            (0, WAITING_MPDUS) => most * (medium.len() - 1).max(1),
            _ => most,
        };
        while waits(medium) < most {
            let routes = hops.iter().enumerate().filter(|(_, hop)| hop.from as usize == from);
            let before = waits(medium);
            for (route, _) in routes {
                medium.push(now, &Packet { route: route as u32, ..Packet::opaque(packet) });
            }
            if waits(medium) == before {
                break;
            }
        }
    }
}

/// Returns the frames transmitted, and those of them that collided.
fn frames(medium: &Medium) -> (u64, u64) {
    let stats = (0..medium.len()).map(|number| medium.stats(number));
    stats.fold((0, 0), |(all, lost), one| (all + one.transmissions, lost + one.collisions))
}
