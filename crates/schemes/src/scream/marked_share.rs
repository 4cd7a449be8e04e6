//! The share of marked packets (draft, "Receiving ECN-CE for L4S").

use paceline_cc::{Span, Time};

use super::ScreamParams;

/// Longest time between updates.
const INTERVAL: Span = Span::from_millis(10);

/// Averages the share of packets that routers mark: it rises fast and falls slowly.
#[derive(Clone, Debug, Default)]
pub(super) struct MarkedShare {
    l4s_alpha: f64,
    delivered: u64,
    marked: u64,
    updated: Time,
}

impl MarkedShare {
    /// Counts packets that were delivered, of which some were marked.
    pub(super) fn count(
        &mut self,
        params: &ScreamParams,
        now: Time,
        srtt: Span,
        (delivered, marked): (u32, u32),
    ) {
        self.delivered += u64::from(delivered);
        self.marked += u64::from(marked);
        if now.since(self.updated) < INTERVAL.min(srtt) || self.delivered == 0 {
            return;
        }
        let share = (self.marked as f64 / self.delivered as f64).min(1.0);
        if share >= self.l4s_alpha {
            self.l4s_alpha += params.l4s_gain_up * (share - self.l4s_alpha);
        } else {
            self.l4s_alpha *= 1.0 - params.l4s_gain_down;
        }
        (self.delivered, self.marked, self.updated) = (0, 0, now);
    }

    /// Returns the averaged share (`l4s_alpha`).
    pub(super) fn l4s_alpha(&self) -> f64 {
        self.l4s_alpha
    }
}
