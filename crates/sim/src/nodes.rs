//! The stages of a world: carriers of packets, and endpoints.

use paceline_cc::{Body, Packet, Stage, Time};
use paceline_flow::{Receiver, Sender};
use paceline_path::{Link, LookAheadLink, Pipe, PortLog};
use paceline_wifi::Medium;

use crate::transport::TransportEndpoint;

/// A stage that carries packets. A closed set, so that calls are direct.
pub(crate) enum Carrier {
    Link(Box<Link>),
    /// A link of constant rate, merged with the delay after it.
    LookAhead(Box<LookAheadLink>),
    Pipe(Box<Pipe>),
    Medium(Box<SharedMedium>),
}

/// A medium, and the index of its first station's record. One pointer in [`Carrier`], so that all
/// carriers take two words. Its calls are kept out of the loop that handles packets of links and
/// pipes.
pub(crate) struct SharedMedium {
    pub(crate) medium: Medium,
    pub(crate) first_record: usize,
}

impl SharedMedium {
    #[cold]
    #[inline(never)]
    fn push(&mut self, now: Time, packet: &Packet) -> Time {
        self.medium.push(now, packet);
        self.medium.wake()
    }

    #[cold]
    #[inline(never)]
    fn take_due<'a>(&mut self, now: Time, place: &'a mut Packet) -> Option<(&'a Packet, Time)> {
        self.medium.pop_into(now, place).then(|| (&*place, self.medium.wake()))
    }

    #[cold]
    #[inline(never)]
    fn wake(&self) -> Time {
        self.medium.wake()
    }
}

impl Carrier {
    /// Hands a packet to the carrier. Returns when the carrier must be called next.
    #[inline(always)]
    pub(crate) fn push(&mut self, now: Time, packet: &Packet) -> Time {
        match self {
            Carrier::LookAhead(link) => {
                link.push(now, packet);
                link.wake()
            }
            Carrier::Link(link) => {
                link.push(now, packet);
                link.wake()
            }
            Carrier::Pipe(pipe) => {
                pipe.push(now, packet);
                pipe.wake()
            }
            Carrier::Medium(shared) => shared.push(now, packet),
        }
    }

    /// Takes the next packet that is due, by reference to where the carrier keeps it, or through
    /// `place` if the carrier keeps none. Also returns when the carrier must be called next.
    #[inline(always)]
    pub(crate) fn take_due<'a>(
        &'a mut self,
        now: Time,
        place: &'a mut Packet,
    ) -> Option<(&'a Packet, Time)> {
        match self {
            Carrier::LookAhead(link) => link.take_due(now),
            Carrier::Link(link) => link.pop_into(now, place).then(|| (&*place, link.wake())),
            Carrier::Pipe(pipe) => pipe.take_due(now, place),
            Carrier::Medium(shared) => shared.take_due(now, place),
        }
    }

    #[inline(always)]
    pub(crate) fn wake(&self) -> Time {
        match self {
            Carrier::LookAhead(link) => link.wake(),
            Carrier::Link(link) => link.wake(),
            Carrier::Pipe(pipe) => pipe.wake(),
            Carrier::Medium(shared) => shared.wake(),
        }
    }

    /// Passes the logs of all ports of a link or medium to `see`, which empties them.
    pub(crate) fn each_log(&mut self, mut see: impl FnMut(&mut PortLog)) {
        match self {
            Carrier::Link(link) => see(link.log_mut()),
            Carrier::LookAhead(link) => see(link.log_mut()),
            Carrier::Medium(shared) => {
                let medium = &mut shared.medium;
                (0..medium.len()).for_each(|number| medium.logs_mut(number).for_each(&mut see));
            }
            Carrier::Pipe(_) => {}
        }
    }
}

/// An end of a flow.
pub(crate) enum Endpoint {
    Sender(Box<Sender>),
    Receiver(Box<Receiver>),
    /// An end of a complete transport.
    Transport(Box<TransportEndpoint>),
}

impl Endpoint {
    /// Hands a packet to the endpoint, which may answer at once. Returns whether it did, and when
    /// it must be called next.
    #[inline(always)]
    pub(crate) fn answer(
        &mut self,
        now: Time,
        packet: &Packet,
        answer: &mut Packet,
    ) -> (bool, Time) {
        match self {
            Endpoint::Sender(sender) => (sender.answer(now, packet, answer), sender.wake()),
            Endpoint::Receiver(receiver) => (receiver.answer(now, packet, answer), receiver.wake()),
            Endpoint::Transport(end) => Endpoint::answer_transport(end, now, packet, answer),
        }
    }

    #[inline(always)]
    pub(crate) fn pop_into(&mut self, now: Time, place: &mut Packet) -> (bool, Time) {
        match self {
            Endpoint::Sender(sender) => (sender.pop_into(now, place), sender.wake()),
            Endpoint::Receiver(receiver) => (receiver.pop_into(now, place), receiver.wake()),
            Endpoint::Transport(end) => Endpoint::pop_transport(end, now, place),
        }
    }

    // Kept out of the loop that handles packets of Paceline's own endpoints.
    #[cold]
    #[inline(never)]
    fn answer_transport(
        end: &mut TransportEndpoint,
        now: Time,
        packet: &Packet,
        answer: &mut Packet,
    ) -> (bool, Time) {
        end.push(now, packet);
        if end.group().is_some() {
            // The world calls it at once, and then those of its group.
            return (false, Time::ZERO);
        }
        Endpoint::pop_transport(end, now, answer)
    }

    #[cold]
    #[inline(never)]
    fn pop_transport(end: &mut TransportEndpoint, now: Time, place: &mut Packet) -> (bool, Time) {
        (end.pop_into(now, place), end.wake())
    }

    pub(crate) fn wake(&self) -> Time {
        match self {
            Endpoint::Sender(sender) => sender.wake(),
            Endpoint::Receiver(receiver) => receiver.wake(),
            Endpoint::Transport(end) => end.wake(),
        }
    }
}

/// An endpoint, together with the data about its place that each packet needs. With very many
/// flows, every further place in memory would be a cache miss.
pub(crate) struct EndpointSlot {
    pub(crate) endpoint: Endpoint,
    /// Its wake-up in the timetable.
    pub(crate) wake: Time,
    /// Stage to which its packets go.
    pub(crate) next: u32,
    /// For a sender, [`Ack::older`](paceline_cc::Ack::older) of the last acknowledgement whose
    /// older ranges it has received.
    pub(crate) heard: u16,
}

impl EndpointSlot {
    /// Returns true if `packet` is an acknowledgement with older ranges that the sender has not
    /// received. Other endpoints need no check here: only senders receive acknowledgements.
    #[inline(always)]
    pub(crate) fn is_untold(&self, packet: &Packet) -> bool {
        matches!(&packet.body, Body::Ack(ack) if ack.older != self.heard)
    }

    /// Hands an acknowledgement with older ranges to the endpoint at index `at`, otherwise like
    /// [`Endpoint::answer`]. Reads the ranges from the flow's receiver, the next endpoint, because
    /// a packet has no room for them.
    #[cold]
    #[inline(never)]
    pub(crate) fn answer_with_older(
        now: Time,
        (slots, at): (&mut [EndpointSlot], usize),
        packet: &Packet,
        answer: &mut Packet,
    ) -> (bool, Time) {
        let (until, later) = slots.split_at_mut(at + 1);
        let slot = &mut until[at];
        if let Body::Ack(ack) = &packet.body
            && let Endpoint::Sender(sender) = &mut slot.endpoint
            && let Some(EndpointSlot { endpoint: Endpoint::Receiver(receiver), .. }) = later.first()
        {
            slot.heard = ack.older;
            sender.push_ack(now, ack, receiver.older_ranges(ack));
            return slot.endpoint.pop_into(now, answer);
        }
        slot.endpoint.answer(now, packet, answer)
    }
}
