//! A link whose transmissions somebody else decides about: the queue, router, counters and log of
//! a station at a shared medium.

use paceline_cc::{Batch, Ecn, LinkView, Packet, Time, TrafficClass};

use super::{EventKind, Link, LinkEvent};
use crate::medium::Mpdu;
use crate::queue::{DropReason, DroppedPacket};
use crate::service::Service;

impl Link {
    /// A packet arrives, and waits until it is taken.
    pub(crate) fn accept(&mut self, now: Time, packet: &Packet) {
        self.counters.arrived_packets += 1;
        self.counters.arrived_bytes += u64::from(packet.size);
        self.enqueue(now, packet);
    }

    /// Takes the next packet out of the queue for transmission; false if there is none, of which
    /// the router is told.
    pub(crate) fn take(&mut self, now: Time) -> bool {
        self.take_next(now);
        if !self.busy
            && let Some(router) = &mut self.router
        {
            router.on_unused(now, 0);
        }
        self.busy
    }

    /// The packet in transmission.
    #[inline]
    pub(crate) fn taken(&self) -> Option<&Packet> {
        self.busy.then_some(&self.serving)
    }

    /// Tells routers from now on that the link carries so much.
    pub(crate) fn set_capacity(&mut self, capacity: Service) {
        self.service = capacity;
    }

    /// The packet in transmission has arrived at `now`.
    pub(crate) fn deliver(&mut self, now: Time) -> Packet {
        self.finish(now);
        self.serving
    }

    /// A packet of somebody else's has come in at `now`: the router sees it.
    pub(crate) fn input(&mut self, now: Time, packet: &mut Packet) {
        let Some(router) = &mut self.router else { return };
        let (queue_packets, queue_bytes) =
            self.queue.backlog_for(TrafficClass::EXPLICIT, packet.flow);
        let view = LinkView { capacity: &self.service, queue_packets, queue_bytes };
        router.on_input(now, packet, &view);
    }

    /// The packet in transmission is given up at `now`.
    pub(crate) fn give_up(&mut self, now: Time) {
        self.busy = false;
        self.give_up_packet(now, &self.serving.clone(), self.before, self.marked);
    }

    fn give_up_packet(&mut self, now: Time, packet: &Packet, before: Ecn, marked: bool) {
        self.drops.push(DroppedPacket { packet: *packet, reason: DropReason::Unacknowledged });
        self.note_drops(now);
        // Unlike what a queue drops, this has been marked already.
        if let Some(event) = self.events.last_mut().filter(|_| self.recording)
            && matches!(event.kind, EventKind::Drop { .. })
        {
            *event = LinkEvent { before, marked: self.watched && marked, ..*event };
        }
    }

    /// From the queues of all receivers, [`Link::take_mpdu`] takes from that of this one from now
    /// on; false if there is one queue for all.
    pub(crate) fn select_subqueue(&mut self, receiver: u32) -> bool {
        self.queue.select_subqueue(receiver)
    }

    /// Takes the next packet out of the queue, to transmit it together with others.
    #[inline]
    pub(crate) fn take_mpdu(&mut self, now: Time) -> Option<Mpdu> {
        self.take_next(now);
        if !self.busy {
            return None;
        }
        self.busy = false;
        self.held += 1;
        self.held_bytes += u64::from(self.serving.size);
        let before = if self.watched { self.before } else { self.serving.ecn };
        Some(Mpdu::new(self.serving, before, self.watched && self.marked))
    }

    fn release(&mut self, mpdu: &Mpdu) {
        self.held -= 1;
        self.held_bytes -= u64::from(mpdu.packet.size);
    }

    /// A packet that was taken has arrived at `now`.
    #[inline]
    pub(crate) fn deliver_mpdu(&mut self, now: Time, mpdu: &Mpdu) {
        self.release(mpdu);
        (self.serving, self.before, self.marked) = (mpdu.packet, mpdu.before, mpdu.marked);
        self.finish(now);
    }

    /// A packet that was taken is given up at `now`.
    pub(crate) fn give_up_mpdu(&mut self, now: Time, mpdu: &Mpdu) {
        self.release(mpdu);
        self.give_up_packet(now, &mpdu.packet, mpdu.before, mpdu.marked);
    }

    /// A block acknowledgement has come in at `now`.
    pub(crate) fn on_batch(&mut self, now: Time, batch: &Batch) {
        if let Some(router) = &mut self.router {
            router.on_batch(now, batch);
        }
    }
}
