//! Who may use the channel when: the distributed coordination function of 802.11, with stations of
//! other networks that compete.

use paceline_cc::{Span, Stream, Time};

use super::phy::{AIFS, CW_MAX, CW_MIN, SLOT};

/// How long the channel remembers: what competitors did longer ago does not matter, and is not
/// worked out.
const MEMORY: Span = Span::from_millis(500);

/// A channel that others may use too.
///
/// Each competitor has a transmission of its own to make, waits until the channel has been idle
/// for an AIFS and for a random number of slots, and makes it; then comes a pause. Two that begin
/// in the same slot collide: both transmissions are lost and both double their windows.
/// Competitors give nothing up; a lost transmission of theirs only shows in their windows.
#[derive(Clone, Debug)]
pub(super) struct Medium {
    random: Stream,
    /// The end of the last transmission.
    free: Time,
    rivals: Vec<Rival>,
    airtime: Span,
    gap: Span,
}

#[derive(Clone, Debug)]
struct Rival {
    /// Slots still to wait.
    backoff: u32,
    window: u32,
    /// From when on it has something to send.
    ready: Time,
}

/// A turn at the channel.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    /// When the transmission ends.
    pub(super) end: Time,
    /// Another one began in the same slot.
    pub(super) collided: bool,
}

impl Medium {
    /// A channel with so many competitors. Each transmission of theirs, acknowledgement
    /// included, takes between half and one and a half times `airtime`; pauses are exponential
    /// with mean `gap`.
    pub(super) fn new(random: Stream, rivals: u32, airtime: Span, gap: Span) -> Medium {
        let mut medium = Medium { random, free: Time::ZERO, rivals: Vec::new(), airtime, gap };
        for _ in 0..rivals {
            let rival = Rival {
                backoff: medium.backoff(CW_MIN),
                window: CW_MIN,
                ready: medium.pause(Time::ZERO),
            };
            medium.rivals.push(rival);
        }
        medium
    }

    /// Time begins anew at zero; the competitors go on from where they are.
    pub(super) fn restart(&mut self) {
        for rival in &mut self.rivals {
            rival.ready = Time::ZERO + rival.ready.since(self.free);
        }
        self.free = Time::ZERO;
    }

    /// A number of slots to wait.
    fn backoff(&mut self, window: u32) -> u32 {
        self.random.below(u64::from(window) + 1) as u32
    }

    fn pause(&mut self, from: Time) -> Time {
        if self.gap.is_zero() {
            return from;
        }
        from + Span::from_secs_f64(self.random.exponential(self.gap.as_secs_f64()))
    }

    /// The least backoff of the competitors with something to send at `at`.
    fn least(&self, at: Time) -> Option<u32> {
        self.rivals.iter().filter(|rival| rival.ready <= at).map(|rival| rival.backoff).min()
    }

    /// `slots` idle slots pass for the competitors that have something to send at `at`; those
    /// whose turn it is then transmit from `start` on. The end of the longest transmission.
    fn transmit(&mut self, at: Time, slots: u32, start: Time, collided: bool) -> Time {
        let mut end = start;
        let at_zero = |rival: &Rival| rival.ready <= at && rival.backoff == slots;
        let several = collided || self.rivals.iter().filter(|rival| at_zero(rival)).count() > 1;
        for i in 0..self.rivals.len() {
            if self.rivals[i].ready > at {
                continue;
            }
            if self.rivals[i].backoff > slots {
                self.rivals[i].backoff -= slots;
                continue;
            }
            let airtime = self.airtime.mul_f64(0.5 + self.random.uniform());
            let ended = start + airtime;
            end = end.max(ended);
            let window = self.rivals[i].window;
            let window = if several { (2 * window + 1).min(CW_MAX) } else { CW_MIN };
            let ready = if several { at } else { self.pause(ended) };
            self.rivals[i] = Rival { backoff: self.backoff(window), window, ready };
        }
        end
    }

    /// Lets the competitors go on among themselves up to `now`.
    fn pass(&mut self, now: Time) {
        let earliest = now - MEMORY;
        if self.free < earliest {
            self.free = earliest;
            // Exponential pauses have no memory. All those that have ended would else be followed
            // by a rush.
            for i in 0..self.rivals.len() {
                if self.rivals[i].ready < earliest {
                    self.rivals[i].ready = self.pause(earliest);
                }
            }
        }
        loop {
            let Some(next) = self.rivals.iter().map(|rival| rival.ready).min() else { return };
            let at = self.free.max(next);
            let Some(slots) = self.least(at) else { return };
            let start = at + AIFS + SLOT * u64::from(slots);
            if start >= now {
                return;
            }
            self.free = self.transmit(at, slots, start, false);
        }
    }

    /// A turn for somebody who wants one from `now` on, draws a backoff of up to `window` slots,
    /// and will keep the channel for `airtime`, or for `collision` if another begins as well.
    pub(super) fn turn(&mut self, now: Time, window: u32, airtime: Span, collision: Span) -> Turn {
        self.pass(now);
        let mut left = self.backoff(window);
        let mut at = self.free.max(now);
        loop {
            let rival = self.least(at).unwrap_or(u32::MAX);
            if left > rival {
                let start = at + AIFS + SLOT * u64::from(rival);
                self.free = self.transmit(at, rival, start, false);
                at = self.free.max(at);
                left -= rival;
                continue;
            }
            let start = at + AIFS + SLOT * u64::from(left);
            let collided = left == rival;
            let others = self.transmit(at, left, start, collided);
            let own = start + if collided { collision } else { airtime };
            self.free = own.max(others);
            return Turn { end: own, collided };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AIRTIME: Span = Span::from_millis(1);

    fn medium(rivals: u32, gap: Span) -> Medium {
        Medium::new(Stream::new(1, "medium"), rivals, AIRTIME, gap)
    }

    /// Turns back to back: mean time of each, share that collided.
    fn saturated(medium: &mut Medium, turns: u32) -> (f64, f64) {
        let (mut now, mut collided) = (Time::ZERO, 0);
        let mut window = CW_MIN;
        for _ in 0..turns {
            let turn = medium.turn(now, window, AIRTIME, AIRTIME);
            assert!(turn.end >= now + AIFS + AIRTIME);
            now = turn.end;
            collided += u32::from(turn.collided);
            window = if turn.collided { (2 * window + 1).min(CW_MAX) } else { CW_MIN };
        }
        let n = f64::from(turns);
        (now.since(Time::ZERO).as_secs_f64() * 1e6 / n, f64::from(collided) / n)
    }

    #[test]
    fn alone_it_waits_half_a_window() {
        let (each, collided) = saturated(&mut medium(0, Span::ZERO), 20_000);
        // 43 µs, 7.5 slots of 9 µs, and 1 ms.
        assert!((each - (43.0 + 67.5 + 1000.0)).abs() < 1.0, "{each}");
        assert_eq!(collided, 0.0);
    }

    #[test]
    fn competitors_share_the_channel_alike() {
        for rivals in [1, 4] {
            let (each, collided) = saturated(&mut medium(rivals, Span::ZERO), 20_000);
            let shares = f64::from(rivals) + 1.0;
            assert!((each / (shares * 1070.0) - 1.0).abs() < 0.12, "{rivals}: {each}");
            // Bianchi 2000: with n stations and a least window of 16, 1 - (1 - tau)^(n-1) is
            // 0.10 to 0.13 for two, and 0.27 to 0.31 for five.
            let range = if rivals == 1 { 0.08..0.14 } else { 0.24..0.34 };
            assert!(range.contains(&collided), "{rivals}: {collided}");
        }
    }

    #[test]
    fn idle_competitors_take_what_they_need() {
        // 1 ms of transmission for 9 ms of pause: a tenth of the channel.
        let (each, _) = saturated(&mut medium(1, Span::from_millis(9)), 20_000);
        assert!((1170.0..1300.0).contains(&each), "{each}");
    }

    #[test]
    fn after_a_long_pause_competitors_do_not_come_all_at_once() {
        // A hundred of which each is on air for 10 ms every 100 s: a hundredth of the channel.
        let long = Span::from_millis(10);
        let mut medium = Medium::new(Stream::new(1, "medium"), 100, long, Span::from_secs(100));
        let (mut now, mut waited) = (Time::ZERO, Span::ZERO);
        for _ in 0..200 {
            now += Span::from_secs(1000);
            waited += medium.turn(now, CW_MIN, AIRTIME, AIRTIME).end.since(now) - AIRTIME;
        }
        let mean = waited.as_millis_f64() / 200.0;
        assert!(mean < 1.0, "{mean} ms");
    }

    #[test]
    fn long_pauses_cost_no_time_to_work_out() {
        let mut medium = medium(3, Span::ZERO);
        let far = Time::from_secs(1_000_000);
        let turn = medium.turn(far, CW_MIN, AIRTIME, AIRTIME);
        assert!(turn.end >= far && turn.end < far + Span::from_millis(50));
        assert!(medium.turn(Time::NEVER, CW_MIN, AIRTIME, AIRTIME).end >= far);
    }
}
