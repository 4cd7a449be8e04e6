//! Events of a medium: a transmission begins, a frame arrives, an exchange ends.

use paceline_cc::{Packet, Time};

use super::sequence::Sequence;
use super::station::Chosen;
use super::{Hop, Medium, Phase, receiver};

impl Medium {
    /// Handles the events before `now`, so that a packet can arrive.
    pub(super) fn catch_up(&mut self, now: Time) {
        while self.due < now {
            self.next_event();
        }
    }

    /// Handles a packet that comes to its sending station.
    pub(super) fn accept(&mut self, now: Time, Hop { from, to }: Hop, packet: &Packet) {
        if !self.background.is_empty() && self.due == Time::NEVER && self.phase == Phase::Contention
        {
            self.catch_up_background(now);
        }
        let Medium { stations, config, addresses, phase, arrived, .. } = self;
        let Some(station) = stations.get_mut(from as usize) else { return };
        station.enqueue(now, packet, receiver(to));
        // A station takes the next packet only once its last frame has ended.
        if station.on_air || station.has_frame() {
            return;
        }
        let busy = *phase != Phase::Contention;
        if station.take(now, &config.air(addresses)) {
            let (slot, difs) = (config.phy.slot, config.phy.difs());
            if busy && config.access_at_arrival && *arrived == now {
                station.backoff.go_on(slot);
            } else {
                station.backoff.frame_came(now, slot, difs, busy, config.immediate_access);
            }
            let start = station.backoff.start();
            if !busy {
                self.due = self.due.min(start);
            }
        } else if !busy && !self.background.is_empty() {
            self.set_due();
        }
    }

    /// Handles the next event.
    pub(super) fn next_event(&mut self) {
        let at = self.due;
        match self.phase {
            Phase::Contention => self.begin(at),
            Phase::Frame => self.arrive(at),
            Phase::Answer => self.end_exchange(at),
        }
    }

    /// Lets the stations whose backoffs end at `at` transmit.
    fn begin(&mut self, at: Time) {
        if !self.background.is_empty() && !self.background_frames(at) {
            return;
        }
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
        let stations = self.stations.len();
        for (number, station) in self.background.iter_mut().enumerate() {
            station.on_air = station.backoff.start() == at;
            if station.on_air {
                first = if count == 0 { stations + number } else { first };
                count += 1;
            } else {
                station.backoff.freeze(at, slot);
            }
        }
        match (count, first.checked_sub(stations)) {
            (1, None) => self.transmit(at, first),
            (1, Some(background)) => self.transmit_background(at, background),
            _ => self.collide(at),
        }
    }

    /// Returns the times of the exchange that a station begins at `at`, and the probability that
    /// its frame is damaged, unless that is decided per MPDU.
    fn sequence(&self, at: Time, number: usize) -> (Sequence, f64) {
        let station = self.stations.get(number);
        let aggregator = station.and_then(|station| station.aggregator.as_ref());
        if let Some(on_air) = aggregator.and_then(|aggregator| aggregator.on_air) {
            let times = Sequence::of_ampdu(&self.config, on_air.mcs, on_air.ampdu.air_bytes);
            return (times, 0.0);
        }
        let packet = station.and_then(|station| station.frame());
        let (size, hop) = packet
            .map_or((0, self.hop(&Packet::opaque(0))), |packet| (packet.size, self.hop(packet)));
        // Rate and errors are those of the station that is not the access point.
        let other = self.stations.get(if number == 0 { hop.to as usize } else { number });
        let chosen = station.and_then(|station| station.chosen);
        let rate = match chosen.and_then(|chosen| self.config.phy.rate(chosen.rate)) {
            Some(rate) => rate,
            None => other.map(|station| station.rate(at)).unwrap_or_default(),
        };
        let bytes = size.saturating_add(self.config.mac_overhead);
        let damage = other.map_or(0.0, |station| {
            let by_rate = station.errors.depend_on_rate();
            let place = if by_rate { self.config.phy.place_of(rate) } else { 0 };
            station.errors.damage(at, place, bytes)
        });
        (Sequence::of(&self.config, rate, size), damage)
    }

    /// Lets the sender of a single frame choose its rate.
    fn choose_rate(&mut self, at: Time, number: usize) {
        let Some(station) = self.stations.get(number) else { return };
        let (Some(packet), failed) = (station.frame(), station.failed()) else { return };
        let other = if number == 0 { self.hop(packet).to as usize } else { number };
        let way = usize::from(number != 0);
        let controls = self.stations.get_mut(other).and_then(|other| other.controls.as_mut());
        let chosen = controls.map(|controls| {
            let control = &mut controls[way];
            if failed == 0 {
                control.begin(at);
            }
            Chosen { other, way, rate: control.rate(failed) }
        });
        if let Some(station) = self.stations.get_mut(number) {
            station.chosen = chosen;
        }
    }

    /// Tells the sender of a single frame whether its transmission arrived.
    fn report_rate(&mut self, at: Time, number: usize) {
        let only_rts = self.collided && self.sequence(at, number).0.rts;
        let Some(station) = self.stations.get_mut(number) else { return };
        let arrived = station.frame().is_none();
        let Some(Chosen { other, way, rate }) = station.chosen.take() else { return };
        let controls = self.stations.get_mut(other).and_then(|other| other.controls.as_mut());
        if let Some(controls) = controls.filter(|_| !only_rts) {
            controls[way].report(rate, 1, u32::from(arrived));
        }
    }

    /// Transmits the frame of one station.
    fn transmit(&mut self, at: Time, number: usize) {
        if self.controlled {
            self.choose_rate(at, number);
        }
        let (times, damage) = self.sequence(at, number);
        let phy = &self.config.phy;
        let (slot, difs) = (phy.slot, phy.difs());
        let arrived = at + times.head + times.data;
        let Some(station) = self.stations.get_mut(number) else { return };
        let backoff = &mut station.backoff;
        let damaged = match &mut station.aggregator {
            None => damage > 0.0 && backoff.chance(damage),
            Some(aggregator) => aggregator.transmit(at, |damage| backoff.chance(damage)) == 0,
        };
        station.stats.transmissions += 1;
        self.sender = number;
        self.collided = false;
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
        self.resume_all(others);
        if let Some(station) = self.stations.get_mut(number).filter(|_| sender != others) {
            station.backoff.resume(sender, slot, station.has_frame());
        }
    }

    /// Lets all stations and background stations continue to count slots at `from`.
    pub(super) fn resume_all(&mut self, from: Time) {
        let slot = self.config.phy.slot;
        for station in &mut self.stations {
            station.backoff.resume(from, slot, station.has_frame());
        }
        for station in &mut self.background {
            station.backoff.resume(from, slot, station.has_frame);
        }
    }

    /// Sets the end of the exchange to `end`.
    pub(super) fn end_at(&mut self, end: Time, collided: bool) {
        (self.phase, self.due, self.end, self.collided) = (Phase::Answer, end, end, collided);
    }

    /// Lets several stations transmit; none of their frames arrives.
    fn collide(&mut self, at: Time) {
        let mut end = at;
        for number in 0..self.stations.len() {
            if !self.stations[number].on_air {
                continue;
            }
            if self.controlled {
                self.choose_rate(at, number);
            }
            let collision = self.sequence(at, number).0.collision;
            let station = &mut self.stations[number];
            station.stats.transmissions += 1;
            station.stats.collisions += 1;
            station.stats.airtime += collision;
            // Its own end, until the ends of all are known.
            station.backoff.resume(at + collision, self.config.phy.slot, true);
            end = end.max(at + collision);
        }
        for station in self.background.iter_mut().filter(|station| station.on_air) {
            let own = at + station.collision.unwrap_or(station.airtime);
            station.backoff.resume(own, self.config.phy.slot, true);
            end = end.max(own);
        }
        let phy = &self.config.phy;
        let (slot, difs, timeout) = (phy.slot, phy.difs(), phy.answer_timeout());
        let others = end + if phy.eifs_after_collision { phy.eifs() } else { difs };
        let (eifs, ns2) = (phy.eifs(), phy.eifs_after_own_collision);
        let from = |on_air: bool, own_end: Time| match on_air {
            true if ns2 && own_end < end => end + eifs,
            true if ns2 => end + (eifs - difs),
            true => end.max(own_end + timeout) + difs,
            false => others,
        };
        for station in &mut self.stations {
            let from = from(station.on_air, station.backoff.counts_from());
            station.backoff.resume(from, slot, station.has_frame());
        }
        for station in &mut self.background {
            let from = from(station.on_air, station.backoff.counts_from());
            station.backoff.resume(from, slot, station.has_frame);
        }
        self.end_at(end, true);
    }

    /// Handles the arrival of the frame on air. Its acknowledgement follows.
    fn arrive(&mut self, at: Time) {
        let sender = self.stations.get_mut(self.sender);
        if sender.as_ref().is_some_and(|station| station.aggregator.is_some()) {
            self.hand_over(at, self.sender);
        } else if let Some(packet) = sender.and_then(|station| station.deliver(at)) {
            self.arrived(at, packet);
        }
        self.arrived = at;
        (self.phase, self.due) = (Phase::Answer, self.end);
    }

    /// Hands a packet to its receiver at `at`.
    #[inline]
    fn arrived(&mut self, at: Time, mut packet: Packet) {
        let Hop { from, to } = self.hop(&packet);
        if let Some(station) = self.stations.get_mut(to as usize) {
            station.show_input(at, &mut packet, receiver(from));
        }
        self.ready.push_back((at, packet));
    }

    /// Hands on the packets of an A-MPDU that are in order at the receiver.
    fn hand_over(&mut self, at: Time, sender: usize) {
        loop {
            let Some(station) = self.stations.get_mut(sender) else { return };
            let Some(packet) = station.deliver_mpdu(at) else { return };
            self.arrived(at, packet);
        }
    }

    /// Tells a station which MPDUs of its A-MPDU have arrived.
    fn end_ampdu(&mut self, at: Time, number: usize) {
        let rts = self.sequence(at, number).0.rts;
        let Medium { stations, config, addresses, collided, .. } = self;
        let cw = (config.phy.cw_min, config.phy.cw_max);
        let limits = (config.short_retry_limit, config.long_retry_limit);
        let Some(station) = stations.get_mut(number) else { return };
        let Some(aggregator) = &mut station.aggregator else { return };
        let answered = aggregator.on_air.is_some_and(|on_air| on_air.arrived());
        if answered {
            station.on_ack(cw.0);
        } else if !station.on_silence(rts && !*collided, limits, cw) && rts && *collided {
            // Only the RTS was lost: the same A-MPDU is sent again.
            return;
        }
        let Some(aggregator) = &mut station.aggregator else { return };
        let batch = aggregator.finish(&config.air(addresses), rts && *collided);
        station.give_up_mpdus(at);
        // Packets that waited behind those that were given up.
        self.hand_over(at, number);
        if let (Some(station), Some((batch, since))) = (self.stations.get_mut(number), batch) {
            station.note_batch(at, &batch, since);
        }
    }

    /// Ends the exchange: senders learn its result, and continue with their next frames.
    fn end_exchange(&mut self, at: Time) {
        if self.config.phy.high_throughput().is_some() {
            for number in 0..self.stations.len() {
                if self.stations[number].on_air {
                    self.end_ampdu(at, number);
                }
            }
        }
        if self.controlled {
            for number in 0..self.stations.len() {
                if self.stations[number].on_air {
                    self.report_rate(at, number);
                }
            }
        }
        let Medium { stations, config, addresses, .. } = self;
        let (cw, slot) = ((config.phy.cw_min, config.phy.cw_max), config.phy.slot);
        let limits = (config.short_retry_limit, config.long_retry_limit);
        let mut due = Time::NEVER;
        for station in stations.iter_mut() {
            if station.on_air {
                station.on_air = false;
                if station.aggregator.is_some() {
                    // Already handled.
                } else if let Some(packet) = station.frame() {
                    let bytes = packet.size.saturating_add(config.mac_overhead);
                    let rts = config.rts_threshold.is_some_and(|most| bytes > most);
                    // A frame that did not collide has got its CTS.
                    let long = rts && !self.collided;
                    if station.on_silence(long, limits, cw) {
                        station.give_up(at);
                    }
                } else {
                    station.on_ack(cw.0);
                }
                station.backoff.draw();
                let has_frame = station.has_frame() || station.take(at, &config.air(addresses));
                let from = station.backoff.counts_from();
                station.backoff.resume(from, slot, has_frame);
            }
            due = due.min(station.backoff.start());
        }
        (self.phase, self.due) = (Phase::Contention, due);
        if !self.background.is_empty() {
            self.end_background(at);
            self.set_due();
        }
    }
}
