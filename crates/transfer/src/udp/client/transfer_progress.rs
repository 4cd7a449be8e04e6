//! The progress of a client's sending, and whether its connection has ended well.

use paceline_cc::{Span, Time};
use paceline_flow::SenderStats;
use paceline_measure::Quantiles;
use paceline_os::{RealTimeError, Waker};
use paceline_wire::{Connection, End, printable};

use super::failure::Failure;
use super::observer::Rtts;
use crate::udp::arrivals::{SentSummary, Summary};
use crate::udp::note::{Note, TAKEN_OVER};
use crate::udp::outbound::Outbound;

/// Minimum time, in RTTs, for the server to send its summary: the question may be lost twice, and
/// the queue on the path may be longest when it is asked.
const ROUND_TRIPS: u64 = 4;

/// Message after an interrupt.
pub(super) const GOES_ON: &str =
    "interrupted; the receiver keeps what has arrived, and the same command goes on from there";

/// Message for sources that cannot be read a second time.
pub(super) const NOT_AGAIN: &str = "standard input and pipes cannot be read a second time, so this transfer cannot go on: \
    start it anew, with the program that writes to it";

/// Counters of the sending end and measurements of the receiving end, whichever of them this end
/// is.
pub(super) struct ReportedFigures {
    pub(super) sent: SenderStats,
    pub(super) summary: Summary,
    pub(super) rtt_ms: Quantiles,
    pub(super) least_rtt: Span,
}

/// The progress of a client.
#[derive(Default)]
pub(super) struct TransferProgress {
    /// When all data had arrived, or sending stopped.
    pub(super) finished: Time,
    /// When sending stops; [`Time::NEVER`] once it has.
    pub(super) stopped: Time,
    pub(super) asked: bool,
    pub(super) deadline: Time,
    /// True if the server has not sent its summary in time.
    pub(super) unanswered: bool,
    pub(super) summary: Option<Summary>,
    /// The server's counters, if it sends.
    pub(super) sent_there: Option<SentSummary>,
    pub(super) interrupted: bool,
    /// True if the receiver has reported a file.
    pub(super) has_news: bool,
    /// Maximum rate in bit/s that the other end has asked for; 0 for no limit, `None` before it
    /// asks.
    pub(super) asked_limit: Option<u64>,
    pub(super) abandons: bool,
    /// How long the server may stay silent.
    pub(super) idle: Span,
}

/// Returns how long the server may take to send its summary.
fn patience(idle: Span, rtt: Span) -> Span {
    idle.max(rtt * ROUND_TRIPS)
}

impl TransferProgress {
    /// Handles messages and does the next step.
    pub(super) fn step(
        &mut self,
        now: Time,
        stop: Time,
        connection: &mut Connection,
        mut files: Option<(&mut Outbound, &Waker)>,
        rtts: &Rtts,
    ) -> Result<(), RealTimeError> {
        while let Some(bytes) = connection.receive_message() {
            match Note::read(&bytes) {
                Some(Note::Summary(summary)) => self.summary = Some(summary),
                Some(Note::Sent(sent)) => self.sent_there = Some(sent),
                Some(Note::File { file, kept, text }) => {
                    let text = printable(&text);
                    self.has_news = true;
                    if let Some((outbound, _)) = &mut files {
                        outbound.on_note(file, if kept { Ok(text) } else { Err(text) });
                    }
                }
                Some(Note::Resume(resume)) => {
                    if let Some((outbound, waker)) = &mut files {
                        outbound.on_resume(resume, waker.clone())?;
                    }
                }
                Some(Note::Limit { bps }) => self.asked_limit = Some(bps),
                Some(Note::Summarize | Note::Progress { .. }) | None => continue,
            }
            // With many files, each answer extends the deadline, because answers queue behind each
            // other.
            if self.asked {
                self.deadline = now + patience(self.idle, connection.rtt());
            }
        }
        let outbound = files.map(|(outbound, _)| &*outbound);
        let sent = match outbound {
            Some(outbound) => outbound.is_done() && connection.is_drained(),
            None => now >= stop,
        };
        if !self.asked {
            self.deadline = Time::NEVER;
            if sent {
                self.asked = true;
                self.finished = now;
                self.stopped = Time::NEVER;
                if self.abandons {
                    connection.close(0, "");
                    return Ok(());
                }
                self.deadline = now + patience(self.idle, connection.rtt());
                connection.stop();
                connection.send_message(Note::Summarize.to_bytes());
                if outbound.is_none() {
                    let figures = match &rtts.arrivals {
                        Some(arrivals) => Note::Summary(
                            arrivals.summary(connection.received().unwrap_or_default()),
                        ),
                        None => Note::Sent(SentSummary::new(
                            &connection.sent().unwrap_or_default(),
                            &rtts.rtts,
                        )),
                    };
                    connection.send_message(figures.to_bytes());
                }
            }
        }
        // Wait until all messages of this end have arrived: the server displays them.
        let settled = outbound.map_or_else(|| connection.is_drained(), Outbound::is_settled);
        let answered = match rtts.arrivals {
            Some(_) => self.sent_there.is_some(),
            None => self.summary.is_some(),
        };
        let failed = outbound.is_some_and(Outbound::has_failed);
        if failed || settled && answered {
            connection.close(u16::from(failed), "");
            self.deadline = Time::NEVER;
        } else if now >= self.deadline {
            self.unanswered = true;
            connection.close(1, "no answer");
        }
        Ok(())
    }

    /// Returns the counters and measurements of both ends.
    pub(super) fn figures(&self, connection: &Connection, rtts: &Rtts) -> ReportedFigures {
        if let Some(arrivals) = &rtts.arrivals {
            let there = self.sent_there.unwrap_or_default();
            let mut sent = SenderStats::default();
            (sent.sent, sent.retransmits) = (there.sent, there.retransmits);
            (sent.lost, sent.timeouts) = (there.lost, there.timeouts);
            let least_rtt = Span::from_nanos((there.least_rtt_ms.max(0.0) * 1e6) as u64);
            let summary = arrivals.summary(connection.received().unwrap_or_default());
            return ReportedFigures { sent, summary, rtt_ms: there.rtt_ms, least_rtt };
        }
        ReportedFigures {
            sent: connection.sent().unwrap_or_default(),
            summary: self.summary.unwrap_or_default(),
            rtt_ms: rtts.rtts.samples.quantiles(),
            least_rtt: rtts.rtts.least(),
        }
    }

    /// Returns whether a connection ended well.
    pub(super) fn check(&self, end: &End, outbound: Option<&Outbound>) -> Result<(), Failure> {
        let files = outbound.map_or(&[][..], |outbound| &outbound.files);
        if let (true, Some(first)) = (outbound.is_some_and(Outbound::has_failed), files.first()) {
            let why = first.problem.as_deref().unwrap_or_default();
            return Err(Failure::text(match files.len() {
                1 => format!("the file did not arrive: {why}"),
                count => format!("none of {count} files arrived: {why}"),
            }));
        }
        let is_final =
            |end: &End| self.interrupted || matches!(end, End::There { code: TAKEN_OVER, .. });
        let text = match end {
            _ if self.unanswered => {
                "the receiver has not reported what has arrived; --timeout gives it more time"
                    .into()
            }
            End::Here { code: 0, .. } => return Ok(()),
            End::Here { .. }
                if self.interrupted && outbound.is_some_and(Outbound::is_repeatable) =>
            {
                GOES_ON.into()
            }
            End::Here { .. } if self.interrupted && outbound.is_some() => {
                format!("interrupted; {NOT_AGAIN}")
            }
            End::Here { reason, .. } => reason.clone(),
            End::There { code: TAKEN_OVER, .. } => {
                "a newer connection sends the same transfer: this connection has ended".into()
            }
            End::There { reason, .. } if reason.is_empty() => {
                "the other end closed the connection before all had arrived".into()
            }
            End::There { reason, .. } => format!("the other end closed the connection: {reason}"),
            End::Reset => "the receiver was restarted".into(),
            End::Silence(span) => format!(
                "nothing has come from the other end for {span}: it has died, or the path is down"
            ),
        };
        let kept = files.iter().filter(|file| file.kept.is_some()).count();
        let error = RealTimeError::Message(match files.len() {
            0 | 1 => text,
            count => format!("{text}; {kept} of {count} files have arrived completely"),
        });
        Err(match is_final(end) || outbound.is_none() {
            true => Failure::Final(error),
            false => Failure::CutOff(error),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_may_take_as_long_as_a_full_queue_needs() {
        let idle = Span::from_secs(10);
        assert_eq!(patience(idle, Span::from_millis(100)), idle);
        assert_eq!(patience(idle, Span::from_secs(12)), Span::from_secs(48));
        assert_eq!(patience(Span::from_secs(60), Span::from_secs(12)), Span::from_secs(60));
    }
}
