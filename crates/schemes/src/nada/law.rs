//! The law of the reference rate (RFC 8698 §4.3), and the rates that waiting data changes (§5.2.2). Rates are
//! in bits per second, signals and times in milliseconds.

use super::NadaParams;

/// Waiting data changes the encoder's and the sending rate by at most this share of the reference rate
/// (equations 10 and 11).
const MAX_CHANGE: f64 = 0.05;

/// Returns the reference rate after a report while ramping up: equations 3 and 4. `received` is the
/// received rate.
pub(super) fn ramp_up(params: &NadaParams, r_ref: f64, received: f64, rtt: f64) -> f64 {
    let delay = rtt + params.delta.as_millis_f64() + params.dfilt.as_millis_f64();
    let gamma = params.gamma_max.min(params.qbound.as_millis_f64() / delay.max(1e-3));
    r_ref.max((1.0 + gamma) * received)
}

/// Returns the reference rate `delta` after the last report by the gradual update: equations 5 to 7.
pub(super) fn update_gradually(
    params: &NadaParams,
    r_ref: f64,
    delta: f64,
    (current, previous): (f64, f64),
) -> f64 {
    let tau = params.tau.as_millis_f64();
    let rmax = params.rmax.as_bps() as f64;
    let offset = current - params.prio * params.xref.as_millis_f64() * rmax / r_ref.max(1.0);
    let change = current - previous;
    r_ref
        - params.kappa * (delta / tau) * (offset / tau) * r_ref
        - params.kappa * params.eta * (change / tau) * r_ref
}

/// Returns the reference rate within its bounds: equations 8 and 9.
pub(super) fn clip(params: &NadaParams, r_ref: f64) -> f64 {
    let (rmin, rmax) = (params.rmin.as_bps() as f64, params.rmax.as_bps() as f64);
    // NaN becomes the smallest rate.
    r_ref.min(rmax).max(rmin)
}

/// Returns the rate for the encoder while `waiting` bytes wait in the sender: equations 10 and 12.
pub(super) fn encoder_rate(params: &NadaParams, r_ref: f64, waiting: u64) -> f64 {
    let lowered = (MAX_CHANGE * r_ref).min(params.beta_v * 8.0 * waiting as f64 * params.fps);
    (r_ref - lowered).max(params.rmin.as_bps() as f64)
}

/// Returns the rate at which packets leave while `waiting` bytes wait: equations 11 and 13.
pub(super) fn sending_rate(params: &NadaParams, r_ref: f64, waiting: u64) -> f64 {
    let raised = (MAX_CHANGE * r_ref).min(params.beta_s * 8.0 * waiting as f64 * params.fps);
    (r_ref + raised).min(params.rmax.as_bps() as f64)
}
