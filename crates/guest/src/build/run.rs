//! Runs programs of a build, in an environment that does not change their results.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use super::error::{BuildError, at};

/// Environment variables by which a caller, such as another `make`, would change the build.
const UNWANTED: [&str; 14] = [
    "ARCH",
    "CROSS_COMPILE",
    "SUBARCH",
    "KCFLAGS",
    "KAFLAGS",
    "KCPPFLAGS",
    "LDFLAGS",
    "LOCALVERSION",
    "MAKEFLAGS",
    "MFLAGS",
    "MAKELEVEL",
    "GNUMAKEFLAGS",
    "C_INCLUDE_PATH",
    "CPATH",
];

/// Returns a command for a program of the build.
pub(super) fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    for name in UNWANTED {
        command.env_remove(name);
    }
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("KBUILD_") || text.starts_with("KCONFIG_") || text.starts_with("LC_") {
            command.env_remove(&name);
        }
    }
    command.env("LC_ALL", "C").env("TZ", "UTC").stdin(Stdio::null());
    command
}

/// Runs a program to its end, writes its output to the file `log`, and calls `see` with each line.
///
/// # Errors
/// The program cannot be started or fails; the error has the lines with the cause, and the log's
/// name.
pub(super) fn run(
    mut command: Command,
    doing: &str,
    log: &Path,
    see: &mut dyn FnMut(&str),
) -> Result<(), BuildError> {
    let name = command.get_program().to_string_lossy().into_owned();
    let broken = |error| BuildError::Failed(format!("{doing}: {name} cannot be run: {error}"));
    let mut kept = File::create(log).map_err(at(log))?;
    let (reader, writer) = std::io::pipe().map_err(broken)?;
    let second = writer.try_clone().map_err(broken)?;
    let mut child = command.stdout(writer).stderr(second).spawn().map_err(broken)?;
    // The command holds the pipe's write ends: unless it is dropped, reading never ends.
    drop(command);
    let mut lines = Vec::new();
    for line in BufReader::new(reader).split(b'\n') {
        let line = line.map_err(broken)?;
        let line = String::from_utf8_lossy(&line).into_owned();
        // If the disk is full, the program itself fails.
        let _ = writeln!(kept, "{line}");
        see(&line);
        lines.push(line);
    }
    let status = child.wait().map_err(broken)?;
    if status.success() {
        return Ok(());
    }
    Err(BuildError::Failed(format!(
        "{doing}: {name} has failed ({status}).\n{}\nAll that it printed: {}",
        causes(&lines),
        log.display()
    )))
}

/// Returns the lines with the cause: those with an error and its place, or else the last ones.
fn causes(lines: &[String]) -> String {
    let is_cause = |line: &&String| {
        let line = line.as_str();
        !line.starts_with("make")
            && ["error:", "ERROR:", "undefined reference", "No space left", "fatal:"]
                .iter()
                .any(|word| line.contains(word))
    };
    let mut found: Vec<_> = lines.iter().filter(is_cause).take(12).map(String::as_str).collect();
    if found.is_empty() {
        found = lines[lines.len().saturating_sub(8)..].iter().map(String::as_str).collect();
    }
    found.join("\n")
}

/// Returns a program's output, without white space around it.
///
/// # Errors
/// The program cannot be started or fails; the error is its standard error.
pub(super) fn output(mut command: Command) -> Result<String, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_string();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(text(&output.stderr)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_shows_its_cause_and_where_the_rest_is() {
        let log = std::env::temp_dir().join(format!("paceline-run-{}.log", std::process::id()));
        let shell = |script: &str| {
            let mut command = command("sh");
            command.args(["-c", script]);
            command
        };
        let mut seen = Vec::new();
        let mut see = |line: &str| seen.push(line.to_string());
        run(shell("echo one; echo two >&2"), "a test", &log, &mut see).expect("it ends well");
        assert_eq!(seen, ["one", "two"]);
        let script =
            "echo start; echo 'a.c:3: error: no such thing'; echo 'make: *** Error'; exit 2";
        let error = run(shell(script), "a test", &log, &mut |_| {}).expect_err("status 2");
        let text = error.to_string();
        assert!(text.contains("status: 2") && text.contains("a.c:3: error"), "{text}");
        assert!(!text.contains("start") && text.contains("paceline-run-"), "{text}");
        let error = run(shell("echo last words; exit 1"), "a test", &log, &mut |_| {});
        assert!(error.expect_err("status 1").to_string().contains("last words"));
        let error = run(command("no-such-program"), "a test", &log, &mut |_| {});
        assert!(error.expect_err("none").to_string().contains("cannot be run"));
        std::fs::remove_file(&log).expect("the log");
    }
}
