//! A rate over a sliding window of time.

use paceline_cc::{Rate, Span, Time};

/// Bytes in a sliding window. It counts as the authors' routers do, but in bytes, so that small
/// packets are not taken for a faster link.
///
/// The window begins at an event and counts the events after it: the oldest event no older than the
/// window's length or, after a longer pause, the last event before the pause. So the count is never
/// zero once something has been recorded: after an outage, a link starts at one packet per window.
///
/// The memory is a ring buffer with room for the most events that one window ever had.
#[derive(Clone, Debug)]
pub struct RateMeter {
    span: Span,
    /// Beginning of the window: the event before the first in the ring.
    begin: Time,
    /// Times and bytes; the length is a power of two.
    ring: Box<[(Time, u32)]>,
    head: usize,
    len: usize,
    /// Sum of the bytes in the ring.
    bytes: u64,
}

impl RateMeter {
    /// Returns a meter for windows of `span`; the first begins with the run.
    pub fn new(span: Span) -> RateMeter {
        let ring = vec![(Time::ZERO, 0); 64].into_boxed_slice();
        RateMeter { span, begin: Time::ZERO, ring, head: 0, len: 0, bytes: 0 }
    }

    /// Records `bytes` at `now`.
    #[inline]
    pub fn record(&mut self, now: Time, bytes: u32) {
        self.expire(now);
        if self.len == self.ring.len() {
            self.grow();
        }
        let place = (self.head + self.len) & (self.ring.len() - 1);
        self.ring[place] = (now, bytes);
        self.len += 1;
        self.bytes += bytes as u64;
    }

    /// Moves the beginning of the window up to `now`.
    #[inline]
    pub fn expire(&mut self, now: Time) {
        while self.len > 0 && now.since(self.begin) > self.span {
            let (time, bytes) = self.ring[self.head];
            // Events of one moment expire together.
            if time >= now {
                break;
            }
            self.begin = time;
            self.bytes -= bytes as u64;
            self.head = (self.head + 1) & (self.ring.len() - 1);
            self.len -= 1;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let mut larger = vec![(Time::ZERO, 0); 2 * self.ring.len()];
        let (after, before) = self.ring.split_at(self.head);
        larger[..before.len()].copy_from_slice(before);
        larger[before.len()..self.ring.len()].copy_from_slice(after);
        self.ring = larger.into_boxed_slice();
        self.head = 0;
    }

    /// Returns the bytes in the window.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the bytes in the window divided by its length.
    pub fn rate(&self) -> Rate {
        Rate::from_bytes_in(self.bytes, self.span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_stream_has_its_rate() {
        let mut meter = RateMeter::new(Span::from_millis(20));
        for ms in 1..=100 {
            meter.record(Time::from_millis(ms), 1500);
        }
        assert_eq!(meter.rate(), Rate::from_mbps(12.0));
        assert_eq!(meter.bytes(), 20 * 1500);
        assert_eq!(meter.len, 20);
    }

    #[test]
    fn a_pause_leaves_one_event() {
        let mut meter = RateMeter::new(Span::from_millis(20));
        for ms in [1, 2, 3, 500] {
            meter.record(Time::from_millis(ms), 1500);
        }
        assert_eq!(meter.bytes(), 1500);
        // All events of one moment count, until the next moment.
        meter.record(Time::from_millis(500), 1500);
        assert_eq!(meter.bytes(), 3000);
        meter.record(Time::from_millis(501), 1500);
        assert_eq!(meter.bytes(), 3000);
        meter.expire(Time::from_secs(9));
        assert_eq!(meter.bytes(), 0);
    }

    #[test]
    fn the_window_is_closed_at_its_begin() {
        let mut meter = RateMeter::new(Span::from_millis(20));
        meter.record(Time::from_millis(100), 1);
        meter.record(Time::from_millis(110), 2);
        meter.record(Time::from_millis(120), 4);
        assert_eq!(meter.bytes(), 6);
        meter.expire(Time::from_millis(120) + Span::from_nanos(1));
        assert_eq!(meter.bytes(), 4);
    }

    #[test]
    fn it_agrees_with_a_list() {
        use paceline_cc::Stream;
        let mut random = Stream::new(5, "meter");
        let span = Span::from_micros(20);
        let (mut meter, mut list) = (RateMeter::new(span), vec![(Time::ZERO, 0)]);
        let mut now = Time::ZERO;
        for i in 0..20_000 {
            let step = if i % 2000 < 500 { 90 } else { 1_000_000 };
            let most = random.below(step) + 1;
            now += Span::from_nanos(random.below(most));
            while list.len() > 1 && now.since(list[0].0) > span && now > list[1].0 {
                list.remove(0);
            }
            if random.chance(0.8) {
                let bytes = random.below(9000) as u32;
                list.push((now, bytes));
                meter.record(now, bytes);
            } else {
                meter.expire(now);
            }
            let bytes: u64 = list[1..].iter().map(|&(_, bytes)| bytes as u64).sum();
            assert_eq!(meter.bytes(), bytes);
        }
        assert!(meter.ring.len() > 64);
    }
}
