//! Remy's sender, as in `bpf/remy.h`: the simulator's `RemySender` with `per=packet`.

use paceline_schemes::remy::{PUBLISHED_SIGNALS as SIGNALS, Signal};

use super::Feedback;
use super::fixed::{NEVER, ONE};
use super::remy_table::{FRACTION, NONE, RemyTable};

/// Most packets for which one acknowledgement counts.
const MOST_ACKED: u64 = 64;
/// Longest time in microseconds: 134 s. Longer times count as this.
const MOST_TIME: u64 = 1 << 27;

const SEND_EWMA: usize = Signal::SendEwma.index();
const REC_EWMA: usize = Signal::RecEwma.index();
const RTT_RATIO: usize = Signal::RttRatio.index();
const SLOW_REC_EWMA: usize = Signal::SlowRecEwma.index();
const RTT_DIFF: usize = Signal::RttDiff.index();
const QUEUEING_DELAY: usize = Signal::QueueingDelay.index();

/// Remy's sender: a memory of six signals, and the window and pacing that a table's rules derive
/// from it.
#[derive(Clone, Debug)]
pub struct Remy<'a> {
    table: &'a RemyTable,
    /// The signals; times in microseconds. All have 32 fraction bits.
    values: [u64; SIGNALS],
    /// Times at which the newest acknowledged packet was sent and its acknowledgement arrived.
    last: Option<(u64, u64)>,
    min_rtt: u64,
    /// The window in packets.
    window: u64,
    /// Minimum time between packets in nanoseconds.
    gap: u64,
}

/// Returns the time from `from` to `to` divided by `packets`, with 32 fraction bits.
fn gap(from: u64, to: u64, packets: u64) -> u64 {
    (to.saturating_sub(from).min(MOST_TIME) << FRACTION) / packets
}

fn average(value: &mut u64, sample: u64, weight: u32) {
    *value = *value - (*value >> weight) + (sample >> weight);
}

impl<'a> Remy<'a> {
    /// Begins a connection or a period of sending: with an empty memory, and the rule for it
    /// applied once.
    pub fn new(table: &'a RemyTable) -> Remy<'a> {
        let mut remy =
            Remy { table, values: [0; SIGNALS], last: None, min_rtt: 0, window: 0, gap: 0 };
        remy.act(1);
        remy
    }

    /// Begins a period of sending with an empty memory.
    pub fn restart(&mut self) {
        *self = Remy::new(self.table);
    }

    /// Processes an acknowledgement; ignores it if it has no RTT. Several packets count as if they
    /// had been acknowledged one by one at equal intervals; the rule for the memory after the last
    /// packet is applied once per packet.
    pub fn on_feedback(&mut self, feedback: &Feedback) {
        if feedback.acked < ONE || feedback.rtt == 0 {
            return;
        }
        let packets = (feedback.acked / ONE).min(MOST_ACKED);
        self.remember(feedback, packets);
        self.act(packets);
    }

    /// Applies the rule for the present memory `times` times. Changes nothing if the table has no
    /// rule for it.
    fn act(&mut self, times: u64) {
        let rule = self.table.find(&self.values);
        if rule == NONE {
            return;
        }
        let Some(action) = self.table.actions.get(rule as usize) else { return };
        for _ in 0..times {
            self.window = action.apply(self.window);
        }
        self.gap = action.gap;
    }

    fn remember(&mut self, feedback: &Feedback, packets: u64) {
        let rtt = feedback.rtt.min(MOST_TIME);
        let sent = feedback.now.saturating_sub(rtt);
        let Some((last_sent, last_received)) = self.last.replace((sent, feedback.now)) else {
            self.min_rtt = rtt;
            return;
        };
        let send = gap(last_sent, sent, packets);
        let received = gap(last_received, feedback.now, packets);
        for _ in 0..packets {
            average(&mut self.values[SEND_EWMA], send, 3);
            average(&mut self.values[REC_EWMA], received, 3);
            average(&mut self.values[SLOW_REC_EWMA], received, 8);
        }
        self.min_rtt = self.min_rtt.min(rtt);
        let above = rtt - self.min_rtt;
        let above = if above > self.table.resolution { above } else { 0 };
        self.values[RTT_RATIO] = ((self.min_rtt + above) << FRACTION) / self.min_rtt.max(1);
        self.values[RTT_DIFF] = above << FRACTION;
        let ahead = feedback.ahead.clamp(1, 1 << 20);
        self.values[QUEUEING_DELAY] = self.values[REC_EWMA].min(NEVER / ahead) * ahead;
    }

    /// Returns the window in packets.
    pub fn window(&self) -> u64 {
        self.window
    }

    /// Returns the minimum time between packets in nanoseconds.
    pub fn gap(&self) -> u64 {
        self.gap
    }

    /// Returns the pacing rate in bytes per second; `u64::MAX` without a limit.
    pub fn pacing(&self, mss: u64) -> u64 {
        (mss.min(65_536) * 1_000_000_000).checked_div(self.gap).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use paceline_cc::Span;
    use paceline_schemes::remy::RemyTables;

    use super::*;

    /// As in the simulator, a ratio exactly on the boundary between two rules uses the upper rule.
    #[test]
    fn ratios_at_the_end_of_a_rule_are_the_next_ones() {
        let tables = RemyTables::builtin();
        let table = tables.find("starter").expect("is built in").table().expect("is sound");
        let table = RemyTable::new(&table, Span::ZERO).expect("fits");
        // RTTs in tenths of the minimum RTT, and microseconds between packets under the rule from
        // there on.
        for (tenths, gap) in [(11, 100), (14, 500), (20, 2000)] {
            for smallest in (10..1_000_000).step_by(130) {
                let mut remy = Remy::new(&table);
                for rtt in [smallest, smallest / 10 * tenths] {
                    let now = 2_000_000 + rtt;
                    remy.on_feedback(&Feedback { now, acked: ONE, rtt, ..Feedback::default() });
                }
                assert_eq!(remy.gap(), gap * 1000, "{smallest} us, then {tenths} tenths");
            }
        }
    }
}
