//! What a file looks like that is no trace.

/// Kind of a file, by its first bytes and lines.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A scenario, for `paceline run`.
    Scenario,
    /// A scenario with values to sweep, for `paceline sweep`.
    Sweep,
    /// A specification of networks, for `paceline remy train`.
    Specification,
    /// A file of another program or format: what it is.
    Other(&'static str),
}

/// First bytes of files of other formats.
const BEGINNINGS: [(&[u8], &str); 14] = [
    (b"\x89PNG", "a picture (PNG)"),
    (b"\xff\xd8\xff", "a picture (JPEG)"),
    (b"GIF8", "a picture (GIF)"),
    (b"%PDF", "a PDF document"),
    (b"PAR1", "a Parquet table"),
    (b"\x1f\x8b", "a compressed file (gzip)"),
    (b"BZh", "a compressed file (bzip2)"),
    (b"\xfd7zXZ", "a compressed file (xz)"),
    (b"\x28\xb5\x2f\xfd", "a compressed file (zstd)"),
    (b"PK\x03\x04", "an archive (zip)"),
    (b"\x7fELF", "a program"),
    (b"<svg", "a drawing (SVG)"),
    (b"<!DOCTYPE html", "a page (HTML)"),
    (b"{", "a JSON document"),
];

/// Number of bytes in which headings of TOML are looked for.
const LOOKED_AT: usize = 1 << 16;

impl FileKind {
    /// Returns the kind of a file with these bytes; `None` if they say none. A trace has none.
    pub fn of(bytes: &[u8]) -> Option<FileKind> {
        if let Some((_, words)) = BEGINNINGS.iter().find(|(begin, _)| bytes.starts_with(begin)) {
            return Some(FileKind::Other(words));
        }
        let begin = String::from_utf8_lossy(&bytes[..bytes.len().min(LOOKED_AT)]);
        let has = |headings: &[&str]| begin.lines().any(|line| headings.contains(&line.trim()));
        if has(&["[grid]"]) {
            Some(FileKind::Sweep)
        } else if has(&["[networks]"]) {
            Some(FileKind::Specification)
        } else if has(&["[[link]]", "[[flow]]", "[[medium]]"]) {
            Some(FileKind::Scenario)
        } else {
            None
        }
    }

    /// Returns what it is: `a scenario`.
    pub fn words(self) -> &'static str {
        match self {
            FileKind::Scenario => "a scenario",
            FileKind::Sweep => "a sweep",
            FileKind::Specification => "a specification of networks",
            FileKind::Other(words) => words,
        }
    }

    /// Returns the command that reads such a file; `None` if there is none.
    pub fn command(self) -> Option<&'static str> {
        match self {
            FileKind::Scenario => Some("paceline run"),
            FileKind::Sweep => Some("paceline sweep -o DIR"),
            FileKind::Specification => Some("paceline remy train -o DIR"),
            FileKind::Other(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_by_first_bytes_and_headings() {
        assert_eq!(FileKind::of(b"\x89PNG\r\n"), Some(FileKind::Other("a picture (PNG)")));
        let scenario = b"duration = \"1s\"\n[[link]]\nrate = \"1Mbps\"\n";
        assert_eq!(FileKind::of(scenario), Some(FileKind::Scenario));
        let sweep = b"scenario = \"a.toml\"\n[grid]\nseed = [1, 2]\n";
        assert_eq!(FileKind::of(sweep), Some(FileKind::Sweep));
        assert_eq!(FileKind::of(b"[networks]\n"), Some(FileKind::Specification));
        for trace in ["", "1\n2\n", "time_ms,mbps\n0,1\n", "0,1\n5,2\n"] {
            assert_eq!(FileKind::of(trace.as_bytes()), None, "{trace}");
        }
    }
}
