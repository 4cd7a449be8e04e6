//! The names under which received entries are kept (docs/wire.md).

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

/// Maximum length of a name in bytes, unless the file system reports another.
pub(super) const NAME_MAX: usize = 255;
/// Maximum length of an extension, with its dot, that a shortened name keeps, in bytes.
const EXTENSION_MAX: usize = 16;

/// Returns true for characters that a terminal or a file manager does not show, or that change the
/// order of other characters: control, zero-width, directional and tag characters.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// Returns the name under which an entry is kept. Each byte of a hidden character is written as `%`
/// and two hexadecimal digits. At the top level, beside the files of other senders and of this
/// user, so is a leading dot or dash. Bytes that are not UTF-8 stay.
pub(super) fn kept_name(name: &[u8], is_top_level: bool) -> OsString {
    let mut kept = Vec::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        for c in chunk.valid().chars() {
            let is_first = is_top_level && kept.is_empty();
            let mut place = [0; 4];
            let bytes = c.encode_utf8(&mut place).as_bytes();
            if is_hidden(c) || is_first && matches!(c, '.' | '-') {
                bytes.iter().for_each(|byte| kept.extend(format!("%{byte:02X}").as_bytes()));
            } else {
                kept.extend(bytes);
            }
        }
        kept.extend(chunk.invalid());
    }
    OsString::from_vec(kept)
}

/// Returns `name` followed by `suffix`, in at most `longest` bytes. A longer name loses the end of
/// its stem, which `~` replaces, and keeps its extension.
pub(super) fn fit(name: &OsStr, suffix: &str, longest: usize) -> OsString {
    let name = name.as_bytes();
    if name.len() + suffix.len() <= longest {
        return OsString::from_vec([name, suffix.as_bytes()].concat());
    }
    let dot = name.iter().rposition(|&byte| byte == b'.');
    let dot = dot.filter(|&dot| dot > 0 && name.len() - dot <= EXTENSION_MAX);
    let (stem, extension) = name.split_at(dot.unwrap_or(name.len()));
    let mut room = longest.saturating_sub(suffix.len() + extension.len() + 1).max(1);
    // Do not cut within a UTF-8 character.
    while room > 1 && stem.get(room).is_some_and(|byte| byte & 0xC0 == 0x80) {
        room -= 1;
    }
    let stem = stem.get(..room).unwrap_or(stem);
    OsString::from_vec([stem, b"~", extension, suffix.as_bytes()].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harmless_names_stay_and_others_are_escaped() {
        for name in ["a.txt", "Grüße 1.tar.gz", "日本.png", "*", "a-b", "100%.txt", "~a", "a b"]
        {
            assert_eq!(kept_name(name.as_bytes(), true), name);
            assert_eq!(kept_name(name.as_bytes(), false), name);
        }
        for (name, kept) in [
            ("x\ny", "x%0Ay"),
            ("\u{1b}[2J", "%1B[2J"),
            ("cod\u{202e}gpj.exe", "cod%E2%80%AEgpj.exe"),
            ("a\u{200b}b", "a%E2%80%8Bb"),
            ("\u{feff}a", "%EF%BB%BFa"),
        ] {
            assert_eq!(kept_name(name.as_bytes(), true), kept, "{name:?}");
            assert_eq!(kept_name(name.as_bytes(), false), kept, "{name:?}");
        }
        // In a folder, only hidden characters are replaced.
        for (name, kept) in [(".bashrc", "%2Ebashrc"), ("-rf", "%2Drf"), ("..a", "%2E.a")] {
            assert_eq!(kept_name(name.as_bytes(), true), kept);
            assert_eq!(kept_name(name.as_bytes(), false), name);
        }
        let latin = b"Gr\xfc\xdfe\n.txt";
        assert_eq!(kept_name(latin, true).as_bytes(), b"Gr\xfc\xdfe%0A.txt");
    }

    #[test]
    fn long_names_keep_their_beginning_and_extension() {
        let long = |n: usize| format!("{}.txt", "x".repeat(n));
        let fit = |name: String, suffix, longest| {
            fit(OsStr::new(&name), suffix, longest).into_string().expect("UTF-8")
        };
        assert_eq!(fit(long(251), "", 255), long(251));
        assert_eq!(fit(long(252), "", 255), format!("{}~.txt", "x".repeat(250)));
        assert_eq!(fit(long(251), ".12", 255), format!("{}~.txt.12", "x".repeat(247)));
        assert_eq!(fit("a.txt".into(), ".1", 255), "a.txt.1");
        // Cuts between characters.
        let name = fit("ü".repeat(200), "", 255);
        assert!(name.len() <= 255 && name.ends_with("ü~"), "{name}");
        assert!(fit(format!("a.{}", "x".repeat(300)), "", 143).len() <= 143);
    }
}
