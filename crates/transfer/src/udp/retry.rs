//! When a client connects again after its connection was cut off, and when it gives up.

use paceline_cc::{Span, Time};

/// Pause before the first reconnection; each further pause is twice as long.
const FIRST_PAUSE: Span = Span::from_millis(200);
/// Maximum pause.
const LONGEST_PAUSE: Span = Span::from_secs(5);

/// Schedule of reconnections: pauses double until there is progress. Without progress for
/// `patience`, the client gives up.
#[derive(Debug)]
pub(super) struct Retry {
    /// Maximum time without progress.
    patience: Span,
    last_progress: Time,
    pause: Span,
}

impl Retry {
    /// Starts with progress at `now`. A `patience` of zero means that the client never reconnects.
    pub(super) fn new(patience: Span, now: Time) -> Retry {
        Retry { patience, last_progress: now, pause: FIRST_PAUSE }
    }

    /// Notes that data has arrived at the other end.
    pub(super) fn on_progress(&mut self, now: Time) {
        (self.last_progress, self.pause) = (now, FIRST_PAUSE);
    }

    /// Notes that the other end was restarted and answers. The next attempt follows at once, unless
    /// the previous connection made no progress either.
    pub(super) fn on_restart(&mut self) {
        if self.pause == FIRST_PAUSE {
            self.pause = Span::ZERO;
        }
    }

    /// Returns when the client gives up if there is no further progress.
    pub(super) fn end(&self) -> Time {
        self.last_progress + self.patience
    }

    /// Returns when to connect again after a connection or an attempt has failed; `None` if the
    /// client gives up.
    pub(super) fn next(&mut self, now: Time) -> Option<Time> {
        let end = self.end();
        if now >= end {
            return None;
        }
        let next = (now + self.pause).min(end);
        self.pause = (self.pause * 2).clamp(FIRST_PAUSE * 2, LONGEST_PAUSE);
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restarted_receiver_is_asked_at_once_but_not_again_and_again() {
        let mut retry = Retry::new(Span::from_secs(20), Time::ZERO);
        let mut now = Time::ZERO;
        for pause in [0, 400, 800] {
            retry.on_restart();
            let next = retry.next(now).expect("patience is left");
            assert_eq!(next, now + Span::from_millis(pause));
            now = next;
        }
        retry.on_progress(now);
        retry.on_restart();
        assert_eq!(retry.next(now), Some(now));
    }

    #[test]
    fn pauses_grow_to_five_seconds_and_end_with_patience() {
        let mut retry = Retry::new(Span::from_secs(20), Time::ZERO);
        let (mut now, mut pauses) = (Time::ZERO, Vec::new());
        while let Some(next) = retry.next(now) {
            pauses.push(next.since(now).as_millis_f64());
            now = next;
            assert!(pauses.len() < 100);
        }
        assert_eq!(pauses, [200.0, 400.0, 800.0, 1600.0, 3200.0, 5000.0, 5000.0, 3800.0]);
        retry.on_progress(now);
        assert_eq!(retry.next(now), Some(now + FIRST_PAUSE));
        retry.on_restart();
        assert_eq!(retry.next(now), Some(now + FIRST_PAUSE * 2));
        assert_eq!(Retry::new(Span::ZERO, now).next(now), None);
    }
}
