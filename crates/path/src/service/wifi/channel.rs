//! The channel and the stations of other networks that contend for it, by the distributed
//! coordination function (DCF) of 802.11.

use paceline_cc::{Span, Stream, Time};

use super::phy::{AIFS, CW_MAX, CW_MIN, SLOT};

/// How far back contenders are simulated when the access point wants the channel. What they did
/// longer ago does not matter.
const HISTORY: Span = Span::from_millis(500);

/// A channel that the access point shares with contenders.
///
/// A contender that has something to send waits until the channel has been idle for an AIFS and
/// for its backoff, a random number of slots, and transmits; then it pauses. Stations that begin
/// in the same slot collide: their transmissions are lost and they double their contention windows.
/// Contenders never give a transmission up; that one was lost only shows in their windows.
#[derive(Clone, Debug)]
pub(super) struct Channel {
    random: Stream,
    /// The end of the last transmission.
    idle_from: Time,
    contenders: Vec<Contender>,
    /// The mean airtime of a contender's transmission.
    airtime: Span,
    /// The mean pause of a contender after a transmission.
    gap: Span,
}

/// A station of another network.
#[derive(Clone, Debug)]
struct Contender {
    /// Slots still to wait.
    backoff: u32,
    /// The contention window.
    window: u32,
    /// From when on it has something to send.
    backlogged_from: Time,
}

/// The outcome of one contention that the access point took part in.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Access {
    /// When the transmission ends.
    pub(super) end: Time,
    /// A contender began in the same slot.
    pub(super) collided: bool,
}

impl Channel {
    /// A channel with so many contenders. Each transmission of theirs, acknowledgement
    /// included, takes between half and one and a half times `airtime`; pauses are exponential
    /// with mean `gap`.
    pub(super) fn new(random: Stream, contenders: u32, airtime: Span, gap: Span) -> Channel {
        let mut channel =
            Channel { random, idle_from: Time::ZERO, contenders: Vec::new(), airtime, gap };
        for _ in 0..contenders {
            let contender = Contender {
                backoff: channel.backoff(CW_MIN),
                window: CW_MIN,
                backlogged_from: channel.pause(Time::ZERO),
            };
            channel.contenders.push(contender);
        }
        channel
    }

    /// Sets the time to zero. Contenders keep their backoffs, and what is left of their pauses.
    pub(super) fn restart(&mut self) {
        for contender in &mut self.contenders {
            contender.backlogged_from =
                Time::ZERO + contender.backlogged_from.since(self.idle_from);
        }
        self.idle_from = Time::ZERO;
    }

    /// Draws a number of slots from a contention window.
    fn backoff(&mut self, window: u32) -> u32 {
        self.random.below(u64::from(window) + 1) as u32
    }

    /// The end of a pause that begins at `from`.
    fn pause(&mut self, from: Time) -> Time {
        if self.gap.is_zero() {
            return from;
        }
        from + Span::from_secs_f64(self.random.exponential(self.gap.as_secs_f64()))
    }

    /// The smallest backoff of the contenders with something to send at `at`.
    fn smallest_backoff(&self, at: Time) -> Option<u32> {
        self.contenders
            .iter()
            .filter(|contender| contender.backlogged_from <= at)
            .map(|contender| contender.backoff)
            .min()
    }

    /// `slots` idle slots pass for the contenders that have something to send at `at`; those whose
    /// backoff is over then transmit from `start` on. `collided` says that the access point begins
    /// in the same slot. Returns the end of the longest transmission.
    fn contenders_transmit(&mut self, at: Time, slots: u32, start: Time, collided: bool) -> Time {
        let mut end = start;
        let transmits =
            |contender: &Contender| contender.backlogged_from <= at && contender.backoff == slots;
        let several =
            collided || self.contenders.iter().filter(|contender| transmits(contender)).count() > 1;
        for i in 0..self.contenders.len() {
            if self.contenders[i].backlogged_from > at {
                continue;
            }
            if self.contenders[i].backoff > slots {
                self.contenders[i].backoff -= slots;
                continue;
            }
            let airtime = self.airtime.mul_f64(0.5 + self.random.uniform());
            let ended = start + airtime;
            end = end.max(ended);
            let window = self.contenders[i].window;
            let window = if several { (2 * window + 1).min(CW_MAX) } else { CW_MIN };
            let backlogged_from = if several { at } else { self.pause(ended) };
            self.contenders[i] =
                Contender { backoff: self.backoff(window), window, backlogged_from };
        }
        end
    }

    /// Simulates the contenders among themselves up to `now`.
    fn run_contenders(&mut self, now: Time) {
        let earliest = now - HISTORY;
        if self.idle_from < earliest {
            self.idle_from = earliest;
            // Pauses that ended before are drawn anew, which is right as exponential ones have no
            // memory. Without this, all of these contenders would transmit one after the other.
            for i in 0..self.contenders.len() {
                if self.contenders[i].backlogged_from < earliest {
                    self.contenders[i].backlogged_from = self.pause(earliest);
                }
            }
        }
        loop {
            let Some(next) =
                self.contenders.iter().map(|contender| contender.backlogged_from).min()
            else {
                return;
            };
            let at = self.idle_from.max(next);
            let Some(slots) = self.smallest_backoff(at) else { return };
            let start = at + AIFS + SLOT * u64::from(slots);
            if start >= now {
                return;
            }
            self.idle_from = self.contenders_transmit(at, slots, start, false);
        }
    }

    /// The access point contends for the channel from `now` on with a backoff of up to `window`
    /// slots. It keeps the channel for `airtime`, or for `collision` if a contender begins in the
    /// same slot.
    pub(super) fn access(
        &mut self,
        now: Time,
        window: u32,
        airtime: Span,
        collision: Span,
    ) -> Access {
        self.run_contenders(now);
        let mut left = self.backoff(window);
        let mut at = self.idle_from.max(now);
        loop {
            let contender = self.smallest_backoff(at).unwrap_or(u32::MAX);
            if left > contender {
                let start = at + AIFS + SLOT * u64::from(contender);
                self.idle_from = self.contenders_transmit(at, contender, start, false);
                at = self.idle_from.max(at);
                left -= contender;
                continue;
            }
            let start = at + AIFS + SLOT * u64::from(left);
            let collided = left == contender;
            let others = self.contenders_transmit(at, left, start, collided);
            let own = start + if collided { collision } else { airtime };
            self.idle_from = own.max(others);
            return Access { end: own, collided };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AIRTIME: Span = Span::from_millis(1);

    fn channel(contenders: u32, gap: Span) -> Channel {
        Channel::new(Stream::new(1, "medium"), contenders, AIRTIME, gap)
    }

    /// Turns back to back: mean time of each, share that collided.
    fn saturated(channel: &mut Channel, turns: u32) -> (f64, f64) {
        let (mut now, mut collided) = (Time::ZERO, 0);
        let mut window = CW_MIN;
        for _ in 0..turns {
            let access = channel.access(now, window, AIRTIME, AIRTIME);
            assert!(access.end >= now + AIFS + AIRTIME);
            now = access.end;
            collided += u32::from(access.collided);
            window = if access.collided { (2 * window + 1).min(CW_MAX) } else { CW_MIN };
        }
        let n = f64::from(turns);
        (now.since(Time::ZERO).as_secs_f64() * 1e6 / n, f64::from(collided) / n)
    }

    #[test]
    fn alone_it_waits_half_a_window() {
        let (each, collided) = saturated(&mut channel(0, Span::ZERO), 20_000);
        // 43 µs, 7.5 slots of 9 µs, and 1 ms.
        assert!((each - (43.0 + 67.5 + 1000.0)).abs() < 1.0, "{each}");
        assert_eq!(collided, 0.0);
    }

    #[test]
    fn competitors_share_the_channel_alike() {
        for contenders in [1, 4] {
            let (each, collided) = saturated(&mut channel(contenders, Span::ZERO), 20_000);
            let shares = f64::from(contenders) + 1.0;
            assert!((each / (shares * 1070.0) - 1.0).abs() < 0.12, "{contenders}: {each}");
            // Bianchi 2000: with n stations and a least window of 16, 1 - (1 - tau)^(n-1) is
            // 0.10 to 0.13 for two, and 0.27 to 0.31 for five.
            let range = if contenders == 1 { 0.08..0.14 } else { 0.24..0.34 };
            assert!(range.contains(&collided), "{contenders}: {collided}");
        }
    }

    #[test]
    fn idle_competitors_take_what_they_need() {
        // 1 ms of transmission for 9 ms of pause: a tenth of the channel.
        let (each, _) = saturated(&mut channel(1, Span::from_millis(9)), 20_000);
        assert!((1170.0..1300.0).contains(&each), "{each}");
    }

    #[test]
    fn after_a_long_pause_competitors_do_not_come_all_at_once() {
        // A hundred of which each is on air for 10 ms every 100 s: a hundredth of the channel.
        let long = Span::from_millis(10);
        let mut channel = Channel::new(Stream::new(1, "medium"), 100, long, Span::from_secs(100));
        let (mut now, mut waited) = (Time::ZERO, Span::ZERO);
        for _ in 0..200 {
            now += Span::from_secs(1000);
            waited += channel.access(now, CW_MIN, AIRTIME, AIRTIME).end.since(now) - AIRTIME;
        }
        let mean = waited.as_millis_f64() / 200.0;
        assert!(mean < 1.0, "{mean} ms");
    }

    #[test]
    fn long_pauses_cost_no_time_to_work_out() {
        let mut channel = channel(3, Span::ZERO);
        let far = Time::from_secs(1_000_000);
        let access = channel.access(far, CW_MIN, AIRTIME, AIRTIME);
        assert!(access.end >= far && access.end < far + Span::from_millis(50));
        assert!(channel.access(Time::NEVER, CW_MIN, AIRTIME, AIRTIME).end >= far);
    }
}
