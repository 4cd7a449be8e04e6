//! Links of 802.11n access points, which transmit packets in batches: see [`Wifi`].

use paceline_cc::Time;

use super::Link;
use crate::queue::{DropReason, Dropped};
use crate::service::Service;
use crate::service::wifi::{Mpdu, Wifi};

impl Link {
    fn wifi(&mut self) -> Option<&mut Wifi> {
        match &mut self.service {
            Service::Wifi(wifi) => Some(wifi),
            _ => None,
        }
    }

    /// The access point is idle: it takes packets from the queue at `now` and transmits an A-MPDU to
    /// the next station that has any.
    #[inline(never)]
    pub(super) fn begin_batch(&mut self, now: Time) {
        let mut end = None;
        let turns = self.wifi().map(|wifi| wifi.stations_in_turn());
        for station in turns.into_iter().flatten() {
            self.fill_batch(station, now);
            end = self.wifi().and_then(|wifi| wifi.start_transmission(station, now));
            if end.is_some() {
                break;
            }
        }
        self.busy = end.is_some();
        self.due = end.unwrap_or(Time::NEVER);
    }

    /// Takes packets from the queue until there is a full A-MPDU for a station.
    fn fill_batch(&mut self, station: u32, now: Time) {
        let shared = !self.queue.select_subqueue(station);
        while self.wifi().is_some_and(|wifi| wifi.can_take(station, now, shared)) {
            self.take_next(now);
            if !self.busy {
                break;
            }
            let before = if self.watched { self.before } else { self.serving.ecn };
            let frame = Mpdu::new(self.serving, before, self.watched && self.marked);
            if let Some(wifi) = self.wifi() {
                wifi.enqueue(frame);
            }
        }
    }

    /// Ends the transmissions that were due by `now`. The packets that they deliver wait in `ready`
    /// to be collected.
    #[inline(never)]
    pub(super) fn end_batches(&mut self, now: Time) {
        while self.due <= now && self.busy {
            let at = self.due;
            let batch = self.wifi().and_then(Wifi::finish_transmission);
            while let Some(frame) = self.wifi().and_then(Wifi::pop_given_up) {
                let reason = DropReason::Unacknowledged;
                self.drops.push(Dropped { packet: frame.packet, reason });
                self.note_drops(at);
                // Unlike what a queue drops, this has been marked already.
                if let Some(event) = self.events.last_mut().filter(|_| self.recording) {
                    (event.before, event.marked) = (frame.before, frame.marked);
                }
            }
            while let Some(frame) = self.wifi().and_then(Wifi::pop_delivered) {
                (self.serving, self.before, self.marked) =
                    (frame.packet, frame.before, frame.marked);
                self.finish(at);
                self.ready.push_back((at, frame.packet));
            }
            if let (Some(router), Some(batch)) = (&mut self.router, &batch) {
                router.on_batch(at, batch);
            }
            self.begin_batch(at);
        }
    }
}
