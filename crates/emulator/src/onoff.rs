//! A line that goes on and off: packets pass while it is on and are lost while it is off.

use std::collections::VecDeque;

use paceline_cc::{Packet, Span, Stage, Stream, Time};

/// After this many mean cycles without a packet, the state is drawn anew, which exponential times allow.
const FORGOTTEN: u64 = 1000;

/// Passes packets at once or loses them. Times on and off are exponentially distributed; it
/// begins on, as Mahimahi's `mm-onoff`.
#[derive(Debug)]
pub struct OnOff {
    mean_on: Span,
    mean_off: Span,
    on: bool,
    next: Time,
    stream: Stream,
    passed: VecDeque<(Time, Packet)>,
    lost: Vec<Packet>,
}

impl OnOff {
    /// Creates a line with these mean times, at least one of which is above zero. Random numbers come from `stream`.
    pub fn new(mean_on: Span, mean_off: Span, stream: Stream) -> OnOff {
        OnOff {
            mean_on,
            mean_off,
            on: false,
            next: Time::ZERO,
            stream,
            passed: VecDeque::new(),
            lost: Vec::new(),
        }
    }

    /// Takes the packets lost since the last call, for a driver that owns their bytes.
    pub fn drain_lost(&mut self) -> std::vec::Drain<'_, Packet> {
        self.lost.drain(..)
    }

    fn catch_up(&mut self, now: Time) {
        let cycle = self.mean_on + self.mean_off;
        if self.next + cycle * FORGOTTEN < now {
            let share = self.mean_on.as_secs_f64() / cycle.as_secs_f64();
            // The loop below turns it round.
            self.on = !self.stream.chance(share);
            self.next = now;
        }
        while self.next <= now {
            self.on = !self.on;
            let mean = if self.on { self.mean_on } else { self.mean_off };
            self.next = match mean.is_zero() {
                true => self.next,
                false => {
                    let length = self.stream.exponential(mean.as_secs_f64());
                    self.next + Span::from_secs_f64(length).max(Span::from_nanos(1))
                }
            };
        }
    }
}

impl Stage for OnOff {
    fn push(&mut self, now: Time, packet: &Packet) {
        self.catch_up(now);
        if self.on {
            self.passed.push_back((now, *packet));
        } else {
            self.lost.push(*packet);
        }
    }

    fn pop_into(&mut self, now: Time, place: &mut Packet) -> bool {
        match self.passed.pop_front_if(|(at, _)| *at <= now) {
            Some((_, packet)) => {
                *place = packet;
                true
            }
            None => false,
        }
    }

    fn wake(&self) -> Time {
        self.passed.front().map_or(Time::NEVER, |&(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the share of packets, one each millisecond, that pass.
    fn share(on: u64, off: u64, packets: u64) -> f64 {
        let stream = Stream::new(7, "onoff");
        let mut line = OnOff::new(Span::from_millis(on), Span::from_millis(off), stream);
        let mut passed = 0;
        for i in 0..packets {
            let now = Time::from_millis(i);
            line.push(now, &Packet::opaque(1500));
            while line.pop(now).is_some() {
                passed += 1;
            }
        }
        assert_eq!(passed + line.drain_lost().count() as u64, packets);
        passed as f64 / packets as f64
    }

    #[test]
    fn the_share_that_passes_is_that_of_time_on() {
        let share = share(30, 10, 400_000);
        assert!((share - 0.75).abs() < 0.02, "{share}");
    }

    #[test]
    fn never_off_and_never_on() {
        assert_eq!(share(30, 0, 1000), 1.0);
        assert_eq!(share(0, 30, 1000), 0.0);
    }

    #[test]
    fn it_begins_on() {
        let mut line =
            OnOff::new(Span::from_secs(9999), Span::from_millis(1), Stream::new(1, "onoff"));
        line.push(Time::ZERO, &Packet::opaque(40));
        assert_eq!(line.wake(), Time::ZERO);
        assert!(line.pop(Time::ZERO).is_some());
    }

    #[test]
    fn a_long_silence_costs_no_time() {
        let mut line =
            OnOff::new(Span::from_nanos(1), Span::from_nanos(1), Stream::new(1, "onoff"));
        line.push(Time::from_secs(1 << 30), &Packet::opaque(40));
    }
}
