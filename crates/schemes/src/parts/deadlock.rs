//! Ends a deadlock of senders of real-time media: the last packets before a pause are lost, nothing is
//! reported any more, and the window stays full.

use paceline_cc::{Feedback, Outgoing, Span, Time};

/// Time without a packet after which the sender goes on: `isOkToTransmit` of EricssonResearch/scream, and
/// `kCongestedPacketInterval` of libwebrtc's `pacing_controller.cc`.
const SILENCE: Span = Span::from_millis(500);

/// Notices that nothing was sent for half a second although packets are in flight.
#[derive(Clone, Debug)]
pub(crate) struct DeadlockTimer {
    /// When the sender looks next; [`Time::NEVER`] while nothing is in flight.
    due: Time,
    last_sent: Time,
    /// One more than the newest number sent.
    next: u64,
    in_flight: u64,
    /// Bytes in flight of packets below this number that were given up.
    given_up: u64,
    given_up_below: u64,
}

impl DeadlockTimer {
    pub(crate) fn new() -> DeadlockTimer {
        DeadlockTimer {
            due: Time::NEVER,
            last_sent: Time::ZERO,
            next: 0,
            in_flight: 0,
            given_up: 0,
            given_up_below: 0,
        }
    }

    pub(crate) fn on_send(&mut self, now: Time, packet: &Outgoing) {
        self.last_sent = now;
        self.next = packet.number + 1;
        self.in_flight = packet.in_flight + u64::from(packet.size);
    }

    pub(crate) fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        self.in_flight = feedback.in_flight;
        if self.given_up > 0 {
            let settled =
                |fate: &&paceline_cc::Fate| fate.number < self.given_up_below && !fate.late;
            let bytes: u64 =
                feedback.fates.iter().filter(settled).map(|fate| u64::from(fate.size)).sum();
            self.given_up = self.given_up.saturating_sub(bytes).min(feedback.in_flight);
        }
        if self.due == Time::NEVER {
            self.due = feedback.now + SILENCE;
        }
    }

    /// Returns when [`DeadlockTimer::expire`] is to be called.
    pub(crate) fn due(&self) -> Time {
        self.due
    }

    /// Returns true if there is a deadlock at `now`.
    pub(crate) fn expire(&mut self, now: Time) -> bool {
        if now < self.due {
            return false;
        }
        let silent = self.last_sent + SILENCE;
        if self.in_flight <= self.given_up {
            // Nothing is expected: the application is idle. The next acknowledgement starts the timer again.
            self.due = Time::NEVER;
            return false;
        }
        self.due = if now < silent { silent } else { now + SILENCE };
        now >= silent
    }

    /// Gives all packets in flight up: they do not count against the window any more.
    pub(crate) fn give_up(&mut self) {
        (self.given_up, self.given_up_below) = (self.in_flight, self.next);
    }

    /// Returns the bytes in flight that were given up.
    pub(crate) fn given_up(&self) -> u64 {
        self.given_up
    }

    /// Returns the number below which packets were given up; 0 if none was.
    pub(crate) fn given_up_below(&self) -> u64 {
        self.given_up_below
    }

    /// Returns the bytes in flight.
    pub(crate) fn in_flight(&self) -> u64 {
        self.in_flight
    }
}

#[cfg(test)]
mod tests {
    use paceline_cc::Fate;

    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    fn send(timer: &mut DeadlockTimer, ms: u64, number: u64, in_flight: u64) {
        timer.on_send(at(ms), &Outgoing::new(number, 1000, in_flight));
    }

    #[test]
    fn half_a_second_without_a_packet_ends_a_deadlock() {
        let mut timer = DeadlockTimer::new();
        assert_eq!(timer.due(), Time::NEVER);
        for number in 0..3 {
            send(&mut timer, 0, number, number * 1000);
        }
        let fates = [Fate::new(0, 1000, at(0), 0, false)];
        let mut feedback = Feedback::new(at(100), 1000);
        (feedback.fates, feedback.in_flight) = (&fates, 2000);
        timer.on_feedback(&feedback);
        assert_eq!(timer.due(), at(600));
        send(&mut timer, 200, 3, 2000);
        // A packet left after the timer was started.
        assert!(!timer.expire(at(599)) && !timer.expire(at(600)));
        assert_eq!(timer.due(), at(700));
        assert!(timer.expire(at(700)));
        timer.give_up();
        assert_eq!((timer.given_up(), timer.in_flight()), (3000, 3000));
        send(&mut timer, 700, 4, 3000);
        // One of the three arrives after all; the new one counts as before.
        let fates = [Fate::new(2, 1000, at(0), 0, false)];
        let mut feedback = Feedback::new(at(800), 1000);
        (feedback.fates, feedback.in_flight) = (&fates, 3000);
        timer.on_feedback(&feedback);
        assert_eq!((timer.given_up(), timer.in_flight()), (2000, 3000));
    }

    #[test]
    fn an_idle_sender_has_no_timer() {
        let mut timer = DeadlockTimer::new();
        send(&mut timer, 0, 0, 0);
        timer.on_feedback(&Feedback::new(at(100), 1000));
        assert!(!timer.expire(at(600)));
        assert_eq!(timer.due(), Time::NEVER);
    }
}
