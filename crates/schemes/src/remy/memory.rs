//! The memory of a RemyCC: numbers computed from the acknowledgements.

use paceline_cc::{Ecn, Span, Time};

use crate::abc::{ACCELERATE, BRAKE};

/// Number of signals in a memory.
pub const SIGNALS: usize = 12;
/// Number of signals in published tables: the first ones.
pub const PUBLISHED_SIGNALS: usize = 6;

/// A signal of the memory: an axis of the space that a table's boxes divide.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Signal {
    /// Average time between the sending times of acknowledged packets, in ms (weight 1/8).
    SendEwma,
    /// Average time between acknowledgements, in ms (weight 1/8).
    RecEwma,
    /// The latest RTT divided by the smallest one.
    RttRatio,
    /// Average time between acknowledgements, in ms, with weight 1/256.
    SlowRecEwma,
    /// The latest RTT minus the smallest one, in ms.
    RttDiff,
    /// `rec_ewma` times the number of outstanding packets, in ms.
    QueueingDelay,
    /// Average share, from 0 to 1, of acknowledged packets that an ABC router let accelerate
    /// (weight 1/8). Only tables that use it have it; no published table does.
    AccelShare,
    /// The smallest RTT, in ms. This and the following signals are this program's own.
    MinRtt,
    /// Average of the RTT minus the smallest one, in ms, over about a smallest RTT.
    QueueEwma,
    /// The latest RTT divided by the average RTT over about a smallest RTT: above 1 while the
    /// queue grows.
    RttTrend,
    /// The delivery rate divided by its average over eight times as long: above 1 while the
    /// capacity, or the sender's share of it, grows.
    RateTrend,
    /// The latest time between acknowledgements, in ms: large at the end of an outage. With rules on
    /// a timer, during an outage, the time since the last acknowledgement.
    AckGap,
}

impl Signal {
    /// All signals: those of the published files in their order, then this program's own.
    pub const ALL: [Signal; SIGNALS] = [
        Signal::SendEwma,
        Signal::RecEwma,
        Signal::RttRatio,
        Signal::SlowRecEwma,
        Signal::RttDiff,
        Signal::QueueingDelay,
        Signal::AccelShare,
        Signal::MinRtt,
        Signal::QueueEwma,
        Signal::RttTrend,
        Signal::RateTrend,
        Signal::AckGap,
    ];

    /// Returns true if published files have it.
    pub const fn is_published(self) -> bool {
        self.index() < PUBLISHED_SIGNALS
    }

    /// Returns true if it is computed with the delivery rate: see `RateTracker`.
    pub const fn follows_rate(self) -> bool {
        self.index() > Signal::AccelShare.index()
    }

    /// Returns its unit; empty for ratios.
    pub const fn unit(self) -> &'static str {
        match self {
            Signal::RttRatio | Signal::AccelShare | Signal::RttTrend | Signal::RateTrend => "",
            _ => "ms",
        }
    }

    /// Returns the index of its value in [`Memory::values`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns its name in tables and plots.
    pub const fn name(self) -> &'static str {
        match self {
            Signal::SendEwma => "send_ewma",
            Signal::RecEwma => "rec_ewma",
            Signal::RttRatio => "rtt_ratio",
            Signal::SlowRecEwma => "slow_rec_ewma",
            Signal::RttDiff => "rtt_diff",
            Signal::QueueingDelay => "queueing_delay",
            Signal::AccelShare => "accel_share",
            Signal::MinRtt => "min_rtt",
            Signal::QueueEwma => "queue_ewma",
            Signal::RttTrend => "rtt_trend",
            Signal::RateTrend => "rate_trend",
            Signal::AckGap => "ack_gap",
        }
    }

    /// Returns the signal of this name.
    pub fn of_name(name: &str) -> Option<Signal> {
        Signal::ALL.into_iter().find(|signal| signal.name() == name)
    }
}

/// A point in the space of signals. Times are in milliseconds, as in the published simulator.
#[derive(Copy, Clone, Debug, Default, PartialEq)]
pub struct Memory {
    /// One value per signal, in the order of [`Signal::ALL`].
    pub values: [f64; SIGNALS],
}

impl Memory {
    /// Returns the value of a signal.
    pub fn get(&self, signal: Signal) -> f64 {
        self.values[signal.index()]
    }
}

/// Updates the memory of a flow with each acknowledgement.
///
/// At the first acknowledgement all signals stay zero, and averages start from zero, so that early
/// values are too small. Both are as in the published program, with which the tables were trained.
#[derive(Clone, Debug)]
pub struct Tracker {
    memory: Memory,
    /// When the newest acknowledged packet was sent, and when its acknowledgement arrived; `None`
    /// before the first.
    last: Option<(Time, Time)>,
    min_rtt: Span,
    resolution: Span,
    /// Delivery rate and averages; `None` for tables that use none of them.
    rate: Option<RateTracker>,
}

/// Measures the delivery rate, and the averages that refer to it.
///
/// Each average has a time constant of the smallest RTT plus the time of [`LEAST_PACKETS`] packets,
/// so that it covers an RTT on fast paths and some packets on slow ones. An average takes in a
/// sample after `gap` with the weight `gap / (time constant + gap)`, the implicit Euler step of an
/// exponential average: exact for constant values, with any spacing of acknowledgements.
#[derive(Clone, Debug, Default)]
struct RateTracker {
    /// Packets per millisecond.
    rate: f64,
    slow_rate: f64,
    /// Average RTT in milliseconds.
    average_rtt: f64,
}

/// Number of packets that an average of the delivery rate covers in addition to an RTT.
const LEAST_PACKETS: f64 = 4.0;
/// Time constant of the slow delivery rate, in time constants of the fast one.
const SLOWER: f64 = 8.0;

impl RateTracker {
    /// Begins with the RTT of the first acknowledged packet: one packet in this time.
    #[inline]
    fn begin(&mut self, rtt_ms: f64) {
        let rtt_ms = rtt_ms.max(1e-6);
        *self = RateTracker { rate: 1.0 / rtt_ms, slow_rate: 1.0 / rtt_ms, average_rtt: rtt_ms };
    }

    /// Takes in an acknowledgement `gap_ms` after the one before.
    #[inline]
    fn on_ack(&mut self, gap_ms: f64, rtt_ms: f64, min_rtt_ms: f64) {
        let constant = min_rtt_ms + LEAST_PACKETS / self.rate;
        self.rate = (self.rate * constant + 1.0) / (constant + gap_ms);
        let slow = SLOWER * constant;
        self.slow_rate = (self.slow_rate * slow + 1.0) / (slow + gap_ms);
        self.average_rtt += (rtt_ms - self.average_rtt) * gap_ms / (constant + gap_ms);
    }
}

/// Adds a sample of `nanos` nanoseconds to an average in milliseconds.
fn average(value: &mut f64, weight: f64, nanos: u64) {
    *value = (1.0 - weight) * *value + weight * millis(nanos);
}

fn millis(nanos: u64) -> f64 {
    // Converts by way of i64, for which processors have an instruction; times are below 292 years.
    nanos as i64 as f64 / 1e6
}

impl Tracker {
    /// Returns the memory of a flow without acknowledgements. RTTs that exceed the smallest one by
    /// at most `resolution` count as the smallest.
    pub fn new(resolution: Span) -> Tracker {
        let memory = Memory::default();
        Tracker { memory, last: None, min_rtt: Span::ZERO, resolution, rate: None }
    }

    /// Returns this memory, with the delivery rate and the signals that need it if `with_rate`.
    #[must_use]
    pub fn with_rate(self, with_rate: bool) -> Tracker {
        Tracker { rate: with_rate.then(RateTracker::default), ..self }
    }

    /// Returns the delivery rate in packets per millisecond, and the smallest RTT in milliseconds.
    /// Both are 0 before the first acknowledgement, and without [`Tracker::with_rate`] the rate is.
    #[inline]
    pub fn rate_and_min_rtt(&self) -> (f64, f64) {
        (self.rate.as_ref().map_or(0.0, |rate| rate.rate), millis(self.min_rtt.as_nanos()))
    }

    /// Returns the memory.
    #[inline]
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Takes in an acknowledgement, at `now`, of a packet sent at `sent`. `outstanding` is the
    /// number of packets by which it is ahead of the newest one acknowledged before, at least 1.
    #[inline]
    pub fn on_ack(&mut self, sent: Time, now: Time, outstanding: u64) {
        let rtt = now.since(sent);
        let Some((last_sent, last_received)) = self.last.replace((sent, now)) else {
            self.min_rtt = rtt;
            if let Some(rate) = &mut self.rate {
                rate.begin(millis(rtt.as_nanos()));
                self.memory.values[Signal::MinRtt.index()] = millis(rtt.as_nanos());
            }
            return;
        };
        let [send, received, ratio, slow, diff, queueing, ..] = &mut self.memory.values;
        // A late packet that was sent before the newest one gives a time of zero.
        average(send, 1.0 / 8.0, sent.since(last_sent).as_nanos());
        let gap = now.since(last_received).as_nanos();
        average(received, 1.0 / 8.0, gap);
        average(slow, 1.0 / 256.0, gap);
        self.min_rtt = self.min_rtt.min(rtt);
        let above = rtt.as_nanos() - self.min_rtt.as_nanos();
        let above = if above <= self.resolution.as_nanos() { 0 } else { above };
        let smallest = self.min_rtt.as_nanos().max(1);
        (*ratio, *diff) = match above {
            0 => (1.0, 0.0),
            _ => ((smallest + above) as f64 / smallest as f64, millis(above)),
        };
        *queueing = *received * outstanding.max(1) as f64;
        if self.rate.is_some() {
            self.follow_rate(gap, smallest + above);
        }
    }

    /// Updates the delivery rate and its signals. `rtt` is in nanoseconds, with the resolution.
    #[inline]
    fn follow_rate(&mut self, gap: u64, rtt: u64) {
        let Some(rate) = &mut self.rate else { return };
        let (gap, rtt, smallest) = (millis(gap), millis(rtt), millis(self.min_rtt.as_nanos()));
        rate.on_ack(gap, rtt, smallest);
        let [.., min_rtt, queue, trend, rate_trend, ack_gap] = &mut self.memory.values;
        *min_rtt = smallest;
        *queue = (rate.average_rtt - smallest).max(0.0);
        *trend = rtt / rate.average_rtt;
        *rate_trend = rate.rate / rate.slow_rate;
        *ack_gap = gap;
    }

    /// Takes in that no acknowledgement has come for `silence`, which becomes the value of
    /// [`Signal::AckGap`] until the next one. Without [`Tracker::with_rate`] nothing changes.
    pub fn on_silence(&mut self, silence: Span) {
        if self.rate.is_some() {
            self.memory.values[Signal::AckGap.index()] = millis(silence.as_nanos());
        }
    }

    /// Takes in `packets` packets acknowledged with this mark of an ABC router (ABC paper, section
    /// 4.2). CE counts as a brake; packets without a mark do not change the share.
    pub fn on_mark(&mut self, echo: Ecn, packets: u32) {
        let accelerated = match echo {
            Ecn::NotEct => return,
            ACCELERATE => 1.0,
            BRAKE | Ecn::Ce => 0.0,
        };
        let share = &mut self.memory.values[Signal::AccelShare.index()];
        // After 256 packets the previous share no longer matters.
        for _ in 0..packets.min(256) {
            *share = 7.0 / 8.0 * *share + accelerated / 8.0;
        }
    }
}
