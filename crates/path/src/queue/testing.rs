//! Packets for unit tests.

use paceline_cc::{Body, Data, Ecn, Packet, Time};

/// A data packet that entered the queue at `queued`.
pub(crate) fn packet(number: u64, size: u32, queued: Time) -> Packet {
    let body = Body::Data(Data { number, segment: number, ..Data::default() });
    Packet { flow: 0, size, route: 0, ecn: Ecn::NotEct, abc: false, sent: queued, queued, body }
}
