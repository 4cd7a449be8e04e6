//! Tests that the program can parse every command line that the help and the documentation show.

use clap::{Command, CommandFactory as _, Parser as _};

use crate::Cli;

/// Longest line that help does not wrap, in characters.
const WIDTH: usize = 100;

/// Splits a command line into words as a shell does, up to a comment or another command.
fn words(line: &str) -> Vec<String> {
    let (mut found, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for letter in line.chars() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (Some(_), _) => word.get_or_insert_default().push(letter),
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, ' ') => found.extend(word.take()),
            (None, '#') if word.is_none() => break,
            (None, '|' | '>' | '&') => break,
            (None, _) => word.get_or_insert_default().push(letter),
        }
    }
    found.extend(word);
    found
}

/// Parses a line that may call the program, also inside another call of it. Returns true if it
/// does.
fn check(place: &str, line: &str) -> bool {
    let words = words(line);
    let Some(at) = words.iter().position(|word| word == "paceline" || word.ends_with("/paceline"))
    else {
        return false;
    };
    let key = paceline_wire::key::Identity::generate().expect("keys").key().to_string();
    let known = |word: &String| match word.as_str() {
        "STRING" | "$KEY" | "pl1-..." => key.clone(),
        // An address, so that the test needs no DNS.
        _ => word.replace("server.example:", "192.0.2.1:").replace("host:", "192.0.2.1:"),
    };
    let words: Vec<String> = words[at..].iter().map(known).collect();
    // The Python package runs commands with controllers in Python.
    let arguments: Vec<std::ffi::OsString> = words.iter().map(Into::into).collect();
    let schemes = crate::python_schemes(&arguments);
    let without = |word: &String| {
        schemes.iter().fold(word.clone(), |word, scheme| word.replace(&scheme.text, "cubic"))
    };
    let words: Vec<String> = words.iter().map(without).collect();
    if let Err(error) = Cli::try_parse_from(&words) {
        // The examples' own files do not exist here.
        let missing = error.to_string().contains("No such file or directory");
        assert!(missing || !error.use_stderr(), "{place}: {line}\n{error}");
    }
    for file in words.iter().filter(|word| word.starts_with("scenarios/")) {
        let root = format!("{}/../..", env!("CARGO_MANIFEST_DIR"));
        assert!(std::path::Path::new(&root).join(file).exists(), "{place}: there is no {file}");
    }
    if let Some(inner) = words.iter().position(|word| word == "--") {
        check(place, &words[inner + 1..].join(" "));
    }
    true
}

/// Checks the examples of a command and its subcommands. Returns how many there are.
fn of_help(command: &Command, name: &str) -> usize {
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let mut found = 0;
    // Help wraps a paragraph that is one long line; of a paragraph with several lines each has to
    // fit.
    for line in help.split("\n\n").filter(|part| part.contains('\n')).flat_map(str::lines) {
        assert!(line.chars().count() <= WIDTH, "{name} --help wraps this line: {line}");
    }
    for line in help.replace("\\\n", " ").lines() {
        let line = line.trim_start().trim_start_matches("Example: ");
        let called =
            ["paceline ", "sudo paceline ", "tar c"].iter().any(|&call| line.starts_with(call));
        found += usize::from(called && check(&format!("{name} --help"), line));
    }
    let below = command.get_subcommands().filter(|below| !below.is_hide_set());
    found
        + below.map(|below| of_help(below, &format!("{name} {}", below.get_name()))).sum::<usize>()
}

#[test]
fn of_all_help() {
    let found = of_help(&Cli::command(), "paceline");
    assert!(found > 50, "{found} examples were found");
}

/// Most options of a command outside of headings, `--help` included, and most below one heading.
const MOST_LOOSE: usize = 8;
const MOST_TOGETHER: usize = 12;

/// Adds what a command's help lacks, and that of its subcommands, to `lacks`.
fn check_layout(command: &Command, name: &str, lacks: &mut Vec<String>) {
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    if !help.contains("Examples:\n  ") {
        lacks.push(format!("{name}: no line after `Examples:`"));
    }
    let mut counts = std::collections::BTreeMap::<Option<&str>, usize>::new();
    let shown = command.get_opts().filter(|option| !option.is_hide_set());
    shown.for_each(|option| *counts.entry(option.get_help_heading()).or_default() += 1);
    for (heading, count) in counts {
        // `--help` itself is not among the options before clap has built the command.
        let (most, place) = match heading {
            None => (MOST_LOOSE - 1, "outside of headings"),
            Some(heading) => (MOST_TOGETHER, heading),
        };
        if count > most {
            lacks.push(format!("{name}: {count} options {place}, more than {most}"));
        }
    }
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        check_layout(below, &format!("{name} {}", below.get_name()), lacks);
    }
}

#[test]
fn every_command_has_examples_and_headings_for_many_options() {
    let mut lacks = Vec::new();
    check_layout(&Cli::command(), "paceline", &mut lacks);
    assert!(lacks.is_empty(), "{}", lacks.join("\n"));
}

/// Checks the lines of a document's code blocks. Returns how many of them call the program.
fn of_document(place: &str, text: &str) -> usize {
    let (mut inside, mut found, mut line) = (false, 0, String::new());
    for part in text.lines() {
        if part.starts_with("```") {
            inside = !inside;
            continue;
        }
        line += part.trim_start();
        if let Some(begun) = line.strip_suffix('\\') {
            line = begun.to_string();
            continue;
        }
        let whole = std::mem::take(&mut line);
        // `server$ ` and `$ ` are prompts.
        let whole = whole.split_once("$ ").map_or(whole.as_str(), |(prompt, rest)| {
            if prompt.chars().all(char::is_alphabetic) { rest } else { &whole }
        });
        let whole = whole.trim_start_matches("sudo ").trim_start_matches("make site && ");
        let called = whole.split(' ').next().is_some_and(|word| word.ends_with("paceline"));
        if inside && called && !whole.contains("$(") {
            found += usize::from(check(place, whole));
        }
    }
    found
}

/// Checks that the targets of `make` and the scripts that a document names exist.
fn named(place: &str, text: &str, root: &std::path::Path, makefile: &str) {
    for part in text.split("`make ").skip(1) {
        let target: String =
            part.chars().take_while(|&c| c.is_ascii_lowercase() || c == '-').collect();
        let known = makefile.contains(&format!("\n{target}:"));
        assert!(known, "{place}: the Makefile has no target `{target}`");
    }
    for word in text.split(|c: char| c.is_whitespace() || c == '`' || c == '(' || c == ')') {
        let script =
            word.ends_with(".sh") && !word.contains(['*', '{']) && word.starts_with("tests/");
        assert!(!script || root.join(word).exists(), "{place}: there is no {word}");
    }
}

#[test]
fn every_command_is_in_the_list_of_commands() {
    let path = format!("{}/../../docs/commands.md", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("a document");
    let command = Cli::command();
    let shown = command.get_subcommands().filter(|below| !below.is_hide_set());
    for name in shown.map(Command::get_name) {
        assert!(text.contains(&format!("`{name}`")), "docs/commands.md has no row for `{name}`");
    }
}

/// Returns the value of `key=value` in a file of settings.
fn setting(text: &str, key: &str) -> String {
    let found = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    found.unwrap_or_default().to_string()
}

/// Units of systemd call the program with options that it has, those of the examples of settings included.
#[test]
fn of_all_units() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/systemd");
    let mut found = 0;
    for entry in std::fs::read_dir(&folder).expect("a folder of units") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(unit) = name.strip_prefix("paceline-").and_then(|it| it.strip_suffix(".service"))
        else {
            continue;
        };
        let text = std::fs::read_to_string(&path).expect("a unit");
        let example = folder.join(format!("{}.env.example", unit.trim_end_matches('@')));
        let settings = std::fs::read_to_string(example).unwrap_or_default();
        let instance = match unit {
            "kernel@" => "c2tcp",
            "router@" => "eth1",
            _ => "office",
        };
        let lines = text.lines().filter_map(|line| {
            let (key, line) = line.split_once('=')?;
            let begins = key.starts_with("ExecStart") || key.starts_with("ExecStop");
            (begins && line.contains("paceline ")).then_some(line)
        });
        for line in lines {
            let line = line
                .trim_start_matches('-')
                .replace("$OPTIONS", &setting(&settings, "OPTIONS"))
                .replace("$SERVER", &setting(&settings, "SERVER"))
                .replace("${STATE_DIRECTORY}", "/tmp")
                .replace("%i", instance)
                .replace("%I", instance);
            found += usize::from(check(&name, &line));
        }
    }
    assert!(found >= 6, "{found} lines of units were found");
}

#[test]
fn of_all_documents() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let makefile = std::fs::read_to_string(root.join("Makefile")).expect("a Makefile");
    let mut files = vec![root.join("README.md")];
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder of documents") {
            let path = entry.expect("an entry").path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    let mut found = 0;
    for file in files.iter().filter(|file| file.extension().is_some_and(|end| end == "md")) {
        let text = std::fs::read_to_string(file).expect("a document");
        found += of_document(&file.display().to_string(), &text);
        named(&file.display().to_string(), &text, &root, &makefile);
    }
    assert!(found > 40, "{found} command lines were found");
}
