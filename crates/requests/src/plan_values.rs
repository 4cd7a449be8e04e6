//! Plans and feedback in numbers and words, for controllers in other languages.

use paceline_cc::{Congestion, Ecn, Plan, Provided, Rate, Signals, Span, Time};

/// Signals that feedback for controllers in other languages carries.
pub const FEEDBACK_SIGNALS: Signals = Signals::of(Provided {
    ecn: true,
    echo: true,
    delivery_rate: true,
    fates: false,
    receive_time: false,
    headers: false,
    reports: false,
});

/// The values of a [`Plan`], as a controller in another language writes them.
#[derive(Copy, Clone, Debug)]
#[allow(clippy::exhaustive_structs, reason = "callers list all values")]
pub struct PlanValues {
    /// Congestion window in bytes.
    pub cwnd_bytes: f64,
    /// Pacing rate in Mbit/s; `None` without pacing.
    pub pacing_mbps: Option<f64>,
    /// Minimum time between two packets in milliseconds.
    pub gap_ms: f64,
    /// Size in bytes of the groups in which paced packets leave; 0 for single packets.
    pub burst_bytes: u32,
    /// ECN code point of outgoing packets.
    pub ecn: Ecn,
    /// Time of the next call of `on_timer` in seconds since the run began; `None` for no timer.
    pub timer_s: Option<f64>,
    /// Whether the sender spreads a reduction of the window by PRR.
    pub reduces_by_prr: bool,
    /// Whether the window is a limit to the byte.
    pub exact_window: bool,
}

/// The largest values of a plan.
#[derive(Copy, Clone, Debug)]
#[allow(clippy::exhaustive_structs, reason = "callers list all limits")]
pub struct PlanLimits {
    /// Highest pacing rate in Mbit/s.
    pub pacing_mbps: f64,
    /// Largest window in bytes without pacing, whose packets leave at one moment and fill the memory.
    pub unpaced_cwnd_bytes: f64,
    /// Largest window in bytes with pacing.
    pub paced_cwnd_bytes: f64,
}

impl PlanValues {
    /// Returns the plan of these values.
    ///
    /// # Errors
    /// The name of the first value that is not a number, is negative, or exceeds `limits`, with the
    /// values allowed.
    pub fn plan(&self, limits: &PlanLimits) -> Result<Plan, String> {
        let PlanValues { cwnd_bytes, pacing_mbps, gap_ms, timer_s, .. } = *self;
        let numbers = [
            ("cwnd_bytes", Some(cwnd_bytes)),
            ("pacing_mbps", pacing_mbps),
            ("gap_ms", Some(gap_ms)),
            ("timer_s", timer_s),
        ];
        for (name, number) in numbers {
            if number.is_some_and(|number| number.is_nan() || number < 0.0) {
                return Err(format!("{name}: expected a number from 0 on"));
            }
        }
        if pacing_mbps.is_some_and(|rate| rate > limits.pacing_mbps) {
            return Err(format!("pacing_mbps: expected at most {}", limits.pacing_mbps));
        }
        let is_paced = pacing_mbps.is_some() || gap_ms > 0.0;
        if is_paced && cwnd_bytes > limits.paced_cwnd_bytes {
            return Err(format!("cwnd_bytes: expected at most {}", limits.paced_cwnd_bytes));
        }
        if !is_paced && cwnd_bytes > limits.unpaced_cwnd_bytes {
            let limit = limits.unpaced_cwnd_bytes;
            return Err(format!("cwnd_bytes: expected at most {limit} without pacing_mbps"));
        }
        let mut plan = Plan::window(cwnd_bytes as u64).ecn(self.ecn);
        plan.pacing = pacing_mbps.map(Rate::from_mbps);
        plan.gap = Span::from_secs_f64(gap_ms / 1e3);
        plan.burst = self.burst_bytes;
        plan.timer = timer_s.map_or(Time::NEVER, |at| Time::ZERO + Span::from_secs_f64(at));
        plan.reduces_by_prr = self.reduces_by_prr;
        Ok(if self.exact_window { plan.exact() } else { plan })
    }
}

/// Words for ECN's code points, in the order of their numbers.
pub const ECN_WORDS: [(Ecn, &str); 4] =
    [(Ecn::NotEct, "not-ect"), (Ecn::Ect1, "ect1"), (Ecn::Ect0, "ect0"), (Ecn::Ce, "ce")];

/// Returns the word for a conclusion about congestion.
pub fn congestion_word(congestion: Congestion) -> &'static str {
    match congestion {
        Congestion::Loss => "loss",
        Congestion::LossAfterMark => "loss_after_mark",
        Congestion::Ecn => "ecn",
        Congestion::Timeout => "timeout",
        Congestion::Undo => "undo",
    }
}
