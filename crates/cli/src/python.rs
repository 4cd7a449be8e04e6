//! Controllers in Python: finds the files and classes that a command names, and hands the command to the Python
//! package, which runs it with these classes as schemes.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::output::{self, Error};
use crate::registries;

/// Interpreters that are tried, in order.
const INTERPRETERS: [&str; 2] = ["python3", "python"];

/// Largest scenario file that is searched for classes, in bytes.
const LARGEST: u64 = 16 << 20;

/// A controller in Python that a command names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PythonScheme {
    /// The text in the command line or the scenario: `./mine.py`, `./mine.py:Class`, `module:Class`.
    pub text: String,
    /// That text with the file's path relative to the working directory.
    pub place: String,
}

/// Returns the part of a scheme's text that names a Python file or class, without parameters and queue.
pub(crate) fn python_part(text: &str) -> Option<&str> {
    let text = text.trim();
    let ends_name = |rest: &str| rest.is_empty() || rest.starts_with(['[', '+']);
    for (at, found) in text.match_indices(".py") {
        let end = at + found.len();
        let rest = &text[end..];
        if ends_name(rest) {
            return Some(&text[..end]);
        }
        if let Some(class) = rest.strip_prefix(':') {
            let length = class.find(['[', '+']).unwrap_or(class.len());
            return is_identifier(&class[..length]).then(|| &text[..end + 1 + length]);
        }
    }
    let (module, class) = text.split_once(':')?;
    let class = &class[..class.find(['[', '+']).unwrap_or(class.len())];
    let is_class = module.split('.').all(is_identifier)
        && is_identifier(class)
        && !registries::names().transports.has(module);
    is_class.then(|| &text[..module.len() + 1 + class.len()])
}

/// Returns true if a text can be a name in Python.
fn is_identifier(text: &str) -> bool {
    let is_letter = |c: char| c.is_alphabetic() || c == '_';
    text.starts_with(is_letter) && text.chars().all(|c| is_letter(c) || c.is_numeric())
}

/// Returns the Python files and classes that a command line names as schemes, each once. `arguments` begin with the
/// program's name. Those of scenario files are relative to the file's folder.
pub fn python_schemes(arguments: &[OsString]) -> Vec<PythonScheme> {
    let words: Vec<String> =
        arguments.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let Some((command, words)) = words.split_first() else { return Vec::new() };
    let mut found: Vec<PythonScheme> = Vec::new();
    let mut add = |text: &str, folder: Option<&Path>| {
        for part in paceline_cc::spec::split_list(text)
            .unwrap_or_default()
            .into_iter()
            .filter_map(python_part)
        {
            let place = match folder.filter(|_| part.contains(".py")) {
                Some(folder) => folder.join(part).display().to_string(),
                None => part.to_string(),
            };
            if found.iter().all(|known| known.text != part) {
                found.push(PythonScheme { text: part.to_string(), place });
            }
        }
    };
    match command.as_str() {
        "compare" => of_option(words, "--schemes").for_each(|value| add(value, None)),
        "contest" => of_option(words, "--entries").for_each(|value| add(value, None)),
        "evaluate" => {
            words.iter().filter(|word| !word.starts_with('-')).for_each(|word| add(word, None))
        }
        "run" | "sweep" => {
            for file in words.iter().filter(|word| !word.starts_with('-')).map(PathBuf::from) {
                let Some(table) = table_of(&file) else { continue };
                // A sweep names its scenario, and paths in its values are relative to the scenario's file.
                let scenario = match table.get("scenario") {
                    Some(toml::Value::String(name)) if command == "sweep" => {
                        file.with_file_name(name)
                    }
                    _ => file.clone(),
                };
                let inner = (scenario != file).then(|| table_of(&scenario)).flatten();
                let folder = scenario.parent().filter(|folder| *folder != Path::new(""));
                for table in [Some(table), inner].into_iter().flatten() {
                    let mut texts = Vec::new();
                    values_of_schemes(&toml::Value::Table(table), &mut texts);
                    texts.iter().for_each(|text| add(text, folder));
                }
            }
        }
        _ => {}
    }
    found
}

/// Returns the values of an option, written as `--name value` or `--name=value`.
fn of_option<'a>(words: &'a [String], name: &'a str) -> impl Iterator<Item = &'a str> {
    let value = move |(at, word): (usize, &'a String)| match word.strip_prefix(name) {
        Some("") => words.get(at + 1).map(String::as_str),
        Some(rest) => rest.strip_prefix('='),
        None => None,
    };
    words.iter().enumerate().filter_map(value)
}

/// Returns the table of a TOML file; `None` if it is no such file, about which the command then has its own error.
fn table_of(file: &Path) -> Option<toml::Table> {
    let is_toml = file.extension().is_some_and(|extension| extension == "toml");
    let bytes = is_toml.then(|| output::read(file, LARGEST).ok()).flatten()?;
    String::from_utf8(bytes).ok()?.parse().ok()
}

/// Collects all values of keys `scheme`, and the lists of keys that end with it in a sweep: `"flow.*.scheme" = [...]`.
fn values_of_schemes(value: &toml::Value, found: &mut Vec<String>) {
    let is_scheme = |key: &str| key.rsplit('.').next() == Some("scheme");
    match value {
        toml::Value::Table(table) => {
            for (key, value) in table {
                match value {
                    toml::Value::String(text) if is_scheme(key) => found.push(text.clone()),
                    toml::Value::Array(list) if is_scheme(key) => {
                        found.extend(list.iter().filter_map(|one| Some(one.as_str()?.to_string())));
                    }
                    value => values_of_schemes(value, found),
                }
            }
        }
        toml::Value::Array(list) => list.iter().for_each(|value| values_of_schemes(value, found)),
        _ => {}
    }
}

/// Runs the command `arguments`, which names these schemes, with `python -m paceline`.
///
/// # Errors
/// A file does not exist, no Python interpreter has the package in this version, or the command has failed.
pub(crate) fn run(arguments: &[OsString], schemes: &[PythonScheme]) -> Result<(), Error> {
    for PythonScheme { place, .. } in schemes {
        // `./mine.py:Class` has the class behind the file's name.
        let file = place.rfind(".py").map(|at| &place[..at + 3]);
        if let Some(file) = file.filter(|file| !Path::new(file).is_file()) {
            return Err(Error::Usage(format!("{file}: there is no such file")));
        }
    }
    let interpreter = interpreter(&schemes[0].text)?;
    let status = Command::new(interpreter)
        .args(["-m", "paceline"])
        .args(&arguments[1..])
        .status()
        .map_err(|source| Error::Message(format!("{interpreter}: {source}")))?;
    match status.code() {
        Some(0) => Ok(()),
        // The package has printed its own error.
        Some(code) => std::process::exit(code),
        None => Err(Error::Message(format!("{interpreter} was ended by a signal"))),
    }
}

/// Returns the first interpreter that has this version of the package.
fn interpreter(scheme: &str) -> Result<&'static str, Error> {
    let version = env!("CARGO_PKG_VERSION");
    let mut problems = Vec::new();
    for interpreter in INTERPRETERS {
        let mut command = Command::new(interpreter);
        command.args(["-c", "import paceline, paceline.__main__; print(paceline.__version__)"]);
        let Ok(output) = command.stdin(Stdio::null()).output() else {
            continue;
        };
        let said = String::from_utf8_lossy(&output.stdout).trim().to_string();
        if output.status.success() && said == version {
            return Ok(interpreter);
        }
        let error = String::from_utf8_lossy(&output.stderr);
        let error = error.trim().lines().last().unwrap_or("it cannot import paceline").to_string();
        problems.push(match output.status.success() {
            true => format!("{interpreter} has version {said}"),
            false => format!("{interpreter} says: {error}"),
        });
    }
    if problems.is_empty() {
        problems.push("there is no Python".into());
    }
    Err(Error::Usage(format!(
        "{scheme}: a controller in Python needs the Python package in version {version} ({}); build it in the source tree with \
         `make wheel`, and install it with `pip install target/wheels/*.whl` in a virtual environment that is active here",
        problems.join(", ")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_python_schemes_end_before_the_queue() {
        for (text, part) in [
            ("./mine.py", Some("./mine.py")),
            ("mine.py:Mine", Some("mine.py:Mine")),
            (" c++/mine.py:Mine+codel[target=5ms]", Some("c++/mine.py:Mine")),
            ("mine.py+codel", Some("mine.py")),
            ("pack.age:Mine+codel", Some("pack.age:Mine")),
            ("mine.pyc", None),
            ("mine.py:1", None),
            ("linux:cubic", None),
            ("cubic+codel[target=50ms]", None),
            ("12Mbps:3", None),
            ("", None),
        ] {
            assert_eq!(python_part(text), part, "{text}");
        }
    }

    #[test]
    fn commands_name_schemes_in_their_options_and_files() {
        let found = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let found = python_schemes(&words);
            found.into_iter().map(|one| (one.text, one.place)).collect::<Vec<_>>()
        };
        let both = |text: &str| (text.to_string(), text.to_string());
        assert_eq!(
            found("paceline compare --schemes abc[dt=60ms],./a.py,b:C -o d.py --schemes=./a.py"),
            [both("./a.py"), both("b:C")]
        );
        assert_eq!(found("paceline evaluate cubic a.py --only x"), [both("a.py")]);
        assert_eq!(
            found("paceline contest --entries ./a.py+codel,copa[delta=0.1|0.5] --duration 1s"),
            [both("./a.py")]
        );
        assert_eq!(found("paceline trace info a.py"), []);
        assert_eq!(found("paceline"), []);
        let folder = std::env::temp_dir().join(format!("paceline-python-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let file = folder.join("s.toml");
        let text = "[[flow]]\nscheme = \"./a.py:A\"\n[[flow]]\nscheme = \"cubic\"\n";
        std::fs::write(&file, text).expect("a file");
        let seen = found(&format!("paceline run {}", file.display()));
        let sweep = folder.join("sweep.toml");
        let text = "scenario = \"s.toml\"\n[grid]\n\"flow.*.scheme\" = [\"./b.py\", \"bbr\"]\n";
        std::fs::write(&sweep, text).expect("a file");
        let swept = found(&format!("paceline sweep {} -o out", sweep.display()));
        let texts: Vec<&str> = swept.iter().map(|(text, _)| text.as_str()).collect();
        assert_eq!(texts, ["./b.py", "./a.py:A"]);
        assert_eq!(Path::new(&swept[0].1), folder.join("./b.py"));
        std::fs::remove_dir_all(&folder).expect("removed");
        assert_eq!(seen.len(), 1);
        assert_eq!(seen[0].0, "./a.py:A");
        assert_eq!(Path::new(&seen[0].1), folder.join("./a.py:A"));
    }
}
