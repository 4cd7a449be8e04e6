//! Ends of complete transports in a world.

use paceline_cc::{Body, Packet, Stage, Time};
use paceline_scenario::TransportEnd;

/// The end of a flow whose hosts are not built yet.
pub(crate) struct Unbuilt;

impl Stage for Unbuilt {
    fn push(&mut self, _now: Time, _packet: &Packet) {}
    fn pop_into(&mut self, _now: Time, _place: &mut Packet) -> bool {
        false
    }
    fn wake(&self) -> Time {
        Time::NEVER
    }
}

impl TransportEnd for Unbuilt {
    fn received(&self) -> u64 {
        0
    }
}

/// An end of a transport in a world.
pub(crate) struct TransportEndpoint {
    end: Box<dyn TransportEnd>,
    flow: u32,
    route: u32,
    /// True if this end receives the flow's data.
    receives: bool,
    /// Number of its group: the ends whose wake-ups may change when it is called.
    group: Option<usize>,
    /// Packets that this end has given, and those that it has taken.
    pub(crate) sent: u64,
    pub(crate) taken: u64,
}

impl TransportEndpoint {
    pub(crate) fn new(
        end: Box<dyn TransportEnd>,
        flow: u32,
        route: u32,
        receives: bool,
    ) -> TransportEndpoint {
        TransportEndpoint { end, flow, route, receives, group: None, sent: 0, taken: 0 }
    }

    /// Puts it into a group of ends.
    pub(crate) fn in_group(self, group: usize) -> TransportEndpoint {
        TransportEndpoint { group: Some(group), ..self }
    }
    pub(crate) fn group(&self) -> Option<usize> {
        self.group
    }

    pub(crate) fn flow(&self) -> u32 {
        self.flow
    }
    pub(crate) fn route(&self) -> u32 {
        self.route
    }
    /// Returns a packet from outside of the world with the route of packets from here.
    pub(crate) fn stamp(&mut self, packet: &Packet) -> Packet {
        self.sent += 1;
        Packet { route: self.route, ..*packet }
    }
    pub(crate) fn receives(&self) -> bool {
        self.receives
    }
    pub(crate) fn end(&self) -> &dyn TransportEnd {
        &*self.end
    }
    pub(crate) fn end_mut(&mut self) -> &mut dyn TransportEnd {
        &mut *self.end
    }

    pub(crate) fn push(&mut self, now: Time, packet: &Packet) {
        self.taken += 1;
        self.end.push(now, packet);
    }

    pub(crate) fn pop_into(&mut self, now: Time, place: &mut Packet) -> bool {
        *place = Packet::opaque(0);
        if !self.end.pop_into(now, place) {
            return false;
        }
        self.sent += 1;
        (place.flow, place.route, place.sent) = (self.flow, self.route, now);
        if !matches!(place.body, Body::Opaque(_)) {
            place.body = Body::Opaque(0);
        }
        true
    }

    pub(crate) fn wake(&self) -> Time {
        self.end.wake()
    }
}
