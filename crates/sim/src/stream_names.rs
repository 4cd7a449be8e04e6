//! Names of random streams of flows.

use std::collections::BTreeMap;

/// Gives each flow names of its own for its random streams: several flows may have one name, and
/// equal names would give them equal draws.
#[derive(Debug, Default)]
pub struct StreamNames {
    /// How often each name was asked for.
    counts: BTreeMap<String, u32>,
}

impl StreamNames {
    /// Returns `name` the first time that it is asked for; later with a number, from 2 on, with
    /// which it is new.
    pub fn unique(&mut self, name: &str) -> String {
        let mut number = self.counts.get(name).copied().unwrap_or(0);
        let unique = loop {
            number += 1;
            let candidate = if number == 1 { name.to_string() } else { format!("{name} {number}") };
            if number == 1 || !self.counts.contains_key(&candidate) {
                break candidate;
            }
        };
        self.counts.insert(name.to_string(), number);
        self.counts.entry(unique.clone()).or_insert(1);
        unique
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_names_are_equal() {
        let mut names = StreamNames::default();
        let asked = ["cubic", "cubic 2", "cubic", "cubic", "cubic 2", "abc"];
        let given: Vec<String> = asked.iter().map(|name| names.unique(name)).collect();
        assert_eq!(given, ["cubic", "cubic 2", "cubic 3", "cubic 4", "cubic 2 2", "abc"]);
    }
}
