//! The names under which received files are kept (docs/wire.md).

use std::path::Path;

/// Longest name in bytes, where the file system does not say another.
pub(super) const NAME_MAX: usize = 255;
/// Longest extension in bytes, dot included, that a shortened name keeps.
const EXTENSION_MAX: usize = 16;

/// True for characters that a terminal or a file manager does not show, or that change the order in which it shows
/// others: control characters, zero width, directions, tags.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// Returns the name under which a file is kept that its sender calls `name`: the last part of it. Hidden characters, and
/// a dot or a dash at its beginning, are written as `%` and two hexadecimal digits for each byte. A name that is no
/// file's is `received`.
pub(super) fn kept_name(name: &str) -> String {
    let last = Path::new(name).file_name().and_then(|last| last.to_str()).unwrap_or("received");
    let mut kept = String::with_capacity(last.len());
    for (at, c) in last.char_indices() {
        if is_hidden(c) || at == 0 && matches!(c, '.' | '-') {
            for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                kept.push_str(&format!("%{byte:02X}"));
            }
        } else {
            kept.push(c);
        }
    }
    kept
}

/// Returns `name` with `suffix` behind it, of at most `longest` bytes: a longer name loses the end of its stem, in
/// whose place `~` stands, and keeps its extension.
pub(super) fn fit(name: &str, suffix: &str, longest: usize) -> String {
    if name.len() + suffix.len() <= longest {
        return format!("{name}{suffix}");
    }
    let dot = name.rfind('.').filter(|&dot| dot > 0 && name.len() - dot <= EXTENSION_MAX);
    let (stem, extension) = name.split_at(dot.unwrap_or(name.len()));
    let room = longest.saturating_sub(suffix.len() + extension.len() + 1).max(1);
    let stem = stem.get(..stem.floor_char_boundary(room)).unwrap_or("");
    format!("{stem}~{extension}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harmless_names_stay_and_others_are_escaped() {
        for name in ["a.txt", "Grüße 1.tar.gz", "日本.png", "*", "a-b", "100%.txt", "~a", "a b"]
        {
            assert_eq!(kept_name(name), name);
        }
        for (name, kept) in [
            (".bashrc", "%2Ebashrc"),
            ("-rf", "%2Drf"),
            ("x\ny", "x%0Ay"),
            ("\u{1b}[2J", "%1B[2J"),
            ("cod\u{202e}gpj.exe", "cod%E2%80%AEgpj.exe"),
            ("a\u{200b}b", "a%E2%80%8Bb"),
            ("\u{feff}a", "%EF%BB%BFa"),
            ("../../etc/passwd", "passwd"),
            ("/", "received"),
            ("..", "received"),
            ("", "received"),
            ("a/..", "received"),
        ] {
            assert_eq!(kept_name(name), kept, "{name:?}");
        }
    }

    #[test]
    fn long_names_keep_their_beginning_and_extension() {
        let long = |n: usize| format!("{}.txt", "x".repeat(n));
        assert_eq!(fit(&long(251), "", 255), long(251));
        assert_eq!(fit(&long(252), "", 255), format!("{}~.txt", "x".repeat(250)));
        assert_eq!(fit(&long(251), ".12", 255), format!("{}~.txt.12", "x".repeat(247)));
        assert_eq!(fit("a.txt", ".1", 255), "a.txt.1");
        // Whole characters are cut.
        let name = fit(&"ü".repeat(200), "", 255);
        assert!(name.len() <= 255 && name.ends_with("ü~"), "{name}");
        assert!(fit(&format!("a.{}", "x".repeat(300)), "", 143).len() <= 143);
    }
}
