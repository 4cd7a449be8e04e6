//! Checks that start other programs, each for a limited time.

use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::verdict::Verdict;

/// Longest time for a program.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time between two looks whether a program has ended.
const LOOK: Duration = Duration::from_millis(5);

/// The end of a program.
struct Ended {
    succeeded: bool,
    out: String,
    err: String,
}

/// Runs a program without input and returns its output.
///
/// # Errors
/// The program cannot be started, or does not end in time.
fn run(command: &mut Command) -> Result<Ended, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("{name}: {error}"))?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    // Reads both at the same time: a full pipe would stop the program.
    let reader = thread::spawn(move || text(out));
    let errors = thread::spawn(move || text(err));
    let end = Instant::now() + PATIENCE;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < end => thread::sleep(LOOK),
            Ok(None) => {
                // It may have ended meanwhile.
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("{name}: has not ended after {} s", PATIENCE.as_secs()));
            }
            Err(error) => return Err(format!("{name}: {error}")),
        }
    };
    let text = |reader: thread::JoinHandle<String>| reader.join().unwrap_or_default();
    Ok(Ended { succeeded: status.success(), out: text(reader), err: text(errors) })
}

fn text(pipe: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        // An error is the end of the text.
        let _ = pipe.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).trim().to_string()
}

/// Joins the lines of a message, without the words with which this program begins messages.
fn joined(message: &str) -> String {
    let lines = message.lines().map(|line| {
        let line = line.trim();
        line.strip_prefix("error: ").or_else(|| line.strip_prefix("warning: ")).unwrap_or(line)
    });
    lines.collect::<Vec<_>>().join("; ")
}

/// Starts an emulator of this program around a program that ends at once.
pub(super) fn emulator() -> (Verdict, String) {
    let program = match crate::host::program() {
        Ok(program) => program,
        Err(problem) => return (Verdict::Limited, problem),
    };
    let mut command = Command::new(&program);
    command.args(["delay", "1ms", "-q", "--"]).arg(&program).arg("--version").env("NO_COLOR", "1");
    match run(&mut command) {
        Ok(ended) if ended.succeeded && ended.err.is_empty() => {
            (Verdict::Ok, "`paceline delay 1ms` ran a program".into())
        }
        Ok(ended) if ended.succeeded => (Verdict::Limited, joined(&ended.err)),
        Ok(ended) => (Verdict::Missing, joined(&ended.err)),
        Err(problem) => (Verdict::Missing, problem),
    }
}

/// Imports the Python package, and returns its version.
///
/// # Errors
/// There is no Python, or no package: with the remedy.
pub(super) fn python() -> Result<String, String> {
    if find("python3").is_none() {
        return Err("there is no python3: sudo apt-get install python3".into());
    }
    let mut command = Command::new("python3");
    command.args(["-c", "import paceline; print(paceline.__version__, paceline.__file__)"]);
    let ended = run(&mut command)?;
    if ended.succeeded {
        return Ok(ended.out);
    }
    let cause = ended.err.lines().last().unwrap_or("python3 says nothing").to_string();
    Err(format!("{cause}: in the source tree, make wheel && pip install target/wheels/*.whl"))
}

/// Returns the path of a program in `$PATH`.
pub(super) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_lose_their_first_word_and_become_one_line() {
        assert_eq!(joined("error: no tun\n  do this\n"), "no tun; do this");
        assert_eq!(joined("warning: a\nwarning: b"), "a; b");
    }

    #[test]
    fn a_program_that_does_not_exist_is_named() {
        let error = run(&mut Command::new("/no/such/program")).err().expect("an error");
        assert!(error.starts_with("/no/such/program: "), "{error}");
        let ended = run(Command::new("sh").args(["-c", "echo a; echo b >&2; exit 3"]));
        let ended = ended.expect("it ends");
        assert!(!ended.succeeded && ended.out == "a" && ended.err == "b");
    }
}
