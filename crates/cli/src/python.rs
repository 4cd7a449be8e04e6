//! `paceline evaluate FILE.py`: hands the command to the Python package, which runs classes.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::output::Error;

/// Interpreters that are tried, in order.
const INTERPRETERS: [&str; 2] = ["python3", "python"];

/// Returns true if an argument is the name of a Python file.
pub(crate) fn is_file(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "py")
}

/// Runs this process's command, which names these schemes and files, with `python -m paceline`.
///
/// # Errors
/// A file does not exist, no Python interpreter has the package, or the command has failed.
pub(crate) fn run(names: &[String]) -> Result<(), Error> {
    if let Some(name) = names.iter().find(|name| is_file(name) && !Path::new(name).is_file()) {
        return Err(Error::Usage(format!("{name}: there is no such file")));
    }
    let has_package = |interpreter: &&str| {
        let mut command = Command::new(interpreter);
        command.args(["-c", "import paceline.__main__"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let Some(interpreter) = INTERPRETERS.into_iter().find(has_package) else {
        return Err(Error::Usage(
            "a Python file needs the Python package, and neither python3 nor python can import \
             paceline; build it in the source tree with `make wheel`, and install it with `pip install \
             target/wheels/*.whl`"
                .into(),
        ));
    };
    let status = Command::new(interpreter)
        .args(["-m", "paceline"])
        .args(std::env::args_os().skip(1))
        .status()
        .map_err(|source| Error::Message(format!("{interpreter}: {source}")))?;
    match status.code() {
        Some(0) => Ok(()),
        // The package has printed its own error.
        Some(code) => std::process::exit(code),
        None => Err(Error::Message(format!("{interpreter} was ended by a signal"))),
    }
}
