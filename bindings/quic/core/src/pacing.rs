//! Ways to apply a scheme's pacing rate in a stack that has a pacer of its own.

use paceline_cc::{Plan, Rate, Span, Time};

/// Way to apply a scheme's pacing rate.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Pacing {
    /// The stack paces by the scheme's rate, which it gets from the adapter.
    Stack,
    /// The stack ignores rates and spreads a window over an RTT. If the scheme's rate is lower than
    /// that, the reported window is the data in flight plus a credit. The credit grows by the
    /// scheme's rate times the time between acknowledgements, up to the scheme's window. So packets
    /// leave at the scheme's rate while acknowledgements arrive.
    #[default]
    Acknowledgements,
    /// The scheme's rate is ignored.
    Ignored,
}

/// Rate of the stack's own pacer: windows per smoothed RTT (RFC 9002 §7.7, N = 1.25).
const STACK_GAIN: f64 = 1.25;

/// Bytes that may leave under the scheme's pacing rate.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Credit {
    bytes: u64,
    since: Time,
}

impl Credit {
    pub(crate) fn new() -> Credit {
        Credit { bytes: u64::MAX, since: Time::ZERO }
    }

    /// Adds credit at an acknowledgement at `now`: the rate of `plan` times the time since the last
    /// one, at most an RTT. Of unused credit it keeps at most a burst, or the bytes of an eighth of
    /// the RTT, so that pauses are not made up for.
    pub(crate) fn grow(&mut self, now: Time, plan: &Plan, srtt: Span, mss: u32) {
        let elapsed = now.since(self.since);
        self.since = self.since.max(now);
        let Some(rate) = slower_than_stack(plan, srtt) else {
            self.bytes = u64::MAX;
            return;
        };
        let kept = u64::from(plan.burst).max(u64::from(mss) * 2).max(rate.bytes_in(srtt / 8));
        self.bytes = self.bytes.min(kept).saturating_add(rate.bytes_in(elapsed.min(srtt)));
    }

    /// Subtracts bytes that leave.
    pub(crate) fn spend(&mut self, bytes: u64) {
        if self.bytes != u64::MAX {
            self.bytes = self.bytes.saturating_sub(bytes);
        }
    }

    /// Returns the window that lets exactly the credit leave.
    pub(crate) fn window(&self, cwnd: u64, in_flight: u64) -> u64 {
        cwnd.min(in_flight.saturating_add(self.bytes))
    }
}

/// Returns the rate of `plan` if it is lower than that of the stack's own pacer.
fn slower_than_stack(plan: &Plan, srtt: Span) -> Option<Rate> {
    let rate = plan.pacing?;
    if srtt.is_zero() {
        return None;
    }
    let own = Rate::from_bytes_in(plan.cwnd, srtt).as_mbps() * STACK_GAIN;
    (rate.as_mbps() < own).then_some(rate)
}
