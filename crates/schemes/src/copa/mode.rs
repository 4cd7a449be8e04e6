//! Copa's mode, and the `delta` that results from it.

use paceline_cc::{Feedback, Time};

use super::rtt::Rtts;
use super::{CopaParams, Mode, Rule};

/// Round trips without a nearly empty queue after which the mode is competitive (paper §2.2).
const PATIENCE: u64 = 5 * Rtts::ROUND;

/// `delta`: fixed in the default mode. In the competitive mode its inverse grows by one packet per
/// round trip and halves upon loss.
#[derive(Clone, Debug)]
pub(super) struct Delta {
    value: f64,
    default: f64,
    mode: Mode,
    detection: Rule,
    loss: Rule,
    competitive: bool,
    /// When the queue was last nearly empty, on the clock of round trips; `None` at the start.
    emptied: Option<u64>,
    /// True if this round trip has had a loss.
    lossy: bool,
    /// Authors' code: when `delta` last decreased, and when a loss last raised it.
    lowered: Time,
    raised: Option<Time>,
}

impl Delta {
    pub(super) fn new(params: &CopaParams) -> Delta {
        Delta {
            value: params.delta,
            default: params.delta,
            mode: params.mode,
            detection: params.detection,
            loss: params.loss,
            competitive: params.mode == Mode::Competitive,
            emptied: None,
            lossy: false,
            lowered: Time::ZERO,
            raised: None,
        }
    }

    pub(super) fn get(&self) -> f64 {
        self.value
    }

    pub(super) fn is_competitive(&self) -> bool {
        self.competitive
    }

    /// Returns true if no competitor fills the queue.
    fn is_alone(&mut self, rtts: &Rtts) -> bool {
        let level = rtts.nearly_empty();
        match self.detection {
            Rule::Authors => rtts.recent_min() <= level,
            Rule::Paper => {
                let now = rtts.rounds();
                if self.emptied.is_none() || rtts.standing() <= level {
                    self.emptied = Some(now);
                }
                now.saturating_sub(self.emptied.unwrap_or(now)) <= PATIENCE
            }
        }
    }

    /// Takes an acknowledgement in; `lossy` if it counts as a loss.
    pub(super) fn on_ack(&mut self, feedback: &Feedback<'_>, rtts: &Rtts, lossy: bool) {
        let alone = self.is_alone(rtts);
        self.competitive = match self.mode {
            Mode::Auto => !alone,
            Mode::Default => false,
            Mode::Competitive => true,
        };
        match self.loss {
            Rule::Paper => self.paper(feedback, lossy),
            Rule::Authors => self.authors(feedback, rtts, lossy),
        }
    }

    fn paper(&mut self, feedback: &Feedback<'_>, lossy: bool) {
        if !self.competitive {
            self.value = self.default;
        } else if lossy && !self.lossy {
            self.double();
        }
        self.lossy |= lossy;
        if feedback.round_start {
            if self.competitive && !self.lossy {
                self.open();
            }
            self.lossy = false;
        }
    }

    fn authors(&mut self, feedback: &Feedback<'_>, rtts: &Rtts, lossy: bool) {
        let now = feedback.now;
        if !self.competitive {
            // Only after a round trip without loss in the default mode.
            if self.raised.is_none_or(|at| now.since(at) > rtts.latest()) {
                self.value = self.default;
                self.lowered = now;
            }
            return;
        }
        if now.since(self.lowered) > rtts.latest() {
            self.open();
            self.lowered = now;
        }
        if lossy {
            self.double();
            self.raised = Some(now);
        }
    }

    /// Lets one packet more stand in the queue.
    fn open(&mut self) {
        self.value = (1.0 / (1.0 / self.value + 1.0)).min(self.default);
    }

    fn double(&mut self) {
        self.value = (2.0 * self.value).min(self.default);
    }
}
