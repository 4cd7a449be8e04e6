//! Messages about wrong arguments: clap's text, with a remedy if one is known.

use std::ffi::OsString;
use std::process::exit;

use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::{former, output};

/// Exit status for wrong arguments, the same as clap's.
const WRONG_USAGE: i32 = 2;
/// Beginning of clap's last line.
const TAIL: &str = "For more information, try";

/// Remedies for options that a command does not have: `(command, option, remedy)`.
const OPTIONS: [(&str, &str, &str); 31] = [
    ("link", "--rtt", "--delay is one way: --delay 20ms makes a round trip of 40ms"),
    ("link", "--queue", "--up-queue and --down-queue"),
    ("link", "--rate", "--up and --down, such as --up 12Mbps --down 50Mbps"),
    ("link", "--bandwidth", "--up and --down, such as --up 12Mbps --down 50Mbps"),
    ("link", "--trace", "--up and --down take traces, such as --up 12Mbps --down lte-driving"),
    ("link", "--packet-loss", "--loss"),
    ("link", "--uplink-log", "--log FILE writes FILE.up and FILE.down"),
    ("link", "--downlink-log", "--log FILE writes FILE.up and FILE.down"),
    ("link", "--for", FOR),
    ("link", "--duration", FOR),
    ("delay", "--jitter", "`paceline link` has --jitter"),
    ("delay", "--loss", "`paceline link` has --loss, `paceline loss` is a command of its own"),
    ("delay", "--for", FOR),
    ("delay", "--duration", FOR),
    ("meter", "--for", FOR),
    ("meter", "--duration", FOR),
    ("loss", "--loss", "--up and --down, such as --down 1%"),
    ("loss", "--rate", "--up and --down, such as --down 1%"),
    ("onoff", "--on", "--up and --down, such as --down 10s 500ms: on for 10 s, off for 500 ms"),
    ("onoff", "--off", "--up and --down, such as --down 10s 500ms: on for 10 s, off for 500 ms"),
    ("compare", "--seeds", RUNS),
    ("compare", "--repeat", RUNS),
    ("compare", "--format", CSV),
    ("compare", "--series-csv", SERIES),
    ("run", "--format", CSV),
    ("compare", "--link", "--trace takes rates, too, such as --trace 12Mbps"),
    ("compare", "--rate", "--trace takes rates, too, such as --trace 12Mbps"),
    ("contest", "--schemes", "--entries"),
    ("recv", "--port", "--listen has the port, such as --listen 0.0.0.0:5311"),
    ("recv", "-p", "--listen has the port, such as --listen 0.0.0.0:5311"),
    ("send", "--port", "the port stands behind the address: HOST:5311"),
];

const FOR: &str = "an emulator ends with its program: `timeout 10 COMMAND` ends that after 10 s";
const RUNS: &str = "--runs N makes N runs, each with a seed of its own";
const CSV: &str = "--csv FILE writes a table, --json prints all figures; the Python package makes \
                   data frames of them (docs/python.md)";
const SERIES: &str = "-o DIR writes DIR/series.csv";

/// Remedies for commands that do not exist.
const COMMANDS: [(&str, &str); 11] = [
    ("queues", "`paceline schemes` lists queues, too"),
    ("traces", "`paceline trace list`"),
    ("scenarios", "`paceline scenario list`"),
    ("emulate", "`paceline link` emulates a link around a program, `paceline delay` a delay"),
    ("shell", "`paceline link` and `paceline delay` without a COMMAND start a shell"),
    ("simulate", "`paceline compare` simulates schemes on a link, `paceline run` a scenario file"),
    ("sim", "`paceline compare` simulates schemes on a link, `paceline run` a scenario file"),
    ("train", "`paceline remy train`"),
    ("receive", "`paceline recv`"),
    ("iperf", "`paceline send --duration 10s HOST:5311` and `paceline recv --measure`"),
    ("load", "`paceline kernel load`"),
];

/// Reads the arguments of this process, or ends it with a message.
pub(crate) fn parse<C: Parser>() -> C {
    let words = former::with_options(&C::command(), std::env::args_os().collect());
    let parsed = C::try_parse_from(&words).unwrap_or_else(|error| {
        if !error.use_stderr() {
            error.exit();
        }
        output::note(message(&error, &words).trim_end());
        exit(WRONG_USAGE)
    });
    former::notes(&words).iter().for_each(|note| output::note(note));
    parsed
}

/// Returns clap's message, with a remedy if one is known here. Drops clap's last line if the
/// message already says what to write.
fn message(error: &clap::Error, words: &[OsString]) -> String {
    let text = error.render().ansi().to_string();
    let command = words.get(1).map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
    let (mut kept, known) = match remedy(error, &command) {
        Some(remedy) => (without_tips(&text), Some(format!("\n  tip: {remedy}\n"))),
        None => (text.clone(), None),
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
    if let Some(tip) = known {
        // After the first line, where clap puts its tips.
        let at = kept.find('\n').map_or(kept.len(), |at| at + 1);
        kept.insert_str(at, &tip);
    }
    kept.trim_end().to_string()
}

/// Returns the lines without clap's tips.
fn without_tips(text: &str) -> String {
    let kept = text.lines().filter(|line| !line.contains("tip:"));
    let mut lines: Vec<&str> = kept.collect();
    lines.dedup_by(|one, other| one.is_empty() && other.is_empty());
    lines.join("\n") + "\n"
}

fn remedy(error: &clap::Error, command: &str) -> Option<String> {
    let text = |kind| match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        _ => None,
    };
    match error.kind() {
        ErrorKind::UnknownArgument => {
            let option = text(ContextKind::InvalidArg)?;
            let known = OPTIONS.iter().find(|(of, name, _)| *of == command && *name == option);
            let negative = option.strip_prefix('-').is_some_and(|it| it.starts_with(is_digit));
            match known {
                Some((_, _, remedy)) => Some((*remedy).into()),
                None if negative => Some("a value here cannot be negative".into()),
                None => None,
            }
        }
        ErrorKind::InvalidSubcommand => {
            let name = text(ContextKind::InvalidSubcommand)?;
            COMMANDS.iter().find(|(it, _)| *it == name).map(|(_, remedy)| (*remedy).into())
        }
        _ => None,
    }
}

fn is_digit(letter: char) -> bool {
    letter.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::Cli;

    #[test]
    fn remedies_are_for_commands_that_are_there_and_options_that_are_not() {
        let cli = Cli::command();
        let mut option_of = std::collections::BTreeSet::new();
        for (command, option, _) in OPTIONS {
            let found = cli.find_subcommand(command).expect(command);
            let name = option.trim_start_matches('-');
            let taken = found.get_arguments().any(|argument| {
                let names = argument.get_long_and_visible_aliases().unwrap_or_default();
                names.contains(&name)
                    || argument.get_short().map(String::from).as_deref() == Some(name)
            });
            assert!(!taken, "{command} has {option}");
            assert!(option_of.insert((command, option)), "{command} {option} stands twice");
        }
        for (name, _) in COMMANDS {
            assert!(cli.find_subcommand(name).is_none(), "there is a command {name}");
        }
    }
}
