//! The number of packets that the Saturator keeps in flight (Winstein's thesis, section 2.3.1).
//! Without input or output.
//!
//! The authors' rule changes the window only when the RTT has left its band, so that the RTT may
//! lie anywhere in the band when the link's rate falls. The default rule sets the window to what
//! the link delivers in 1100 ms at the rate of the last 250 ms. 1100 ms is near the middle of the
//! band on a logarithmic scale, because link rates change by ratios.

use std::collections::VecDeque;

use paceline_cc::{Span, Time};
use paceline_measure::Samples;
use paceline_wire::saturator::SentStats;

/// Lower end of the band. An RTT above it means that the link always has a packet to send.
pub const LEAST_RTT: Span = Span::from_millis(750);
/// Upper end of the band. An RTT below it means that the network's buffers do not overflow.
pub const MOST_RTT: Span = Span::from_millis(3000);
/// Initial window in packets.
const FIRST: u32 = 20;
/// The authors' decrease: `STEP` packets per acknowledgement, from windows above `ABOVE`, down to
/// at least `LEAST`.
const STEP: u32 = 20;
const ABOVE: u32 = 30;
const LEAST: u32 = 11;
/// Maximum pause between two packets.
const PAUSE: Span = Span::from_millis(1000);

/// The default rule: target RTT, and the interval over which the delivery rate is measured.
const AIM: Span = Span::from_millis(1100);
const RATE_OVER: Span = Span::from_millis(250);

/// How the window follows the RTT.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    /// The window is what the link delivers within 1100 ms, once the RTT has reached its band.
    #[default]
    Delivery,
    /// The authors' rule: fixed steps while the RTT is outside its band.
    Thesis,
}

/// The sender's window for one direction.
#[derive(Debug)]
pub struct Window {
    rule: Rule,
    window: u32,
    most: u32,
    /// Times of the acknowledgements of the last 250 ms, and the packets that each acknowledged.
    recent: VecDeque<(Time, u32)>,
    delivered: u32,
    /// Number of the next packet, and one more than the largest number that was acknowledged.
    next: u32,
    acked: u32,
    last_sent: Time,
    last_ack: Time,
    /// Number of the first packet sent after the RTT reached its band.
    steady: Option<u32>,
    in_band: Span,
    total: Span,
    rtts: Samples,
}

impl Window {
    /// Creates a window of 20 packets that grows to at most `most` (1500 in the thesis).
    pub fn new(now: Time, rule: Rule, most: u32) -> Window {
        Window {
            rule,
            recent: VecDeque::new(),
            delivered: 0,
            window: FIRST,
            most: most.max(FIRST),
            next: 0,
            acked: 0,
            last_sent: Time::ZERO,
            last_ack: now,
            steady: None,
            in_band: Span::ZERO,
            total: Span::ZERO,
            rtts: Samples::with_capacity(0),
        }
    }

    /// Returns the window in packets.
    pub fn window(&self) -> u32 {
        self.window
    }
    /// Returns the packets in flight or lost: those sent after the newest acknowledged packet.
    pub fn outstanding(&self) -> u32 {
        self.next - self.acked
    }
    /// Returns the number of the first packet sent after the RTT reached its band.
    pub fn steady(&self) -> Option<u32> {
        self.steady
    }
    /// Returns when the newest acknowledgement arrived.
    pub fn heard(&self) -> Time {
        self.last_ack
    }
    /// Returns when a packet may leave if no acknowledgement arrives.
    pub fn wake(&self) -> Time {
        self.last_sent + PAUSE
    }

    /// Returns the number of the packet to send now, and whether the link is saturated; `None` if
    /// the window is full.
    pub fn send(&mut self, now: Time) -> Option<(u32, bool)> {
        let may = self.outstanding() < self.window || now >= self.wake();
        if !may || self.next == u32::MAX {
            return None;
        }
        self.next += 1;
        self.last_sent = now;
        Some((self.next - 1, self.steady.is_some()))
    }

    /// Notes that packet `number` was acknowledged `rtt` after it was sent. Ignores numbers that
    /// were not sent.
    pub fn on_ack(&mut self, now: Time, number: u32, rtt: Span) {
        if number >= self.next {
            return;
        }
        let news = (number + 1).saturating_sub(self.acked);
        self.acked += news;
        match (self.rule, self.steady) {
            (Rule::Delivery, Some(_)) => self.follow(now, news),
            _ => self.step(rtt),
        }
        self.note(now, rtt);
    }

    /// Applies the authors' rule.
    fn step(&mut self, rtt: Span) {
        if rtt < LEAST_RTT && self.window < self.most {
            self.window += 1;
        } else if rtt > MOST_RTT && self.window > ABOVE {
            self.window = self.window.saturating_sub(STEP).max(LEAST);
        }
    }

    /// Sets the window to what the link delivers in [`AIM`]. Lost packets count as delivered,
    /// because they are no longer in flight.
    fn follow(&mut self, now: Time, news: u32) {
        self.recent.push_back((now, news));
        self.delivered += news;
        while let Some((at, count)) = self.recent.front().copied()
            && now.since(at) >= RATE_OVER
        {
            self.recent.pop_front();
            self.delivered -= count;
        }
        let share = AIM.as_secs_f64() / RATE_OVER.as_secs_f64();
        let packets = (f64::from(self.delivered) * share) as u32;
        self.window = packets.clamp(LEAST, self.most);
    }

    /// Records an RTT.
    fn note(&mut self, now: Time, rtt: Span) {
        // Weight the RTT by the time since the last acknowledgement. Packets that wait for the end
        // of an outage then count for its whole length.
        if self.steady.is_some() {
            let span = now.since(self.last_ack);
            self.total += span;
            if (LEAST_RTT..=MOST_RTT).contains(&rtt) {
                self.in_band += span;
            }
            self.rtts.push(rtt);
        } else if rtt >= LEAST_RTT {
            self.steady = Some(self.next);
        }
        self.last_ack = now;
    }

    /// Returns the counters and quantiles so far.
    pub fn stats(&self) -> SentStats {
        let total = self.total.as_secs_f64();
        let share = if total > 0.0 { self.in_band.as_secs_f64() / total } else { 0.0 };
        let rtts = self.rtts.quantiles();
        let rtt = [rtts.p50, rtts.p95, rtts.p99, rtts.max].map(|millis| (millis * 1e3) as u32);
        SentStats { sent: self.next, in_band: (share * 1e6).round() as u32, rtt }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(window: &mut Window, now: Time) -> u32 {
        std::iter::from_fn(|| window.send(now)).count() as u32
    }

    #[test]
    fn the_window_follows_the_authors_rules() {
        let mut window = Window::new(Time::ZERO, Rule::Thesis, 1500);
        let now = Time::from_secs(2);
        assert_eq!(sent(&mut window, now), 20);
        assert_eq!(sent(&mut window, Time::from_millis(2999)), 0);
        assert_eq!(sent(&mut window, Time::from_secs(3)), 1, "one a second at least");
        // Below the band the window grows by one packet per acknowledgement.
        let short = Span::from_millis(749);
        window.on_ack(now, 0, short);
        assert_eq!((window.window(), window.outstanding()), (21, 20));
        for rtt in [750, 2000, 3000] {
            window.on_ack(now, 1, Span::from_millis(rtt));
            assert_eq!(window.window(), 21);
        }
        (0..10).for_each(|_| window.on_ack(now, 2, short));
        assert_eq!(window.window(), 31);
        window.on_ack(now, 3, Span::from_millis(3100));
        assert_eq!(window.window(), 11);
        window.on_ack(now, 4, Span::from_millis(3100));
        assert_eq!(window.window(), 11, "it does not shrink from 30 on");
        (0..5000).for_each(|_| window.on_ack(now, 5, short));
        assert_eq!(window.window(), 1500);
        window.on_ack(now, u32::MAX, short);
        assert_eq!(window.outstanding(), 21 - 6, "a number that was not sent");
    }

    #[test]
    fn the_other_rule_keeps_what_the_link_delivers_in_its_aim() {
        let mut window = Window::new(Time::ZERO, Rule::Delivery, 10_000);
        let (mut number, mut waits) = (0, VecDeque::new());
        // The link delivers one packet per millisecond, later one per 4 ms; each is acknowledged 40
        // ms after it left the queue.
        for ms in 0..20_000u64 {
            let now = Time::from_millis(ms);
            while window.send(now).is_some() {
                waits.push_back(now);
            }
            if ms > 40
                && (ms < 10_000 || ms % 4 == 0)
                && let Some(sent) = waits.pop_front()
            {
                window.on_ack(now, number, now.since(sent) + Span::from_millis(40));
                number += 1;
            }
            match ms {
                9_999 => assert!((1090..1110).contains(&window.window()), "{}", window.window()),
                19_999 => assert!((270..280).contains(&window.window()), "{}", window.window()),
                _ => {}
            }
        }
        // At the change of rate, 1100 packets wait for 4.4 s.
        let stats = window.stats();
        assert!((600_000..900_000).contains(&stats.in_band), "{stats:?}");
        assert!((4_000_000..4_600_000).contains(&stats.rtt[3]), "{stats:?}");
    }

    #[test]
    fn shares_are_of_the_time_from_the_first_time_in_the_band() {
        let mut window = Window::new(Time::ZERO, Rule::Thesis, 1500);
        sent(&mut window, Time::ZERO);
        window.on_ack(Time::from_millis(500), 0, Span::from_millis(500));
        assert_eq!(window.steady(), None);
        window.on_ack(Time::from_millis(900), 1, Span::from_millis(800));
        assert_eq!(window.steady(), Some(20));
        for (at, rtt) in [(1900, 1000), (2900, 3000), (3900, 3001), (4900, 749)] {
            window.on_ack(Time::from_millis(at), 2, Span::from_millis(rtt));
        }
        let stats = window.stats();
        assert_eq!((stats.in_band, stats.rtt[3]), (500_000, 3_001_000));
    }
}
