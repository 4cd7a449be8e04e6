//! A link for tests of routers, which sets the queue itself.

use paceline_cc::{
    Body, Capacity, Data, Header, LinkView, Packet, Rate, Router, Span, Time, XcpHeader,
};

/// A link of one rate.
pub(crate) struct Constant(pub(crate) Rate);

impl Capacity for Constant {
    fn offered(&self, from: Time, to: Time) -> u64 {
        self.0.bytes_in(to.since(from))
    }
}

/// A router and the queue before it, which the test sets.
pub(crate) struct RouterLink<R> {
    pub(crate) router: R,
    pub(crate) link: Constant,
    pub(crate) queue_bytes: u64,
    pub(crate) queue_packets: usize,
}

impl<R: Router> RouterLink<R> {
    pub(crate) fn new(router: R, mbps: f64) -> RouterLink<R> {
        let link = Constant(Rate::from_mbps(mbps));
        RouterLink { router, link, queue_bytes: 0, queue_packets: 0 }
    }

    /// Lets a packet arrive and wait.
    pub(crate) fn arrive(&mut self, now: Time, packet: &mut Packet) {
        let RouterLink { router, link, queue_bytes, queue_packets } = self;
        let (queue_bytes, queue_packets) = (*queue_bytes, *queue_packets);
        router.on_arrival(now, packet, &LinkView { capacity: link, queue_packets, queue_bytes });
        self.queue_bytes += u64::from(packet.size);
        self.queue_packets += 1;
    }

    /// Lets the packet leave.
    pub(crate) fn depart(&mut self, now: Time, packet: &mut Packet, sojourn: Span) {
        self.queue_bytes -= u64::from(packet.size);
        self.queue_packets -= 1;
        let RouterLink { router, link, queue_bytes, queue_packets } = self;
        let (queue_bytes, queue_packets) = (*queue_bytes, *queue_packets);
        let view = LinkView { capacity: link, queue_packets, queue_bytes };
        router.on_departure(now, packet, sojourn, &view);
    }

    /// Lets a packet arrive and leave at once.
    pub(crate) fn pass(&mut self, now: Time, packet: &mut Packet) {
        self.arrive(now, packet);
        self.depart(now, packet, Span::ZERO);
    }

    pub(crate) fn inspect(&self, which: &str) -> f64 {
        let mut found = f64::NAN;
        self.router.inspect(&mut |name, value| found = if name == which { value } else { found });
        found
    }
}

pub(crate) fn packet(header: Header) -> Packet {
    Packet { body: Body::Data(Data { header, ..Data::default() }), ..Packet::opaque(1500) }
}

/// Returns a packet of a flow with this RTT and window that asks for this feedback in bytes.
pub(crate) fn asking(rtt_ms: u64, window: u64, feedback: f64) -> Packet {
    let rtt = Span::from_millis(rtt_ms);
    packet(Header::Xcp(XcpHeader { rtt, interval: rtt / window, feedback }))
}

pub(crate) fn feedback(packet: &Packet) -> f64 {
    match &packet.body {
        Body::Data(Data { header: Header::Xcp(header), .. }) => header.feedback,
        other => panic!("not XCP's: {other:?}"),
    }
}
