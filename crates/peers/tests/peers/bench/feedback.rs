//! Feedback for controllers, built by the vectors.

use paceline_cc::{Congestion, Feedback, RateSample, Span, Time};

/// State of a connection, from which feedback is built. The window limits sending unless a vector
/// says otherwise.
#[derive(Clone, Debug)]
pub(crate) struct Acks {
    pub(crate) now: Time,
    pub(crate) mss: u32,
    /// RTT of the next sample, and the smoothed RTT if it differs.
    pub(crate) rtt: Span,
    pub(crate) srtt: Option<Span>,
    pub(crate) min_rtt: Span,
    pub(crate) cwnd_limited: bool,
    pub(crate) in_recovery: bool,
    /// Packets in flight before and after an acknowledgement.
    pub(crate) in_flight: (f64, f64),
    pub(crate) delivered: u64,
    pub(crate) round: u64,
    /// Whether the next acknowledgement begins a round trip.
    pub(crate) begins_round: bool,
}

impl Acks {
    pub(crate) fn new(mss: u32, rtt: Span) -> Acks {
        Acks {
            now: Time::from_secs(1),
            mss,
            rtt,
            srtt: None,
            min_rtt: Span::MAX,
            cwnd_limited: true,
            in_recovery: false,
            in_flight: (10.0, 10.0),
            delivered: 0,
            round: 0,
            begins_round: false,
        }
    }

    /// Returns an acknowledgement of `packets`, which may be a fraction.
    pub(crate) fn of(&mut self, packets: f64) -> Feedback<'static> {
        let bytes = |packets: f64| (packets * f64::from(self.mss)).round() as u64;
        let mut feedback = Feedback::new(self.now, self.mss);
        feedback.acked = bytes(packets);
        feedback.acked_packets = packets.ceil() as u32;
        feedback.rtt = (packets > 0.0).then_some(self.rtt);
        feedback.prior_in_flight = bytes(self.in_flight.0);
        feedback.in_flight = bytes(self.in_flight.1);
        feedback.cwnd_limited = self.cwnd_limited;
        feedback.in_recovery = self.in_recovery;
        feedback.srtt = self.srtt.unwrap_or(self.rtt);
        self.min_rtt = self.min_rtt.min(self.rtt);
        feedback.min_rtt = self.min_rtt;
        self.delivered += feedback.acked;
        feedback.delivered = self.delivered;
        self.round += u64::from(self.begins_round);
        feedback.round = self.round;
        feedback.round_start = self.begins_round;
        feedback
    }

    /// Returns an acknowledgement of `packets`, of which `marked` had CE.
    pub(crate) fn marked(&mut self, packets: f64, marked: u32) -> Feedback<'static> {
        let mut feedback = self.of(packets);
        feedback.marked_packets = marked;
        feedback
    }

    /// Returns an acknowledgement of one packet with a rate sample over an RTT.
    pub(crate) fn sampled(&mut self, bytes_per_sec: f64) -> Feedback<'static> {
        let prior = self.delivered;
        let mut feedback = self.of(1.0);
        let bytes = (bytes_per_sec * self.rtt.as_secs_f64()) as u64;
        feedback.sample = Some(RateSample::new(bytes, self.rtt, prior));
        feedback
    }

    /// Returns feedback that acknowledges nothing and has this congestion.
    pub(crate) fn event(&mut self, congestion: Congestion) -> Feedback<'static> {
        let mut feedback = self.of(0.0);
        feedback.congestion = Some(congestion);
        feedback
    }
}
