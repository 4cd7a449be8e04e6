//! A rate limit in addition to the scheme's plan.

use core::num::NonZeroU64;

use paceline_cc::{Rate, Span};

use super::Sender;

/// With a rate limit, a group of packets holds the bytes that the limit allows in this time, at
/// least one packet.
const LIMIT_BURST: Span = Span::from_millis(1);

impl Sender {
    /// Limits the rate at which packets leave from now on, whether the scheme paces or not; `None`
    /// lifts the limit. Packets count with all their headers. A limit of zero counts as one bit per
    /// second.
    pub fn set_limit(&mut self, limit: Option<Rate>) {
        self.limit_bps =
            limit.map(|limit| NonZeroU64::new(limit.as_bps()).unwrap_or(NonZeroU64::MIN));
        self.pacer.set_catches_up(false);
        self.replan();
        self.pending = true;
    }

    /// Paces at no more than `limit`, whether the scheme paces or not.
    #[cold]
    pub(super) fn apply_limit(&mut self, limit: Rate) {
        let binds = self.plan.pacing.is_none_or(|pacing| pacing > limit);
        if binds {
            self.plan.pacing = Some(limit);
            self.plan.burst = u32::try_from(limit.bytes_in(LIMIT_BURST)).unwrap_or(u32::MAX);
            self.pacer.set(Some(limit), self.plan.gap);
        }
        self.pacer.set_catches_up(binds);
    }
}
