//! A path with random properties, on which packets and acknowledgements arrive or are lost.

use paceline_cc::{Ack, NO_SEGMENT, Span, Stream, Time};

/// An acknowledgement, and the ranges of numbers beside its blocks.
#[derive(Clone)]
pub(super) struct Receipt {
    pub(super) ack: Ack,
    pub(super) older: Vec<(u64, u64)>,
}

/// The packets on the path, and those that have arrived.
pub(super) struct Path {
    pub(super) random: Stream,
    loss: f64,
    /// Largest number of milliseconds added to each delay.
    jitter: u64,
    reliable: bool,
    /// Until then nothing arrives: packets wait or are lost.
    outage: Time,
    /// Packets under way with their arrival times; numbers of packets that have arrived.
    forward: Vec<(Time, u64)>,
    arrived: Vec<bool>,
    /// Segment of each packet, and segments that have arrived.
    segments: Vec<u64>,
    arrived_segments: Vec<u64>,
    /// Acknowledgements under way with their arrival times.
    back: Vec<(Time, Receipt)>,
    ce_packets: u32,
}

impl Path {
    pub(super) fn new(mut random: Stream, reliable: bool) -> Path {
        Path {
            loss: [0.0, 0.02, 0.3][random.below(3) as usize],
            jitter: [1, 5, 60][random.below(3) as usize],
            random,
            reliable,
            outage: Time::ZERO,
            forward: Vec::new(),
            arrived: Vec::new(),
            segments: Vec::new(),
            arrived_segments: Vec::new(),
            back: Vec::new(),
            ce_packets: 0,
        }
    }

    /// Returns the time until the next step; starts an outage now and then.
    pub(super) fn pause(&mut self, now: Time) -> Span {
        if self.random.chance(0.005) {
            self.outage = now + Span::from_millis(self.random.below(3000));
        }
        let most = if now < self.outage { 100 } else { 4 };
        Span::from_micros(self.random.below(most * 1000))
    }

    fn delay(&mut self, now: Time) -> Time {
        let delay = Span::from_micros(10_000 + self.random.below(self.jitter * 1000));
        now.max(self.outage) + delay
    }

    pub(super) fn send(&mut self, now: Time, number: u64, segment: u64) {
        let loss = if now < self.outage { 0.5 } else { self.loss };
        if !self.random.chance(loss) {
            let at = self.delay(now);
            self.forward.push((at, number));
        }
        self.arrived.push(false);
        self.segments.push(segment);
    }

    /// Lets packets arrive; returns the acknowledgements that arrive.
    pub(super) fn arrivals(&mut self, now: Time) -> Vec<Receipt> {
        for (at, number) in std::mem::take(&mut self.forward) {
            if at > now {
                self.forward.push((at, number));
                continue;
            }
            self.arrived[number as usize] = true;
            let segment = self.segments[number as usize];
            self.arrived_segments.extend((segment != NO_SEGMENT).then_some(segment));
            self.ce_packets += u32::from(self.random.chance(0.02));
            let receipt = self.receipt(now, number);
            let copies = [0, 1, 1, 1, 2][self.random.below(5) as usize];
            for _ in 0..copies {
                let at = self.delay(now);
                self.back.push((at, receipt.clone()));
            }
        }
        let mut receipts = Vec::new();
        self.back.retain(|(at, receipt)| {
            if *at <= now {
                receipts.push(receipt.clone());
            }
            *at > now
        });
        receipts
    }

    /// Returns the receiver's acknowledgement: three blocks downward from the largest number, or
    /// from the last one that arrived; and mostly some of the ranges below.
    fn receipt(&mut self, now: Time, last: u64) -> Receipt {
        let newest = self.arrived.iter().rposition(|arrived| *arrived).unwrap_or(0) as u64;
        let largest = if self.random.chance(0.9) { newest } else { last };
        let mut ack = Ack { largest, received: now, ce_packets: self.ce_packets, ..Ack::default() };
        let mut below = largest as usize + 1;
        let most = if self.random.chance(0.8) { 3 + self.random.below(30) as usize } else { 3 };
        let mut older = Vec::new();
        for block in 0..most {
            let end = below;
            while below > 0 && self.arrived[below - 1] {
                below -= 1;
            }
            match ack.lengths.get_mut(block) {
                Some(length) => *length = (end - below) as u32,
                None => older.push((below as u64, end as u64 - 1)),
            }
            let start = below;
            while below > 0 && !self.arrived[below - 1] {
                below -= 1;
            }
            if below == 0 {
                break;
            }
            if let Some(gap) = ack.gaps.get_mut(block) {
                *gap = (start - below) as u32;
            }
        }
        // Segments continue after a gap when the connection is a new one.
        let first = self.arrived_segments.iter().max().map_or(0, |segment| segment / 10_000);
        ack.cumulative = first * 10_000;
        while self.reliable && self.arrived_segments.contains(&ack.cumulative) {
            ack.cumulative += 1;
        }
        Receipt { ack, older }
    }

    /// Returns an arbitrary acknowledgement.
    pub(super) fn hostile_ack(&mut self) -> Receipt {
        let sent = self.segments.len() as u64;
        let mut near = |span: u64| match self.random.below(6) {
            0 => self.random.next_u64(),
            1 => u64::MAX - self.random.below(3),
            _ => self.random.below(span + 5),
        };
        let (largest, cumulative) = (near(sent), near(sent));
        let mut lengths = [near(20) as u32, near(5) as u32, near(5) as u32];
        if u64::from(lengths[0]) > largest {
            // The ledger may or may not acknowledge the largest number of an impossible first
            // block, depending on its open numbers.
            lengths[0] = 0;
        }
        let gaps = [near(5) as u32, near(5) as u32];
        let (received, ce_packets) = (Time::from_nanos(near(9)), near(9) as u32);
        let ece = near(1) % 2 == 0;
        let older = (0..near(3).min(3)).map(|_| (near(sent), near(sent))).collect();
        let ack =
            Ack { largest, cumulative, lengths, gaps, received, ce_packets, ece, ..Ack::default() };
        Receipt { ack, older }
    }
}
