//! What happens at a medium: a transmission begins, a frame arrives, an exchange ends.

use paceline_cc::{Packet, Time};

use super::sequence::Sequence;
use super::{Medium, Phase};

impl Medium {
    /// Does what was due before `now`, so that a packet can arrive.
    pub(super) fn catch_up(&mut self, now: Time) {
        while self.due < now {
            self.next_event();
        }
    }

    /// A packet comes to station `from`.
    pub(super) fn accept(&mut self, now: Time, from: usize, packet: &Packet) {
        let Medium { stations, config, phase, .. } = self;
        let Some(station) = stations.get_mut(from) else { return };
        station.link.accept(now, packet);
        // Until it knows what has become of its last frame, a station does not turn to another.
        if station.on_air || station.link.taken().is_some() || !station.take(now) {
            return;
        }
        let (slot, difs) = (config.phy.slot, config.phy.difs());
        let busy = *phase != Phase::Contention;
        station.backoff.frame_came(now, slot, difs, busy, config.immediate_access);
        if !busy {
            self.due = self.due.min(station.backoff.start());
        }
    }

    /// The next event happens.
    pub(super) fn next_event(&mut self) {
        let at = self.due;
        match self.phase {
            Phase::Contention => self.begin(at),
            Phase::Frame => self.arrive(at),
            Phase::Answer => self.end_exchange(at),
        }
    }

    /// One or several stations begin to transmit at `at`.
    fn begin(&mut self, at: Time) {
        let slot = self.config.phy.slot;
        let (mut count, mut first) = (0, 0);
        for (number, station) in self.stations.iter_mut().enumerate() {
            station.on_air = station.backoff.start() == at;
            if station.on_air {
                first = if count == 0 { number } else { first };
                count += 1;
            } else {
                station.backoff.freeze(at, slot);
            }
        }
        if count == 1 { self.transmit(at, first) } else { self.collide(at) }
    }

    /// The times of the exchange that a station begins at `at`, the station at the other end whose
    /// rate and errors count, and the bytes of the frame.
    fn sequence(&self, at: Time, number: usize) -> (Sequence, usize, u32) {
        let packet = self.stations.get(number).and_then(|station| station.link.taken());
        let (size, hop) = packet
            .map_or((0, self.hop(&Packet::opaque(0))), |packet| (packet.size, self.hop(packet)));
        let other = if number == 0 { hop.to as usize } else { number };
        let rate = self.stations.get(other).map(|station| station.rate(at)).unwrap_or_default();
        let bytes = size.saturating_add(self.config.mac_overhead);
        (Sequence::of(&self.config, rate, size), other, bytes)
    }

    /// A station transmits alone.
    fn transmit(&mut self, at: Time, number: usize) {
        let (times, other, bytes) = self.sequence(at, number);
        let damage = self.stations.get(other).map_or(0.0, |station| station.damage(bytes));
        let phy = &self.config.phy;
        let (slot, difs) = (phy.slot, phy.difs());
        let arrived = at + times.head + times.data;
        let Some(station) = self.stations.get_mut(number) else { return };
        let damaged = damage > 0.0 && station.backoff.chance(damage);
        station.stats.transmissions += 1;
        self.sender = number;
        // When the medium is idle again, and from when on the sender and the others count slots.
        let (end, sender, others);
        if damaged {
            station.stats.errors += 1;
            end = arrived;
            sender = arrived + phy.answer_timeout() + difs;
            others = arrived + phy.eifs();
            (self.phase, self.due) = (Phase::Answer, end);
        } else {
            end = arrived + times.answer;
            (sender, others) = (end + difs, end + difs);
            (self.phase, self.due) = (Phase::Frame, arrived);
        }
        station.stats.airtime += end.since(at);
        self.end = end;
        for station in &mut self.stations {
            let from = if station.on_air { sender } else { others };
            station.backoff.resume(from, slot, station.link.taken().is_some());
        }
    }

    /// Several stations transmit, and none of their frames arrives.
    fn collide(&mut self, at: Time) {
        let mut end = at;
        for number in 0..self.stations.len() {
            if !self.stations[number].on_air {
                continue;
            }
            let collision = self.sequence(at, number).0.collision;
            let station = &mut self.stations[number];
            station.stats.transmissions += 1;
            station.stats.collisions += 1;
            station.stats.airtime += collision;
            // Until all are known to have ended, its own end stands here.
            station.backoff.resume(at + collision, self.config.phy.slot, true);
            end = end.max(at + collision);
        }
        let phy = &self.config.phy;
        let (slot, difs) = (phy.slot, phy.difs());
        let others = end + if phy.eifs_after_collision { phy.eifs() } else { difs };
        for station in &mut self.stations {
            let from = match station.on_air {
                true => end.max(station.backoff.counts_from() + phy.answer_timeout()) + difs,
                false => others,
            };
            station.backoff.resume(from, slot, station.link.taken().is_some());
        }
        (self.phase, self.due, self.end, self.sender) = (Phase::Answer, end, end, usize::MAX);
    }

    /// The frame on air has arrived; its acknowledgement follows.
    fn arrive(&mut self, at: Time) {
        if let Some(station) = self.stations.get_mut(self.sender) {
            let mut packet = station.deliver(at);
            let to = self.hop(&packet).to as usize;
            if let Some(receiver) = self.stations.get_mut(to) {
                receiver.link.input(at, &mut packet);
            }
            self.ready.push_back((at, packet));
        }
        (self.phase, self.due) = (Phase::Answer, self.end);
    }

    /// The exchange is over: senders know how it went, and turn to their next frames.
    fn end_exchange(&mut self, at: Time) {
        let Medium { stations, config, .. } = self;
        let (cw, slot) = ((config.phy.cw_min, config.phy.cw_max), config.phy.slot);
        let limits = (config.short_retry_limit, config.long_retry_limit);
        let mut due = Time::NEVER;
        for station in stations.iter_mut() {
            if station.on_air {
                station.on_air = false;
                if let Some(packet) = station.link.taken() {
                    let bytes = packet.size.saturating_add(config.mac_overhead);
                    let rts = config.rts_threshold.is_some_and(|most| bytes > most);
                    // A frame that did not collide got its CTS.
                    let long = rts && self.sender != usize::MAX;
                    if station.on_silence(long, limits, cw) {
                        station.link.give_up(at);
                    }
                } else {
                    station.on_ack(cw.0);
                }
                station.backoff.draw();
                let has_frame = station.link.taken().is_some() || station.take(at);
                let from = station.backoff.counts_from();
                station.backoff.resume(from, slot, has_frame);
            }
            due = due.min(station.backoff.start());
        }
        (self.phase, self.due) = (Phase::Contention, due);
    }
}
