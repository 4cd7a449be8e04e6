//! Transcendental functions for the page's controllers.
//!
//! Browsers differ in the last digits of `Math.exp` and its like, so that runs with equal seeds would
//! differ. These are the simulator's own.

/// Returns function number `function`; those of one argument ignore `b`.
pub(crate) fn of(function: u32, a: f64, b: f64) -> f64 {
    match function {
        0 => libm::exp(a),
        1 => libm::expm1(a),
        2 => libm::log(a),
        3 => libm::log1p(a),
        4 => libm::log2(a),
        5 => libm::log10(a),
        6 => libm::pow(a, b),
        7 => libm::cbrt(a),
        8 => libm::sin(a),
        9 => libm::cos(a),
        10 => libm::tan(a),
        11 => libm::asin(a),
        12 => libm::acos(a),
        13 => libm::atan(a),
        14 => libm::atan2(a, b),
        15 => libm::sinh(a),
        16 => libm::cosh(a),
        17 => libm::tanh(a),
        18 => libm::asinh(a),
        19 => libm::acosh(a),
        20 => libm::atanh(a),
        21 => libm::hypot(a, b),
        _ => f64::NAN,
    }
}
