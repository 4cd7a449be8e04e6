//! Adds new figures to those that the tree keeps (`claims/measured.tsv`).

use std::path::Path;

use crate::claim::claims;
use crate::findings::Sweep;
use crate::measured::{head, lines_of};
use crate::run::{RUNS, Reproduction};

/// Writes the figures of a reproduction over those of the same claims and sweeps in `file`, and keeps
/// the figures of all other claims. A reproduction of all claims replaces the whole file, and so does
/// one without an earlier file.
///
/// # Errors
/// The figures are not such as the tree keeps: shortened runs, synthetic traces, no runs that show
/// causes, another number of runs, a task that failed, a claim that was not measured. Or the file cannot be read or written.
pub fn keep(file: &Path, done: &Reproduction, command: &str) -> Result<(), String> {
    check(done)?;
    let named = |error: std::io::Error| format!("{}: {error}", file.display());
    let old = match std::fs::read_to_string(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        read => read.map_err(named)?,
    };
    let order: Vec<String> =
        claims().map_err(|error| error.to_string())?.into_iter().map(|claim| claim.id).collect();
    std::fs::write(file, merged(&old, done, command, &order)).map_err(named)
}

/// Refuses figures that the tree does not keep.
fn check(done: &Reproduction) -> Result<(), String> {
    let why = |problem: String| Err(format!("no figures were kept: {problem}"));
    if done.quick || done.synthetic {
        return why("they are of shortened runs or of synthetic traces".into());
    }
    if !done.causes {
        return why("the runs that show causes were not made".into());
    }
    if done.runs != RUNS {
        return why(format!("they are of {} runs, not of {RUNS}", done.runs));
    }
    if let Some((task, problem)) = done.failures.first() {
        return why(format!("{task} failed: {problem}"));
    }
    let built_in = claims().map_err(|error| error.to_string())?;
    for judged in &done.claims {
        let is_unmeasured =
            |id: &str| built_in.iter().any(|claim| claim.id == id && !claim.unmeasured.is_empty());
        // A claim that tells its stand-in is never counted as reproduced.
        let is_told = !judged.replaced.is_empty();
        if !judged.missing.is_empty() || !(judged.stand_ins.is_empty() || is_told) {
            return why(format!("{} lacks a table: name its folder by --tables", judged.id));
        }
        if !judged.unmeasured.is_empty() && !is_unmeasured(&judged.id) {
            return why(format!("{} was not measured: {}", judged.id, judged.unmeasured.trim()));
        }
    }
    Ok(())
}

/// Lines about a claim or a sweep; the first one is its key.
type Block = Vec<String>;

/// Returns the blocks of lines, and the command that stands before them.
fn blocks(text: &str) -> (Option<String>, Vec<Block>) {
    let (mut command, mut blocks) = (None, Vec::<Block>::new());
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if let Some(one) = line.strip_prefix("command\t") {
            command = Some(one.to_string());
        } else if line.starts_with("claim\t") || line.starts_with("sweep\t") {
            blocks.push(vec![line.to_string()]);
        } else if let Some(block) = blocks.last_mut() {
            block.push(line.to_string());
        }
    }
    (command, blocks)
}

/// Returns what a block is about: its kind and its name, without the caption of a sweep.
fn key(block: &Block) -> (&str, &str) {
    let mut fields = block.first().map_or("", String::as_str).split('\t');
    (fields.next().unwrap_or(""), fields.next().unwrap_or(""))
}

/// Returns `old` with the figures of a reproduction; `order` has the ids of all claims.
fn merged(old: &str, done: &Reproduction, command: &str, order: &[String]) -> String {
    let is_whole = order.iter().all(|id| done.claims.iter().any(|claim| claim.id == *id));
    let (old_command, mut all) = blocks(if is_whole { "" } else { old });
    let sweeps: Vec<Sweep> = done.sweeps().cloned().collect();
    let (_, new) = blocks(&lines_of(done, &sweeps, command));
    let mut previous: Option<usize> = None;
    for block in new {
        let at = match all.iter().position(|kept| key(kept) == key(&block)) {
            Some(at) => {
                all[at] = block;
                at
            }
            // A new sweep stands behind the one before it in its experiment.
            None => {
                let at = previous.map_or(all.len(), |previous| previous + 1);
                all.insert(at, block);
                at
            }
        };
        previous = Some(at);
    }
    let place = |block: &Block| match key(block) {
        ("claim", id) => order.iter().position(|one| one == id),
        _ => Some(order.len()),
    };
    // Claims that were removed from the tree have no place.
    all.retain(|block| place(block).is_some());
    all.sort_by_key(|block| place(block));
    let lines: String = all.into_iter().flatten().map(|line| line + "\n").collect();
    head(old_command.as_deref().unwrap_or(command)) + &lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::parse;
    use crate::experiments::EXPERIMENTS;
    use crate::findings::Findings;
    use crate::measured::recorded;

    const OLD: &str = "command\twhole\nclaim\tX1\nnow\tw\tat least 1\t\t2\tholds\n\
                       claim\tX3\nnow\tw\tat least 1\t\t3\tholds\n\
                       claim\tX9\nnow\tremoved\tat least 1\t\t3\tholds\n\
                       sweep\tfirst\tcaption\ncolumns\tm\nrow\t1\n\
                       sweep\tlast\tcaption\ncolumns\tm\nrow\t9\n";

    /// Returns a reproduction of claims with a check each and its figure, and with sweeps.
    fn done(claims: &[(&str, f64)], sweeps: &[&str]) -> Reproduction {
        let claim = |(id, _): &(&str, f64)| {
            format!(
                "[[claim]]\nid='{id}'\npaper='P'\nplace='1'\ntitle='t'\nquote='q'\nsetup='s'\n\
                 experiment='e'\nchecks=[{{what='w',measure='m',least=1}}]\n"
            )
        };
        let lines = |(id, figure): &(&str, f64)| {
            format!("claim\t{id}\nnow\tw\tat least 1\t\t{figure}\tholds\n")
        };
        let parsed = parse("x", &claims.iter().map(claim).collect::<String>()).expect("claims");
        let text = format!("command\tc\n{}", claims.iter().map(lines).collect::<String>());
        let mut done = recorded(parsed, &text).expect("lines").reproduction;
        let mut findings = Findings::default();
        for name in sweeps {
            findings.sweep(name, "new", &["m"], vec![vec!["5".into()]]);
        }
        done.experiments.push((&EXPERIMENTS[0], findings));
        done.runs = RUNS;
        done
    }

    fn names(text: &str) -> Vec<String> {
        let (_, blocks) = blocks(text);
        blocks.iter().map(|block| key(block).1.to_string()).collect()
    }

    fn order() -> Vec<String> {
        ["X1", "X2", "X3"].map(String::from).to_vec()
    }

    #[test]
    fn measured_claims_are_replaced_and_others_stay() {
        let new = done(&[("X3", 4.0), ("X2", 2.5)], &["first", "second"]);
        let text = merged(OLD, &new, "part", &order());
        assert_eq!(names(&text), ["X1", "X2", "X3", "first", "second", "last"]);
        assert!(text.contains("\ncommand\twhole\nclaim\tX1\nnow\tw\tat least 1\t\t2\tholds\n"));
        assert!(text.contains("claim\tX3\nnow\tw\tat least 1\t\t4\tholds\n"), "{text}");
        assert!(text.contains("sweep\tfirst\tnew\n") && text.contains("sweep\tlast\tcaption\n"));
        // The same figures again change nothing.
        assert_eq!(merged(&text, &new, "part", &order()), text);
    }

    #[test]
    fn all_claims_replace_the_file() {
        let new = done(&[("X1", 1.5), ("X2", 2.5), ("X3", 4.0)], &["first"]);
        let text = merged(OLD, &new, "anew", &order());
        assert_eq!(names(&text), ["X1", "X2", "X3", "first"]);
        assert!(text.contains("\ncommand\tanew\n"), "{text}");
    }

    #[test]
    fn figures_that_show_less_are_refused() {
        let file = std::env::temp_dir().join(format!("paceline-keep-{}.tsv", std::process::id()));
        let refused = |change: fn(&mut Reproduction), part: &str| {
            let mut new = done(&[("X01", 1.5)], &[]);
            change(&mut new);
            let problem = keep(&file, &new, "c").expect_err(part);
            assert!(problem.contains(part) && !file.exists(), "{problem}");
        };
        refused(|new| new.quick = true, "shortened runs");
        refused(|new| new.synthetic = true, "synthetic traces");
        refused(|new| new.causes = false, "that show causes");
        refused(|new| new.runs = 1, "of 1 runs, not of 8");
        refused(|new| new.failures.push(("t".into(), "broken".into())), "t failed: broken");
        refused(|new| new.claims[0].missing.push("f".into()), "--tables");
        refused(|new| new.claims[0].unmeasured = "Live.".into(), "X01 was not measured: Live.");
        keep(&file, &done(&[("X01", 1.5)], &[]), "c").expect("kept");
        assert_eq!(names(&std::fs::read_to_string(&file).expect("written")), ["X01"]);
        std::fs::remove_file(&file).expect("removed");
    }
}
