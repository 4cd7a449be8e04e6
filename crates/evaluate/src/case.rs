//! Cases: scenarios with places for the evaluated scheme.

use paceline_cc::Span;
use paceline_requests::written;
use paceline_sim::Names;
use paceline_sim::scenario::{Capacity, Record, Scenario, parse_with};

/// A scenario with places for the evaluated scheme and for settings.
///
/// A place is `{name}` or, with a default, `{name=text}`, without a space after the brace. `{subject}` is
/// the evaluated scheme.
#[derive(Debug)]
pub struct Case {
    /// Its name; criteria refer to it.
    pub id: &'static str,
    /// The scenario file with its places.
    pub text: &'static str,
    /// Values of places. They may have the place `{subject}` themselves.
    pub settings: &'static [(&'static str, &'static str)],
    /// A scheme for which the case runs, too, for figures that compare with it: for harm, the rival's own
    /// scheme in the subject's place.
    pub reference: Option<&'static str>,
    /// A change that scenario files cannot express.
    pub change: Option<fn(&mut Scenario)>,
    /// True if `--quick` leaves it out, because it takes long.
    pub is_long: bool,
    /// True if its series have short bins, and include the variables that congestion controls report.
    pub is_fine: bool,
}

impl Case {
    /// Creates a case without a reference.
    pub const fn new(
        id: &'static str,
        text: &'static str,
        settings: &'static [(&'static str, &'static str)],
    ) -> Case {
        Case { id, text, settings, reference: None, change: None, is_long: false, is_fine: false }
    }

    /// Returns the case with a reference.
    #[must_use]
    pub const fn against(mut self, scheme: &'static str) -> Case {
        self.reference = Some(scheme);
        self
    }

    /// Returns the case with a change.
    #[must_use]
    pub const fn changed(mut self, change: fn(&mut Scenario)) -> Case {
        self.change = Some(change);
        self
    }

    /// Returns the case as one that `--quick` leaves out.
    #[must_use]
    pub const fn long(mut self) -> Case {
        self.is_long = true;
        self
    }

    /// Returns the case with series of short bins, which include the variables that congestion controls report.
    #[must_use]
    pub const fn fine(mut self) -> Case {
        self.is_fine = true;
        self
    }

    /// Returns the scenario file for a scheme.
    pub fn file(&self, subject: &str) -> String {
        let quoted = toml::Value::String(subject.to_string()).to_string();
        fill(self.text, &|name| {
            if name == "subject" {
                return Some(quoted.clone());
            }
            let (_, value) = self.settings.iter().find(|(known, _)| *known == name)?;
            Some(fill(value, &|name| (name == "subject").then(|| quoted.clone())))
        })
    }

    /// Returns the scenario for a scheme, which records time series.
    ///
    /// # Errors
    /// The scheme is unknown, or the scenario is invalid.
    pub fn scenario(&self, subject: &str, names: &Names) -> Result<Scenario, String> {
        let file = self.file(subject);
        let mut scenario =
            parse_with(self.id, &file, None, names).map_err(|error| error.to_string())?;
        scenario.name = self.id.to_string();
        scenario.record = Record::Series(if self.is_fine { FINE_BIN } else { BIN });
        if let Some(change) = self.change {
            change(&mut scenario);
        }
        Ok(scenario)
    }
}

/// Length of a bin of the recorded series.
pub(crate) const BIN: Span = Span::from_millis(100);
/// Length of a bin of fine series.
const FINE_BIN: Span = Span::from_millis(20);

/// Returns the work of a run, in packets of 1500 bytes that its links and media can carry, with a
/// minimum for each simulated second.
pub(crate) fn cost(scenario: &Scenario) -> f64 {
    const MEDIUM_MBPS: f64 = 50.0;
    let seconds = scenario.duration.as_secs_f64();
    let mbps = |capacity: &Capacity| match capacity {
        Capacity::Constant(rate) => rate.as_mbps(),
        Capacity::Schedule { steps, .. } => {
            steps.iter().map(|(_, rate)| rate.as_mbps()).sum::<f64>() / steps.len().max(1) as f64
        }
        Capacity::Trace { trace, opportunity, .. } => {
            trace.len() as f64 * f64::from(*opportunity) * 8.0
                / 1e6
                / trace.period().as_secs_f64().max(1.0)
        }
        Capacity::Wifi(_) => MEDIUM_MBPS,
    };
    // Fast links that only bound the path elsewhere carry little: the slowest one counts.
    let slowest = scenario.links.iter().map(|link| mbps(&link.capacity)).fold(f64::NAN, f64::min);
    let links = if slowest.is_nan() { 0.0 } else { slowest };
    let all = links + MEDIUM_MBPS * scenario.media.len() as f64;
    seconds * (100.0 + all * 1e6 / 12_000.0)
}

/// Replaces the places of a text. Without a value and a default, a place stays as it is.
fn fill(text: &str, value: &dyn Fn(&str) -> Option<String>) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let (before, from) = rest.split_at(open);
        filled.push_str(before);
        let is_place = from[1..].starts_with(|c: char| c.is_ascii_lowercase());
        let Some(close) = closing(from).filter(|_| is_place) else {
            filled.push('{');
            rest = &from[1..];
            continue;
        };
        let place = &from[1..close];
        let (name, default) = match place.split_once('=') {
            Some((name, default)) => (name, Some(default)),
            None => (place, None),
        };
        match (value(name), default) {
            (Some(value), _) => filled.push_str(&value),
            (None, Some(default)) => filled.push_str(&fill(default, value)),
            (None, None) => filled.push_str(&from[..=close]),
        }
        rest = &from[close + 1..];
    }
    filled + rest
}

/// Returns the position of the brace that closes the one at the beginning.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 1 => return Some(at),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Checks that a scheme can be read and built.
///
/// # Errors
/// The text is no scheme, or names an unknown one.
pub(crate) fn check(subject: &str, names: &Names) -> Result<(), String> {
    written::compared(subject, names).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::DOCUMENTS;

    #[test]
    fn places_are_filled() {
        let value = |name: &str| (name == "a").then(|| "x".to_string());
        assert_eq!(fill("{a} {b=y} {c} { a = 1 }", &value), "x y {c} { a = 1 }");
        assert_eq!(fill("{b={a}!}{b=}", &value), "x!");
        assert_eq!(fill("{a", &value), "{a");
    }

    #[test]
    fn every_case_is_a_scenario_without_places_left() {
        let names = Names::default();
        for document in &DOCUMENTS {
            for case in (document.cases)() {
                for scheme in ["cubic", "abc[dt=60ms]", "gcc"] {
                    let made = case.scenario(scheme, &names);
                    assert!(made.is_ok(), "{}: {made:?}\n{}", case.id, case.file(scheme));
                    assert!(made.is_ok_and(|scenario| cost(&scenario) > 0.0), "{}", case.id);
                }
                let known = case.settings.iter().all(|(name, _)| {
                    [format!("{{{name}}}"), format!("{{{name}=")]
                        .iter()
                        .any(|place| case.text.contains(place))
                });
                assert!(known, "{}: a setting has no place in its text", case.id);
            }
        }
    }
}
