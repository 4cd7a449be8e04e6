//! Claims as data: what a paper says, and how far from it we may measure.

use serde::Deserialize;

/// The claims that are built in, one file a paper.
const FILES: [(&str, &str); 4] = [
    ("claims/abc.toml", include_str!("../claims/abc.toml")),
    ("claims/abc-coexistence.toml", include_str!("../claims/abc-coexistence.toml")),
    ("claims/abc-wifi.toml", include_str!("../claims/abc-wifi.toml")),
    ("claims/c2tcp.toml", include_str!("../claims/c2tcp.toml")),
];

/// A number or an ordering that a paper states.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The name by which users call it: `A01`.
    pub id: String,
    /// The paper.
    pub paper: String,
    /// Where in the paper.
    pub place: String,
    /// What it says, in a few words.
    pub title: String,
    /// The setup: links, flows, times.
    pub setup: String,
    /// The experiment that measures it.
    pub experiment: String,
    /// What must hold.
    pub checks: Vec<Check>,
    /// What an investigation has found where a check does not hold.
    #[serde(default)]
    pub cause: String,
}

/// One thing that must hold.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Written")]
pub struct Check {
    /// What is measured, in words.
    pub what: String,
    /// What is expected of which measure.
    pub expectation: Expectation,
    /// Why the tolerance is what it is.
    pub why: String,
}

/// A check as written: which fields there are decides what is expected.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Written {
    what: String,
    why: String,
    measure: Option<String>,
    expected: Option<f64>,
    share: f64,
    within: f64,
    least: Option<f64>,
    most: Option<f64>,
    falling: Option<Vec<String>>,
    rising: Option<Vec<String>>,
    slack: f64,
}

impl TryFrom<Written> for Check {
    type Error = String;

    fn try_from(written: Written) -> Result<Check, String> {
        let Written { what, why, measure, share, within, slack, .. } = written;
        let bounds = (measure, written.expected, written.least, written.most);
        let expectation = match (bounds, written.falling, written.rising) {
            ((Some(measure), Some(expected), None, None), None, None) => {
                if share <= 0.0 && within <= 0.0 {
                    return Err(format!("{what}: give a tolerance, `share` or `within`"));
                }
                if why.is_empty() {
                    return Err(format!("{what}: say `why` the tolerance is what it is"));
                }
                Expectation::Near { measure, expected, share, within }
            }
            ((Some(measure), None, Some(least), Some(most)), None, None) => {
                Expectation::Between { measure, least, most }
            }
            ((Some(measure), None, Some(least), None), None, None) => {
                Expectation::Least { measure, least }
            }
            ((Some(measure), None, None, Some(most)), None, None) => {
                Expectation::Most { measure, most }
            }
            ((None, None, None, None), Some(falling), None) if falling.len() > 1 => {
                Expectation::Falling { falling, slack }
            }
            ((None, None, None, None), None, Some(rising)) if rising.len() > 1 => {
                Expectation::Rising { rising, slack }
            }
            _ => {
                return Err(format!(
                    "{what}: expected a `measure` with `expected`, `least` or `most`, or a list \
                     of measures in `falling` or `rising`"
                ));
            }
        };
        Ok(Check { what, expectation, why })
    }
}

/// What is expected of measures. Measures are called by the names that the experiment gives them.
#[derive(Clone, Debug)]
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
    /// Measures that fall, give or take a share of the larger one.
    Falling {
        /// The measures, the largest first.
        falling: Vec<String>,
        /// How much larger a later one may be, as a share of the earlier.
        slack: f64,
    },
    /// Measures that rise, give or take a share of the larger one.
    Rising {
        /// The measures, the smallest first.
        rising: Vec<String>,
        /// How much smaller a later one may be, as a share of the earlier.
        slack: f64,
    },
}

/// A file of claims that does not say what it should.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {problem}")]
pub struct ClaimError {
    /// The file.
    pub file: String,
    /// What is wrong, with its line.
    pub problem: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    claim: Vec<Claim>,
}

/// Reads a file of claims.
///
/// # Errors
/// What is wrong with it, with the line.
pub fn parse(file: &str, text: &str) -> Result<Vec<Claim>, ClaimError> {
    let fail = |problem: String| ClaimError { file: file.to_string(), problem };
    let read: File = toml::from_str(text).map_err(|error| fail(error.to_string()))?;
    for claim in &read.claim {
        if claim.checks.is_empty() {
            return Err(fail(format!(
                "claim {} has no checks, so that nothing can fail",
                claim.id
            )));
        }
    }
    Ok(read.claim)
}

/// All built-in claims, in the order of their ids.
///
/// # Errors
/// None but for a mistake in the files, which a test looks for.
pub fn claims() -> Result<Vec<Claim>, ClaimError> {
    let mut all = Vec::new();
    for (file, text) in FILES {
        all.extend(parse(file, text)?);
    }
    all.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(all)
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
            Expectation::Falling { slack, .. } | Expectation::Rising { slack, .. }
                if *slack > 0.0 =>
            {
                format!("{} %", number(100.0 * slack))
            }
            _ => String::new(),
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

    #[test]
    fn every_claim_is_read_and_measured_by_an_experiment() {
        let all = claims().expect("the built-in claims");
        for claim in &all {
            assert!(crate::experiment(&claim.experiment).is_some(), "{}", claim.id);
            assert!(all.iter().filter(|other| other.id == claim.id).count() == 1, "{}", claim.id);
        }
    }

    #[test]
    fn mistakes_are_told() {
        let text = "[[claim]]\nid = \"X\"\npapper = \"P\"";
        assert!(parse("x.toml", text).is_err_and(|error| error.to_string().contains("x.toml")));
        let loose = "measure = 'm'\nexpected = 1.0";
        let problem = toml::from_str::<Check>(loose).map_err(|error| error.to_string());
        assert!(problem.is_err_and(|problem| problem.contains("give a tolerance")));
        let empty = "[[claim]]\nid='X'\npaper='P'\nplace='1'\ntitle='t'\nsetup='s'\n\
                     experiment='e'\nchecks=[]";
        assert!(parse("x.toml", empty).is_err_and(|error| error.to_string().contains("no checks")));
    }

    #[test]
    fn numbers_have_the_digits_that_matter() {
        let shown = [1352.04, 97.25, 4.7831, 0.98, 0.0, f64::NAN].map(number);
        assert_eq!(shown, ["1352", "97.2", "4.78", "0.98", "0", "none"]);
    }
}
