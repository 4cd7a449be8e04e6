//! Errors about files of a wrong kind, such as a recording in place of a scenario: they say what the file looks like.

use std::path::Path;

use paceline_trace::FileKind;

use crate::output::Error;

/// Returns an error that says what a file looks like in place of `wanted`; `None` if it looks like that or like nothing
/// known. Call it if the file cannot be read as `wanted`.
pub(crate) fn instead_of(wanted: FileKind, file: &Path, bytes: &[u8]) -> Option<Error> {
    let name = file.display();
    let is = |words: &str, command: Option<&str>| {
        let remedy = command.map_or_else(String::new, |command| format!(": `{command} {name}`"));
        Error::Usage(format!("{name}: this is {words}, not {}{remedy}", wanted.words()))
    };
    match FileKind::of(bytes) {
        Some(kind) => (kind != wanted).then(|| is(kind.words(), kind.command())),
        None if paceline_trace::file::parse(&file.to_string_lossy(), bytes).is_ok() => {
            Some(is("a trace of a link", Some("paceline compare --trace")))
        }
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_wrong_kind_are_named() {
        let said = |wanted, name: &str, bytes: &[u8]| {
            instead_of(wanted, Path::new(name), bytes).map(|error| error.to_string())
        };
        let sweep = b"scenario = \"a.toml\"\n[grid]\nseed = [1]\n";
        assert_eq!(
            said(FileKind::Scenario, "a.toml", sweep).as_deref(),
            Some("a.toml: this is a sweep, not a scenario: `paceline sweep -o DIR a.toml`")
        );
        assert_eq!(said(FileKind::Sweep, "a.toml", sweep), None);
        assert_eq!(
            said(FileKind::Sweep, "x.csv", b"time_ms,mbps\n0,1\n5,2\n").as_deref(),
            Some("x.csv: this is a trace of a link, not a sweep: `paceline compare --trace x.csv`")
        );
        assert_eq!(
            said(FileKind::Scenario, "p.png", b"\x89PNG\r\n").as_deref(),
            Some("p.png: this is a picture (PNG), not a scenario")
        );
        assert_eq!(said(FileKind::Scenario, "a.toml", b"duration = 1\n"), None);
    }
}
