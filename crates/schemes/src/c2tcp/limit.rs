//! Times that are written as such or as multiples of the path's RTT.

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
    /// The time that it is over a path whose smallest RTT is `min_rtt`.
    pub fn over(self, min_rtt: Span) -> Span {
        match self {
            Limit::Time(time) => time,
            Limit::Rtts(rtts) => min_rtt.mul_f64(rtts),
        }
    }

    /// True for times above 0, and for `least` to 1000 RTTs.
    pub(super) fn is_sane(self, least: f64) -> bool {
        match self {
            Limit::Time(time) => !time.is_zero(),
            Limit::Rtts(rtts) => (least..=1000.0).contains(&rtts),
        }
    }
}

impl ParamValue for Limit {
    const KIND: &'static str = "time or RTTs";
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
        assert_eq!(Limit::Rtts(2.0).over(Span::from_millis(40)), Span::from_millis(80));
    }
}
