//! Feedback for tests.

use paceline_cc::{Congestion, Feedback, Span, Stream, Time};

/// Packet size of the tests in bytes.
pub(crate) const MSS: u32 = 1500;

/// The acknowledgements of a sender that its window limits, as the test requests them.
pub(crate) struct Acks {
    pub(crate) now: Time,
    pub(crate) rtt: Span,
    pub(crate) cwnd_limited: bool,
    pub(crate) in_recovery: bool,
    /// Packets in flight, before and after each acknowledgement.
    pub(crate) in_flight: u64,
    min_rtt: Span,
    delivered: u64,
    round_end: u64,
    round: u64,
}

impl Acks {
    pub(crate) fn new(rtt: Span) -> Acks {
        Acks {
            now: Time::from_secs(1),
            rtt,
            cwnd_limited: true,
            in_recovery: false,
            in_flight: 10,
            min_rtt: Span::ZERO,
            delivered: 0,
            round_end: 0,
            round: 0,
        }
    }

    /// Returns an acknowledgement of `packets` packets at the present time.
    pub(crate) fn ack(&mut self, packets: u64) -> Feedback<'static> {
        self.event(packets, None)
    }

    /// Returns an acknowledgement with a congestion signal.
    pub(crate) fn event(
        &mut self,
        packets: u64,
        congestion: Option<Congestion>,
    ) -> Feedback<'static> {
        let mss = MSS as u64;
        self.delivered += packets * mss;
        let round_start = self.delivered > self.round_end;
        if round_start {
            self.round += 1;
            self.round_end = self.delivered + self.in_flight * mss;
        }
        let known = if self.min_rtt.is_zero() { Span::MAX } else { self.min_rtt };
        self.min_rtt = known.min(self.rtt);
        let mut feedback = Feedback::new(self.now, MSS);
        feedback.acked = packets * mss;
        feedback.acked_packets = packets as u32;
        feedback.prior_in_flight = self.in_flight * mss;
        feedback.in_flight = self.in_flight * mss;
        feedback.cwnd_limited = self.cwnd_limited;
        feedback.max_in_flight = self.in_flight * mss;
        feedback.rtt = (packets > 0).then_some(self.rtt);
        feedback.srtt = self.rtt;
        feedback.min_rtt = self.min_rtt;
        feedback.delivered = self.delivered;
        feedback.round = self.round;
        feedback.round_start = round_start;
        feedback.congestion = congestion;
        feedback.in_recovery = self.in_recovery;
        feedback
    }

    /// Returns random feedback, for model fuzzing.
    pub(crate) fn any(&mut self, random: &mut Stream) -> Feedback<'static> {
        let congestion = match random.below(60) {
            0 => Some(Congestion::Loss),
            1 => Some(Congestion::Ecn),
            2 => Some(Congestion::Timeout),
            3 => Some(Congestion::Undo),
            4 => Some(Congestion::LossAfterMark),
            _ => None,
        };
        let step = [0, 100, 10_000, 3_000_000, 200_000_000][random.below(5) as usize];
        self.now += Span::from_micros(random.below(step + 1));
        if random.chance(0.1) {
            self.rtt = Span::from_nanos(random.below(3_000_000_000));
            self.cwnd_limited = random.chance(0.7);
            self.in_recovery = random.chance(0.3);
            self.in_flight = random.below(2000);
        }
        let packets = if random.chance(0.01) { random.below(100_000) } else { random.below(4) };
        let mut feedback = self.event(packets, congestion);
        feedback.may_raise_cwnd = random.chance(0.95);
        if random.chance(0.02) {
            feedback.mss = random.below(9000) as u32;
            feedback.srtt = Span::MAX;
            feedback.rtt = None;
        }
        feedback
    }
}
