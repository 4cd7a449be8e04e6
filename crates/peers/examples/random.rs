//! Random inputs for this machine's kernel and for Paceline's sender.
//!
//! ```text
//! random record FOLDER FIRST LAST   plays the trials of these seeds against the kernel (as root, Linux)
//! random compare FOLDER             plays the recorded inputs to our sender and counts equal sends
//! random shrink FOLDER SEED...      reduces each trial while it still shows a difference (as root)
//! ```
//!
//! A script counts as equal if 95 % of the segments that either of the two sends leave within 5 ms
//! of each other: a tick, and the recording's own delay. Segments that only one of them sends count
//! as different. This was stated before the first run.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

use paceline_peers::linux::{Comparison, compare, read};
use paceline_peers::play::Schemes;
use paceline_peers::random::{Files, Trial, kernel};
use paceline_peers::script;

/// Number of connections that are recorded at the same time.
const AT_ONCE: usize = 250;
/// Number of differences described for each script.
const DESCRIBED: usize = 2;
/// Smallest share of equal sends.
const EQUAL: f64 = 0.95;
/// Number of rounds in which the smallest trial is reduced further.
const ROUNDS: usize = 12;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["record", folder, first, last] => record(Path::new(folder), first.parse()?, last.parse()?),
        ["compare", folder] => compare_all(Path::new(folder)),
        ["shrink", folder, ref seeds @ ..] if !seeds.is_empty() => shrink(Path::new(folder), seeds),
        _ => Err("usage: random record FOLDER FIRST LAST | random compare FOLDER | random shrink FOLDER SEED...".into()),
    }
}

fn record(folder: &Path, first: u64, last: u64) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(folder)?;
    kernel::prepare()?;
    let trials: Vec<Trial> = (first..=last).map(Trial::draw).collect();
    for some in trials.chunks(AT_ONCE) {
        for files in kernel::record(some)? {
            write(folder, &files)?;
        }
    }
    Ok(())
}

/// Writes the smallest trials found within [`ROUNDS`] rounds, one file each.
fn shrink(folder: &Path, seeds: &[&str]) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(folder)?;
    kernel::prepare()?;
    for seed in seeds {
        let mut smallest = Trial::draw(seed.parse()?);
        let mut found = None;
        for _ in 0..ROUNDS {
            let candidates = smallest.smaller();
            let recorded = kernel::record(&candidates)?;
            let differing = candidates.iter().zip(recorded).find(|(_, files)| !is_equal(files));
            let Some((trial, files)) = differing else { break };
            (smallest, found) = (trial.clone(), Some(files));
        }
        let Some(files) = found else {
            println!("{}: no smaller trial differs", smallest.name);
            continue;
        };
        write(folder, &files)?;
        println!("{}: {} segments", smallest.name, smallest.segments());
    }
    Ok(())
}

fn is_equal(files: &Files) -> bool {
    let read = script::read(&files.script).ok().zip(read(&files.recording).ok());
    let compared = read
        .map(|(script, recording)| compare(&script, &recording, &Schemes::default(), DESCRIBED));
    matches!(compared, Some(Ok(compared)) if compared.shares().1 >= EQUAL)
}

fn write(folder: &Path, files: &Files) -> Result<(), Box<dyn Error>> {
    fs::write(folder.join(&files.name).with_extension("pkt"), &files.script)?;
    fs::write(folder.join(&files.name).with_extension("linux"), &files.recording)?;
    Ok(())
}

fn compare_all(folder: &Path) -> Result<(), Box<dyn Error>> {
    let mut scripts: Vec<PathBuf> =
        fs::read_dir(folder)?.flatten().map(|entry| entry.path()).collect();
    scripts.retain(|path| path.extension().is_some_and(|found| found == "pkt"));
    scripts.sort();
    let (mut equal, mut all, mut sends, mut same) = (0, 0, 0, 0);
    for path in scripts {
        let script = script::read(&fs::read_to_string(&path)?)?;
        let recording = read(&fs::read_to_string(path.with_extension("linux"))?)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        all += 1;
        let compared = match compare(&script, &recording, &Schemes::default(), DESCRIBED) {
            Ok(compared) => compared,
            Err(stopped) => {
                sends += recording.sends.len();
                println!("{name}: stops at line {}: {}", stopped.line, stopped.text);
                continue;
            }
        };
        let Comparison { sends: count, same_sends, states, windows, .. } = compared;
        let (_, share) = compared.shares();
        (sends, same, equal) =
            (sends + count, same + same_sends, equal + usize::from(share >= EQUAL));
        if share < EQUAL {
            println!(
                "{name}: sends {same_sends}/{count}, late timers {}, windows {windows}/{states}",
                compared.late_timers
            );
            for remark in &compared.differences {
                println!("  line {}: {}", remark.line, remark.text);
            }
        }
    }
    println!("{equal} of {all} scripts with 95 % equal sends; {same} of {sends} sends");
    Ok(())
}
