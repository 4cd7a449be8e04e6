//! What the plain account declares lost, and takes back.

use paceline_cc::NO_SEGMENT;
use paceline_cc::{Span, Time};

use super::plain::{Fate, Packet, Plain};

impl Plain {
    /// When the time threshold declares a packet lost.
    fn lost_by_time(&self, packet: &Packet, window: Span) -> Time {
        if self.linux() {
            return packet.sent + self.rack.rtt + window;
        }
        let rtt = self.rtt.smoothed.max(self.rtt.latest);
        packet.sent + rtt + rtt / 8
    }

    /// Declares losses, and works out when the next is due. The oldest losses are forgotten when a
    /// packet has come that was sent after they were declared.
    /// `repairing` says if losses are being repaired.
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
        let waiting = |(n, packet): &(u64, &Packet)| *n < largest && packet.fate == Fate::InFlight;
        let lost = |(n, packet): &(u64, &Packet)| {
            let distant = !self.linux() && largest - n >= self.reordering;
            distant || self.lost_by_time(packet, window) <= now
        };
        let lost: Vec<u64> = self.present().filter(waiting).filter(lost).map(|(n, _)| n).collect();
        lost.iter().for_each(|number| self.lose(*number));
        self.set_loss_timer(window);
        lost
    }

    /// The timer of the first packet to become lost, or of the last one and 2 ms later with Linux.
    fn set_loss_timer(&mut self, window: Span) {
        let largest = self.largest_acked();
        let behind =
            |(n, packet): &(u64, &Packet)| Some(*n) < largest && packet.fate == Fate::InFlight;
        let times = self.present().filter(behind).map(|(_, p)| self.lost_by_time(p, window));
        let next = match self.linux() {
            true => times.max().map(|time| time + Span::from_millis(2)),
            false => times.min(),
        };
        self.loss_at = next.unwrap_or(Time::NEVER);
    }

    /// A packet declared lost has come: as much reordering is tolerated from now on.
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
            // One repair for all copies of a segment.
            let segment = packet.segment;
            self.repairs.retain(|repair| self.packets[*repair as usize].segment != segment);
            self.repairs.push(number);
        }
    }

    /// The losses were none: what may still come is in flight, and may be lost by time.
    pub(super) fn undo(&mut self, repairing: bool) {
        for (i, packet) in self.packets.iter_mut().enumerate().skip(self.first) {
            if let Fate::Lost(_) = packet.fate {
                packet.fate = Fate::InFlight;
                self.stats.late += 1;
                self.repairs.retain(|repair| *repair != i as u64);
            }
        }
        self.set_loss_timer(self.reordering_window(repairing));
    }
}
