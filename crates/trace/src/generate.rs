//! Traces of given rates: constant, steps, a square wave.

use crate::trace::{NANOS_PER_MS, too_many};
use crate::{MAX_OPPORTUNITIES, PACKET_BYTES, Trace, TraceError};
use paceline_cc::{Rate, Span};

/// Bits per second at one opportunity per millisecond: 12 Mbit/s.
const BPS_OF_ONE_PER_MS: u64 = PACKET_BYTES * 8 * 1000;
const BITS: u128 = PACKET_BYTES as u128 * 8;
const NANOS_PER_SEC: u128 = Span::from_secs(1).as_nanos() as u128;

/// Returns a constant rate, with evenly spread opportunities; 12 Mbit/s is the single line 1.
///
/// The long-run rate is exact if a lap of at most 2²⁰ opportunities can be exact, and within 0.01 %
/// otherwise.
///
/// # Errors
/// A rate of zero, or one above 800 Tbit/s.
pub fn constant(rate: Rate) -> Result<Trace, TraceError> {
    const FEW: u64 = 1 << 20;
    let name = format!("constant {rate}");
    let bps = rate.as_bps();
    if bps == 0 {
        return Err(no_opportunity(&name));
    }
    let divisor = gcd(bps, BPS_OF_ONE_PER_MS);
    let (mut count, mut period) = (bps / divisor, BPS_OF_ONE_PER_MS / divisor);
    if count > FEW {
        // Rounds to the nearest whole count in the longest lap that stays small.
        period = (u128::from(FEW) * u128::from(BPS_OF_ONE_PER_MS) / u128::from(bps)).max(1) as u64;
        let scaled = u128::from(bps) * u128::from(period);
        let rounded = (scaled + u128::from(BPS_OF_ONE_PER_MS / 2)) / u128::from(BPS_OF_ONE_PER_MS);
        count = rounded.min(u64::MAX.into()) as u64;
    }
    if count > MAX_OPPORTUNITIES as u64 {
        return Err(too_many(&name));
    }
    // The i-th of n opportunities is at i/n of the lap, rounded up. Both factors are below 2^27.
    let entries = (1..=count).map(|i| (i * period).div_ceil(count) as u32).collect();
    Trace::new(&name, entries)
}

/// Returns a square wave: `low` for `half_period`, then `high` for `half_period`, repeated up to
/// `length`.
///
/// # Errors
/// A half period of less than 1 ms, or as [`steps`].
pub fn square_wave(
    low: Rate,
    high: Rate,
    half_period: Span,
    length: Span,
) -> Result<Trace, TraceError> {
    let name = format!("square wave {low} {high} {half_period}");
    if half_period < Span::from_millis(1) {
        let message = format!("a half period of {half_period} is too short");
        return Err(TraceError::new(&name, message, "make it 1ms or more"));
    }
    let halves = length.as_nanos().div_ceil(half_period.as_nanos());
    let (mut left, mut pieces) = (length.as_nanos(), 0);
    let wave = (0..halves).map(|_| {
        let piece = left.min(half_period.as_nanos());
        left -= piece;
        pieces += 1;
        (Span::from_nanos(piece), if pieces % 2 == 1 { low } else { high })
    });
    spread(&name, length, wave)
}

/// Returns a trace of rates that apply for a span each, one after the other.
///
/// An opportunity occurs when the bits so far fill another packet, rounded up to a millisecond. If
/// none occurs at the very end, one is added there: the last entry of a trace is its period.
///
/// # Errors
/// A total length of less than 1 ms or more than 2³² - 1 ms; no opportunity at all; more than
/// [`MAX_OPPORTUNITIES`].
pub fn steps(name: &str, steps: &[(Span, Rate)]) -> Result<Trace, TraceError> {
    let length = steps.iter().fold(Span::ZERO, |sum, step| sum + step.0);
    spread(name, length, steps.iter().copied())
}

fn spread(
    name: &str,
    length: Span,
    steps: impl Iterator<Item = (Span, Rate)>,
) -> Result<Trace, TraceError> {
    let end = whole_ms(name, length)?;
    let mut entries = Vec::new();
    let mut start: u128 = 0; // of the step, in nanoseconds
    let mut credit: u128 = 0; // bits times nanoseconds per second
    for (span, rate) in steps {
        let (bps, span) = (u128::from(rate.as_bps()), u128::from(span.as_nanos()));
        let gained = credit + bps * span;
        let packets = gained / (BITS * NANOS_PER_SEC);
        if packets + entries.len() as u128 > MAX_OPPORTUNITIES as u128 {
            return Err(too_many(name));
        }
        for packet in 1..=packets {
            let wanted = packet * BITS * NANOS_PER_SEC - credit;
            let at = start + wanted.div_ceil(bps.max(1));
            entries.push((at.div_ceil(NANOS_PER_MS.into()).min(end.into())) as u32);
        }
        credit = gained % (BITS * NANOS_PER_SEC);
        start += span;
    }
    if entries.is_empty() {
        return Err(no_opportunity(name));
    }
    if entries.last() != Some(&end) {
        entries.push(end);
    }
    Trace::new(name, entries)
}

/// Returns a length as a trace's period: whole milliseconds, rounded up.
pub(crate) fn whole_ms(name: &str, length: Span) -> Result<u32, TraceError> {
    match u32::try_from(length.as_nanos().div_ceil(NANOS_PER_MS)) {
        Ok(ms) if ms > 0 => Ok(ms),
        Ok(_) => Err(TraceError::new(name, "a length of zero", "give it a length, such as 60s")),
        Err(_) => Err(TraceError::new(
            name,
            format!("a length of {length} is too long"),
            "at most 4294967295 ms, 49 days; a trace repeats by itself",
        )),
    }
}

fn no_opportunity(name: &str) -> TraceError {
    TraceError::new(
        name,
        "not one packet of 1500 bytes fits",
        "use a rate above zero, or a longer trace",
    )
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mahimahi;

    #[test]
    fn constant_rates_are_exact_or_near() {
        let entries = |bps| constant(Rate::from_bps(bps)).map(|t| t.opportunities().to_vec());
        assert_eq!(entries(12_000_000), Ok(vec![1]));
        assert_eq!(entries(48_000_000), Ok(vec![1, 1, 1, 1]));
        assert_eq!(entries(8_000_000), Ok(vec![2, 3]));
        assert_eq!(entries(12), Ok(vec![1_000_000]));
        for bps in [1, 7, 999, 123_457, 10_000_001, 99_999_989, 7_777_777_777, 400_000_000_007] {
            let trace = constant(Rate::from_bps(bps)).expect("valid");
            let off = trace.mean_mbps() * 1e6 / bps as f64 - 1.0;
            assert!(off.abs() < 1e-4, "{bps} is off by {off}");
        }
        assert!(entries(0).is_err());
        assert!(entries(u64::MAX).is_err());
    }

    #[test]
    fn square_waves_count_every_packet() {
        let mbps = Rate::from_mbps;
        let wave =
            square_wave(mbps(12.0), mbps(24.0), Span::from_millis(500), Span::from_secs(140))
                .expect("valid");
        assert_eq!(wave.len(), 210_000);
        assert_eq!(wave.opportunities()[..2], [1, 2]);
        assert_eq!(wave.opportunities()[499..503], [500, 501, 501, 502]);
        assert_eq!(mahimahi::parse(wave.name(), mahimahi::write(&wave).as_bytes()), Ok(wave));
    }

    #[test]
    fn steps_close_their_lap_and_refuse_nonsense() {
        let second = Span::from_secs(1);
        let mbps = Rate::from_mbps;
        let trace = steps("s", &[(second, mbps(12.0)), (second, Rate::ZERO)]).expect("valid");
        assert_eq!((trace.len(), trace.period()), (1001, second * 2));
        assert!(steps("s", &[]).is_err());
        assert!(steps("s", &[(second, Rate::ZERO)]).is_err());
        assert!(steps("s", &[(Span::MAX, mbps(1.0))]).is_err());
        assert!(steps("s", &[(second, Rate::from_bps(u64::MAX)); 3]).is_err());
        assert!(square_wave(mbps(1.0), mbps(2.0), Span::ZERO, second).is_err());
        assert!(square_wave(mbps(1.0), mbps(2.0), second, Span::MAX).is_err());
        assert!(square_wave(mbps(1.0), mbps(2.0), Span::from_nanos(1), second).is_err());
    }
}
