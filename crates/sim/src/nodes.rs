//! The stages of a world: what carries packets, and the endpoints.

use paceline_cc::{Body, Packet, Stage, Time};
use paceline_flow::{Receiver, Sender};
use paceline_path::{Link, LookAheadLink, Pipe, PortLog};
use paceline_wifi::Medium;

use crate::transport::TransportEndpoint;

/// What carries packets. A closed set: the calls are direct.
pub(crate) enum Carrier {
    Link(Box<Link>),
    /// A link of constant rate and the delay behind it.
    LookAhead(Box<LookAheadLink>),
    Pipe(Box<Pipe>),
    Medium(Box<SharedMedium>),
}

/// A medium, and where the recorder keeps what it knows of its first station. One pointer in
/// [`Carrier`], so that all carriers take two words; calls are kept out of the loop through which
/// packets of links and pipes go.
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
    /// Takes a packet in; returns when the carrier is next to be called.
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

    /// Takes the next packet that is due, where it stands, or in `place` if the carrier keeps none;
    /// returns beside it when the carrier is next to be called.
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

    /// Takes the memory of a carrier that is not needed any more.
    pub(crate) fn take_memory(&mut self, other: &mut Carrier) {
        match (self, other) {
            (Carrier::Link(new), Carrier::Link(old)) => new.take_memory(old),
            (Carrier::LookAhead(new), Carrier::LookAhead(old)) => new.take_memory(old),
            (Carrier::Pipe(new), Carrier::Pipe(old)) => new.take_memory(old),
            (Carrier::Medium(new), Carrier::Medium(old)) => new.medium.take_memory(&mut old.medium),
            _ => {}
        }
    }

    /// Shows the logs of all ports of a link or medium, to be emptied.
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
    /// An end of a transport that comes whole.
    Transport(Box<TransportEndpoint>),
}

impl Endpoint {
    /// Takes a packet in and may answer it at once; returns whether it did, and when it is next to
    /// be called.
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

    // Kept out of the loop through which packets of our own endpoints go.
    #[cold]
    #[inline(never)]
    fn answer_transport(
        end: &mut TransportEndpoint,
        now: Time,
        packet: &Packet,
        answer: &mut Packet,
    ) -> (bool, Time) {
        end.push(now, packet);
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

/// An endpoint, and beside it what each packet needs to know of its place in the world: with very
/// many flows, each look elsewhere is one into memory that no cache holds.
pub(crate) struct EndpointSlot {
    pub(crate) endpoint: Endpoint,
    /// Its wake-up, as it stands in the timetable.
    pub(crate) wake: Time,
    /// The stage that its packets go to.
    pub(crate) next: u32,
    /// Of a sender: [`Ack::older`](paceline_cc::Ack::older) of the last acknowledgement whose older
    /// ranges it was told.
    pub(crate) heard: u16,
}

impl EndpointSlot {
    /// True if `packet` is an acknowledgement that comes with older ranges which the sender was not
    /// told. Other endpoints need no check here: only senders receive acknowledgements.
    #[inline(always)]
    pub(crate) fn is_untold(&self, packet: &Packet) -> bool {
        matches!(&packet.body, Body::Ack(ack) if ack.older != self.heard)
    }

    /// As [`Endpoint::answer`], of the endpoint at place `at`, for an acknowledgement that tells of
    /// ranges beside its blocks. They are read in its receiver, the next endpoint, as a packet has no
    /// room for them.
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

    /// Takes the memory of an endpoint that is not needed any more.
    pub(crate) fn take_memory(&mut self, other: &mut EndpointSlot) {
        match (&mut self.endpoint, &mut other.endpoint) {
            (Endpoint::Sender(new), Endpoint::Sender(old)) => new.take_memory(old),
            (Endpoint::Receiver(new), Endpoint::Receiver(old)) => new.take_memory(old),
            _ => {}
        }
    }
}
