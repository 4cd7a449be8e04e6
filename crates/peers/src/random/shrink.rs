//! Reduces trials, in search of the smallest one that still shows a difference.

use super::trial::{Fate, Trial};

impl Trial {
    /// Returns trials that each lack one part, the smallest first: a write, half of a write, some
    /// fates or lost acknowledgements, an outage, the bottleneck, delayed acknowledgements, ECN.
    pub fn smaller(&self) -> Vec<Trial> {
        let mut found = Vec::new();
        let mut add = |change: &dyn Fn(&mut Trial)| {
            let mut trial = self.clone();
            change(&mut trial);
            let is_new = trial != *self && !trial.writes.is_empty() && !found.contains(&trial);
            if is_new {
                found.push(trial);
            }
        };
        for index in 0..self.writes.len() {
            add(&|trial| _ = trial.writes.remove(index));
            add(&|trial| trial.writes[index].1 = trial.writes[index].1.div_ceil(2));
        }
        for index in 0..self.outages.len() {
            add(&|trial| _ = trial.outages.remove(index));
        }
        for (from, to) in parts(self.fates.len()) {
            let keys: Vec<_> = self.fates.keys().copied().skip(from).take(to - from).collect();
            add(&|trial| trial.fates.retain(|key, _| !keys.contains(key)));
        }
        for (from, to) in parts(self.lost_acks.len()) {
            let numbers: Vec<_> =
                self.lost_acks.iter().copied().skip(from).take(to - from).collect();
            add(&|trial| trial.lost_acks.retain(|number| !numbers.contains(number)));
        }
        add(&|trial| trial.bottleneck = None);
        add(&|trial| trial.ack_every = 1);
        add(&|trial| {
            trial.ecn = false;
            trial.fates.retain(|_, fate| *fate != Fate::Marked);
        });
        found.sort_by_key(Trial::size);
        found
    }

    /// Returns the size of the trial for a reader: smaller trials are easier to understand.
    fn size(&self) -> usize {
        let more = usize::from(self.bottleneck.is_some()) + usize::from(self.ecn);
        let lists =
            self.writes.len() + self.fates.len() + self.lost_acks.len() + self.outages.len();
        self.segments() as usize + lists + more + self.ack_every as usize
    }
}

/// Returns halves, quarters and eighths of `length` entries, each as first index and last index
/// plus one.
fn parts(length: usize) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for of in [1, 2, 4, 8] {
        let part = length.div_ceil(of).max(1);
        found.extend((0..length).step_by(part).map(|from| (from, (from + part).min(length))));
    }
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_smaller_and_none_is_the_trial_itself() {
        for seed in 0..50 {
            let trial = Trial::draw(seed);
            let smaller = trial.smaller();
            assert!(smaller.iter().all(|other| other.size() < trial.size()), "{seed}");
            assert!(
                trial.writes.len() < 2
                    || smaller.iter().any(|other| other.writes.len() < trial.writes.len())
            );
        }
    }

    #[test]
    fn entries_are_left_out_in_parts() {
        assert_eq!(parts(0), []);
        assert_eq!(parts(1), [(0, 1)]);
        assert!(parts(9).contains(&(0, 9)) && parts(9).contains(&(8, 9)));
    }
}
