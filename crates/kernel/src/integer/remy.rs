//! Remy's sender, as in `bpf/remy.h`: `paceline_cc`'s `RemySender` with `per=packet`.

use paceline_schemes::remy::{PUBLISHED_SIGNALS as SIGNALS, Signal};

use super::Feedback;
use super::fixed::{NEVER, ONE};
use super::remy_table::{FRACTION, NONE, RemyTable};

/// An acknowledgement counts for no more packets than this.
const MOST_ACKED: u64 = 64;
/// No time is longer, in microseconds: 134 s.
const MOST_TIME: u64 = 1 << 27;

const SEND_EWMA: usize = Signal::SendEwma.index();
const REC_EWMA: usize = Signal::RecEwma.index();
const RTT_RATIO: usize = Signal::RttRatio.index();
const SLOW_REC_EWMA: usize = Signal::SlowRecEwma.index();
const RTT_DIFF: usize = Signal::RttDiff.index();
const QUEUEING_DELAY: usize = Signal::QueueingDelay.index();

/// A memory of six signals, and the window and pacing that a table of rules makes of it.
#[derive(Clone, Debug)]
pub struct Remy<'a> {
    table: &'a RemyTable,
    /// Times in microseconds; all with 32 fraction bits.
    values: [u64; SIGNALS],
    /// When the newest acknowledged packet was sent and its acknowledgement came.
    last: Option<(u64, u64)>,
    min_rtt: u64,
    /// The window in packets.
    window: u64,
    /// The least time between packets in nanoseconds.
    gap: u64,
}

/// The time for each of `packets`, with fraction bits.
fn gap(from: u64, to: u64, packets: u64) -> u64 {
    (to.saturating_sub(from).min(MOST_TIME) << FRACTION) / packets
}

fn average(value: &mut u64, sample: u64, weight: u32) {
    *value = *value - (*value >> weight) + (sample >> weight);
}

impl<'a> Remy<'a> {
    /// A connection, or a period of sending, begins: with an empty memory and the rule for it.
    pub fn new(table: &'a RemyTable) -> Remy<'a> {
        let mut remy =
            Remy { table, values: [0; SIGNALS], last: None, min_rtt: 0, window: 0, gap: 0 };
        remy.act(1);
        remy
    }

    /// A period of sending begins anew.
    pub fn restart(&mut self) {
        *self = Remy::new(self.table);
    }

    /// An acknowledgement came. Without an RTT it tells nothing. Several packets count as if they
    /// had come at even distances; the rule for the memory after the last is applied once for each.
    pub fn on_feedback(&mut self, feedback: &Feedback) {
        if feedback.acked < ONE || feedback.rtt == 0 {
            return;
        }
        let packets = (feedback.acked / ONE).min(MOST_ACKED);
        self.remember(feedback, packets);
        self.act(packets);
    }

    /// Does what the rule for the present memory says, so many times. Where there is none, nothing
    /// changes.
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

    /// The window in packets.
    pub fn window(&self) -> u64 {
        self.window
    }

    /// The least time between packets in nanoseconds.
    pub fn gap(&self) -> u64 {
        self.gap
    }

    /// Bytes per second; `u64::MAX` where there is no limit.
    pub fn pacing(&self, mss: u64) -> u64 {
        (mss.min(65_536) * 1_000_000_000).checked_div(self.gap).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use paceline_cc::Span;
    use paceline_schemes::remy::RemyTables;

    use super::*;

    /// As in the simulator, a ratio that is the end between two rules has the upper one.
    #[test]
    fn ratios_at_the_end_of_a_rule_are_the_next_ones() {
        let tables = RemyTables::builtin();
        let table = tables.find("starter").expect("is built in").table().expect("is sound");
        let table = RemyTable::new(&table, Span::ZERO).expect("fits");
        // Tenths of the smallest RTT, and microseconds between packets under the rule from there on.
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
