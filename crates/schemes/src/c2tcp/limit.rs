//! Times that users write as such or as multiples of the path's RTT.

use std::cmp::Ordering;

use paceline_cc::params::RangedValue;
use paceline_cc::{ParamValue, Span};

/// A time, or a multiple of the smallest RTT so far.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum Limit {
    /// `100ms`.
    Time(Span),
    /// `2rtt`.
    Rtts(f64),
}

impl Limit {
    /// Returns the time that this is on a path whose smallest RTT is `min_rtt`. A multiple of the RTT is at least `floor`.
    pub fn over(self, min_rtt: Span, floor: Span) -> Span {
        match self {
            Limit::Time(time) => time,
            Limit::Rtts(rtts) => min_rtt.mul_f64(rtts).max(floor),
        }
    }
}

/// Times are ordered, and so are multiples of the RTT; a time and a multiple are not.
impl PartialOrd for Limit {
    fn partial_cmp(&self, other: &Limit) -> Option<Ordering> {
        match (self, other) {
            (Limit::Time(one), Limit::Time(other)) => one.partial_cmp(other),
            (Limit::Rtts(one), Limit::Rtts(other)) => one.partial_cmp(other),
            _ => None,
        }
    }
}

impl RangedValue for Limit {
    fn next_up(&self) -> Option<Limit> {
        match self {
            Limit::Time(time) => RangedValue::next_up(time).map(Limit::Time),
            Limit::Rtts(rtts) => RangedValue::next_up(rtts).map(Limit::Rtts),
        }
    }
    fn next_down(&self) -> Option<Limit> {
        match self {
            Limit::Time(time) => RangedValue::next_down(time).map(Limit::Time),
            Limit::Rtts(rtts) => RangedValue::next_down(rtts).map(Limit::Rtts),
        }
    }
}

impl ParamValue for Limit {
    const KIND: &'static str = "time or RTTs";
    const UNIT: &'static str = "time or RTTs";
    fn read(text: &str) -> Result<Limit, String> {
        let rtts = text.strip_suffix("rtts").or_else(|| text.strip_suffix("rtt"));
        let Some(rtts) = rtts else {
            return Span::read(text)
                .map(Limit::Time)
                .map_err(|problem| format!("{problem}, or smallest RTTs such as 2rtt"));
        };
        let rtts = rtts.trim();
        match rtts.parse::<f64>() {
            Ok(rtts) if rtts.is_finite() => Ok(Limit::Rtts(rtts)),
            _ => Err("expected a number of smallest RTTs such as 2rtt".into()),
        }
    }
    fn show(&self) -> String {
        match self {
            Limit::Time(time) => time.show(),
            Limit::Rtts(rtts) => format!("{rtts}rtt"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_read_and_show() {
        for (text, limit) in [
            ("2rtt", Limit::Rtts(2.0)),
            ("1.5rtt", Limit::Rtts(1.5)),
            ("80ms", Limit::Time(Span::from_millis(80))),
        ] {
            assert_eq!(Limit::read(text), Ok(limit));
            assert_eq!(limit.show(), text);
        }
        assert_eq!(Limit::read("3 rtts"), Ok(Limit::Rtts(3.0)));
        for wrong in ["rtt", "infrtt", "two", "80"] {
            assert!(Limit::read(wrong).is_err(), "{wrong}");
        }
        let [none, min_rtt, floor] = [0, 40, 100].map(Span::from_millis);
        assert_eq!(Limit::Rtts(2.0).over(min_rtt, none), Span::from_millis(80));
        assert_eq!(Limit::Rtts(2.0).over(min_rtt, floor), floor);
        assert_eq!(Limit::Time(min_rtt).over(none, floor), min_rtt);
    }
}
