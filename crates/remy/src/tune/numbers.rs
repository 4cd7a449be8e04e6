//! The numbers of a scheme and its queue, and other values of them.

use paceline_cc::{ParamInfo, SchemeSpec, Spec, number_and_unit};
use paceline_sim::Names;
use serde::{Deserialize, Serialize};

/// Factors of a number, up and down.
const FACTORS: [f64; 4] = [1.05, 1.2, 1.6, 3.0];
/// Values tried for a number that is 0, by the kind of the parameter.
const TIMES: [&str; 4] = ["1ms", "10ms", "100ms", "1s"];
const RATES: [&str; 3] = ["100kbps", "1Mbps", "10Mbps"];
const COUNTS: [&str; 3] = ["1", "10", "100"];
const SHARES: [&str; 4] = ["0.01", "0.1", "0.3", "1"];

/// A number of a scheme or of its queue.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Number {
    /// True if it is the queue's.
    of_queue: bool,
    name: &'static str,
    kind: &'static str,
    /// Its value when the scheme does not set it, with its unit.
    default: String,
}

/// A change of a number, which can be repeated.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Change {
    factor: f64,
}

/// Returns the numbers of a scheme and its queue, in the order of their tables.
pub(super) fn numbers(names: &Names, scheme: &SchemeSpec) -> Vec<Number> {
    let mut all = Vec::new();
    let mut add = |spec: &Spec, of_queue: bool, infos: Vec<ParamInfo>| {
        let variant = spec.variant();
        all.extend(infos.into_iter().filter_map(|info| {
            let default = info.default_in(variant).to_string();
            let number = Number { of_queue, name: info.name, kind: info.kind, default };
            number_and_unit(number.value(spec)).is_some().then_some(number)
        }));
    };
    if let Some(entry) = names.schemes.get(&scheme.sender.name) {
        add(&scheme.sender, false, entry.params());
    }
    if let Some(queue) = &scheme.queue
        && let Some(entry) = names.queues.get(&queue.name)
    {
        add(queue, true, entry.params());
    }
    all
}

impl Number {
    /// Returns its name: `target`, or of a queue `codel.target`.
    pub(super) fn label(&self, scheme: &SchemeSpec) -> String {
        match &scheme.queue {
            Some(queue) if self.of_queue => format!("{}.{}", queue.name, self.name),
            _ => self.name.to_string(),
        }
    }

    /// Returns its value as written in the part of the scheme that has it, or its default.
    fn value<'a>(&'a self, spec: &'a Spec) -> &'a str {
        let set = spec.args.iter().find(|(name, _)| name == self.name);
        set.map_or(&self.default, |(_, value)| value)
    }

    /// Returns its value in a scheme.
    pub(super) fn value_in<'a>(&'a self, scheme: &'a SchemeSpec) -> &'a str {
        match &scheme.queue {
            Some(queue) if self.of_queue => self.value(queue),
            _ => self.value(&scheme.sender),
        }
    }

    /// Returns a scheme with another value of this number.
    fn with(&self, scheme: &SchemeSpec, value: String) -> SchemeSpec {
        let mut scheme = scheme.clone();
        let spec = match &mut scheme.queue {
            Some(queue) if self.of_queue => queue,
            _ => &mut scheme.sender,
        };
        match spec.args.iter_mut().find(|(name, _)| name == self.name) {
            Some((_, place)) => *place = value,
            None => spec.args.push((self.name.to_string(), value)),
        }
        scheme
    }

    /// Returns the scheme with other values of this number, with the change that leads to each
    /// where it can be repeated. Values outside of the number's range are left out.
    pub(super) fn neighbours(
        &self,
        names: &Names,
        scheme: &SchemeSpec,
    ) -> Vec<(SchemeSpec, Option<Change>)> {
        let Some((number, unit)) = number_and_unit(self.value_in(scheme)) else {
            return Vec::new();
        };
        let mut values: Vec<(String, Option<Change>)> = Vec::new();
        if number == 0.0 {
            let others: &[&str] = match self.kind {
                "whole number" => &COUNTS,
                "rate" => &RATES,
                "number" => &SHARES,
                _ => &TIMES,
            };
            values.extend(others.iter().map(|value| (value.to_string(), None)));
        } else {
            for factor in FACTORS.into_iter().flat_map(|factor| [factor, 1.0 / factor]) {
                values.push((self.scaled(number, unit, factor), Some(Change { factor })));
            }
            values.push((format!("0{unit}"), None));
        }
        self.valid(names, scheme, values)
    }

    /// Returns the scheme after repeating a change once and twice.
    pub(super) fn further(
        &self,
        names: &Names,
        scheme: &SchemeSpec,
        change: Change,
    ) -> Vec<(SchemeSpec, Option<Change>)> {
        let Some((number, unit)) = number_and_unit(self.value_in(scheme)) else {
            return Vec::new();
        };
        let values = [1, 2]
            .map(|times| (self.scaled(number, unit, change.factor.powi(times)), Some(change)));
        self.valid(names, scheme, values.to_vec())
    }

    fn scaled(&self, number: f64, unit: &str, factor: f64) -> String {
        let value = rounded(number * factor);
        match self.kind {
            "whole number" => format!("{:.0}{unit}", value.round()),
            _ => format!("{value}{unit}"),
        }
    }

    /// Returns the schemes with those values that differ, that the scheme accepts and that are not
    /// listed twice.
    fn valid(
        &self,
        names: &Names,
        scheme: &SchemeSpec,
        values: Vec<(String, Option<Change>)>,
    ) -> Vec<(SchemeSpec, Option<Change>)> {
        let now = number_and_unit(self.value_in(scheme)).map(|(number, _)| number);
        let mut all: Vec<(SchemeSpec, Option<Change>)> = Vec::new();
        for (value, change) in values {
            let is_new = number_and_unit(&value).map(|(number, _)| number) != now;
            let other = self.with(scheme, value);
            let is_listed = all.iter().any(|(listed, _)| *listed == other);
            if is_new && !is_listed && names.check_scheme(&other.to_string()).is_ok() {
                all.push((other, change));
            }
        }
        all
    }
}

/// Rounds to four digits, so that schemes stay readable.
fn rounded(value: f64) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    format!("{value:.3e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> SchemeSpec {
        SchemeSpec::parse(text).expect("legal")
    }

    #[test]
    fn numbers_of_schemes_and_queues_have_neighbours_in_their_ranges() {
        let names = Names::default();
        let scheme = spec("cubic[beta=0.9]+codel");
        let all = numbers(&names, &scheme);
        let labels: Vec<String> = all.iter().map(|number| number.label(&scheme)).collect();
        assert!(labels.contains(&"beta".into()) && labels.contains(&"codel.target".into()));
        assert!(!labels.contains(&"growth".into()) && !labels.contains(&"ecn".into()));
        let of = |label: &str, scheme: &SchemeSpec| -> Vec<String> {
            let all = numbers(&names, scheme);
            let number = all.iter().find(|number| number.label(scheme) == label);
            let neighbours = number.expect("known").neighbours(&names, scheme);
            neighbours.into_iter().map(|(scheme, _)| scheme.to_string()).collect()
        };
        let betas = of("beta", &scheme);
        // 0.9 times 1.05 is below 1, and times 1.2 above.
        assert!(betas.contains(&"cubic[beta=0.945]+codel".into()), "{betas:?}");
        assert_eq!(betas.len(), 5, "{betas:?}");
        let targets = of("codel.target", &scheme);
        assert!(targets.contains(&"cubic[beta=0.9]+codel[target=15ms]".into()), "{targets:?}");
        // Times from 0, and RTTs keep their unit.
        let c2tcp = spec("c2tcp[settle=0s]");
        assert!(of("settle", &c2tcp).contains(&"c2tcp[settle=10ms]".into()));
        assert!(of("target", &c2tcp).contains(&"c2tcp[settle=0s,target=2.4rtt]".into()));
        // Whole numbers stay whole.
        assert!(of("btlbw_window", &spec("bbr")).contains(&"bbr[btlbw_window=12]".into()));
    }

    #[test]
    fn a_change_is_repeated() {
        let (names, scheme) = (Names::default(), spec("copa[delta=0.1]"));
        let delta = numbers(&names, &scheme).swap_remove(0);
        let further = delta.further(&names, &scheme, Change { factor: 3.0 });
        let texts: Vec<String> = further.iter().map(|(scheme, _)| scheme.to_string()).collect();
        assert_eq!(texts, ["copa[delta=0.3]", "copa[delta=0.9]"]);
    }

    #[test]
    fn words_are_no_numbers() {
        let names = Names::default();
        let labels = |text: &str| -> Vec<String> {
            let scheme = spec(text);
            numbers(&names, &scheme).iter().map(|number| number.label(&scheme)).collect()
        };
        let all = labels("cubic");
        assert!(all.contains(&"beta".into()) && !all.contains(&"growth".into()), "{all:?}");
        // All forms of numbers that parameters accept.
        for beta in ["+0.5", "5e-1", "50%"] {
            assert_eq!(labels(&format!("cubic[beta={beta}]")), all, "{beta}");
        }
        assert_eq!((rounded(1.0 / 3.0), rounded(123_456.0)), (0.3333, 123_500.0));
    }
}
