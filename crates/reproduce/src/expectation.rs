//! What is expected of a measure, and whether a measured value meets it.

use serde::Deserialize;

/// What is expected of measures. Measures are called by the names that the experiment gives them.
#[derive(Clone, Debug, PartialEq)]
pub enum Expectation {
    /// A number, give or take a share of it (`share`) or a distance (`within`).
    Near {
        /// The measure.
        measure: String,
        /// The paper's number.
        expected: f64,
        /// The largest deviation as a share of the expected number.
        share: f64,
        /// The largest deviation.
        within: f64,
    },
    /// A number between bounds.
    Between {
        /// The measure.
        measure: String,
        /// The least that holds.
        least: f64,
        /// The most that holds.
        most: f64,
    },
    /// A number of at least this much.
    Least {
        /// The measure.
        measure: String,
        /// The least that holds.
        least: f64,
    },
    /// A number of at most this much.
    Most {
        /// The measure.
        measure: String,
        /// The most that holds.
        most: f64,
    },
    /// Measures of which each is smaller than the one before.
    Falling {
        /// The measures, the largest first.
        falling: Vec<String>,
        /// By how much they fall at least, as a share of the larger of two. A negative step lets
        /// a later one be larger; only bounds of the first version have that.
        step: f64,
    },
    /// Measures of which each is larger than the one before.
    Rising {
        /// The measures, the smallest first.
        rising: Vec<String>,
        /// By how much they rise at least, as a share of the larger of two; as for `Falling`.
        step: f64,
    },
}

/// An expectation as written: which fields there are decides what is expected.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Bounds {
    pub(crate) measure: Option<String>,
    pub(crate) expected: Option<f64>,
    pub(crate) share: f64,
    pub(crate) within: f64,
    pub(crate) least: Option<f64>,
    pub(crate) most: Option<f64>,
    pub(crate) falling: Option<Vec<String>>,
    pub(crate) rising: Option<Vec<String>>,
    pub(crate) step: Option<f64>,
}

impl TryFrom<Bounds> for Expectation {
    type Error = String;

    fn try_from(written: Bounds) -> Result<Expectation, String> {
        let Bounds { measure, share, within, step, .. } = written;
        let bounds = (measure, written.expected, written.least, written.most);
        let step_of = |list: &[String]| -> Result<f64, String> {
            if list.len() < 2 {
                return Err("an order needs two measures or more".into());
            }
            step.ok_or_else(|| {
                "say by which share (`step`) each measure differs at least from the next".into()
            })
        };
        match (bounds, written.falling, written.rising) {
            ((Some(measure), Some(expected), None, None), None, None) => {
                if share <= 0.0 && within <= 0.0 {
                    return Err("give a tolerance, `share` or `within`".into());
                }
                Ok(Expectation::Near { measure, expected, share, within })
            }
            ((Some(measure), None, Some(least), Some(most)), None, None) if least < most => {
                Ok(Expectation::Between { measure, least, most })
            }
            ((Some(measure), None, Some(least), None), None, None) => {
                Ok(Expectation::Least { measure, least })
            }
            ((Some(measure), None, None, Some(most)), None, None) => {
                Ok(Expectation::Most { measure, most })
            }
            ((None, None, None, None), Some(falling), None) => {
                Ok(Expectation::Falling { step: step_of(&falling)?, falling })
            }
            ((None, None, None, None), None, Some(rising)) => {
                Ok(Expectation::Rising { step: step_of(&rising)?, rising })
            }
            _ => Err("expected a `measure` with `expected`, `least` or `most` (`least` below \
                      `most`), or a list of measures in `falling` or `rising`"
                .into()),
        }
    }
}

impl Expectation {
    /// The names of the measures that it speaks of.
    pub fn measures(&self) -> Vec<&str> {
        match self {
            Expectation::Near { measure, .. }
            | Expectation::Between { measure, .. }
            | Expectation::Least { measure, .. }
            | Expectation::Most { measure, .. } => vec![measure],
            Expectation::Falling { falling, .. } => falling.iter().map(String::as_str).collect(),
            Expectation::Rising { rising, .. } => rising.iter().map(String::as_str).collect(),
        }
    }

    /// What is expected, in words.
    pub fn words(&self) -> String {
        match self {
            Expectation::Near { expected, .. } => number(*expected),
            Expectation::Between { least, most, .. } => {
                format!("{} to {}", number(*least), number(*most))
            }
            Expectation::Least { least, .. } => format!("at least {}", number(*least)),
            Expectation::Most { most, .. } => format!("at most {}", number(*most)),
            Expectation::Falling { .. } => "falling".into(),
            Expectation::Rising { .. } => "rising".into(),
        }
    }

    /// The tolerance in words; empty if the expectation is a bound.
    pub fn tolerance(&self) -> String {
        match self {
            Expectation::Near { share, within, .. } if *share > 0.0 && *within > 0.0 => {
                format!("{} % or {}", number(100.0 * share), number(*within))
            }
            Expectation::Near { share, .. } if *share > 0.0 => {
                format!("{} %", number(100.0 * share))
            }
            Expectation::Near { within, .. } => number(*within),
            Expectation::Falling { step, .. } | Expectation::Rising { step, .. } => match *step {
                step if step > 0.0 => format!("each by {} % or more", number(100.0 * step)),
                step if step < 0.0 => format!("give or take {} %", number(-100.0 * step)),
                _ => String::new(),
            },
            _ => String::new(),
        }
    }

    /// Whether measured values meet it, in the order of [`measures`](Self::measures). What was
    /// not measured does not hold.
    pub fn holds(&self, values: &[f64]) -> bool {
        if values.iter().any(|value| !value.is_finite()) {
            return false;
        }
        let [value, rest @ ..] = values else { return false };
        let ordered = |step: f64, falls: bool| {
            values.iter().zip(rest).all(|(before, after)| {
                let rise = if falls { before - after } else { after - before };
                let least = step * before.abs().max(after.abs());
                // Equal values are in no order, unless the bound lets later ones go back.
                rise >= least && (rise > 0.0 || step < 0.0)
            })
        };
        match self {
            Expectation::Near { expected, share, within, .. } => {
                (value - expected).abs() <= (share * expected.abs()).max(*within)
            }
            Expectation::Between { least, most, .. } => value >= least && value <= most,
            Expectation::Least { least, .. } => value >= least,
            Expectation::Most { most, .. } => value <= most,
            Expectation::Falling { step, .. } => ordered(*step, true),
            Expectation::Rising { step, .. } => ordered(*step, false),
        }
    }
}

/// A number with as many digits as matter.
pub(crate) fn number(value: f64) -> String {
    if !value.is_finite() {
        return "none".into();
    }
    let size = value.abs();
    let text = match size {
        0.0 => return "0".into(),
        _ if size >= 100.0 => format!("{value:.0}"),
        _ if size >= 10.0 => format!("{value:.1}"),
        _ if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    };
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Expectation, String> {
        toml::from_str::<Bounds>(text).map_err(|error| error.to_string())?.try_into()
    }

    fn holds(text: &str, values: &[f64]) -> bool {
        read(text).expect(text).holds(values)
    }

    #[test]
    fn numbers_have_the_digits_that_matter() {
        let shown = [1352.04, 97.25, 4.7831, 0.98, 0.0, f64::NAN].map(number);
        assert_eq!(shown, ["1352", "97.2", "4.78", "0.98", "0", "none"]);
    }

    #[test]
    fn a_value_can_be_too_small_and_too_large() {
        let near = "measure='m'\nexpected=10.0\nshare=0.1";
        assert!(holds(near, &[9.1]) && holds(near, &[10.9]));
        assert!(!holds(near, &[8.9]) && !holds(near, &[11.1]) && !holds(near, &[f64::NAN]));
        let range = "measure='m'\nleast=1.0\nmost=2.0";
        assert!(holds(range, &[1.0]) && holds(range, &[2.0]));
        assert!(!holds(range, &[0.9]) && !holds(range, &[2.1]) && !holds(range, &[]));
    }

    #[test]
    fn orders_are_strict_and_have_a_least_step() {
        let rising = "rising=['a','b','c']\nstep=0.1";
        assert!(holds(rising, &[1.0, 1.2, 1.4]));
        assert!(!holds(rising, &[1.0, 1.05, 1.4]) && !holds(rising, &[1.0, 1.2, 1.2]));
        assert!(holds("rising=['a','b']\nstep=0.1", &[-1.0, 1.0]));
        let strict = "falling=['a','b']\nstep=0.0";
        assert!(holds(strict, &[2.0, 1.9]) && !holds(strict, &[2.0, 2.0]));
        assert!(holds("falling=['a','b']\nstep=-0.02", &[2.0, 2.0]));
        assert!(!holds("falling=['a','b']\nstep=-0.02", &[2.0, 2.1]));
    }

    #[test]
    fn mistakes_are_told() {
        for (text, part) in [
            ("measure='m'\nexpected=1.0", "tolerance"),
            ("falling=['a','b']", "step"),
            ("falling=['a']\nstep=0.1", "two measures"),
            ("measure='m'\nleast=2.0\nmost=1.0", "`least` below"),
            ("share=0.1", "expected a `measure`"),
        ] {
            assert!(read(text).is_err_and(|problem| problem.contains(part)), "{text}");
        }
    }
}
