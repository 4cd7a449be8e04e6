//! The encoder's rate and the pacing of version 2 (draft, "Media Rate Control" and "Packet Pacing").

use paceline_cc::Span;

use super::ScreamParams;
use super::frames::NewFrame;
use super::sender::{FIRST_RTT, LEAST_PACING};
use super::window_v2::WindowV2;

/// Gain of the integrator of waiting data (draft `RATE_ADJUST_GAIN`).
const ADJUST_GAIN: f64 = 1.0 / 16.0;
/// Weight of a frame in the deviation of frames' sizes (draft `FRAME_SIZE_DEV_ALPHA`).
const FRAME_DEVIATION_GAIN: f64 = 1.0 / 64.0;
/// Headers per packet in bytes (draft `PACKET_OVERHEAD`).
const PACKET_OVERHEAD: f64 = 20.0;
/// The encoder's rate is the window per RTT divided by at least this.
const LEAST_DIVISOR: f64 = 1.2;
/// Share of the largest rate above which pacing is relaxed (draft `RELAXED_PACING_LIMIT_LOW`).
const RELAXED_FROM: f64 = 0.8;

/// The encoder's rate in bits per second.
#[derive(Clone, Debug)]
pub(super) struct RateV2 {
    target: f64,
    /// By how much waiting data, and large frames, raise the divisor.
    adjust: f64,
    frame_deviation: f64,
}

impl RateV2 {
    pub(super) fn new(params: &ScreamParams, window: &WindowV2, mss: f64) -> RateV2 {
        let mut rate = RateV2 { target: 0.0, adjust: 0.0, frame_deviation: 0.0 };
        rate.update(params, window, Span::ZERO, mss);
        rate
    }

    /// Takes in a frame. `period` is the time between frames in seconds.
    pub(super) fn on_frame(&mut self, frame: &NewFrame, period: f64) {
        let error = (frame.queue_age - period / 4.0) / period;
        self.adjust = (self.adjust + error * ADJUST_GAIN).clamp(0.0, 0.5);
        let nominal = (self.target * period / 8.0).max(1.0);
        let deviation = ((frame.size as f64 - nominal) / nominal).max(0.0);
        let average =
            self.frame_deviation + FRAME_DEVIATION_GAIN * (deviation - self.frame_deviation);
        self.frame_deviation = average.min(0.2);
    }

    /// Follows the window. Packets have `mss` bytes.
    pub(super) fn update(
        &mut self,
        params: &ScreamParams,
        window: &WindowV2,
        srtt: Span,
        mss: f64,
    ) {
        let rtt = if srtt.is_zero() { FIRST_RTT } else { srtt }.as_secs_f64();
        let target = 8.0 * window.ref_wnd() / rtt
            * (1.0 - (window.ratio() - 0.1).clamp(0.0, 0.2))
            * (mss / (mss + PACKET_OVERHEAD))
            / (LEAST_DIVISOR + self.adjust + self.frame_deviation);
        let (least, most) = (params.min_rate.as_bps() as f64, params.max_rate.as_bps() as f64);
        self.target = target.min(most).max(least);
    }

    /// Returns the encoder's rate in bits per second.
    pub(super) fn target(&self) -> f64 {
        self.target
    }

    /// Returns the pacing rate in bits per second.
    pub(super) fn pacing(&self, params: &ScreamParams) -> f64 {
        let pacing = self.target.max(LEAST_PACING) * params.pacing_headroom;
        let nominal = self.target / params.max_rate.as_bps() as f64;
        let relaxed = ((nominal - RELAXED_FROM) / (1.0 - RELAXED_FROM)).min(1.0);
        pacing / (1.0 - relaxed).clamp(1.0 / params.relaxed_pacing, 1.0)
    }
}
