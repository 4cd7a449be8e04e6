//! How the plain account declares packets lost, and undoes this.

use paceline_cc::NO_SEGMENT;
use paceline_cc::{Span, Time};

use super::plain::{Fate, Packet, Plain};

impl Plain {
    /// Returns when the time threshold declares a packet lost.
    fn lost_by_time(&self, packet: &Packet, window: Span) -> Time {
        if self.linux() {
            return packet.sent + self.rack.rtt + window;
        }
        let rtt = self.rtt.smoothed.max(self.rtt.latest);
        packet.sent + rtt + rtt / 8
    }

    /// Declares losses, and computes when the next is due. Forgets the oldest losses when a packet
    /// sent after their declaration has arrived. `repairing` says that losses are being repaired.
    pub(super) fn detect(&mut self, now: Time, repairing: bool) -> Vec<u64> {
        let Some(largest) = self.largest_acked() else {
            self.loss_at = Time::NEVER;
            return Vec::new();
        };
        let waiting: Vec<u64> =
            self.repairs.iter().map(|repair| self.packets[*repair as usize].segment).collect();
        for packet in &mut self.packets[self.first..] {
            match packet.fate {
                Fate::Acked | Fate::Forgotten => {}
                Fate::Lost(next) if next <= largest && !waiting.contains(&packet.segment) => {
                    packet.fate = Fate::Forgotten;
                }
                Fate::Lost(_) | Fate::InFlight => break,
            }
        }
        let window = self.reordering_window(repairing);
        let waiting = |(n, packet): &(u64, &Packet)| {
            *n < largest && packet.fate == Fate::InFlight && packet.watched
        };
        let lost = |(n, packet): &(u64, &Packet)| {
            let distant = !self.linux() && largest - n >= self.reordering;
            distant || self.lost_by_time(packet, window) <= now
        };
        let lost: Vec<u64> = self.present().filter(waiting).filter(lost).map(|(n, _)| n).collect();
        for number in &lost {
            self.packets[*number as usize].watched = false;
            let Packet { again, segment, .. } = self.packets[*number as usize];
            let known = self.on_their_way.iter().position(|other| *other == segment);
            if let Some(at) = known.filter(|_| again) {
                self.held.push(self.on_their_way.remove(at));
            }
            self.lose(*number);
        }
        self.set_loss_timer(window);
        lost
    }

    /// Sets the timer for the first packet to become lost; with Linux' rules for the last one, plus
    /// 2 ms.
    fn set_loss_timer(&mut self, window: Span) {
        let largest = self.largest_acked();
        let behind = |(n, packet): &(u64, &Packet)| {
            Some(*n) < largest && packet.fate == Fate::InFlight && packet.watched
        };
        let times = self.present().filter(behind).map(|(_, p)| self.lost_by_time(p, window));
        let next = match self.linux() {
            true => times.max().map(|time| time + Span::from_millis(2)),
            false => times.min(),
        };
        self.loss_at = next.unwrap_or(Time::NEVER);
    }

    /// Notes that a packet declared lost has arrived: as much reordering is tolerated from now on.
    pub(super) fn find(&mut self, number: u64) {
        self.stats.late += 1;
        let segment = self.packets[number as usize].segment;
        let waits = |repair: &u64| self.packets[*repair as usize].segment == segment;
        match self.repairs.iter().any(waits) {
            true => self.overtaken(number),
            false => self.rack.in_vain = true,
        }
        self.repairs.retain(|repair| self.packets[*repair as usize].segment != segment);
        let distance = self.largest_acked().map_or(0, |n| (n + 1).saturating_sub(number));
        self.reordering = self.reordering.max(distance.min(300));
    }

    pub(super) fn lose(&mut self, number: u64) {
        let next = self.packets.len() as u64;
        let packet = &mut self.packets[number as usize];
        packet.fate = Fate::Lost(next);
        self.stats.lost += 1;
        let is_data = packet.segment != NO_SEGMENT;
        if self.config.reliable && is_data && packet.segment >= self.cumulative {
            // One repair serves all copies of a segment.
            let segment = packet.segment;
            self.repairs.retain(|repair| self.packets[*repair as usize].segment != segment);
            self.repairs.push(number);
        }
    }

    /// Notes that data below the cumulative point has arrived: copies below it no longer count as
    /// in flight.
    pub(super) fn settle(&mut self) {
        let cumulative = self.cumulative;
        self.on_their_way.retain(|segment| *segment >= cumulative);
        self.held.retain(|segment| *segment >= cumulative);
        for packet in &mut self.packets[self.first..] {
            if packet.fate == Fate::InFlight && !packet.watched && packet.segment < cumulative {
                packet.fate = Fate::Forgotten;
            }
        }
    }

    /// Returns the number of copies that count as retransmitted but repair nothing.
    pub(super) fn extra(&self) -> usize {
        self.on_their_way.len() + self.held.len() + self.leaked
    }

    /// Returns true if repairs are queued, but not more than copies that count as retransmitted.
    pub(super) fn holds_repairs(&self) -> bool {
        let open = |number: &&u64| {
            let packet = &self.packets[**number as usize];
            packet.fate != Fate::Forgotten && packet.segment >= self.cumulative
        };
        let repairs = self.repairs.iter().filter(open).count();
        0 < repairs && repairs <= self.extra() && !self.head_is_due
    }

    /// Handles an expired timer: a copy of the first segment that is in flight counts for good.
    pub(super) fn count_copies(&mut self) {
        self.leaked += usize::from(self.on_their_way.contains(&self.cumulative));
        self.on_their_way.clear();
        self.held.clear();
        self.head_is_due = true;
    }

    /// Undoes the losses: packets that may still arrive are in flight, and may be lost by time
    /// unless that had declared them lost or a copy is in flight.
    pub(super) fn undo(&mut self, repairing: bool) {
        self.on_their_way.clear();
        self.held.clear();
        let linux = self.linux();
        let copies: Vec<(u64, u64)> = self
            .present()
            .filter(|(n, packet)| packet.fate == Fate::InFlight && packet.again && *n != self.probe)
            .map(|(n, packet)| (n, packet.segment))
            .collect();
        for (number, segment) in copies.into_iter().filter(|_| linux) {
            if segment >= self.cumulative {
                self.on_their_way.push(segment);
            }
            for packet in &mut self.packets[self.first..number as usize] {
                let older = packet.segment == segment && matches!(packet.fate, Fate::Lost(_));
                packet.watched &= !older;
            }
        }
        for (i, packet) in self.packets.iter_mut().enumerate().skip(self.first) {
            if let Fate::Lost(_) = packet.fate {
                packet.fate = Fate::InFlight;
                packet.watched |= !linux;
                self.stats.late += 1;
                self.repairs.retain(|repair| *repair != i as u64);
            }
        }
        self.set_loss_timer(self.reordering_window(repairing));
    }
}
