//! The facts that scripts can expect, each as the text in a script.

use paceline_cc::{Congestion, Feedback, RateSample, Span, Time};

use super::words::{show_millis, show_numbers};
use super::{SIZE, Script};

/// The account's answer to an event.
#[derive(Default)]
pub(crate) struct EventOutcome {
    pub(crate) acked: Vec<u64>,
    pub(crate) lost: Vec<u64>,
    /// Packets sent by `fill`, and the packets that they repeated.
    pub(crate) sent: Vec<u64>,
    pub(crate) resent: Vec<u64>,
    feedback: Option<FeedbackFields>,
}

/// The fields of a feedback.
struct FeedbackFields {
    rtt: Option<Span>,
    congestion: Option<Congestion>,
    in_recovery: bool,
    cwnd_limited: bool,
    max_in_flight: u64,
    may_raise_cwnd: bool,
    round: u64,
    round_start: bool,
    sample: Option<RateSample>,
    marked: u32,
    delivered: u64,
    prior: u64,
}

impl EventOutcome {
    /// Stores a feedback, and checks that its parts are consistent.
    pub(crate) fn new(feedback: &Feedback<'_>, segments: &[u64]) -> Result<EventOutcome, String> {
        let (mut acked, mut lost) = (Vec::new(), Vec::new());
        let (mut acked_bytes, mut lost_bytes) = (0, 0);
        for fate in feedback.fates {
            if fate.tag != fate.number + 7 || fate.number >= segments.len() as u64 {
                return Err(format!("a fate of no packet that was sent: {fate:?}"));
            }
            let (list, bytes) = match fate.lost {
                true => (&mut lost, &mut lost_bytes),
                false => (&mut acked, &mut acked_bytes),
            };
            list.push(fate.number);
            *bytes += u64::from(fate.size);
        }
        let counts = (feedback.acked_packets as usize, feedback.lost_packets as usize);
        if counts != (acked.len(), lost.len())
            || (feedback.acked, feedback.lost) != (acked_bytes, lost_bytes)
        {
            return Err(format!("counts and fates differ: {feedback:?}"));
        }
        let kept = FeedbackFields {
            rtt: feedback.rtt,
            congestion: feedback.congestion,
            in_recovery: feedback.in_recovery,
            cwnd_limited: feedback.cwnd_limited,
            max_in_flight: feedback.max_in_flight,
            may_raise_cwnd: feedback.may_raise_cwnd,
            round: feedback.round,
            round_start: feedback.round_start,
            sample: feedback.sample,
            marked: feedback.marked_packets,
            delivered: feedback.delivered,
            prior: feedback.prior_in_flight,
        };
        Ok(EventOutcome { acked, lost, feedback: Some(kept), ..EventOutcome::default() })
    }

    /// Returns a fact about the last event, by name.
    pub(crate) fn fact(&self, name: &str) -> Option<String> {
        let list = match name {
            "acked" => Some(&self.acked),
            "lost" => Some(&self.lost),
            "sent" => Some(&self.sent),
            "resent" => Some(&self.resent),
            _ => None,
        };
        if let Some(list) = list {
            return Some(show_numbers(list));
        }
        let told = self.feedback.as_ref()?;
        Some(match name {
            // The RTT sample of the acknowledgement.
            "rtt" => told.rtt.map_or("none".to_string(), show_millis),
            "congestion" => match told.congestion {
                None => "none",
                Some(Congestion::Loss) => "loss",
                Some(Congestion::LossAfterMark) => "loss-after-mark",
                Some(Congestion::Ecn) => "ecn",
                Some(Congestion::Timeout) => "timeout",
                Some(Congestion::Undo) => "undo",
            }
            .to_string(),
            "recovery" => on_off(told.in_recovery),
            "cwnd-limited" => yes_no(told.cwnd_limited),
            // The largest flight of the last window of data, in packets.
            "largest-flight" => packets(told.max_in_flight),
            "may-raise" => yes_no(told.may_raise_cwnd),
            "round" => told.round.to_string(),
            "round-start" => yes_no(told.round_start),
            // `10 in 100`: ten packets delivered in 100 ms.
            "sample" => told.sample.map_or("none".to_string(), |sample| {
                let limited = if sample.app_limited { " app-limited" } else { "" };
                let interval = show_millis(sample.interval);
                format!("{} in {interval}{limited}", packets(sample.delivered))
            }),
            "marked" => told.marked.to_string(),
            "delivered" => packets(told.delivered),
            "prior-in-flight" => packets(told.prior),
            _ => return None,
        })
    }
}

impl Script {
    /// Returns a fact about the account's state, by name.
    pub(crate) fn fact(&self, name: &str) -> Option<String> {
        let account = &self.account;
        let (rtt, stats) = (account.rtt(), account.stats());
        Some(match name {
            "in-flight" => packets(account.in_flight()),
            "deadline" => match account.deadline() {
                Time::NEVER => "never".to_string(),
                time => show_millis(time.since(Time::ZERO)),
            },
            // The packet whose data is retransmitted next.
            "repair" => account.next_repair().map_or("none".to_string(), |r| r.number.to_string()),
            // One more than the largest segment that is not sent again.
            "lost-end" => account.lost_end().to_string(),
            // Number of packets that may be in flight under proportional rate reduction.
            "allowed" => packets(account.window(self.window, true)),
            "cumulative" => account.cumulative().to_string(),
            "drained" => yes_no(account.is_drained()),
            "srtt" => show_millis(rtt.smoothed()),
            "min-rtt" => show_millis(rtt.min()),
            "rto" => show_millis(rtt.rto()),
            "total-sent" => stats.sent.to_string(),
            "total-lost" => stats.lost.to_string(),
            "retransmits" => stats.retransmits.to_string(),
            "late" => stats.late.to_string(),
            "timeouts" => stats.timeouts.to_string(),
            "probes" => stats.probes.to_string(),
            "acks" => stats.acks.to_string(),
            _ => return None,
        })
    }
}

fn packets(bytes: u64) -> String {
    match bytes % u64::from(SIZE) {
        0 => (bytes / u64::from(SIZE)).to_string(),
        _ => format!("{bytes} bytes"),
    }
}

fn yes_no(yes: bool) -> String {
    if yes { "yes" } else { "no" }.to_string()
}

fn on_off(on: bool) -> String {
    if on { "on" } else { "off" }.to_string()
}
