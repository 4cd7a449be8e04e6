//! HyStart++: conservative slow start (RFC 9406).
//!
//! When the smallest RTT of a round exceeds the last round's, slow start continues at a quarter of
//! its speed. If the RTT then falls below its value at that time, the rise was jitter, and slow
//! start resumes; otherwise it ends after five rounds.

use paceline_cc::{Feedback, Span};

use super::rounds::Rounds;

/// Bounds of the rise of the RTT that counts.
const MIN_RISE: Span = Span::from_millis(4);
const MAX_RISE: Span = Span::from_millis(16);
/// The rise that counts is the last round's RTT divided by this.
const RISE_DIVISOR: u64 = 8;
/// Number of samples in a round from which on its smallest RTT counts.
const MIN_SAMPLES: u32 = 8;
/// Factor by which conservative slow start is slower.
const GROWTH_DIVISOR: f64 = 4.0;
/// Number of rounds of conservative slow start.
const ROUNDS: u32 = 5;
/// Largest number of packets by which one acknowledgement opens the window of an unpaced sender
/// (L).
const LIMIT: f64 = 8.0;

/// State of HyStart++.
#[derive(Clone, Debug)]
pub(super) struct Css {
    rounds: Rounds,
    /// The smallest RTT of the last round, and of this one.
    last: Span,
    current: Span,
    samples: u32,
    /// In conservative slow start: the RTT at which it began, and the number of its rounds so far.
    cautious: Option<(Span, u32)>,
}

impl Css {
    pub(super) fn new() -> Css {
        Css {
            rounds: Rounds::default(),
            last: Span::MAX,
            current: Span::MAX,
            samples: 0,
            cautious: None,
        }
    }

    /// See [`super::hystart::HyStart::on_ack`].
    pub(super) fn on_ack(
        &mut self,
        feedback: &Feedback<'_>,
        acked: f64,
        paced: bool,
    ) -> Option<f64> {
        if self.rounds.begins(feedback) {
            self.last = self.current;
            self.current = Span::MAX;
            self.samples = 0;
            // The round in which it began counts as a whole one.
            if let Some((_, rounds)) = &mut self.cautious {
                *rounds += 1;
                if *rounds >= ROUNDS {
                    return None;
                }
            }
        }
        if let Some(rtt) = feedback.rtt {
            self.current = self.current.min(rtt);
            self.samples = self.samples.saturating_add(1);
        }
        if self.samples >= MIN_SAMPLES {
            self.judge();
        }
        let opened = if paced { acked } else { acked.min(LIMIT) };
        Some(if self.cautious.is_some() { opened / GROWTH_DIVISOR } else { opened })
    }

    fn judge(&mut self) {
        match self.cautious {
            Some((baseline, _)) if self.current < baseline => self.cautious = None,
            Some(_) => {}
            None if self.last == Span::MAX => {}
            None => {
                let rise = (self.last / RISE_DIVISOR).clamp(MIN_RISE, MAX_RISE);
                if self.current >= self.last + rise {
                    self.cautious = Some((self.current, 0));
                }
            }
        }
    }
}
