//! Events of a medium: a transmission begins, a frame arrives, an exchange ends.

use paceline_cc::{Packet, Span, Time};

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
        if self.is_idle() {
            self.idle.end(now);
            if !self.background.is_empty() {
                self.catch_up_background(now);
            }
        }
        let Medium { stations, contention, config, addresses, phase, arrived, idle, .. } = self;
        let from = from as usize;
        let Some(station) = stations.get_mut(from) else { return };
        station.report_unused(now, receiver(to), idle);
        station.enqueue(now, packet, receiver(to));
        // A station takes the next packet only once its last frame has ended.
        if station.on_air || station.has_frame() {
            return;
        }
        let busy = *phase != Phase::Contention;
        if station.take(now, &config.air(addresses)) {
            station.turns.begin(now);
            let difs = config.phy.difs();
            if busy && config.access_at_arrival && *arrived == now {
                contention.go_on(from);
            } else {
                contention.frame_came(from, now, difs, busy, config.immediate_access);
            }
            let start = contention.start(from);
            if !busy {
                self.due = self.due.min(start);
            }
        } else {
            // The queue has dropped the packet.
            if !busy && !self.background.is_empty() {
                self.set_due();
            }
            if self.is_idle() {
                self.idle.begin(now);
            }
        }
    }

    /// Returns true if no station has a frame or waits for an answer.
    fn is_idle(&self) -> bool {
        self.due == Time::NEVER && self.phase == Phase::Contention
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
        let Medium { stations, background, contention, starters, .. } = self;
        contention.freeze(at, starters);
        for &number in starters.iter() {
            match number.checked_sub(stations.len()) {
                None => stations[number].on_air = true,
                Some(number) => background[number].on_air = true,
            }
        }
        let stations = stations.len();
        match starters[..] {
            [number] if number < stations => self.transmit(at, number),
            [number] => self.transmit_background(at, number - stations),
            _ => self.collide(at),
        }
    }

    /// Returns the times of the exchange that a station begins at `at`, and the probability that
    /// its frame is damaged, unless that is decided per MPDU.
    fn sequence(&mut self, at: Time, number: usize) -> (Sequence, f64) {
        let station = self.stations.get(number);
        let aggregator = station.and_then(|station| station.aggregator.as_ref());
        if let Some(on_air) = aggregator.and_then(|aggregator| aggregator.on_air) {
            let times = Sequence::of_ampdu(&self.config, on_air.mcs, on_air.ampdu.air_bytes);
            return (times, 0.0);
        }
        let packet = station.and_then(|station| station.frame());
        let (size, hop) = match packet {
            Some(packet) => (packet.size, self.hop(packet)),
            None => (0, self.hop(&Packet::opaque(0))),
        };
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
        let config = &self.config;
        let times =
            self.stations.get_mut(number).map(|station| station.sequence(config, rate, size));
        (times.unwrap_or_else(|| Sequence::of(config, rate, size)), damage)
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
        let difs = phy.difs();
        let arrived = at + times.head + times.data;
        let Medium { stations, contention, .. } = self;
        let Some(station) = stations.get_mut(number) else { return };
        let damaged = match &mut station.aggregator {
            None => damage > 0.0 && contention.chance(number, damage),
            Some(aggregator) => {
                aggregator.transmit(at, |damage| contention.chance(number, damage)) == 0
            }
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
        self.contention.resume_all(others);
        if sender != others {
            self.contention.resume(number, sender, true);
        }
    }

    /// Sets the end of the exchange to `end`.
    pub(super) fn end_at(&mut self, end: Time, collided: bool) {
        (self.phase, self.due, self.end, self.collided) = (Phase::Answer, end, end, collided);
    }

    /// Lets several stations transmit; none of their frames arrives.
    fn collide(&mut self, at: Time) {
        let mut end = at;
        self.own_ends.clear();
        for turn in 0..self.starters.len() {
            let number = self.starters[turn];
            let own = match number.checked_sub(self.stations.len()) {
                None => at + self.collide_one(at, number),
                Some(number) => {
                    let station = &self.background[number];
                    at + station.collision.unwrap_or(station.airtime)
                }
            };
            self.own_ends.push(own);
            end = end.max(own);
        }
        let phy = &self.config.phy;
        let (difs, timeout) = (phy.difs(), phy.answer_timeout());
        let others = end + if phy.eifs_after_collision { phy.eifs() } else { difs };
        let (eifs, ns2) = (phy.eifs(), phy.eifs_after_own_collision);
        self.contention.resume_all(others);
        for (&number, &own) in self.starters.iter().zip(&self.own_ends) {
            let from = match ns2 {
                true if own < end => end + eifs,
                true => end + (eifs - difs),
                false => end.max(own + timeout) + difs,
            };
            self.contention.resume(number, from, true);
        }
        self.end_at(end, true);
    }

    /// Lets a station transmit in a collision. Returns its time on air.
    fn collide_one(&mut self, at: Time, number: usize) -> Span {
        if self.controlled {
            self.choose_rate(at, number);
        }
        let collision = self.sequence(at, number).0.collision;
        let station = &mut self.stations[number];
        station.stats.transmissions += 1;
        station.stats.collisions += 1;
        station.stats.airtime += collision;
        collision
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
        let Medium { stations, contention, config, addresses, collided, .. } = self;
        let cw = (config.phy.cw_min, config.phy.cw_max);
        let limits = (config.short_retry_limit, config.long_retry_limit);
        let Some(station) = stations.get_mut(number) else { return };
        let Some(aggregator) = &mut station.aggregator else { return };
        let answered = aggregator.on_air.is_some_and(|on_air| on_air.arrived());
        if answered {
            station.on_ack();
            contention.reset(number, cw.0);
        } else if station.on_silence(rts && !*collided, limits) {
            contention.reset(number, cw.0);
        } else {
            contention.widen(number, cw.1);
            if rts && *collided {
                // Only the RTS was lost: the same A-MPDU is sent again.
                return;
            }
        }
        let Some(aggregator) = &mut station.aggregator else { return };
        let announced = rts && *collided;
        let batch = aggregator.finish(&config.air(addresses), announced);
        station.give_up_mpdus(at);
        // Packets that waited behind those that were given up.
        self.hand_over(at, number);
        if let (Some(station), Some((batch, since))) = (self.stations.get_mut(number), batch) {
            station.note_batch(at, (&batch, since), announced);
        }
    }

    /// Ends the exchange: senders learn its result, and continue with their next frames.
    fn end_exchange(&mut self, at: Time) {
        if self.config.phy.high_throughput().is_some() {
            self.for_each_starter(|medium, number| medium.end_ampdu(at, number));
        }
        if self.controlled {
            self.for_each_starter(|medium, number| medium.report_rate(at, number));
        }
        self.for_each_starter(|medium, number| medium.end_turn(at, number));
        (self.phase, self.due) = (Phase::Contention, self.contention.earliest(self.stations.len()));
        if !self.background.is_empty() {
            self.end_background(at);
            self.set_due();
        }
        if self.is_idle() {
            self.idle.begin_after(at);
        }
    }

    /// Calls `each` with the stations that have transmitted, without background stations.
    fn for_each_starter(&mut self, mut each: impl FnMut(&mut Medium, usize)) {
        for turn in 0..self.starters.len() {
            let number = self.starters[turn];
            if number < self.stations.len() {
                each(self, number);
            }
        }
    }

    /// Ends a station's turn at `at`: it learns the result, and continues with its next frame.
    fn end_turn(&mut self, at: Time, number: usize) {
        let Medium { stations, contention, config, addresses, idle, .. } = self;
        let Some(station) = stations.get_mut(number) else { return };
        let cw = (config.phy.cw_min, config.phy.cw_max);
        station.on_air = false;
        if station.aggregator.is_some() {
            // Already handled.
        } else if let Some(packet) = station.frame() {
            let bytes = packet.size.saturating_add(config.mac_overhead);
            let rts = config.rts_threshold.is_some_and(|most| bytes > most);
            // A frame that did not collide has got its CTS.
            let long = rts && !self.collided;
            if station.on_silence(long, (config.short_retry_limit, config.long_retry_limit)) {
                contention.reset(number, cw.0);
                station.give_up(at);
            } else {
                contention.widen(number, cw.1);
            }
        } else {
            station.note_ack(at, idle);
            contention.reset(number, cw.0);
        }
        contention.draw(number);
        let has_frame = station.has_frame() || station.take(at, &config.air(addresses));
        station.turns.end(at, has_frame);
        contention.resume(number, contention.counts_from(number), has_frame);
    }
}
