//! The action of a rule.

/// The largest window in packets, as published.
pub const MAX_WINDOW: u32 = 1_000_000;

/// Quantity from which a rule computes the window and the pacing. All rules of a table have one.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum ActionBasis {
    /// The previous window, and a fixed time between packets: the published tables.
    #[default]
    Window,
    /// The delivery rate and the minimum RTT: windows and pacing follow the path.
    Rate,
}

impl ActionBasis {
    /// All bases.
    pub const ALL: [ActionBasis; 2] = [ActionBasis::Window, ActionBasis::Rate];

    /// Returns its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            ActionBasis::Window => "window",
            ActionBasis::Rate => "rate",
        }
    }

    /// Returns the basis of this name.
    pub fn of_name(name: &str) -> Option<ActionBasis> {
        ActionBasis::ALL.into_iter().find(|basis| basis.name() == name)
    }
}

/// How a rule sets the window and the pacing.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Action {
    /// Quantity that the other numbers refer to.
    pub basis: ActionBasis,
    /// `m`: factor of the previous window; with [`ActionBasis::Rate`] factor of the minimum RTT.
    pub multiple: f64,
    /// `b`: number of packets added afterwards.
    pub increment: i32,
    /// `r`: minimum time between packets in milliseconds; with [`ActionBasis::Rate`] the pacing
    /// rate as a multiple of the delivery rate. 0: no pacing.
    pub intersend_ms: f64,
    /// `t`: queueing delay to aim at in milliseconds; only with [`ActionBasis::Rate`], else 0.
    pub queue_ms: f64,
}

impl Action {
    /// Returns the action `window * multiple + increment`, rounded towards zero, with this pacing.
    pub const fn new(multiple: f64, increment: i32, intersend_ms: f64) -> Action {
        Action { basis: ActionBasis::Window, multiple, increment, intersend_ms, queue_ms: 0.0 }
    }

    /// Returns an action on the delivery rate. It sets the window to the packets that this rate
    /// delivers in `multiple * min_rtt + queue_ms`, and `increment` more, rounded towards zero. The
    /// pacing rate is `gain` times the sum of the delivery rate and `increment` per minimum RTT.
    ///
    /// With a multiple of 1, senders on one link converge to equal rates, and to a queueing delay
    /// of `queue_ms` plus `increment` packets of each sender, as with FAST.
    pub const fn of_rate(multiple: f64, increment: i32, gain: f64, queue_ms: f64) -> Action {
        Action { basis: ActionBasis::Rate, multiple, increment, intersend_ms: gain, queue_ms }
    }

    /// Returns the window in packets after the action, of a basis of [`ActionBasis::Window`].
    #[inline]
    pub fn apply(&self, window: u32) -> u32 {
        let next = f64::from(window) * self.multiple + f64::from(self.increment);
        // The conversion rounds towards zero; negative numbers and NaN become zero.
        (next as u32).min(MAX_WINDOW)
    }

    /// Returns the window in packets and the time between packets in nanoseconds that the action
    /// sets at a delivery rate in packets per millisecond, of a basis of [`ActionBasis::Rate`].
    #[inline]
    pub fn apply_to_rate(&self, rate: f64, min_rtt_ms: f64) -> (u32, u64) {
        let added = f64::from(self.increment);
        let window = rate * (self.multiple * min_rtt_ms + self.queue_ms) + added;
        let start = if min_rtt_ms > 0.0 { added.max(0.0) / min_rtt_ms } else { 0.0 };
        let pace = self.intersend_ms * (rate + start);
        let gap = if pace > 0.0 { 1e6 / pace } else { 0.0 };
        // The conversions round towards zero and saturate; NaN becomes zero.
        ((window as u32).min(MAX_WINDOW), (gap as u64).min(MAX_GAP))
    }

    /// Returns true if each number is finite and the pacing is not negative.
    pub fn is_sane(&self) -> bool {
        let numbers = [self.multiple, self.intersend_ms, self.queue_ms];
        numbers.into_iter().all(f64::is_finite) && self.intersend_ms >= 0.0
    }
}

/// Longest time between packets that pacing by rate sets, in nanoseconds: 1 s, so that a sender
/// whose rate was measured during an outage soon tries again.
const MAX_GAP: u64 = 1_000_000_000;
