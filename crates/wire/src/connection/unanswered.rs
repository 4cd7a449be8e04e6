//! A client's packets that the server does not answer: the client asks whether the server was
//! restarted.

use paceline_cc::wire::TRANSPORT;
use paceline_cc::{Ecn, Span, Time};

use super::{CloseState, Connection, End, Transmit};
use crate::reset::{QUESTION_LENGTH, ResetQuestion};

/// Minimum time without an answer before the client asks; 3 round trips if these take longer.
const PATIENCE: Span = Span::from_millis(300);
/// Time between two questions; one round trip if that takes longer.
const INTERVAL: Span = Span::from_millis(250);

/// The question and when it leaves.
pub(super) struct Unanswered {
    question: ResetQuestion,
    /// When the question leaves next; [`Time::NEVER`] while no packet waits for an answer.
    due: Time,
}

impl Unanswered {
    fn new(question: ResetQuestion) -> Unanswered {
        Unanswered { question, due: Time::NEVER }
    }
    /// Notes that an authentic packet has arrived: the server has this connection.
    #[inline]
    pub(super) fn on_heard(&mut self) {
        self.due = Time::NEVER;
    }
    /// Returns when the question is next sent.
    pub(super) fn wake(&self) -> Time {
        self.due
    }
}

impl Connection {
    /// Returns this connection with `question`, which it asks when the server does not answer.
    #[must_use]
    pub(crate) fn with_reset(self, question: ResetQuestion) -> Connection {
        Connection { unanswered: Some(Unanswered::new(question)), ..self }
    }

    /// Starts the wait for an answer, when a packet is sent that the other end answers.
    #[inline]
    pub(super) fn on_sent(&mut self, now: Time) {
        if self.unanswered.as_ref().is_none_or(|unanswered| unanswered.due != Time::NEVER) {
            return;
        }
        let rtt = self.rtt();
        if let Some(unanswered) = &mut self.unanswered {
            unanswered.due = now + PATIENCE.max(rtt * 3);
        }
    }

    /// Writes the question whether the server still has this connection, if it is due.
    pub(super) fn reset_question(&mut self, now: Time, bytes: &mut [u8]) -> Option<Transmit> {
        let (rtt, to) = (self.rtt(), self.path.current());
        let unanswered = self.unanswered.as_mut().filter(|unanswered| unanswered.due <= now)?;
        unanswered.due = now + INTERVAL.max(rtt);
        let length = unanswered.question.write(self.remote, self.local, bytes)?;
        debug_assert_eq!(length, QUESTION_LENGTH);
        let (number, ecn) = (self.number, Ecn::NotEct);
        Some(Transmit { to, length, ecn, number, data: None, ack: false })
    }

    /// Ends the connection if `bytes` are the server's answer that it no longer has it. Returns
    /// false for any other datagram.
    #[cold]
    pub(super) fn on_reset(&mut self, bytes: &[u8]) -> bool {
        let is_reset = bytes.first() != Some(&TRANSPORT)
            && self.unanswered.as_ref().is_some_and(|unanswered| {
                // Only while an answer is awaited.
                unanswered.due != Time::NEVER && unanswered.question.is_answered(self.local, bytes)
            });
        if is_reset {
            self.state = CloseState::Closed(End::Reset);
        }
        is_reset
    }
}
