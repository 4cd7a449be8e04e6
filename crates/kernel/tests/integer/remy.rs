//! Remy's sender, as in `bpf/remy.h`: the simulator's `RemySender` with `per=packet`. It reads a
//! table from the words that the C code reads.

use std::sync::Arc;

use paceline_kernel::RemyTable;
use paceline_schemes::remy::{SIGNALS, Signal};

use super::WholeFeedback;
use super::fixed::{NEVER, ONE};
use super::remy_rate::{MOST_IN_GROUP, Rate, gap_at_rate, ratio, window_at_rate};

/// Most packets for which one acknowledgement counts, except for the delivery rate.
const MOST_ACKED: u64 = 64;
/// Most packets that a window at the delivery rate has for those that wait at the receiver.
const MOST_WAITING: u64 = 3;
/// Fraction bits of signals.
pub(super) const FRACTION: u32 = 32;
/// Fraction bits of multiples.
const MULTIPLE_FRACTION: u32 = 40;
/// Marks cells for which the table has no rule.
const NONE: u64 = 0xffff;
/// Most packets of a window.
pub(super) const MOST_PACKETS: u64 = 1_000_000;
/// Longest time in microseconds: 134 s. Longer times count as this.
const MOST_TIME: u64 = 1 << 27;

const SEND_EWMA: usize = Signal::SendEwma.index();
const REC_EWMA: usize = Signal::RecEwma.index();
const RTT_RATIO: usize = Signal::RttRatio.index();
const SLOW_REC_EWMA: usize = Signal::SlowRecEwma.index();
const RTT_DIFF: usize = Signal::RttDiff.index();
const QUEUEING_DELAY: usize = Signal::QueueingDelay.index();
const MIN_RTT: usize = Signal::MinRtt.index();
const QUEUE_EWMA: usize = Signal::QueueEwma.index();
const RTT_TREND: usize = Signal::RttTrend.index();
const RATE_TREND: usize = Signal::RateTrend.index();
const ACK_GAP: usize = Signal::AckGap.index();

/// A table's words: C's `struct remy_shape`, the ends of the axes, the cells, and C's `struct
/// remy_action` of each rule.
#[derive(Debug)]
struct Words {
    shape: Vec<u64>,
    ends: Vec<u64>,
    cells: Vec<u64>,
    actions: Vec<[u64; 7]>,
}

impl Words {
    fn of(table: &RemyTable) -> Words {
        let (shape, ends) = (table.shape(), table.end_words());
        let (cells, actions) = (table.cell_words(), table.action_words().to_vec());
        Words { shape, ends, cells, actions }
    }

    /// Returns the difference in microseconds up to which an RTT counts as the minimum RTT.
    fn resolution(&self) -> u64 {
        self.shape[0]
    }

    fn follows_rate(&self) -> bool {
        self.shape[1] > 0
    }

    fn acts_on_rate(&self) -> bool {
        self.shape[2] > 0
    }

    /// Returns the number of the rule for a memory; [`NONE`] if there is no rule.
    fn find(&self, values: &[u64; SIGNALS]) -> u64 {
        let mut cell = 0;
        for (axis, &value) in self.shape[3..].chunks(3).zip(values) {
            let [first, count, stride] = [0, 1, 2].map(|word| axis[word] as usize);
            let ends = &self.ends[first..first + count];
            cell += ends.partition_point(|&end| end <= value) * stride;
        }
        self.cells[cell / 4] >> (16 * (cell % 4)) & 0xffff
    }
}

/// Returns the window that follows `window` by an action, rounded towards zero. The multiple is
/// increased by 2^-40, so that products which are whole numbers in decimals are not rounded down to
/// the next lower one.
fn next_window(window: u64, [times, less, add, take, ..]: [u64; 7]) -> u64 {
    let more = window * (times + u64::from(times > 0)) + (add << MULTIPLE_FRACTION);
    let less = window * (less - u64::from(less > 0)) + (take << MULTIPLE_FRACTION);
    (more.saturating_sub(less) >> MULTIPLE_FRACTION).min(MOST_PACKETS)
}

/// Remy's sender: a memory of signals, and the window and pacing that a table's rules derive
/// from it.
#[derive(Clone, Debug)]
pub(crate) struct Remy {
    table: Arc<Words>,
    /// The signals; times in microseconds. All have 32 fraction bits.
    values: [u64; SIGNALS],
    /// Times at which the newest acknowledged packet was sent and its acknowledgement arrived.
    last: Option<(u64, u64)>,
    min_rtt: u64,
    /// The window in packets.
    window: u64,
    /// Minimum time between packets in nanoseconds.
    gap: u64,
    /// The delivery rate; `None` before the first RTT, and for tables that do not use it.
    rate: Option<Rate>,
    /// Packets acknowledged since the last RTT.
    packets: u64,
}

/// Returns the time from `from` to `to` divided by `packets`, with 32 fraction bits.
fn gap(from: u64, to: u64, packets: u64) -> u64 {
    (to.saturating_sub(from).min(MOST_TIME) << FRACTION) / packets
}

fn average(value: &mut u64, sample: u64, weight: u32) {
    *value = *value - (*value >> weight) + (sample >> weight);
}

impl Remy {
    /// Begins a connection: with an empty memory, and the rule for it applied once.
    pub(crate) fn new(table: &RemyTable) -> Remy {
        Remy::starting(Arc::new(Words::of(table)))
    }

    fn starting(table: Arc<Words>) -> Remy {
        let values = [0; SIGNALS];
        let (last, rate) = (None, None);
        let mut remy =
            Remy { table, values, last, min_rtt: 0, window: 0, gap: 0, rate, packets: 0 };
        remy.act(1);
        remy
    }

    /// Begins a period of sending with an empty memory.
    pub(crate) fn restart(&mut self) {
        *self = Remy::starting(Arc::clone(&self.table));
    }

    /// Processes an acknowledgement; ignores it if it has no RTT. Several packets count as if they
    /// had been acknowledged one by one at equal intervals; the rule for the memory after the last
    /// packet is applied once per packet. For the delivery rate they are one group, with the
    /// packets of acknowledgements without an RTT before it.
    pub(crate) fn on_feedback(&mut self, feedback: &WholeFeedback) {
        self.packets = (self.packets + feedback.acked / ONE).min(MOST_IN_GROUP);
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
        if self.table.acts_on_rate() {
            self.window = window_at_rate(action, self.rate.as_ref(), self.min_rtt)
                + (times - 1).min(MOST_WAITING);
            self.gap = gap_at_rate(action, self.rate.as_ref(), self.min_rtt);
            return;
        }
        for _ in 0..times {
            self.window = next_window(self.window, *action);
        }
        self.gap = action[4];
    }

    fn remember(&mut self, feedback: &WholeFeedback, packets: u64) {
        let rtt = feedback.rtt.min(MOST_TIME);
        let sent = feedback.now.saturating_sub(rtt);
        let group = std::mem::take(&mut self.packets);
        let Some((last_sent, last_received)) = self.last.replace((sent, feedback.now)) else {
            self.min_rtt = rtt;
            if self.table.follows_rate() {
                self.rate = Some(Rate::begin(rtt, group));
                self.values[MIN_RTT] = rtt << FRACTION;
            }
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
        let above = if above > self.table.resolution() { above } else { 0 };
        self.values[RTT_RATIO] = ((self.min_rtt + above) << FRACTION) / self.min_rtt.max(1);
        self.values[RTT_DIFF] = above << FRACTION;
        let ahead = feedback.ahead.clamp(1, 1 << 20);
        self.values[QUEUEING_DELAY] = self.values[REC_EWMA].min(NEVER / ahead) * ahead;
        let gap = feedback.now.saturating_sub(last_received).min(MOST_TIME);
        self.follow_rate(group, gap, self.min_rtt + above);
    }

    /// Updates the delivery rate and its signals with `packets` packets acknowledged `gap`
    /// microseconds after the ones before. Changes nothing for tables that do not use them.
    fn follow_rate(&mut self, packets: u64, gap: u64, rtt: u64) {
        let Some(rate) = &mut self.rate else { return };
        rate.on_ack(packets, gap, rtt, self.min_rtt);
        let min_rtt = self.min_rtt << FRACTION;
        self.values[MIN_RTT] = min_rtt;
        self.values[QUEUE_EWMA] = rate.average_rtt.saturating_sub(min_rtt);
        self.values[RTT_TREND] = ratio(rtt << FRACTION, rate.average_rtt);
        self.values[RATE_TREND] = ratio(rate.slow_pace, rate.pace);
        self.values[ACK_GAP] = (gap << FRACTION) / packets;
    }

    /// Returns the window in packets.
    pub(crate) fn window(&self) -> u64 {
        self.window
    }

    /// Returns the minimum time between packets in nanoseconds.
    pub(crate) fn gap(&self) -> u64 {
        self.gap
    }

    /// Returns the pacing rate in bytes per second; `u64::MAX` without a limit.
    pub(crate) fn pacing(&self, mss: u64) -> u64 {
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
                    remy.on_feedback(&WholeFeedback {
                        now,
                        acked: ONE,
                        rtt,
                        ..WholeFeedback::default()
                    });
                }
                assert_eq!(remy.gap(), gap * 1000, "{smallest} us, then {tenths} tenths");
            }
        }
    }
}
