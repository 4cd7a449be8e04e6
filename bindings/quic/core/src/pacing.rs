//! Keeping to a pacing rate over a stack that has a pacer of its own.

use paceline_cc::{Plan, Rate, Span, Time};

/// What becomes of a scheme's pacing rate.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Pacing {
    /// The stack paces as the scheme asks: nothing is to be done beside telling it the rate.
    Stack,
    /// The stack ignores rates and spreads a window over an RTT. Where the scheme's rate is lower
    /// than that, the window is held at what is in flight and grows by the scheme's rate times the
    /// time between acknowledgements, up to the scheme's window: packets leave at the scheme's rate
    /// as long as acknowledgements come.
    #[default]
    Acknowledgements,
    /// The rate is ignored.
    Ignored,
}

/// How fast the stack's own pacer sends: windows per smoothed RTT (RFC 9002 §7.7, N = 1.25).
const STACK_GAIN: f64 = 1.25;

/// Bytes that may leave by the scheme's pacing rate.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Credit {
    bytes: u64,
    since: Time,
}

impl Credit {
    pub(crate) fn new() -> Credit {
        Credit { bytes: u64::MAX, since: Time::ZERO }
    }

    /// Acknowledgements come at `now`: credit grows by the rate of `plan` times the time since the
    /// last ones, an RTT at most. Of what was not used until now no more than a burst, or what leaves
    /// in an eighth of the RTT, is kept, so that quiet times are not made up for.
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

    /// Bytes leave.
    pub(crate) fn spend(&mut self, bytes: u64) {
        if self.bytes != u64::MAX {
            self.bytes = self.bytes.saturating_sub(bytes);
        }
    }

    /// The window that lets what is paid for leave.
    pub(crate) fn window(&self, cwnd: u64, in_flight: u64) -> u64 {
        cwnd.min(in_flight.saturating_add(self.bytes))
    }
}

/// The rate of `plan` if it is lower than that of the stack's own pacer.
fn slower_than_stack(plan: &Plan, srtt: Span) -> Option<Rate> {
    let rate = plan.pacing?;
    if srtt.is_zero() {
        return None;
    }
    let own = Rate::from_bytes_in(plan.cwnd, srtt).as_mbps() * STACK_GAIN;
    (rate.as_mbps() < own).then_some(rate)
}
