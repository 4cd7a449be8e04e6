//! A sender on one link, for tests: paced, every packet acknowledged, random losses.

use std::collections::VecDeque;

use paceline_cc::{
    Congestion, Controller, Fate, Feedback, Outgoing, Rate, RateSample, Span, Stream, Time,
};

const MSS: u64 = super::MSS as u64;

struct Sent {
    fate: Fate,
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    acked_at: Time,
}

/// The link, its flow, and the counters of the flow's driver.
pub(crate) struct OneFlowLink {
    pub(crate) rate: Rate,
    pub(crate) rtt: Span,
    pub(crate) loss: f64,
    /// Largest number of packets in the queue.
    pub(crate) buffer: u64,
    pub(crate) now: Time,
    pub(crate) delivered: u64,
    pub(crate) lost: u64,
    pub(crate) max_queue: Span,
    random: Stream,
    free: Time,
    sent: VecDeque<Sent>,
    in_flight: u64,
    next: u64,
    next_send: Time,
    delivered_at: Time,
    first_sent: Time,
    recovery_until: Option<u64>,
    min_rtt: Span,
    srtt: Span,
}

impl OneFlowLink {
    pub(crate) fn new(mbps: f64, rtt: Span) -> OneFlowLink {
        OneFlowLink {
            rate: Rate::from_mbps(mbps),
            rtt,
            loss: 0.0,
            buffer: 1_000_000,
            now: Time::from_millis(1),
            delivered: 0,
            lost: 0,
            max_queue: Span::ZERO,
            random: Stream::new(1, "link"),
            free: Time::ZERO,
            sent: VecDeque::new(),
            in_flight: 0,
            next: 0,
            next_send: Time::ZERO,
            delivered_at: Time::ZERO,
            first_sent: Time::ZERO,
            recovery_until: None,
            min_rtt: Span::MAX,
            srtt: Span::ZERO,
        }
    }

    /// Runs a bulk flow for `span`; calls `each` with the controller after every acknowledgement.
    pub(crate) fn run<C: Controller>(&mut self, cc: &mut C, span: Span, mut each: impl FnMut(&C)) {
        let end = self.now + span;
        while self.now < end {
            let room = self.in_flight == 0 || self.in_flight + MSS <= cc.plan().cwnd;
            let sends = if room { self.next_send.max(self.now) } else { Time::NEVER };
            let acked = self.sent.front().map_or(Time::NEVER, |sent| sent.acked_at);
            self.now = sends.min(acked);
            if sends < acked {
                self.send(cc);
            } else {
                self.acknowledge(cc);
                each(cc);
            }
        }
    }

    fn send<C: Controller>(&mut self, cc: &mut C) {
        let now = self.now;
        let size = MSS as u32;
        let (number, in_flight) = (self.next, self.in_flight);
        let tag = cc.on_send(now, &mut Outgoing::new(number, size, in_flight));
        self.next += 1;
        if in_flight == 0 {
            self.delivered_at = now;
            self.first_sent = now;
        }
        let queue = self.free.since(now);
        let full = queue > self.rate.time_for(self.buffer * MSS);
        let lost = full || self.random.chance(self.loss);
        if !lost {
            self.free = self.free.max(now) + self.rate.time_for(MSS);
            self.max_queue = self.max_queue.max(queue);
        }
        self.sent.push_back(Sent {
            fate: Fate::new(number, size, now, tag, lost),
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            acked_at: self.free.max(now) + self.rtt,
        });
        self.in_flight += MSS;
        let rate = cc.plan().pacing.expect("paced");
        self.next_send = now + rate.time_for(MSS);
    }

    /// Acknowledges the next packet, and declares the missing ones before it lost.
    fn acknowledge<C: Controller>(&mut self, cc: &mut C) {
        let (now, prior_in_flight) = (self.now, self.in_flight);
        let mut fates = Vec::new();
        let mut acked = None;
        while let Some(sent) = self.sent.pop_front() {
            fates.push(sent.fate);
            self.in_flight -= MSS;
            if !sent.fate.lost {
                acked = Some(sent);
                break;
            }
        }
        let lost = fates.iter().filter(|fate| fate.lost).count() as u64;
        self.lost += lost;
        let (mut sample, mut rtt) = (None, None);
        if let Some(sent) = &acked {
            self.delivered += MSS;
            self.delivered_at = now;
            self.first_sent = sent.fate.sent;
            let send = sent.fate.sent.since(sent.first_sent);
            let interval = now.since(sent.delivered_at).max(send);
            let delivered = self.delivered - sent.delivered;
            sample = Some(RateSample::new(delivered, interval, sent.delivered));
            let seen = now.since(sent.fate.sent);
            rtt = Some(seen);
            self.min_rtt = self.min_rtt.min(seen);
            self.srtt = if self.srtt.is_zero() { seen } else { (self.srtt * 7 + seen) / 8 };
            if self.recovery_until.is_some_and(|until| sent.fate.number >= until) {
                self.recovery_until = None;
            }
        }
        let fresh = lost > 0 && self.recovery_until.is_none();
        if fresh {
            self.recovery_until = Some(self.next);
        }
        let packets = u64::from(acked.is_some());
        let mut feedback = Feedback::new(now, MSS as u32);
        feedback.acked = packets * MSS;
        feedback.acked_packets = packets as u32;
        feedback.lost = lost * MSS;
        feedback.lost_packets = lost as u32;
        feedback.prior_in_flight = prior_in_flight;
        feedback.in_flight = self.in_flight;
        feedback.cwnd_limited = self.in_flight + 2 * MSS > cc.plan().cwnd;
        feedback.max_in_flight = prior_in_flight;
        feedback.rtt = rtt;
        feedback.srtt = self.srtt;
        feedback.min_rtt = self.min_rtt;
        feedback.delivered = self.delivered;
        feedback.sample = sample;
        feedback.congestion = fresh.then_some(Congestion::Loss);
        feedback.in_recovery = self.recovery_until.is_some();
        feedback.fates = &fates;
        cc.on_feedback(&feedback);
    }
}

/// Adds a random delivery-rate sample to feedback: for model fuzzing.
pub(crate) fn add_sample(feedback: &mut Feedback<'_>, random: &mut Stream) {
    if feedback.acked > 0 && random.chance(0.9) {
        let interval = Span::from_nanos(1 + random.below(2_000_000_000));
        let delivered = random.below(feedback.delivered + 1);
        let mut sample = RateSample::new(delivered, interval, feedback.delivered - delivered);
        sample.app_limited = random.chance(0.1);
        feedback.sample = Some(sample);
    }
    if random.chance(0.05) {
        feedback.lost = random.below(feedback.in_flight + 1);
    }
}
