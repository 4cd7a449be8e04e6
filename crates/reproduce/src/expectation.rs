//! Expectations of measures, and their comparison with measured values.

use serde::Deserialize;

/// An expectation. Measures have the names that the experiment gives them.
#[derive(Clone, Debug, PartialEq)]
pub enum Expectation {
    /// A number, with a tolerance as a share of it (`share`) or as a distance (`within`).
    Near {
        /// Name of the measure.
        measure: String,
        /// Number in the paper.
        expected: f64,
        /// Largest deviation, as a share of `expected`.
        share: f64,
        /// Largest deviation, as a distance.
        within: f64,
    },
    /// A number between bounds.
    Between {
        /// Name of the measure.
        measure: String,
        /// Smallest value that holds.
        least: f64,
        /// Largest value that holds.
        most: f64,
    },
    /// A number of at least `least`.
    Least {
        /// Name of the measure.
        measure: String,
        /// Smallest value that holds.
        least: f64,
    },
    /// A number of at most `most`.
    Most {
        /// Name of the measure.
        measure: String,
        /// Largest value that holds.
        most: f64,
    },
    /// Measures that each are smaller than the previous one.
    Falling {
        /// Names of the measures, the largest first.
        falling: Vec<String>,
        /// Smallest fall between two neighbours, as a share of the larger one. A negative step lets
        /// a later measure be larger; only bounds of the first version have that.
        step: f64,
    },
    /// Measures that each are larger than the previous one.
    Rising {
        /// Names of the measures, the smallest first.
        rising: Vec<String>,
        /// Smallest rise between two neighbours, as a share of the larger one; may be negative as
        /// for `Falling`.
        step: f64,
    },
}

/// An expectation as written in a file: the fields that are present select its kind.
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
    /// Returns the names of its measures.
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

    /// Returns the expectation in words.
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

    /// Returns the tolerance in words; empty if the expectation is a bound.
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

    /// True if measured values, in the order of [`measures`](Self::measures), meet it. A value that
    /// was not measured (NaN) never does.
    pub fn holds(&self, values: &[f64]) -> bool {
        if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
            return false;
        }
        match self {
            Expectation::Falling { step, .. } | Expectation::Rising { step, .. } => {
                self.rises(values).all(|(rise, larger)| {
                    // Equal values are not in order, unless the step lets a later value go back.
                    rise >= step * larger && (rise > 0.0 || *step < 0.0)
                })
            }
            _ => values.first().is_some_and(|value| self.meets(*value)),
        }
    }

    /// Returns, for each two neighbours of an order, the step in its direction and the larger size.
    fn rises(&self, values: &[f64]) -> impl Iterator<Item = (f64, f64)> {
        let falls = matches!(self, Expectation::Falling { .. });
        values.iter().zip(values.iter().skip(1)).map(move |(before, after)| {
            let rise = if falls { before - after } else { after - before };
            (rise, before.abs().max(after.abs()))
        })
    }

    /// Returns the figure of measured values in one number: the value, or of an order the smallest
    /// step between two neighbours as a share of the larger one. NaN if a value was not measured.
    pub(crate) fn figure(&self, values: &[f64]) -> f64 {
        if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
            return f64::NAN;
        }
        match self {
            Expectation::Falling { .. } | Expectation::Rising { .. } => {
                let shares = self.rises(values).map(|(rise, larger)| match larger > 0.0 {
                    true => rise / larger,
                    false => 0.0,
                });
                shares.fold(f64::INFINITY, f64::min)
            }
            _ => values[0],
        }
    }

    /// True if a figure, as [`figure`](Self::figure) returns it, meets the expectation.
    pub(crate) fn meets(&self, figure: f64) -> bool {
        match self {
            Expectation::Near { expected, share, within, .. } => {
                (figure - expected).abs() <= (share * expected.abs()).max(*within)
            }
            Expectation::Between { least, most, .. } => figure >= *least && figure <= *most,
            Expectation::Least { least, .. } => figure >= *least,
            Expectation::Most { most, .. } => figure <= *most,
            Expectation::Falling { step, .. } | Expectation::Rising { step, .. } => {
                figure >= *step && (figure > 0.0 || *step < 0.0)
            }
        }
    }
}

/// Formats a number with its significant digits.
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
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    };
    if text == "-0" { "0".into() } else { text }
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
        let shown = [1352.04, 97.25, 4.7831, 0.98, 0.0, -0.0001, f64::NAN].map(number);
        assert_eq!(shown, ["1352", "97.2", "4.78", "0.98", "0", "0", "none"]);
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
