//! Compares Paceline's senders, schemes and queues with material that other projects publish:
//! scripts, recordings, figures.
//!
//! Each expectation has a declared outcome: it holds, it does not by design, or it differs although
//! it should hold. A test fails if an outcome is not the declared one, also if an expectation that
//! was declared to differ holds. `docs/peers.md` has the counts and the reasons.

mod bench;
mod causes;
mod document;
mod google_scripts;
mod own_scripts;
mod published_tables;
mod random_scripts;
mod recorded_scripts;
mod recordings;
mod vectors;

use std::fs;
use std::path::{Path, PathBuf};

use paceline_peers::play::Played;
use paceline_peers::vector::{Declared, Outcome};

/// A script or recording, by its file name without extension, and its declared outcome.
type Declaration = (&'static str, Declared);

/// Returns the files of a folder with this extension, sorted.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder is readable").flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|found| found == extension));
    files.sort();
    files
}

/// Returns a file's name without its extension.
fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the outcome of a script.
fn outcome(played: &Played) -> Outcome {
    if let Some(stopped) = &played.stopped {
        return Err(format!("stopped at line {}: {}", stopped.line, stopped.text));
    }
    match played.differences.first() {
        Some(first) => {
            let count = played.differences.len();
            Err(format!("{count} differences, the first in line {}: {}", first.line, first.text))
        }
        None if played.held == 0 => Err("nothing was compared".to_string()),
        None => Ok(()),
    }
}

/// Compares outcomes with a list of declarations. The list must have each outcome's name, and no
/// other.
fn judge(declared: &[Declaration], outcomes: &[(String, Outcome)]) {
    let mut wrong = Vec::new();
    for (name, outcome) in outcomes {
        let declaration = declared.iter().find(|(listed, _)| listed == name);
        let judged = match declaration {
            Some((_, declared)) => declared.judge(outcome),
            None => Err(format!("is not declared; {outcome:?}")),
        };
        wrong.extend(judged.err().map(|text| format!("{name}: {text}")));
    }
    for (name, _) in declared {
        if !outcomes.iter().any(|(played, _)| played == name) {
            wrong.push(format!("{name}: is declared and not there"));
        }
    }
    assert!(wrong.is_empty(), "{} surprises:\n{}", wrong.len(), wrong.join("\n"));
}
