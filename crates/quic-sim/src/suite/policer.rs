//! A policer, which operators use to limit a subscriber's rate without a buffer.

use paceline_cc::Rate;
use paceline_path::Limit;
use paceline_path::queue::policer::Policer;
use paceline_sim::scenario::CustomQueue;

/// Returns a token bucket of `burst` bytes that fills at `rate` (RFC 2697's committed rate and
/// burst). It drops packets for which there are no tokens, and does not delay the others.
pub fn policer(rate: Rate, burst: u64) -> CustomQueue {
    CustomQueue::new(format!("policer of {} Mbit/s", rate.as_mbps()), move |_, _| {
        Box::new(Policer::new(rate, burst, Limit::NONE))
    })
}
