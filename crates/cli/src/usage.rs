//! Messages about wrong arguments: clap's text, with a remedy if one is known.

use std::ffi::OsString;
use std::process::exit;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Parser};
use paceline_cc::spec::nearest;

use crate::remedies::{COMMANDS, MISSING, NoOption, OPTIONS, WORDS};
use crate::{former, host, output};

/// Beginning of clap's last line.
const TAIL: &str = "For more information, try";

/// Reads the arguments of this process, or ends it with a message.
pub(crate) fn parse<C: Parser>() -> C {
    let cli = C::command();
    let words = former::with_options(&cli, host::arguments());
    let parsed = C::try_parse_from(&words).unwrap_or_else(|error| {
        if !error.use_stderr() {
            error.exit();
        }
        output::note(message(&error, &cli, &words).trim_end());
        // Clap's status for wrong arguments, too.
        exit(output::WRONG_USAGE.into())
    });
    former::notes(&words).iter().for_each(|note| output::note(note));
    parsed
}

/// Returns clap's message, with a remedy if one is known here. Drops clap's last line if the
/// message already says what to write, and its usage line where that names a wrong option.
fn message(error: &clap::Error, cli: &Command, words: &[OsString]) -> String {
    let text = in_words(error.render().ansi().to_string());
    let command = command_of(cli, words);
    let known = remedy(error, &command).or_else(|| too_early(error, cli, words));
    let is_unknown = error.kind() == ErrorKind::UnknownArgument;
    let guesses = is_unknown && (known.is_some() || !is_near(error));
    let mut kept = match known.is_some() || guesses {
        true => without_tips(&text, guesses),
        false => text,
    };
    let says_what_to_write = known.is_some()
        || matches!(
            error.kind(),
            ErrorKind::ValueValidation
                | ErrorKind::InvalidValue
                | ErrorKind::InvalidSubcommand
                | ErrorKind::ArgumentConflict
        );
    if says_what_to_write && let Some(tail) = kept.find(TAIL) {
        kept.truncate(tail);
    }
    if let Some(remedy) = known {
        // After the first paragraph, where clap puts its tips.
        let at = kept.find("\n\n").map_or(kept.len(), |at| at + 1);
        kept.insert_str(at, &format!("\n  tip: {remedy}\n"));
    }
    kept.trim_end().to_string()
}

/// Returns the text without what Rust's parsers of numbers say.
fn in_words(text: String) -> String {
    let words = [
        ("invalid digit found in string", "expected a whole number"),
        ("cannot parse integer from empty string", "expected a whole number"),
        ("number too large to fit in target type", "the number is too large"),
        ("number too small to fit in target type", "the number is too small"),
        ("invalid float literal", "expected a number"),
        ("cannot parse float from empty string", "expected a number"),
    ];
    words.into_iter().fold(text, |text, (rust, plain)| text.replace(rust, plain))
}

/// Returns the names of the command that the words of the process call, without the program's.
fn command_of(cli: &Command, words: &[OsString]) -> String {
    let (mut command, mut names) = (cli, Vec::new());
    for word in words.iter().skip(1) {
        let Some(below) = command.find_subcommand(word) else { break };
        names.push(below.get_name());
        command = below;
    }
    names.join(" ")
}

/// Returns true if the option that clap suggests may be the one that was meant. Clap's own measure
/// takes `--rate` for `--duration`.
fn is_near(error: &clap::Error) -> bool {
    let Some(written) = string(error, ContextKind::InvalidArg) else { return true };
    match string(error, ContextKind::SuggestedArg) {
        Some(near) => {
            let (near, plain) = (near.trim_start_matches('-'), written.trim_start_matches('-'));
            near.starts_with(plain) || nearest(plain, [near]).is_some()
        }
        None => false,
    }
}

/// Returns the lines without clap's tips, and without its usage if that is built on a guess.
fn without_tips(text: &str, guesses: bool) -> String {
    let mut is_usage = false;
    let is_kept = |line: &&str| {
        // Usage may have several lines; an empty one ends it.
        is_usage = guesses && (line.contains("Usage:") || is_usage && !line.is_empty());
        !line.contains("tip:") && !is_usage
    };
    let mut lines: Vec<&str> = text.lines().filter(is_kept).collect();
    lines.dedup_by(|one, other| one.is_empty() && other.is_empty());
    lines.join("\n") + "\n"
}

fn string(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        _ => None,
    }
}

fn remedy(error: &clap::Error, command: &str) -> Option<String> {
    match error.kind() {
        ErrorKind::UnknownArgument => {
            let word = string(error, ContextKind::InvalidArg)?;
            if !word.starts_with('-') {
                return stray(command, &word);
            }
            let is_known = |it: &&NoOption| {
                (it.command == command || it.command.is_empty())
                    && it.options.contains(&word.as_str())
            };
            let known = OPTIONS.iter().find(is_known).map(|it| it.remedy.to_string());
            let is_negative = word.strip_prefix('-').is_some_and(|it| it.starts_with(is_digit));
            known.or_else(|| is_negative.then(|| "a value here cannot be negative".into()))
        }
        ErrorKind::InvalidSubcommand => {
            let name = string(error, ContextKind::InvalidSubcommand)?;
            let is_known = |(above, names, _): &&(&str, &[&str], &str)| {
                *above == command && names.contains(&name.as_str())
            };
            let known = COMMANDS.iter().find(is_known).map(|(_, _, remedy)| (*remedy).into());
            known.or_else(|| file(command, &name))
        }
        ErrorKind::MissingRequiredArgument => {
            let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg) else {
                return None;
            };
            let found = MISSING.iter().find(|(it, part, _)| {
                *it == command && missing.iter().any(|argument| argument.contains(part))
            });
            found.map(|(_, _, remedy)| (*remedy).into())
        }
        _ => None,
    }
}

/// Returns the remedy for an option that stands before its command.
fn too_early(error: &clap::Error, cli: &Command, words: &[OsString]) -> Option<String> {
    let option = string(error, ContextKind::InvalidArg).filter(|word| word.starts_with('-'))?;
    let (mut command, mut names) = (cli, String::from("paceline"));
    let mut is_early = false;
    for word in words.iter().skip(1) {
        is_early |= word.to_str().is_some_and(|word| word.starts_with(&option));
        if let Some(below) = command.find_subcommand(word) {
            command = below;
            names = format!("{names} {}", below.get_name());
            if is_early {
                return Some(format!("options stand after the command: `{names} {option}`"));
            }
        } else if command.get_positionals().count() > 0 {
            return None;
        }
    }
    None
}

/// Returns the remedy for a file in place of a command.
fn file(command: &str, name: &str) -> Option<String> {
    match (command, name.ends_with(".toml")) {
        ("", true) => Some(format!("`paceline run {name}` simulates a scenario file")),
        ("tunnel", true) => Some(format!("`paceline tunnel up {name}`")),
        _ => None,
    }
}

/// Returns the remedy for a word that a command does not take.
fn stray(command: &str, word: &str) -> Option<String> {
    if command == "compare" && word.ends_with(".toml") {
        return Some(format!("`paceline run {word}` simulates a scenario file"));
    }
    if command == "compare" && crate::python::python_part(word).is_some() {
        return Some(format!("a controller stands among the schemes: --schemes {word},cubic"));
    }
    let found = WORDS.iter().find(|(it, _)| *it == command);
    found.map(|(_, remedy)| remedy.replace("{}", word))
}

fn is_digit(letter: char) -> bool {
    letter.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::Cli;

    /// Returns the command of these words.
    fn find(cli: &Command, path: &str) -> Command {
        let mut command = cli;
        for name in path.split_whitespace() {
            command = command.find_subcommand(name).unwrap_or_else(|| panic!("no {path}"));
        }
        command.clone()
    }

    /// Returns true if the command has this option, also under a former name.
    fn has(command: &Command, option: &str) -> bool {
        let name = option.trim_start_matches('-');
        command.get_arguments().any(|argument| {
            argument.get_long() == Some(name)
                || argument.get_all_aliases().is_some_and(|all| all.contains(&name))
                || argument.get_short().map(String::from).as_deref() == Some(name)
        })
    }

    #[test]
    fn remedies_are_for_options_words_and_commands_that_are_not_there() {
        let mut cli = Cli::command();
        cli.build();
        let mut seen = std::collections::BTreeSet::new();
        for NoOption { command, options, .. } in OPTIONS {
            let found = find(&cli, command);
            for option in *options {
                assert!(!has(&found, option), "{command} has {option}");
                assert!(seen.insert((command, option)), "{command} {option} stands twice");
            }
        }
        for (command, _) in WORDS {
            let found = find(&cli, command);
            assert_eq!(found.get_positionals().count(), 0, "{command} takes words");
        }
        for (command, part, _) in MISSING {
            let found = find(&cli, command);
            let named = |it: &clap::Arg| it.to_string().contains(part);
            assert!(found.get_arguments().any(named), "{command} has no {part}");
        }
        for (above, names, _) in COMMANDS {
            let found = find(&cli, above);
            for name in *names {
                assert!(found.find_subcommand(name).is_none(), "there is {above} {name}");
            }
        }
    }
}
