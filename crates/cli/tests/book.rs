//! The book's commands give the output that its pages show.
//!
//! In the pages below `docs/{start,tutorials,howto,explanation}`, blocks of ```` ```console ```` are run in order, each page in
//! a folder of its own that has the source tree's `scenarios`. Lines that begin with `$ ` are commands for `sh`, and the
//! lines below a command are what it prints, to standard output and standard error. `...` stands for any text. The exit
//! status must be 0. Comments before a block change this:
//!
//! | comment | the block is |
//! | --- | --- |
//! | `<!-- not run: REASON -->` | not run, because it needs root, a network or another program |
//! | `<!-- file: NAME -->` | written to the file NAME in the page's folder |
//! | `<!-- part of: PATH -->` | a part of the file PATH of the source tree, which other tests run |
//!
//! `PACELINE_UPDATE=1 cargo test -p paceline-cli --test book` writes the present output into the pages.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use paceline_testing::Folder;

const PARTS: [&str; 4] = ["start", "tutorials", "howto", "explanation"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the pages below a folder, by name.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let entries = fs::read_dir(folder).expect("a folder of pages");
    for path in entries.map(|entry| entry.expect("an entry").path()) {
        if path.is_dir() {
            found.extend(pages(&path));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// A fenced block of a page.
struct Block {
    /// Number of the line after the opening fence, from 0.
    first: usize,
    language: String,
    lines: Vec<String>,
    /// The comment on the line before the fence, or two lines before it.
    comment: Option<(String, String)>,
}

fn blocks(text: &str) -> Vec<Block> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found: Vec<Block> = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let Some(language) = lines[at].strip_prefix("```") else {
            at += 1;
            continue;
        };
        let comment = lines[..at].iter().rev().take(2).find_map(|line| {
            let inner = line.strip_prefix("<!-- ")?.strip_suffix(" -->")?;
            let (name, value) = inner.split_once(": ")?;
            Some((name.to_string(), value.to_string()))
        });
        let body = lines[at + 1..].iter().take_while(|line| **line != "```");
        let body: Vec<String> = body.map(ToString::to_string).collect();
        let next = at + body.len() + 2;
        found.push(Block { first: at + 1, language: language.to_string(), lines: body, comment });
        at = next;
    }
    found
}

/// A command of a block, and the lines below it.
struct Step {
    command: String,
    /// Number of the first line below the command, in the page.
    first: usize,
    expected: Vec<String>,
}

fn steps(block: &Block) -> Vec<Step> {
    let mut found: Vec<Step> = Vec::new();
    let mut continues = false;
    for (number, line) in block.lines.iter().enumerate() {
        if continues {
            let step = found.last_mut().expect("a command");
            step.command += "\n";
            step.command += line;
            step.first = block.first + number + 1;
            continues = line.ends_with('\\');
        } else if let Some(command) = line.strip_prefix("$ ") {
            let (command, first) = (command.to_string(), block.first + number + 1);
            found.push(Step { command, first, expected: Vec::new() });
            continues = line.ends_with('\\');
        } else {
            let step = found.last_mut().expect("a block begins with a command: `$ `");
            step.expected.push(line.clone());
        }
    }
    found
}

/// Returns whether `seen` has the parts of `expected` between its `...` in order, from beginning to end. Spaces before
/// `...` belong to the gap: numbers of other lengths may stand there.
fn matches(expected: &str, seen: &str) -> bool {
    let mut parts: Vec<&str> = expected.split("...").collect();
    if let Some((_, before)) = parts.split_last_mut() {
        before.iter_mut().for_each(|part| *part = part.trim_end_matches(' '));
    }
    let [first, middle @ .., last] = parts.as_slice() else { return expected == seen };
    let Some(mut rest) = seen.strip_prefix(first) else { return false };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// Returns the lines of `seen` that replace `expected` in a page: if `expected` has a line `...`, as many lines as before it and
/// behind it.
fn shortened(expected: &[String], seen: &str) -> Vec<String> {
    let seen: Vec<String> = seen.lines().map(String::from).collect();
    let gap = |line: &String| line == "...";
    let Some(before) = expected.iter().position(gap) else { return seen };
    let behind = expected.iter().rev().position(gap).unwrap_or(0);
    if before + behind >= seen.len() {
        return seen;
    }
    let mut lines = seen[..before].to_vec();
    lines.push("...".to_string());
    lines.extend_from_slice(&seen[seen.len() - behind..]);
    lines
}

/// Returns lines without spaces at their ends, and without empty lines at the beginning and the end
/// of the text.
fn trimmed<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let lines: Vec<&str> = lines.map(str::trim_end).collect();
    lines.join("\n").trim_matches('\n').to_string()
}

/// Runs a command of a page in its folder. Returns its output, or an error text if it fails.
fn run(command: &str, folder: &Path) -> Result<String, String> {
    let program = Path::new(env!("CARGO_BIN_EXE_paceline")).parent().expect("a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("sh")
        .args(["-c", &format!("exec 2>&1\n{command}")])
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", program.display()))
        .env("HOME", folder)
        .env("COLUMNS", "100")
        .env("NO_COLOR", "1")
        .output()
        .expect("a shell");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() { Ok(text) } else { Err(format!("{}\n{text}", output.status)) }
}

/// Runs a page. Adds differences to `wrong`, and returns the number of commands. With `update`,
/// replaces differing lines in the page by the present output.
fn check(path: &Path, update: bool, wrong: &mut Vec<String>) -> usize {
    let text = fs::read_to_string(path).expect("a page");
    let name = path.strip_prefix(root()).unwrap_or(path).display().to_string();
    let folder = Folder::new(&name.replace('/', "-"));
    let inside = PathBuf::from(folder.path("."));
    std::os::unix::fs::symlink(root().join("scenarios"), folder.path("scenarios")).expect("a link");
    let mut commands = 0;
    let mut changes: Vec<(usize, usize, Vec<String>)> = Vec::new();
    for block in blocks(&text) {
        let comment = block.comment.as_ref().map(|(name, value)| (name.as_str(), value.as_str()));
        match comment {
            Some(("not run", _)) => continue,
            Some(("file", file)) => {
                let text = block.lines.join("\n") + "\n";
                fs::write(folder.path(file), text).expect("a file");
                continue;
            }
            Some(("part of", file)) => {
                // A cell of a notebook has its lines as JSON strings.
                let whole = fs::read_to_string(root().join(file)).unwrap_or_default();
                let is_notebook = file.ends_with(".ipynb");
                let has = |line: &&String| {
                    let text = serde_json::to_string(line).unwrap_or_default();
                    whole.contains(&text[..text.len() - 1])
                };
                let part = block.lines.join("\n");
                let found = match is_notebook {
                    true => block.lines.iter().all(|line| has(&line)),
                    false => whole.contains(&part),
                };
                if !found {
                    wrong.push(format!("{name}:{}: this block is no part of {file}", block.first));
                }
                continue;
            }
            Some(_) | None if block.language != "console" => continue,
            _ => {}
        }
        for step in steps(&block) {
            commands += 1;
            let place = format!("{name}:{}: {}", step.first, step.command);
            let seen = match run(&step.command, &inside) {
                Ok(seen) => trimmed(seen.lines()),
                Err(problem) => {
                    wrong.push(format!("{place}\n{problem}"));
                    continue;
                }
            };
            let expected = trimmed(step.expected.iter().map(String::as_str));
            if matches(&expected, &seen) {
                continue;
            }
            let lines = shortened(&step.expected, &seen);
            changes.push((step.first, step.expected.len(), lines));
            wrong.push(format!("{place}\n--- expected\n{expected}\n--- seen\n{seen}"));
        }
    }
    if update && !changes.is_empty() {
        let mut lines: Vec<String> = text.lines().map(String::from).collect();
        for (first, count, seen) in changes.into_iter().rev() {
            lines.splice(first..first + count, seen);
        }
        fs::write(path, lines.join("\n") + "\n").expect("a page");
    }
    commands
}

#[test]
fn commands_print_what_pages_show() {
    let update = std::env::var("PACELINE_UPDATE").is_ok_and(|value| value == "1");
    let only = std::env::var("PACELINE_BOOK_PAGE").unwrap_or_default();
    let (mut wrong, mut commands) = (Vec::new(), 0);
    for part in PARTS {
        for page in pages(&root().join("docs").join(part)) {
            if page.display().to_string().contains(&only) {
                commands += check(&page, update, &mut wrong);
            }
        }
    }
    let wrong_text = wrong.join("\n\n");
    assert!(wrong.is_empty(), "{} of {commands} commands:\n{wrong_text}", wrong.len());
    assert!(commands > 10, "only {commands} commands were found");
}

#[test]
fn every_page_is_in_the_table_of_contents() {
    let docs = root().join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).expect("docs/SUMMARY.md");
    let targets = summary.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let listed: Vec<String> = targets.map(String::from).collect();
    let once: BTreeSet<String> = listed.iter().cloned().collect();
    assert_eq!(once.len(), listed.len(), "docs/SUMMARY.md lists a page twice");
    let mut existing: BTreeSet<String> = pages(&docs)
        .iter()
        .map(|path| path.strip_prefix(&docs).expect("below docs").display().to_string())
        .collect();
    existing.remove("SUMMARY.md");
    let missing: Vec<_> = existing.difference(&once).collect();
    assert!(missing.is_empty(), "docs/SUMMARY.md lacks {missing:?}: add a line for each");
    let absent: Vec<_> = once.difference(&existing).collect();
    assert!(absent.is_empty(), "docs/SUMMARY.md lists {absent:?}, which do not exist");
}

#[test]
fn text_with_gaps_matches() {
    assert!(matches("a...c\n...", "abc\nd"));
    assert!(matches("...", ""));
    // A longer number has fewer spaces before it.
    assert!(matches("a   ...\nb  ...\nc", "a  123\nb   45\nc"));
    assert!(!matches("a   ...\nb", "x  123\nb"));
    assert!(matches("abc", "abc"));
    assert!(!matches("abc", "abcd"));
    assert!(!matches("a...c", "abd"));
    assert!(!matches("a...b...c", "acbd"));
    let old = ["a", "...", "z"].map(String::from);
    assert_eq!(shortened(&old, "b\nc\nd\ne"), ["b", "...", "e"]);
    assert_eq!(shortened(&old, "b\nc"), ["b", "c"]);
}
