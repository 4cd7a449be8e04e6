//! The backoff of one station: its window, its slots, and its time to transmit.

use paceline_cc::{Span, Stream, Time};

/// A station's part in the contention (IEEE 802.11-2020, 10.3.3 and 10.3.4).
///
/// Slots count down while the medium is idle, from `count_from` on. They are computed only when a
/// transmission begins, so that idle slots need no work.
#[derive(Clone, Debug)]
pub(super) struct Backoff {
    random: Stream,
    /// Contention window in slots.
    window: u32,
    /// Remaining slots.
    slots: u32,
    /// When the countdown continues: the end of the interframe space.
    count_from: Time,
    /// When it transmits, if the medium stays idle; [`Time::NEVER`] without a frame.
    start: Time,
    /// True if it transmits without a backoff, because the medium was idle when its frame came.
    immediate: bool,
}

impl Backoff {
    /// Creates a station with the minimum window and no frame.
    pub(super) fn new(random: Stream, cw_min: u32) -> Backoff {
        Backoff {
            random,
            window: cw_min,
            slots: 0,
            count_from: Time::ZERO,
            start: Time::NEVER,
            immediate: false,
        }
    }

    /// Returns when it transmits, if the medium stays idle.
    #[inline]
    pub(super) fn start(&self) -> Time {
        self.start
    }

    /// Draws a backoff from the window.
    pub(super) fn draw(&mut self) {
        self.slots = self.random.below(u64::from(self.window) + 1) as u32;
        self.immediate = false;
    }

    /// Returns true with probability `p`: for other random events of the station.
    pub(super) fn chance(&mut self, p: f64) -> bool {
        self.random.chance(p)
    }

    /// Doubles the window after a failed transmission.
    pub(super) fn widen(&mut self, cw_max: u32) {
        self.window = (2 * self.window + 1).min(cw_max);
    }

    /// Resets the window to its minimum, after the frame was acknowledged or given up.
    pub(super) fn reset(&mut self, cw_min: u32) {
        self.window = cw_min;
    }

    /// Stops the countdown because another station transmits at `now`. Slots that have passed
    /// count.
    #[inline]
    pub(super) fn freeze(&mut self, now: Time, slot: Span) {
        if self.immediate {
            // The medium becomes busy before it could transmit.
            self.draw();
            return;
        }
        if self.slots > 0 {
            let passed = now.since(self.count_from).as_nanos() / slot.as_nanos().max(1);
            self.slots -= passed.min(u64::from(self.slots)) as u32;
        }
    }

    /// Continues the countdown at `from`, when the medium becomes idle; `has_frame` says whether it
    /// then has a frame to send.
    #[inline]
    pub(super) fn resume(&mut self, from: Time, slot: Span, has_frame: bool) {
        self.count_from = from;
        self.start = match has_frame {
            true => from + slot * u64::from(self.slots),
            false => Time::NEVER,
        };
    }

    /// Returns when the countdown continues.
    pub(super) fn counts_from(&self) -> Time {
        self.count_from
    }

    /// Continues with a frame that came exactly when the station's last transmission ended.
    pub(super) fn go_on(&mut self, slot: Span) {
        self.resume(self.count_from, slot, true);
    }

    /// Handles a frame that comes at `now` to a station without one. `busy` is true if some station
    /// transmits; `immediate` is true if a station may otherwise transmit without a backoff.
    pub(super) fn frame_came(
        &mut self,
        now: Time,
        slot: Span,
        difs: Span,
        busy: bool,
        immediate: bool,
    ) {
        let over = self.count_from + slot * u64::from(self.slots);
        if busy {
            if self.slots == 0 {
                self.draw();
            }
            return self.go_on(slot);
        }
        if over > now {
            // The backoff after the last transmission, or the interframe space, continues.
            self.immediate = self.slots == 0 && immediate;
            if self.slots == 0 && !immediate {
                self.draw();
            }
            return self.go_on(slot);
        }
        self.slots = 0;
        if immediate {
            (self.immediate, self.start) = (true, now);
            return;
        }
        self.draw();
        self.resume(now + difs, slot, true);
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

    fn station() -> Backoff {
        Backoff::new(Stream::new(1, "station"), 31)
    }

    #[test]
    fn slots_that_have_passed_stay_passed() {
        let mut backoff = station();
        backoff.slots = 7;
        backoff.resume(at(100), SLOT, true);
        assert_eq!(backoff.start(), at(240));
        // Two whole slots have passed after 59 µs; the third starts again.
        backoff.freeze(at(159), SLOT);
        backoff.resume(at(1000), SLOT, true);
        assert_eq!(backoff.start(), at(1100));
        // Another station transmits before the countdown continues.
        backoff.freeze(at(990), SLOT);
        backoff.resume(at(2000), SLOT, true);
        assert_eq!(backoff.start(), at(2100));
    }

    #[test]
    fn who_comes_to_an_idle_medium_transmits_at_once() {
        let mut backoff = station();
        backoff.frame_came(at(500), SLOT, DIFS, false, true);
        assert_eq!(backoff.start(), at(500));
        // During the interframe space it waits for its end.
        let mut backoff = station();
        backoff.resume(at(550), SLOT, false);
        backoff.frame_came(at(510), SLOT, DIFS, false, true);
        assert_eq!(backoff.start(), at(550));
        // If the medium becomes busy meanwhile, it draws a backoff.
        let mut drawn = false;
        for seed in 0..20 {
            let mut other = Backoff { random: Stream::new(seed, "station"), ..backoff.clone() };
            other.freeze(at(530), SLOT);
            other.resume(at(2000), SLOT, true);
            drawn |= other.start() > at(2000);
        }
        assert!(drawn);
    }

    #[test]
    fn the_backoff_after_a_transmission_counts_for_the_next_frame() {
        let mut backoff = station();
        backoff.slots = 10;
        backoff.resume(at(100), SLOT, false);
        assert_eq!(backoff.start(), Time::NEVER);
        backoff.frame_came(at(150), SLOT, DIFS, false, true);
        assert_eq!(backoff.start(), at(300));
    }

    #[test]
    fn windows_double_and_start_anew() {
        let mut backoff = station();
        let mut windows = vec![backoff.window];
        for _ in 0..6 {
            backoff.widen(1023);
            windows.push(backoff.window);
        }
        assert_eq!(windows, [31, 63, 127, 255, 511, 1023, 1023]);
        backoff.reset(31);
        assert_eq!(backoff.window, 31);
        let mean = (0..20_000).map(|_| {
            backoff.draw();
            f64::from(backoff.slots)
        });
        let mean = mean.sum::<f64>() / 20_000.0;
        assert!((mean - 15.5).abs() < 0.2, "{mean}");
    }
}
