//! Command lines of former grammars, which still work: former names of options, and directions as words.

use std::ffi::OsString;

use clap::Command;

/// Former names of options: the words of the command, the former name, the present one.
const NAMES: [(&[&str], &str, &str); 5] = [
    (&["router"], "--for", "--duration"),
    (&["kernel", "watch"], "--for", "--duration"),
    (&["medium"], "--seconds", "--duration"),
    (&["remy", "train"], "--budget", "--duration"),
    (&["send"], "--bulk", "--duration"),
];

/// Commands whose direction was a word in front of its values: `paceline loss up 1%`.
const WITH_DIRECTIONS: [&str; 2] = ["loss", "onoff"];

/// Options of directions, and the words that stood for them.
const DIRECTIONS: [(&str, [&str; 2]); 2] =
    [("--up", ["up", "uplink"]), ("--down", ["down", "downlink"])];

/// Returns a note for each former name in the words of a process, of which the first is the program.
pub(crate) fn notes(words: &[OsString]) -> Vec<String> {
    let words = words.get(1..).unwrap_or_default();
    let begins = |command: &[&str]| {
        words.len() >= command.len() && command.iter().zip(words).all(|(name, word)| word == name)
    };
    let is_used = |name: &str| {
        let options = words.iter().take_while(|word| *word != "--");
        options.map(|word| word.to_string_lossy()).any(|word| {
            word.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
        })
    };
    let used = NAMES.iter().filter(|(command, former, _)| begins(command) && is_used(former));
    used.map(|(_, former, present)| format!("note: {former} is now called {present}")).collect()
}

/// Replaces the word of a direction by its option, so that `paceline loss --seed 3 up 1%` becomes
/// `paceline loss --seed 3 --up 1%`. `cli` tells which options have values.
pub(crate) fn with_options(cli: &Command, mut words: Vec<OsString>) -> Vec<OsString> {
    let name = words.get(1).and_then(|word| word.to_str()).unwrap_or_default();
    let Some(command) =
        WITH_DIRECTIONS.iter().find(|it| **it == name).and_then(|it| cli.find_subcommand(it))
    else {
        return words;
    };
    let mut at = 2;
    while let Some(word) = words.get(at).and_then(|word| word.to_str()) {
        if word == "--" || DIRECTIONS.iter().any(|(option, _)| word.starts_with(option)) {
            break;
        }
        if !word.starts_with('-') {
            // The first word that is neither an option nor a value of one.
            let direction = DIRECTIONS.iter().find(|(_, names)| names.contains(&word));
            if let Some((option, _)) = direction {
                words[at] = (*option).into();
            }
            break;
        }
        at += if has_separate_value(command, word) { 2 } else { 1 };
    }
    words
}

/// Returns true if the value of an option is the next word.
fn has_separate_value(command: &Command, option: &str) -> bool {
    let found = command.get_arguments().find(|argument| {
        let short = argument.get_short().map(|letter| format!("-{letter}"));
        let longs =
            argument.get_long().into_iter().chain(argument.get_all_aliases().into_iter().flatten());
        short.as_deref() == Some(option)
            || longs.map(|long| format!("--{long}")).any(|it| it == option)
    });
    found.is_some_and(|argument| argument.get_action().takes_values())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::Cli;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn former_names_are_hidden_names_of_options_that_exist() {
        for (path, former, present) in NAMES {
            let mut command = &Cli::command();
            for name in path {
                command = command.find_subcommand(name).expect("a command");
            }
            let named = |name: &str| {
                let name = name.trim_start_matches('-');
                command.get_arguments().find(|argument| {
                    argument.get_long() == Some(name)
                        || argument.get_all_aliases().is_some_and(|all| all.contains(&name))
                })
            };
            let is_shown = |it: &clap::Arg| !it.is_hide_set();
            assert!(named(present).is_some_and(is_shown), "{path:?} {present}");
            let is_hidden = |it: &clap::Arg| {
                let long = it.get_long() == Some(former.trim_start_matches('-'));
                !long || it.is_hide_set()
            };
            assert!(named(former).is_some_and(is_hidden), "{path:?} {former}");
        }
    }

    #[test]
    fn a_note_names_the_present_option() {
        let note = ["note: --bulk is now called --duration"];
        assert_eq!(notes(&words("paceline send --bulk 1s host")), note);
        assert_eq!(notes(&words("paceline send host --bulk=1s")), note);
        for line in ["paceline send --duration 1s host", "paceline send -- --bulk", "paceline", ""]
        {
            assert!(notes(&words(line)).is_empty(), "{line}");
        }
        let watch = notes(&words("paceline kernel watch abc --for 1s"));
        assert_eq!(watch, ["note: --for is now called --duration"]);
        assert!(notes(&words("paceline key new --for server.key")).is_empty());
    }

    #[test]
    fn directions_become_options() {
        let cli = Cli::command();
        for (line, changed) in [
            ("p loss up 1% -- true", "p loss --up 1% -- true"),
            ("p loss --seed 3 -q downlink 1% true", "p loss --seed 3 -q --down 1% true"),
            (
                "p onoff --base=10.0.0.0/8 down 1s 2s up",
                "p onoff --base=10.0.0.0/8 --down 1s 2s up",
            ),
            ("p loss --down 1% up", "p loss --down 1% up"),
            ("p loss -- up", "p loss -- up"),
            ("p loss true up", "p loss true up"),
            ("p loss", "p loss"),
            ("p link up 1% true", "p link up 1% true"),
        ] {
            assert_eq!(with_options(&cli, words(line)), words(changed), "{line}");
        }
    }
}
