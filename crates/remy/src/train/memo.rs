//! Scores of the step in progress, kept in a file so that a kill loses none of them.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

/// Scores of one step's candidates, by the numbers of candidate and network.
pub(crate) struct Memo {
    step: u64,
    known: Mutex<KnownScores>,
}

struct KnownScores {
    scores: BTreeMap<(usize, usize), f64>,
    sink: Option<Box<dyn Write + Send>>,
}

/// A line of the file: scores of one candidate on some networks.
#[derive(Serialize, Deserialize)]
struct Line {
    step: u64,
    candidate: usize,
    scores: Vec<(usize, f64)>,
}

impl Memo {
    /// Creates an empty memo of a step, which appends to `sink`.
    pub(crate) fn new(step: u64, sink: Option<Box<dyn Write + Send>>) -> Memo {
        Memo { step, known: Mutex::new(KnownScores { scores: BTreeMap::new(), sink }) }
    }

    /// Returns true if a line of the file belongs to this step.
    pub(super) fn is_of(step: u64, line: &str) -> bool {
        serde_json::from_str::<Line>(line).is_ok_and(|line| line.step == step)
    }

    /// Reads the scores of this step. Skips lines of other steps, and stops at the first invalid
    /// line, which a kill may have truncated.
    pub(super) fn read(&self, text: &str) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        for line in text.lines() {
            let Ok(line) = serde_json::from_str::<Line>(line) else { break };
            if line.step == self.step {
                let entries = line.scores.into_iter();
                known
                    .scores
                    .extend(entries.map(|(network, score)| ((line.candidate, network), score)));
            }
        }
    }

    /// Returns the score of a candidate on a network, if it is known.
    pub(super) fn find(&self, candidate: usize, network: usize) -> Option<f64> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.scores.get(&(candidate, network)).copied()
    }

    /// Keeps scores of a candidate.
    ///
    /// # Errors
    /// The scores cannot be written.
    pub(super) fn keep(&self, candidate: usize, scores: Vec<(usize, f64)>) -> io::Result<()> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.scores.extend(scores.iter().map(|&(network, score)| ((candidate, network), score)));
        if let Some(sink) = &mut known.sink {
            let line = serde_json::to_string(&Line { step: self.step, candidate, scores })?;
            sink.write_all((line + "\n").as_bytes())?;
            sink.flush()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_lines_of_the_same_step_are_known_again() {
        let folder = std::env::temp_dir();
        let path = folder.join(format!("paceline-memo-{}.jsonl", std::process::id()));
        let file = std::fs::File::create(&path).expect("a file");
        let memo = Memo::new(7, Some(Box::new(file)));
        let third = 1.0 / 3.0;
        memo.keep(2, vec![(0, third), (5, -0.1)]).expect("kept");
        memo.keep(3, vec![(1, 2e-300)]).expect("kept");
        let text = std::fs::read_to_string(&path).expect("text");
        let _ = std::fs::remove_file(&path);
        let again = Memo::new(7, None);
        again.read(&text[..text.len() - 4]);
        assert_eq!((again.find(2, 0), again.find(2, 5)), (Some(third), Some(-0.1)));
        assert_eq!((again.find(3, 1), again.find(2, 1)), (None, None));
        let other = Memo::new(8, None);
        other.read(&text);
        assert_eq!(other.find(2, 0), None);
    }
}
