//! The backoffs of all stations at a medium: their windows, their slots, and when they transmit.

use paceline_cc::{Span, Stream, Time};

/// Turn of a station without a frame.
const NONE: u64 = u64::MAX;

/// The contention of all stations (IEEE 802.11-2020, 10.3.3 and 10.3.4).
///
/// Slots count down while the medium is idle, from the end of an interframe space on. They are
/// computed only when a transmission begins, so that idle slots need no work.
///
/// After an exchange nearly all stations count from the same time, *in step*: one number says how
/// many slots they have counted, and each has the number at which its backoff is over. An exchange
/// then changes one number for all of them. The few that count from another time stand *apart*
/// until the next exchange: those whose own transmission failed, and those whose frame came to an
/// idle medium.
#[derive(Debug)]
pub(super) struct Contention {
    slot: Span,
    /// Slots that the stations in step have counted since the start, without those after `from`.
    counted: u64,
    /// When the stations in step continue to count.
    from: Time,
    /// For each station in step with a frame: the value of `counted` at which it transmits; for
    /// others [`NONE`].
    turns: Vec<u64>,
    backoffs: Vec<Backoff>,
    /// The stations that stand apart.
    apart: Vec<usize>,
}

/// The backoff of one station.
#[derive(Debug)]
struct Backoff {
    random: Stream,
    /// Contention window in slots.
    window: u32,
    /// In step: the value of `counted` at which the backoff is over.
    over: u64,
    apart: Option<Apart>,
}

/// The backoff of a station that stands apart.
#[derive(Copy, Clone, Debug)]
struct Apart {
    /// Remaining slots.
    slots: u64,
    /// When the countdown continues: the end of the interframe space.
    from: Time,
    /// When it transmits, if the medium stays idle; [`Time::NEVER`] without a frame.
    start: Time,
    /// True if it transmits without a backoff, because the medium was idle when its frame came.
    immediate: bool,
}

impl Apart {
    fn resume(&mut self, from: Time, slot: Span, has_frame: bool) {
        self.from = from;
        self.start = if has_frame { from + slot * self.slots } else { Time::NEVER };
    }
}

impl Contention {
    /// Creates a contention without stations, with slots of this length.
    pub(super) fn new(slot: Span) -> Contention {
        Contention {
            slot,
            counted: 0,
            from: Time::ZERO,
            turns: Vec::new(),
            backoffs: Vec::new(),
            apart: Vec::new(),
        }
    }

    /// Adds a station with the minimum window and no frame.
    pub(super) fn add(&mut self, random: Stream, cw_min: u32) {
        self.turns.push(NONE);
        self.backoffs.push(Backoff { random, window: cw_min, over: 0, apart: None });
        // Each station may stand apart, without an allocation then.
        self.apart.reserve(self.backoffs.len());
    }

    /// Returns when the first of the first `stations` stations transmits, if the medium stays idle;
    /// [`Time::NEVER`] if none has a frame.
    #[inline]
    pub(super) fn earliest(&self, stations: usize) -> Time {
        // A comparison and a conditional move for each; `Iterator::min` takes twice as many.
        let turns = self.turns[..stations].iter();
        let turn = turns.fold(NONE, |first, own| if *own < first { *own } else { first });
        let mut earliest = self.start_of_turn(turn);
        for &number in &self.apart {
            if let Some(apart) = self.backoffs[number].apart.filter(|_| number < stations) {
                earliest = earliest.min(apart.start);
            }
        }
        earliest
    }

    #[inline]
    fn start_of_turn(&self, turn: u64) -> Time {
        match turn {
            NONE => Time::NEVER,
            _ => self.from + self.slot * turn.saturating_sub(self.counted),
        }
    }

    /// Returns when a station transmits, if the medium stays idle.
    pub(super) fn start(&self, number: usize) -> Time {
        match self.backoffs[number].apart {
            Some(apart) => apart.start,
            None => self.start_of_turn(self.turns[number]),
        }
    }

    /// Returns when the countdown of a station continues.
    pub(super) fn counts_from(&self, number: usize) -> Time {
        self.backoffs[number].apart.map_or(self.from, |apart| apart.from)
    }

    /// Returns the remaining slots of a station.
    fn slots(&self, number: usize) -> u64 {
        let backoff = &self.backoffs[number];
        match backoff.apart {
            Some(apart) => apart.slots,
            None => backoff.over.saturating_sub(self.counted),
        }
    }

    /// Draws a backoff from the window. It counts from the next [`Contention::resume`] on.
    pub(super) fn draw(&mut self, number: usize) {
        let backoff = &mut self.backoffs[number];
        let slots = backoff.random.below(u64::from(backoff.window) + 1);
        match &mut backoff.apart {
            Some(apart) => (apart.slots, apart.immediate) = (slots, false),
            None => backoff.over = self.counted + slots,
        }
    }

    /// Returns true with probability `p`: for other random events of a station.
    pub(super) fn chance(&mut self, number: usize, p: f64) -> bool {
        self.backoffs[number].random.chance(p)
    }

    /// Doubles the window after a failed transmission.
    pub(super) fn widen(&mut self, number: usize, cw_max: u32) {
        let window = &mut self.backoffs[number].window;
        *window = (2 * *window + 1).min(cw_max);
    }

    /// Resets the window to its minimum, after the frame was acknowledged or given up.
    pub(super) fn reset(&mut self, number: usize, cw_min: u32) {
        self.backoffs[number].window = cw_min;
    }

    /// Stops the countdowns because stations transmit at `now`: slots that have passed count.
    /// Replaces `starters` by the numbers of the stations that transmit, in ascending order.
    #[inline]
    pub(super) fn freeze(&mut self, now: Time, starters: &mut Vec<usize>) {
        starters.clear();
        let nanos = self.slot.as_nanos().max(1);
        let passed = now.since(self.from).as_nanos() / nanos;
        let turn = self.counted + passed;
        if self.start_of_turn(turn) == now {
            // Those whose turn is past transmit at the beginning of the countdown.
            let earlier = if passed == 0 { turn } else { 0 };
            for (number, own) in self.turns.iter().enumerate() {
                if turn.wrapping_sub(*own) <= earlier {
                    starters.push(number);
                }
            }
        }
        self.counted = turn;
        if self.apart.is_empty() {
            return;
        }
        for at in 0..self.apart.len() {
            let number = self.apart[at];
            let Some(apart) = &mut self.backoffs[number].apart else { continue };
            if apart.start == now {
                starters.push(number);
            } else if apart.immediate {
                // The medium becomes busy before it could transmit.
                self.draw(number);
            } else {
                let passed = now.since(apart.from).as_nanos() / nanos;
                apart.slots = apart.slots.saturating_sub(passed);
            }
        }
        starters.sort_unstable();
    }

    /// Continues all countdowns at `from`, when the medium becomes idle.
    #[inline]
    pub(super) fn resume_all(&mut self, from: Time) {
        self.from = from;
        for number in self.apart.drain(..) {
            let backoff = &mut self.backoffs[number];
            let Some(apart) = backoff.apart.take() else { continue };
            backoff.over = self.counted + apart.slots;
            self.turns[number] = if apart.start == Time::NEVER { NONE } else { backoff.over };
        }
    }

    /// Continues the countdown of a station at `from`, when the medium becomes idle; `has_frame`
    /// says whether it then has a frame to send.
    #[inline]
    pub(super) fn resume(&mut self, number: usize, from: Time, has_frame: bool) {
        let slot = self.slot;
        let backoff = &mut self.backoffs[number];
        match &mut backoff.apart {
            None if from == self.from => {
                self.turns[number] = if has_frame { backoff.over } else { NONE };
            }
            _ => self.stand_apart(number).resume(from, slot, has_frame),
        }
    }

    /// Lets a station stand apart, if it does not yet.
    fn stand_apart(&mut self, number: usize) -> &mut Apart {
        let (slots, start, from) = (self.slots(number), self.start(number), self.from);
        let Contention { backoffs, turns, apart, .. } = self;
        backoffs[number].apart.get_or_insert_with(|| {
            apart.push(number);
            turns[number] = NONE;
            Apart { slots, from, start, immediate: false }
        })
    }

    /// Continues with a frame that came exactly when the station's last transmission ended.
    pub(super) fn go_on(&mut self, number: usize) {
        self.resume(number, self.counts_from(number), true);
    }

    /// Handles a frame that comes at `now` to a station without one. `busy` is true if some station
    /// transmits; `immediate` is true if a station may otherwise transmit without a backoff.
    pub(super) fn frame_came(
        &mut self,
        number: usize,
        now: Time,
        difs: Span,
        busy: bool,
        immediate: bool,
    ) {
        let slots = self.slots(number);
        if busy {
            if slots == 0 {
                self.draw(number);
            }
            return self.go_on(number);
        }
        if self.counts_from(number) + self.slot * slots > now {
            // The backoff after the last transmission, or the interframe space, continues.
            if slots == 0 && immediate {
                self.stand_apart(number).immediate = true;
            } else if slots == 0 {
                self.draw(number);
            }
            return self.go_on(number);
        }
        if immediate {
            let apart = self.stand_apart(number);
            (apart.slots, apart.immediate, apart.start) = (0, true, now);
            return;
        }
        self.draw(number);
        self.resume(number, now + difs, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOT: Span = Span::from_micros(20);
    const DIFS: Span = Span::from_micros(50);

    fn at(micros: u64) -> Time {
        Time::from_nanos(1000 * micros)
    }

    /// Returns a contention of `stations` stations, of which each has its own random numbers.
    fn contention(stations: u64, seed: u64) -> Contention {
        let mut contention = Contention::new(SLOT);
        for number in 0..stations {
            contention.add(Stream::new(seed, &format!("station {number}")), 31);
        }
        contention
    }

    fn freeze(contention: &mut Contention, now: Time) -> Vec<usize> {
        let mut starters = Vec::new();
        contention.freeze(now, &mut starters);
        starters
    }

    /// Gives a station a backoff of `slots` from `from` on.
    fn set(contention: &mut Contention, number: usize, slots: u64, from: Time) {
        contention.stand_apart(number).slots = slots;
        contention.resume(number, from, true);
    }

    #[test]
    fn slots_that_have_passed_stay_passed() {
        let mut contention = contention(1, 1);
        set(&mut contention, 0, 7, at(100));
        assert_eq!(contention.start(0), at(240));
        // Two whole slots have passed after 59 µs; the third starts again.
        assert!(freeze(&mut contention, at(159)).is_empty());
        contention.resume_all(at(1000));
        assert_eq!(contention.start(0), at(1100));
        // Another station transmits before the countdown continues.
        assert!(freeze(&mut contention, at(990)).is_empty());
        contention.resume_all(at(2000));
        assert_eq!(contention.start(0), at(2100));
        // One slot passes, in step; then it transmits.
        assert!(freeze(&mut contention, at(2039)).is_empty());
        contention.resume_all(at(3000));
        assert_eq!((contention.start(0), contention.earliest(1)), (at(3080), at(3080)));
        assert_eq!(freeze(&mut contention, at(3080)), [0]);
    }

    #[test]
    fn who_comes_to_an_idle_medium_transmits_at_once() {
        let mut one = contention(1, 1);
        one.frame_came(0, at(500), DIFS, false, true);
        assert_eq!(one.start(0), at(500));
        // If the medium becomes busy meanwhile, it draws a backoff. During the interframe space it
        // waits for its end.
        let mut drawn = false;
        for seed in 0..20 {
            let mut other = contention(1, seed);
            other.resume_all(at(550));
            other.frame_came(0, at(510), DIFS, false, true);
            assert_eq!(other.start(0), at(550));
            assert!(freeze(&mut other, at(530)).is_empty());
            other.resume_all(at(2000));
            drawn |= other.start(0) > at(2000);
        }
        assert!(drawn);
    }

    #[test]
    fn the_backoff_after_a_transmission_counts_for_the_next_frame() {
        let mut contention = contention(1, 1);
        set(&mut contention, 0, 10, at(100));
        contention.resume(0, at(100), false);
        assert_eq!(contention.start(0), Time::NEVER);
        contention.frame_came(0, at(150), DIFS, false, true);
        assert_eq!(contention.start(0), at(300));
    }

    #[test]
    fn windows_double_and_start_anew() {
        let mut contention = contention(1, 1);
        let mut windows = vec![contention.backoffs[0].window];
        for _ in 0..6 {
            contention.widen(0, 1023);
            windows.push(contention.backoffs[0].window);
        }
        assert_eq!(windows, [31, 63, 127, 255, 511, 1023, 1023]);
        contention.reset(0, 31);
        assert_eq!(contention.backoffs[0].window, 31);
        let mean = (0..20_000).map(|_| {
            contention.draw(0);
            contention.slots(0) as f64
        });
        let mean = mean.sum::<f64>() / 20_000.0;
        assert!((mean - 15.5).abs() < 0.2, "{mean}");
    }

    /// Countdowns in step and apart are those of stations that each count for themselves.
    #[test]
    fn stations_in_step_count_like_stations_alone() {
        /// Remaining slots, when they count on, and whether there is a frame.
        struct Alone(u64, Time, bool);
        let mut random = Stream::new(1, "events");
        for seed in 0..50 {
            let mut contention = contention(6, seed);
            let mut alone: Vec<Alone> = Vec::new();
            for number in 0..6 {
                let slots = random.below(40);
                set(&mut contention, number, slots, at(0));
                alone.push(Alone(slots, at(0), true));
            }
            let start = |one: &Alone| if one.2 { one.1 + SLOT * one.0 } else { Time::NEVER };
            for _ in 0..200 {
                let first = alone.iter().map(start).min().unwrap_or(Time::NEVER);
                assert_eq!(contention.earliest(6), first);
                // Another network may transmit before.
                let now = match random.below(4) {
                    _ if first == Time::NEVER => contention.from + SLOT * 3,
                    0 => first - Span::from_micros(random.below(70)),
                    _ => first,
                };
                let want: Vec<usize> = (0..6).filter(|&one| start(&alone[one]) == now).collect();
                assert_eq!(freeze(&mut contention, now), want);
                let next = now + Span::from_micros(100 + random.below(1000));
                contention.resume_all(next);
                for (number, one) in alone.iter_mut().enumerate() {
                    one.0 -= one.0.min(now.since(one.1).as_nanos() / SLOT.as_nanos());
                    one.1 = next;
                    if want.contains(&number) {
                        contention.draw(number);
                        one.0 = contention.slots(number);
                        one.2 = random.below(5) > 0;
                        one.1 = next + SLOT * random.below(2);
                        contention.resume(number, one.1, one.2);
                    } else if !one.2 && random.below(3) == 0 {
                        one.2 = true;
                        contention.go_on(number);
                    }
                }
            }
        }
    }
}
