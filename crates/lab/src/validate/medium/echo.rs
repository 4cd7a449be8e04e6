//! Packets of 1300 bytes, each answered by a packet of 40 bytes over the same medium, compared with
//! ns-3.
//!
//! Stated before the first run of these rows: throughput within 3 %.

use paceline_cc::{Packet, Rate, Span, Stage, Stream, Time};
use paceline_path::queue::Fifo;
use paceline_path::{Limit, Port};
use paceline_wifi::{Hop, Medium, MediumConfig, SaturatedSenders};

use super::figures::{self, SaturationRow};
use super::saturated::PACKET;
use crate::validate::bound::{Bound, Tolerance};
use crate::validate::case::{Case, Check, OwnScheme};

const ANSWER: u32 = 40;
const SEEDS: u64 = 5;
/// Packets that wait at each sender.
const WAITING: usize = 8;
const WARMUP: Span = Span::from_secs(1);
const MEASURED: Span = Span::from_secs(30);

/// Returns the throughput of answered packets, in Mbit/s.
fn answered(row: &SaturationRow, access_at_arrival: bool, seed: u64) -> Result<f64, String> {
    let mut config = MediumConfig::new(row.standard.phy(), row.stations, Rate::from_mbps(row.mbps));
    config.access_at_arrival = access_at_arrival;
    let ports = (0..=row.stations)
        .map(|_| Port::new(Box::new(Fifo::new(Limit::packets(50)))).into())
        .collect();
    let random = Stream::new(seed, "medium");
    let medium = Medium::new(config, ports, &random);
    let mut medium = medium.map_err(|error| error.to_string())?;
    let down = |to| Hop { from: 0, to: to + 1 };
    let up = |from| Hop { from: from + 1, to: 0 };
    // Routes of data, then routes of answers.
    let stations = 0..row.stations;
    let (there, back): (Vec<Hop>, Vec<Hop>) = match row.load {
        SaturatedSenders::Up => (stations.clone().map(up).collect(), stations.map(down).collect()),
        _ => (stations.clone().map(down).collect(), stations.map(up).collect()),
    };
    medium.set_hops([there.clone(), back].concat());
    // Each sender sends to its stations in turn.
    let fill = |medium: &mut Medium, now: Time, next: &mut u32| {
        let senders = if row.load == SaturatedSenders::Up { 1..=row.stations } else { 0..=0 };
        for sender in senders {
            let has_room = |medium: &Medium| medium.backlog_packets(sender as usize) < WAITING;
            while has_room(medium) {
                let route = if sender == 0 { *next % row.stations } else { sender - 1 };
                *next += 1;
                medium.push(now, &Packet { route, ..Packet::opaque(PACKET) });
            }
        }
    };
    let mut next = 0;
    fill(&mut medium, Time::ZERO, &mut next);
    let (begin, end) = (Time::ZERO + WARMUP, Time::ZERO + WARMUP + MEASURED);
    let (mut place, mut delivered) = (Packet::opaque(0), 0u64);
    loop {
        let now = medium.wake();
        if now > end || now == Time::NEVER {
            break;
        }
        while medium.pop_into(now, &mut place) {
            if place.route < row.stations {
                delivered += u64::from(now >= begin);
                let route = place.route + row.stations;
                medium.push(now, &Packet { route, ..Packet::opaque(ANSWER) });
                fill(&mut medium, now, &mut next);
            }
        }
    }
    Ok((delivered * u64::from(PACKET) * 8) as f64 / MEASURED.as_secs_f64() / 1e6)
}

const WHY: &str = "ns-3's stations transmit an answer that they queue when a frame has arrived without a \
                   backoff";

/// Returns a case for each row, and one with ns-3's access to the medium.
pub(super) fn cases() -> Vec<Case<'static>> {
    let mut cases = Vec::new();
    for row in figures::rows("echo") {
        let way = if row.load == SaturatedSenders::Up { "up" } else { "down" };
        let SaturationRow { standard, mbps, stations, .. } = row;
        let settings = [
            (false, OwnScheme::default("medium")),
            (true, OwnScheme::variant("medium, access_at_arrival=true", WHY)),
        ];
        for (access_at_arrival, ours) in settings {
            let bound = Bound::stated(Tolerance::Share(0.03));
            cases.push(Case {
                peer: "ns-3, 802.11, answers of 40 bytes",
                group: format!("{} at {mbps} Mbit/s, {stations} {way}, answered", standard.name()),
                ours,
                checks: vec![Check::new("throughput, Mbit/s", row.throughput, bound)],
                run: Box::new(move || {
                    let one = |seed| Ok(vec![answered(&row, access_at_arrival, seed)?]);
                    (1..=SEEDS).map(one).collect()
                }),
            });
        }
    }
    cases
}
