//! `paceline new`: a controller, a scenario or a trace of your own, to begin with.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use paceline_schemes::registry;

use super::scenario;
use crate::names::quoted;
use crate::output::{self, Error};

/// The Python controller; `NAME.py` in it stands for the file's name, `Mine` for the class's.
const PYTHON: &str = include_str!("../../templates/controller.py");
/// The Rust project: `examples/workbench` of the tree, which tests build and run. `mine` is its scheme.
const RUST_MAIN: &str = include_str!("../../templates/rust_main.rs");
const RUST_MINE: &str = include_str!("../../templates/rust_mine.rs");
/// Names of classes that the Python file cannot have: those of keywords, and of what it imports.
const TAKEN: [&str; 4] = ["Plan", "None", "True", "False"];
/// Crates on which the project depends.
const RUST_CRATES: [&str; 4] = ["cc", "cli", "path", "schemes"];
/// The place of the crates for those who have no tree.
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");

const TRACE: &str = "\
time_ms,mbps
0,12
5000,3
8000,0.5
9000,12
15000,12
";

#[derive(Subcommand)]
#[command(after_help = "\
Nothing is replaced: a file or folder that exists is an error.

Examples:
  paceline new controller mine
  paceline new controller mine --rust --tree ../paceline
  paceline new scenario fairness -o mine.toml
  paceline new trace ride")]
pub(crate) enum New {
    /// Write a congestion controller that runs: a Python file, or a Rust project
    Controller(Controller),
    /// Print an example scenario, or write it into a file: `paceline scenario new`
    Scenario(scenario::New),
    /// Write a table of a link's capacity over time
    Trace(Trace),
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline new controller mine
  paceline new controller mine --rust
  paceline new controller mine --rust --tree ../paceline")]
pub(crate) struct Controller {
    /// Its name: NAME.py is written, or the folder NAME; the scheme has this name in small letters
    name: String,
    /// Write a Rust project instead of a Python file
    #[arg(long)]
    rust: bool,
    /// The folder of Paceline's source, relative to the working directory; without it, Cargo gets
    /// the source from its repository
    #[arg(long, value_name = "DIR", requires = "rust")]
    tree: Option<PathBuf>,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline new trace ride
  paceline compare --trace ride.csv")]
pub(crate) struct Trace {
    /// Its name: NAME.csv is written
    name: String,
}

impl New {
    pub(crate) fn run(self) -> Result<(), Error> {
        match self {
            New::Controller(controller) if controller.rust => controller.rust(),
            New::Controller(controller) => {
                let file = with_extension(&controller.name, "py")?;
                let name = file.display().to_string();
                let class = class_name(&file)?;
                let scheme = class.to_lowercase();
                free(&name, &scheme)?;
                write_new(&file, &PYTHON.replace("Mine", &class).replace("NAME.py", &name))?;
                let path = if file.is_absolute() { name.clone() } else { format!("./{name}") };
                let run = command(&["compare", "--schemes", &format!("{path},cubic")]);
                output::note(&format!(
                    "wrote {name} with the scheme `{scheme}`; `{run}` runs it, with the Python package (docs/python.md)"
                ));
                Ok(())
            }
            New::Scenario(new) => new.run(),
            New::Trace(trace) => {
                let file = with_extension(&trace.name, "csv")?;
                write_new(&file, TRACE)?;
                let name = file.display().to_string();
                output::note(&format!(
                    "wrote {name}; the last rate holds as long as the one before it. `{}` shows it, `{}` uses it",
                    command(&["trace", "info", &name]),
                    command(&["compare", "--trace", &name])
                ));
                Ok(())
            }
        }
    }
}

/// Returns a command to type, with quotes where a shell needs them.
fn command(arguments: &[&str]) -> String {
    quoted(arguments.iter().map(OsString::from))
}

/// Returns the file of this name, with the extension if the name has none.
fn with_extension(name: &str, extension: &str) -> Result<PathBuf, Error> {
    let path = PathBuf::from(name);
    match path.extension() {
        None if path.file_name().is_some() => Ok(path.with_extension(extension)),
        Some(found) if found == extension => Ok(path),
        _ => Err(Error::Usage(format!(
            "`{name}`: expected a name such as mine, or mine.{extension}"
        ))),
    }
}

/// Returns the name of the class in a Python file: `MyDelay` for my_delay.py.
fn class_name(file: &Path) -> Result<String, Error> {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_name =
        stem.starts_with(|c: char| c.is_ascii_alphabetic()) && stem.chars().all(is_letter);
    let class: String = stem.split('_').map(capitalized).collect();
    match is_name && stem != "paceline" && !TAKEN.contains(&&*class) {
        true => Ok(class),
        false => Err(Error::Usage(format!(
            "`{stem}`: a controller in Python has a name of letters, digits and _ that Python leaves free, such as my_controller"
        ))),
    }
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters
        .next()
        .map_or(String::new(), |first| first.to_ascii_uppercase().to_string() + letters.as_str())
}

/// Checks that no scheme of the command has the name of the new one.
fn free(written: &str, scheme: &str) -> Result<(), Error> {
    match registry::builtin().get(scheme) {
        None => Ok(()),
        Some(_) => Err(Error::Usage(format!(
            "`{written}`: there is a scheme `{scheme}` already; take another name, such as my_{scheme}"
        ))),
    }
}

fn write_new(path: &Path, text: &str) -> Result<(), Error> {
    if path.exists() {
        return Err(Error::Usage(format!(
            "{}: there is such a file; name another one, or remove it",
            path.display()
        )));
    }
    output::write_file(path, text.as_bytes())
}

impl Controller {
    fn rust(&self) -> Result<(), Error> {
        let name = &self.name;
        let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
        if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(is_letter) {
            return Err(Error::Usage(format!(
                "`{name}`: a Rust project has a name of lower-case letters, digits, - and _, such as my-controller"
            )));
        }
        // Names of crates may have a hyphen, those of schemes may not.
        let scheme = name.replace('-', "_");
        free(name, &scheme)?;
        let dependencies = RUST_CRATES
            .map(|one| Ok(format!("paceline-{one} = {{ {} }}\n", self.dependency(one)?)))
            .into_iter()
            .collect::<Result<String, Error>>()?;
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n\
             {dependencies}\n[workspace]\n"
        );
        let folder = Path::new(name);
        if folder.exists() {
            return Err(Error::Usage(format!("{name}: it exists; name another one, or remove it")));
        }
        output::write(folder, "Cargo.toml", &manifest)?;
        let main = RUST_MAIN
            .replace("cargo run -p paceline-workbench --", "cargo run --release --")
            .replace("'mine[", &format!("'{scheme}["))
            .replace("schemes mine\n", &format!("schemes {scheme}\n"))
            .replace("`mine`", &format!("`{scheme}`"))
            .replace("\"mine\"", &format!("\"{scheme}\""));
        output::write(&folder.join("src"), "main.rs", &main)?;
        let mine = RUST_MINE.replace("`mine`", &format!("`{scheme}`"));
        output::write(&folder.join("src"), "mine.rs", &mine)?;
        output::note(&format!(
            "wrote {name}/Cargo.toml, {name}/src/main.rs, {name}/src/mine.rs: every command of paceline, with the scheme \
             `{scheme}`. `cd {name} && cargo run --release -- compare --schemes {scheme},cubic -o out` writes a page; the first \
             build takes minutes"
        ));
        Ok(())
    }

    /// Returns the source of a crate in Cargo's words.
    fn dependency(&self, name: &str) -> Result<String, Error> {
        let Some(tree) = &self.tree else { return Ok(format!("git = \"{REPOSITORY}\"")) };
        let place = tree.join("crates").join(name);
        let place = place.canonicalize().ok().filter(|place| place.join("Cargo.toml").is_file());
        let place = place.ok_or_else(|| {
            Error::Usage(format!(
                "--tree {}: this is not Paceline's source: there is no crates/{name}/Cargo.toml in it",
                tree.display()
            ))
        })?;
        // A literal string of TOML has no escapes.
        Ok(format!("path = '{}'", place.display()))
    }
}
