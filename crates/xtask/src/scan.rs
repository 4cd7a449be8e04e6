//! Extracts the text of a source file that ships: without comments, the insides of strings, and
//! items that are compiled for tests only.

/// Attribute before an item that is compiled for tests only.
const TEST_ONLY: &str = "#[cfg(test)]";

/// Result of a scan.
#[derive(Debug, Default, PartialEq)]
pub struct Shipped {
    /// The code that ships. The rest is blank, so that lines keep their numbers.
    pub code: String,
    /// Modules in other files that are compiled for tests only: the value of `#[path]`, or the name
    /// of the module.
    pub test_modules: Vec<TestModule>,
}

/// A module in its own file that is compiled for tests only.
#[derive(Debug, PartialEq)]
pub enum TestModule {
    /// `mod name;`
    Name(String),
    /// `#[path = "file"] mod name;`
    Path(String),
}

/// Scans a file.
pub fn shipped(text: &str) -> Shipped {
    let mut code = without_comments(text);
    let mut test_modules = Vec::new();
    while let Some(start) = find(&code, TEST_ONLY) {
        let end = end_of_item(&code, start);
        test_modules.extend(test_module(text, &code, start, end));
        blank(&mut code, start, end);
    }
    Shipped { code: code.into_iter().collect(), test_modules }
}

/// Returns the text with comments and the insides of strings blank.
pub fn code(text: &str) -> String {
    without_comments(text).into_iter().collect()
}

fn find(code: &[char], word: &str) -> Option<usize> {
    let word: Vec<char> = word.chars().collect();
    code.windows(word.len()).position(|window| window == word)
}

/// Blanks everything except for line ends.
fn blank(code: &mut [char], start: usize, end: usize) {
    for c in code.iter_mut().take(end).skip(start).filter(|c| **c != '\n') {
        *c = ' ';
    }
}

/// Returns the module that an item declares, if it is `mod name;`.
fn test_module(text: &str, code: &[char], start: usize, end: usize) -> Option<TestModule> {
    let item: String = code[start..end].iter().collect();
    let name = item.trim_end().strip_suffix(';')?.trim_end();
    let (before, name) = name.rsplit_once("mod ")?;
    if name.contains(|c: char| !(c.is_alphanumeric() || c == '_')) {
        return None;
    }
    if before.contains("#[path") {
        // Strings are blank in the code, so the path is read from the text.
        let item: String = text.chars().skip(start).take(end - start).collect();
        let path = item.split("#[path").nth(1)?.split('"').nth(1)?;
        return Some(TestModule::Path(path.to_string()));
    }
    Some(TestModule::Name(name.to_string()))
}

/// Returns the end of the item whose attributes begin at `start`.
fn end_of_item(code: &[char], start: usize) -> usize {
    let mut at = start;
    // Skip the attributes, of which there may be several.
    loop {
        at += code[at..].iter().take_while(|c| c.is_whitespace()).count();
        if code.get(at) != Some(&'#') {
            break;
        }
        at = end_of_group(code, at + 1);
    }
    let words: String = code[at..].iter().take(200).collect();
    let mut words = words.split_whitespace().filter(|word| !word.starts_with("pub"));
    let (first, second) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    // These items end with a semicolon, whatever braces they contain; other items end with their
    // braces.
    let statement = match first {
        "use" | "static" | "type" | "let" => true,
        "const" => !matches!(second, "fn" | "unsafe" | "extern"),
        _ => false,
    };
    while let Some(c) = code.get(at) {
        match c {
            ';' => return at + 1,
            '{' if !statement => return end_of_group(code, at),
            '{' | '(' | '[' => at = end_of_group(code, at),
            // End of a field, a variant, or the block that contains the item.
            ',' if first.ends_with(':') => return at + 1,
            '}' => return at,
            _ => at += 1,
        }
    }
    code.len()
}

/// Returns the index after the bracket that closes the one at or after `at`.
fn end_of_group(code: &[char], at: usize) -> usize {
    let mut depth = 0;
    for (i, c) in code.iter().enumerate().skip(at) {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => continue,
        }
        if depth <= 0 {
            return i + 1;
        }
    }
    code.len()
}

/// Returns the text with comments and the insides of strings and characters blank.
fn without_comments(text: &str) -> Vec<char> {
    let mut code: Vec<char> = text.chars().collect();
    let mut at = 0;
    while at < code.len() {
        // Range to blank, and index at which to continue.
        let (from, to, next) = match (code[at], code.get(at + 1)) {
            ('/', Some('/')) => {
                let end = at + code[at..].iter().take_while(|c| **c != '\n').count();
                (at, end, end)
            }
            ('/', Some('*')) => {
                let end = end_of_comment(&code, at);
                (at, end, end)
            }
            ('"', _) => {
                let end = end_of_string(&code, at);
                (at + 1, end, end + 1)
            }
            ('r', Some('"' | '#')) if !in_word(&code, at) => match raw_string(&code, at) {
                Some((inside, end)) => (inside, end, end + 1),
                None => (at, at, at + 1),
            },
            // A character literal, not a lifetime.
            ('\'', Some('\\')) => {
                let rest = code.get(at + 3..).unwrap_or_default();
                let end = at + 3 + rest.iter().take_while(|c| **c != '\'').count();
                (at + 1, end, end + 1)
            }
            ('\'', _) if code.get(at + 2) == Some(&'\'') => (at + 1, at + 2, at + 3),
            _ => (at, at, at + 1),
        };
        blank(&mut code, from, to);
        at = next;
    }
    code
}

/// True if the letter at `at` is not the first of its word; `b` and `c` may precede strings.
fn in_word(code: &[char], at: usize) -> bool {
    let letter = |at: usize| code.get(at).is_some_and(|c| c.is_alphanumeric() || *c == '_');
    match at.checked_sub(1) {
        None => false,
        Some(before) if matches!(code[before], 'b' | 'c') => before > 0 && letter(before - 1),
        Some(before) => letter(before),
    }
}

/// Returns the index of the quote that closes the one at `at`.
fn end_of_string(code: &[char], at: usize) -> usize {
    let mut i = at + 1;
    while i < code.len() && code[i] != '"' {
        i += if code[i] == '\\' { 2 } else { 1 };
    }
    i
}

/// Returns the beginning of the raw string at `at`, and the index of the quote that closes it.
fn raw_string(code: &[char], at: usize) -> Option<(usize, usize)> {
    let hashes = code[at + 1..].iter().take_while(|c| **c == '#').count();
    let inside = at + 2 + hashes;
    (code.get(inside - 1) == Some(&'"')).then_some(())?;
    let closes = |i: usize| {
        code[i] == '"' && code[i + 1..].iter().take_while(|c| **c == '#').count() >= hashes
    };
    Some((inside, (inside..code.len()).find(|&i| closes(i)).unwrap_or(code.len())))
}

/// Returns the index after a comment in `/*` and `*/`, which may contain others.
fn end_of_comment(code: &[char], at: usize) -> usize {
    let (mut depth, mut i) = (0, at);
    while i < code.len() {
        match (code[i], code.get(i + 1)) {
            ('/', Some('*')) => {
                depth += 1;
                i += 2;
            }
            ('*', Some('/')) => {
                depth -= 1;
                i += 2;
                if depth == 0 {
                    return i;
                }
            }
            _ => i += 1,
        }
    }
    i
}

/// Returns the static items and other globals that are not immutable tables, as written.
pub fn globals(code: &str) -> Vec<String> {
    // A `LazyLock` counts as an immutable table, because its value depends on the code alone. The
    // value of a `OnceLock` depends on the first caller.
    const CHANGEABLE: [&str; 6] = ["Cell", "Mutex", "RwLock", "Atomic", "OnceLock", "Once"];
    let mut found = Vec::new();
    for word in ["thread_local!", "lazy_static!"] {
        if code.contains(word) {
            found.push(word.to_string());
        }
    }
    for (at, _) in code.match_indices("static ") {
        let before = code[..at].chars().next_back();
        // `'static` is a lifetime.
        if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '\'')) {
            continue;
        }
        let item = code[at..].split(['=', ';']).next().unwrap_or("");
        if item.starts_with("static mut ") || CHANGEABLE.iter().any(|word| item.contains(word)) {
            found.push(item.trim_end().to_string());
        }
    }
    found
}

/// Returns the words of `banned` that the code contains.
pub fn uses<'a>(code: &str, banned: &[&'a str]) -> Vec<&'a str> {
    banned.iter().copied().filter(|word| code.contains(word)).collect()
}

/// Returns the names that the code takes from the root of the crate `name`, also by `use name::{...}`:
/// the first words of the paths.
pub fn names_from(code: &str, name: &str) -> Vec<String> {
    let first = |path: &str| -> String {
        path.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let mut found = Vec::new();
    for after in code.split(&format!("{name}::")).skip(1) {
        let Some(group) = after.strip_prefix('{') else {
            found.push(first(after));
            continue;
        };
        let (mut depth, mut start) = (0, 0);
        for (at, c) in group.char_indices() {
            match c {
                '{' => depth += 1,
                ',' | '}' if depth == 0 => {
                    found.push(first(&group[start..at]));
                    start = at + 1;
                    if c == '}' {
                        break;
                    }
                }
                '}' => depth -= 1,
                _ => {}
            }
        }
    }
    found.retain(|name| !name.is_empty());
    found
}

/// True if the code has `word` with no letter, digit or underscore beside it.
pub fn has_word(code: &str, word: &str) -> bool {
    let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    code.match_indices(word).any(|(at, _)| {
        let (before, after) = (&code[..at], &code[at + word.len()..]);
        !is_letter(before.chars().next_back()) && !is_letter(after.chars().next())
    })
}

/// Returns the headings that the documentation of a scheme or queue lacks.
pub fn missing_headings(text: &str) -> Vec<&'static str> {
    const HEADINGS: [&str; 5] =
        ["# What it does", "# Signals it needs", "# Parameters", "# Where it fails", "# Source"];
    let has = |heading: &str| {
        let lines = text.lines().filter_map(|line| line.strip_prefix("//! "));
        lines.into_iter().any(|line| line == heading)
    };
    HEADINGS.into_iter().filter(|heading| !has(heading)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn squeezed(text: &str) -> String {
        shipped(text).code.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn only_what_follows_the_attribute_is_left_out() {
        for (text, left) in [
            ("use a;\n#[cfg(test)]\nmod tests;\nuse std::fs;", "use a; use std::fs;"),
            ("#[cfg(test)]\nmod tests { fn f() { if a {} } }\nfn g() {}", "fn g() {}"),
            ("#[cfg(test)]\nuse a::{b, c};\nuse d;", "use d;"),
            ("#[cfg(test)]\npub(crate) mod testing;\nmod b;", "mod b;"),
            ("#[cfg(test)]\nfn f(a: [u8; 3]) -> u8 { a[0] }\nfn g() {}", "fn g() {}"),
            ("#[cfg(test)]\nconst A: B = B { c: 1 };\nconst D: u8 = 1;", "const D: u8 = 1;"),
            ("#[cfg(test)]\nconst fn f() { a }\nfn g() {}", "fn g() {}"),
            ("#[cfg(test)]\n#[path = \"t.rs\"]\nmod tests;\nmod b;", "mod b;"),
            ("impl A { #[cfg(test)] fn f() {} fn g() {} }", "impl A { fn g() {} }"),
            ("struct A { #[cfg(test)] a: Vec<u8>, b: u8 }", "struct A { b: u8 }"),
            ("#[cfg(test)]\nuse a;\n#[cfg(test)]\nuse b;\nuse c;", "use c;"),
        ] {
            assert_eq!(squeezed(text), left, "{text}");
        }
    }

    #[test]
    fn comments_and_strings_are_left_out() {
        for (text, left) in [
            ("// HashMap\nfn f() {}", "fn f() {}"),
            ("/* HashMap /* { */ */ fn f() {}", "fn f() {}"),
            ("let a = \"std::fs \\\" {\"; b", "let a = \" \"; b"),
            ("let a = r#\"unsafe \" {\"#; b", "let a = r#\" \"#; b"),
            ("let a = '{'; let b = '\\''; c", "let a = ' '; let b = ' '; c"),
            ("fn f<'a>(a: &'a str) {} // '", "fn f<'a>(a: &'a str) {}"),
            ("for r in a {} b // x", "for r in a {} b"),
            ("let a = b'\"'; \"std\" c", "let a = b' '; \" \" c"),
        ] {
            assert_eq!(squeezed(text), left, "{text}");
        }
        // An attribute inside a string or a comment does not count.
        assert_eq!(
            squeezed("a(\"#[cfg(test)]\"); b // #[cfg(test)]\nuse c;"),
            "a(\" \"); b use c;"
        );
    }

    #[test]
    fn lines_keep_their_numbers() {
        let text = "// a\n#[cfg(test)]\nmod tests {\n    b\n}\nlet a = \"\n\n\"; /*\n*/ c\n";
        let code = shipped(text).code;
        assert_eq!(code.lines().count(), text.lines().count());
        assert_eq!(code.lines().nth(8), Some("   c"));
    }

    #[test]
    fn files_that_are_only_for_tests_are_named() {
        let text =
            "#[cfg(test)]\nmod fuzz;\nmod a;\n#[cfg(test)]\n#[path = \"b_tests.rs\"]\nmod tests;
                    #[cfg(test)]\npub(crate) mod testing;\n#[cfg(test)]\nmod inside { mod c; }";
        let name = |name: &str| TestModule::Name(name.to_string());
        let expected = [name("fuzz"), TestModule::Path("b_tests.rs".to_string()), name("testing")];
        assert_eq!(shipped(text).test_modules, expected);
    }

    #[test]
    fn globals_are_found() {
        for text in [
            "static mut A: u8 = 1;",
            "pub static A: Mutex<u8> = Mutex::new(1);",
            "fn f() { static MADE: [OnceLock<u8>; 4] = x; }",
            "static A: AtomicU64 = AtomicU64::new(0);",
            "thread_local! { }",
            "static A: std::sync::LazyLock<Mutex<u8>> = x;",
        ] {
            assert!(!globals(&shipped(text).code).is_empty(), "{text}");
        }
        for text in [
            "pub static SCHEMES: &[Scheme] = &[];",
            "static A: std::sync::LazyLock<u8> = x;",
            "static A: &'static str = \"Mutex\";",
            "fn f(a: &'static Cell<u8>) {}",
            "fn non_static (a: Cell<u8>) {}",
            "#[cfg(test)]\nstatic A: Mutex<u8> = x;",
        ] {
            assert_eq!(globals(&shipped(text).code), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn missing_headings_are_named() {
        let text = "//! A queue.\n//!\n//! # What it does\n//! # Signals it needs\n//! # Parameters\n\
                    //! # Where it fails\n";
        assert_eq!(missing_headings(text), ["# Source"]);
        assert!(missing_headings(&format!("{text}//! # Source\n")).is_empty());
    }

    #[test]
    fn names_from_a_crate_are_found_in_groups() {
        let code = "use a::b::c; use a::{d, e::{f, g},\n  h as i, \n}; a::j::k(); use x::{a, l};";
        assert_eq!(names_from(code, "a"), ["b", "d", "e", "h", "j"]);
    }

    #[test]
    fn words_are_found_whole() {
        assert!(has_word("use ring::hmac;", "ring") && has_word("a_ring ring", "ring"));
        assert!(!has_word("string.rings(my_ring)", "ring"));
    }

    #[test]
    fn banned_words_are_found_in_what_ships() {
        let text = "#[cfg(test)]\nmod tests;\n\nfn f() { std::fs::read() }";
        assert_eq!(uses(&shipped(text).code, &["std::net", "std::fs"]), ["std::fs"]);
        let text = "#[cfg(test)]\nmod tests { use std::fs; }";
        assert_eq!(uses(&shipped(text).code, &["std::fs"]), [""; 0]);
    }
}
