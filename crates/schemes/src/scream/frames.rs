//! The media's frames, as far as a sender sees them: data that begins to wait, and since when.

use std::collections::VecDeque;

use paceline_cc::{Outgoing, Span, Time};

/// Time between frames before two were seen, in seconds (draft `frame_period`).
const FIRST_PERIOD: f64 = 0.02;
/// Weight of the newest time between frames (authors' `newMediaFrame`).
const PERIOD_WEIGHT: f64 = 0.9;
/// A transfer with more than this number of waiting bytes has no frames.
const BULK: u64 = 1 << 40;
/// Frames that may wait; more are one frame.
const MAX_WAITING: usize = 64;
/// Packets after which the receiver reports within a frame, too (authors' `ackDiff`).
const REPORTED_PACKETS: u32 = 16;

/// A frame that was made.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct NewFrame {
    /// Bytes.
    pub(super) size: u64,
    /// How long the oldest data that waits has waited, in seconds.
    pub(super) queue_age: f64,
}

#[derive(Copy, Clone, Debug)]
struct Waiting {
    /// Position of its end in the stream of bytes.
    end: u64,
    made: Time,
}

/// Notes frames when packets leave.
#[derive(Clone, Debug)]
pub(super) struct Frames {
    /// Bytes of all frames, and bytes sent.
    made: u64,
    sent: u64,
    waiting: VecDeque<Waiting>,
    last_made: Option<Time>,
    /// In seconds.
    period: f64,
    queued: u64,
    /// Packets sent since the last one with which the receiver reports, and whether it reports with the last packet.
    unreported: u32,
    is_reported: bool,
}

impl Frames {
    pub(super) fn new() -> Frames {
        Frames {
            made: 0,
            sent: 0,
            waiting: VecDeque::with_capacity(MAX_WAITING + 1),
            last_made: None,
            period: FIRST_PERIOD,
            queued: 0,
            unreported: 0,
            is_reported: true,
        }
    }

    /// Takes in a packet that leaves at `now`. Returns the frame that was made since the packet before.
    pub(super) fn on_send(&mut self, now: Time, packet: &Outgoing) -> Option<NewFrame> {
        self.queued = if packet.waiting < BULK { packet.waiting } else { 0 };
        self.is_reported = true;
        if packet.waiting >= BULK {
            return None;
        }
        self.forget_sent();
        if !packet.retransmission && !packet.empty {
            self.sent += u64::from(packet.size);
        }
        let total = self.sent.saturating_add(packet.waiting);
        let size = total.saturating_sub(self.made);
        self.made = total;
        let frame = (size > 0).then(|| self.add(now, size));
        self.note_report();
        self.forget_sent();
        frame
    }

    fn add(&mut self, now: Time, size: u64) -> NewFrame {
        if self.waiting.len() == MAX_WAITING {
            self.waiting.pop_back();
        }
        self.waiting.push_back(Waiting { end: self.made, made: now });
        if let Some(last) = self.last_made {
            let time = now.since(last).as_secs_f64().clamp(0.001, 1.0);
            self.period += PERIOD_WEIGHT * (time - self.period);
        }
        self.last_made = Some(now);
        NewFrame { size, queue_age: self.age(now) }
    }

    /// Notes whether the receiver reports with the packet that leaves: one that ends a frame, or the 16th without a report.
    fn note_report(&mut self) {
        self.unreported += 1;
        let ends_frame = self.waiting.front().is_some_and(|frame| frame.end <= self.sent);
        self.is_reported = ends_frame || self.unreported >= REPORTED_PACKETS;
        if self.is_reported {
            self.unreported = 0;
        }
    }

    /// Returns true if the receiver reports with the last packet, as the authors' does. A bulk transfer has a report for
    /// each packet.
    pub(super) fn is_reported(&self) -> bool {
        self.is_reported
    }

    fn forget_sent(&mut self) {
        while self.waiting.front().is_some_and(|frame| frame.end <= self.sent) {
            self.waiting.pop_front();
        }
    }

    fn age(&self, now: Time) -> f64 {
        let oldest = self.waiting.front().map_or(Span::ZERO, |frame| now.since(frame.made));
        oldest.as_secs_f64()
    }

    /// Returns how long the data that waits has waited at most, in seconds; 0 if none waits.
    pub(super) fn queue_age(&self, now: Time) -> f64 {
        if self.queued == 0 { 0.0 } else { self.age(now) }
    }

    /// Returns the bytes that waited when the last packet left; 0 for a bulk transfer.
    pub(super) fn queued(&self) -> u64 {
        self.queued
    }

    /// Returns the bytes of all frames so far.
    pub(super) fn made(&self) -> u64 {
        self.made
    }

    /// Returns the time between frames in seconds.
    pub(super) fn period(&self) -> f64 {
        self.period
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn send(frames: &mut Frames, ms: u64, waiting: u64) -> Option<NewFrame> {
        let mut packet = Outgoing::new(0, 1000, 0);
        packet.waiting = waiting;
        frames.on_send(Time::from_millis(ms), &packet)
    }

    #[test]
    fn frames_are_seen_when_data_waits() {
        let mut frames = Frames::new();
        assert_eq!(send(&mut frames, 0, 3000), Some(NewFrame { size: 4000, queue_age: 0.0 }));
        assert_eq!(send(&mut frames, 10, 2000), None);
        assert_eq!(frames.queue_age(Time::from_millis(12)), 0.012);
        // 2000 bytes still wait when the next frame comes; one more packet leaves.
        assert_eq!(send(&mut frames, 30, 6000), Some(NewFrame { size: 5000, queue_age: 0.03 }));
        assert_eq!((frames.queued(), frames.made()), (6000, 9000));
        assert!((frames.period() - 0.029).abs() < 1e-12);
        for ms in [40, 50, 60, 70, 80, 90] {
            assert_eq!(send(&mut frames, ms, 5000 - (ms - 40) * 100), None, "{ms}");
        }
        assert_eq!(frames.queue_age(Time::from_millis(99)), 0.0);
    }

    #[test]
    fn the_receiver_reports_with_the_end_of_a_frame_and_each_16_packets() {
        let mut frames = Frames::new();
        let mut reported = |waiting: &[u64]| {
            let is_reported = |&waiting: &u64| {
                send(&mut frames, 0, waiting);
                frames.is_reported()
            };
            waiting.iter().map(is_reported).collect::<Vec<_>>()
        };
        // Three packets of a frame; one packet of another one, during which a third frame of two packets is made.
        assert_eq!(reported(&[2000, 1000, 0, 0]), [false, false, true, true]);
        assert_eq!(reported(&[1000, 2000, 1000, 0]), [false, true, false, true]);
        let long: Vec<u64> = (0..20).rev().map(|packets| packets * 1000).collect();
        let places = reported(&long)
            .iter()
            .enumerate()
            .filter(|(_, report)| **report)
            .map(|(at, _)| at)
            .collect::<Vec<_>>();
        assert_eq!(places, [15, 19]);
    }

    #[test]
    fn bulk_has_no_frames() {
        let mut frames = Frames::new();
        assert_eq!(send(&mut frames, 0, u64::MAX), None);
        assert!(frames.is_reported());
        assert_eq!((frames.queued(), frames.queue_age(Time::from_secs(1))), (0, 0.0));
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut frames = Frames::new();
        let capacity = frames.waiting.capacity();
        for ms in 0..1000 {
            send(&mut frames, ms, ms * 5000);
        }
        assert_eq!(frames.waiting.capacity(), capacity);
    }
}
