//! When a sender looks its rule up without an acknowledgement.

use paceline_cc::{Span, Time};

/// Silence after which a sender no longer looks its rule up, so that a connection without traffic
/// has no timer: by then its window has long been that of a silent path.
const LONGEST_SILENCE: Span = Span::from_secs(10);

/// A timer that starts with each acknowledgement: a table whose rules are on a timer has them looked
/// up when an acknowledgement does not come for this long, and then again and again.
#[derive(Clone, Debug)]
pub struct Ticker {
    /// Time between two look-ups; zero for tables without a timer.
    interval: Span,
    /// When the last acknowledgement came.
    last: Time,
    next: Time,
}

impl Ticker {
    /// Returns the timer of a connection without acknowledgements, for a table with this
    /// [`timer`](super::RuleTable::timer).
    pub fn new(interval: Span) -> Ticker {
        Ticker { interval, last: Time::ZERO, next: Time::NEVER }
    }

    /// Starts the timer anew, since an acknowledgement has come.
    #[inline]
    pub fn on_ack(&mut self, now: Time) {
        if self.interval > Span::ZERO {
            (self.last, self.next) = (now, now + self.interval);
        }
    }

    /// Returns when the rule is next looked up without an acknowledgement; [`Time::NEVER`] without
    /// a timer, before the first acknowledgement, and after 10 s of silence.
    #[inline]
    pub fn next(&self) -> Time {
        self.next
    }

    /// Handles the time of [`Ticker::next`]. Returns the time since the last acknowledgement.
    pub fn on_tick(&mut self, now: Time) -> Span {
        let silence = now.since(self.last);
        self.next = if silence < LONGEST_SILENCE { now + self.interval } else { Time::NEVER };
        silence
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_follow_an_acknowledgement_and_end_with_the_longest_silence() {
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        let mut ticker = Ticker::new(Span::from_millis(20));
        assert_eq!(ticker.next(), Time::NEVER, "no acknowledgement yet");
        ticker.on_ack(at(5));
        assert_eq!(ticker.next(), at(25));
        assert_eq!(ticker.on_tick(at(25)), Span::from_millis(20));
        assert_eq!(ticker.next(), at(45));
        ticker.on_ack(at(30));
        assert_eq!(ticker.next(), at(50));
        let ticks = std::iter::from_fn(|| {
            let next = ticker.next();
            (next != Time::NEVER).then(|| ticker.on_tick(next))
        });
        assert_eq!((ticks.last(), ticker.next()), (Some(LONGEST_SILENCE), Time::NEVER));
        let mut none = Ticker::new(Span::ZERO);
        none.on_ack(at(5));
        assert_eq!(none.next(), Time::NEVER);
    }
}
