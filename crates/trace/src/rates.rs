//! Rates: those of a trace over time, and those from outside.

use crate::trace::NANOS_PER_MS;
use crate::{PACKET_BYTES, Trace, TraceError};
use paceline_cc::{Rate, Span, Time};

/// Returns a rate from outside, if it is valid.
pub(crate) fn checked(name: &str, mbps: f64) -> Result<Rate, TraceError> {
    if mbps.is_finite() && mbps >= 0.0 {
        return Ok(Rate::from_mbps(mbps));
    }
    let remedy = "rates are finite numbers of Mbit/s, zero or more";
    Err(TraceError::new(name, format!("a rate of {mbps} Mbit/s"), remedy))
}

/// Returns the rates of one lap in megabits (10⁶) per second, one per `bin`, which is at least 1
/// ms.
///
/// Bin k contains the opportunities after its start up to and including its end, and the first bin
/// those at 0, too. A last bin shortened by the end of the lap is divided by its own length.
pub fn rates(trace: &Trace, bin: Span) -> Vec<f64> {
    let bin = bin.as_nanos().max(NANOS_PER_MS);
    let end = trace.period().as_nanos();
    let mut cursor =
        trace.opportunities().iter().map(|&ms| u64::from(ms) * NANOS_PER_MS).peekable();
    let mut series = Vec::new();
    let mut start = Time::ZERO;
    while start.as_nanos() < end {
        let stop = start.as_nanos().saturating_add(bin).min(end);
        let mut count = 0u64;
        while cursor.next_if(|&at| at <= stop).is_some() {
            count += 1;
        }
        let span = Time::from_nanos(stop).since(start);
        series.push((count * PACKET_BYTES * 8) as f64 / span.as_secs_f64() / 1e6);
        start = Time::from_nanos(stop);
    }
    series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_come_back() {
        let bin = Span::from_millis(500);
        let wanted = [12.0, 24.0, 0.0, 3.6, 120.0, 12.0];
        let series = wanted.map(|mbps| (bin, Rate::from_mbps(mbps)));
        let trace = crate::steps("r", &series).expect("valid");
        for (got, wanted) in rates(&trace, bin).iter().zip(wanted) {
            assert!((got - wanted).abs() < 0.05, "{got} for {wanted}");
        }
        assert_eq!(rates(&trace, Span::from_secs(2)).len(), 2);
        assert_eq!(rates(&trace, Span::ZERO).len(), 3000);
        assert_eq!(rates(&trace, Span::MAX).len(), 1);
    }

    #[test]
    fn odd_rates_are_refused() {
        assert_eq!(checked("r", 1.5), Ok(Rate::from_mbps(1.5)));
        for bad in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(checked("r", bad).is_err(), "{bad}");
        }
    }
}
