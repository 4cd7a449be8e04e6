//! Routers whose packets the vectors give.

use paceline_cc::{
    Body, Capacity, Data, Header, LinkView, Packet, Router, RouterSetup, Span, Spec, Time,
};
use paceline_schemes::registry;

use super::shown;

/// A constant capacity in bytes per second.
pub(crate) struct Constant(pub(crate) f64);

impl Capacity for Constant {
    fn offered(&self, from: Time, to: Time) -> u64 {
        (self.0 * to.since(from).as_secs_f64()).round() as u64
    }
}

/// A scheme's router at a link of constant capacity.
pub(crate) struct Hop {
    pub(crate) router: Box<dyn Router>,
    capacity: Constant,
    /// Bytes that wait at the link.
    pub(crate) queue: u64,
}

impl Hop {
    pub(crate) fn new(scheme: &str, mbps: f64) -> Hop {
        let halves = registry::build(&Spec::parse(scheme).expect("a scheme")).expect("a scheme");
        let router = (halves.router.expect("a scheme with a router"))(&RouterSetup::default());
        Hop { router, capacity: Constant(mbps * 125_000.0), queue: 0 }
    }

    fn view(capacity: &Constant, queue: u64) -> LinkView<'_> {
        LinkView { capacity, queue_packets: queue.div_ceil(1500) as usize, queue_bytes: queue }
    }

    pub(crate) fn arrive(&mut self, now: Time, packet: &mut Packet) {
        self.router.on_arrival(now, packet, &Hop::view(&self.capacity, self.queue));
    }

    pub(crate) fn depart(&mut self, now: Time, packet: &mut Packet, sojourn: Span) {
        self.router.on_departure(now, packet, sojourn, &Hop::view(&self.capacity, self.queue));
    }

    /// Returns a value of the router's inner state.
    pub(crate) fn state(&self, name: &str) -> f64 {
        shown(|see| self.router.inspect(see), name)
    }
}

/// Returns a data packet with a congestion header.
pub(crate) fn with_header(size: u32, header: Header) -> Packet {
    Packet { body: Body::Data(Data { header, ..Data::default() }), ..Packet::opaque(size) }
}

/// Returns the congestion header of a data packet.
pub(crate) fn header_of(packet: &Packet) -> Option<Header> {
    match &packet.body {
        Body::Data(data) => Some(data.header),
        _ => None,
    }
}
