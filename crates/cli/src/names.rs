//! Names of files, and the command line as text.

use std::ffi::OsString;

use crate::host;

/// Most letters that a trace's name contributes to a file's name.
const LONGEST_NAME: usize = 100;

/// Returns names that are safe in file names, not too long, and different from each other.
pub(crate) fn file_names(names: &[&str]) -> Vec<String> {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let mut taken: Vec<String> = Vec::new();
    for name in names {
        let plain: String = name.chars().map(safe).collect();
        let short = &plain[plain.len().saturating_sub(LONGEST_NAME)..];
        let numbered = (2..).map(|n| format!("{short}-{n}"));
        let free = std::iter::once(short.to_string()).chain(numbered);
        taken.extend(free.into_iter().find(|name| !taken.contains(name)));
    }
    taken
}

/// Returns the line that makes a shell run the present command.
pub(crate) fn command_line() -> String {
    quoted(host::arguments().into_iter().skip(1))
}

/// Returns a command line that a shell splits into these arguments.
pub(crate) fn quoted(arguments: impl Iterator<Item = OsString>) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,+=:%@".contains(c);
    let quoted = arguments.map(|argument| {
        let text = argument.to_string_lossy();
        if !text.is_empty() && text.chars().all(plain) {
            text.into_owned()
        } else {
            format!("'{}'", text.replace('\'', "'\\''"))
        }
    });
    std::iter::once("paceline".to_string()).chain(quoted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_differ_and_are_short() {
        assert_eq!(file_names(&["lte-driving", "12Mbps"]), ["lte-driving", "12Mbps"]);
        assert_eq!(file_names(&["a/b", "a-b", "a b"]), ["a-b", "a-b-2", "a-b-3"]);
        assert!(file_names(&[&"é".repeat(9000)])[0].len() <= LONGEST_NAME);
    }

    #[test]
    fn command_lines_are_quoted() {
        let words = ["compare", "--schemes", "cubic+codel[target=50ms]", "it's", ""];
        let line = quoted(words.into_iter().map(OsString::from));
        let wanted = r"paceline compare --schemes 'cubic+codel[target=50ms]' 'it'\''s' ''";
        assert_eq!(line, wanted);
    }
}
