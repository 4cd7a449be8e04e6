//! Programs that run in real time, in networks of their own: for claims about running systems,
//! which a simulation cannot test.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use paceline_tasks::Record;

/// Text that precedes each script.
const COMMON: &str = include_str!("../live/common.sh");
/// Programs that the scripts run in addition to `paceline`.
const PROGRAMS: [&str; 6] = ["unshare", "bash", "ip", "ping", "seq", "sed"];
/// Longest time in seconds that a script may take in addition to its measurement.
const MARGIN: u64 = 60;
/// Interval at which a running script is checked.
const LOOK: Duration = Duration::from_millis(50);

/// Permission and programs to run scripts in networks of their own.
#[derive(Clone, Debug)]
pub struct Live {
    program: PathBuf,
    /// Options of `unshare`.
    options: Vec<&'static str>,
}

impl Live {
    /// Checks whether this user can make networks of their own; `program` is `paceline`.
    ///
    /// # Errors
    /// A permission or a program is missing.
    pub fn open(program: &Path) -> Result<Live, String> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let has =
            |name: &str| std::env::split_paths(&path).any(|folder| folder.join(name).exists());
        if let Some(missing) = PROGRAMS.into_iter().find(|name| !has(name)) {
            return Err(format!("--live runs the program {missing}, which is not installed"));
        }
        // All processes end with the first one, so that none is left if this program is killed.
        const ALONE: [&str; 6] =
            ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
        let works = |options: &[&str]| {
            let mut command = Command::new("unshare");
            command.args(options).args(["sh", "-c", "exec 3<>/dev/net/tun"]);
            command.stdin(Stdio::null()).output().is_ok_and(|output| output.status.success())
        };
        for first in [None, Some("--map-root-user")] {
            let options: Vec<&str> = first.into_iter().chain(ALONE).collect();
            if works(&options) {
                return Ok(Live { program: program.to_path_buf(), options });
            }
        }
        Err("--live makes networks and TUN devices of its own, which is not allowed here: run it as \
             root, or with user namespaces and a /dev/net/tun that others may open"
            .into())
    }

    /// Runs a script that measures for `seconds`, and calls `read` with its folder.
    ///
    /// # Errors
    /// The script fails or does not end in time, or `read` returns an error.
    pub(crate) fn run(
        &self,
        script: &str,
        seconds: u64,
        variables: &[(&str, &str)],
        read: impl FnOnce(&Files) -> Result<Record, String>,
    ) -> Result<Record, String> {
        let files = Files::new()?;
        let said = files.0.join("said");
        let output =
            fs::File::create(&said).map_err(|error| format!("{}: {error}", said.display()))?;
        let also = output.try_clone().map_err(|error| error.to_string())?;
        let mut command = Command::new("unshare");
        command.args(&self.options).args(["bash", "-c", &format!("{COMMON}\n{script}")]);
        command.env("P", &self.program).env("OUT", &files.0).env("TMPDIR", &files.0);
        command.env("LENGTH", seconds.to_string()).envs(variables.iter().copied());
        for inherited in ["PACELINE_BASE", "PACELINE_BASE6", "PACELINE_NETWORK", "PACELINE_SHELL"] {
            command.env_remove(inherited);
        }
        command.stdin(Stdio::null()).stdout(output).stderr(also);
        let child = command.spawn().map_err(|error| format!("unshare: {error}"))?;
        let ended = wait(child, Duration::from_secs(seconds + MARGIN));
        let said = fs::read_to_string(&said).unwrap_or_default();
        match ended {
            Ok(true) => read(&files).map_err(|problem| with(&problem, &said)),
            Ok(false) => Err(with("the programs have failed", &said)),
            Err(problem) => Err(with(&problem, &said)),
        }
    }
}

/// Returns a problem with the last lines of the programs' output.
fn with(problem: &str, said: &str) -> String {
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines.get(lines.len().saturating_sub(3)..).unwrap_or(&[]).join("; ");
    if last.is_empty() { problem.to_string() } else { format!("{problem}: {last}") }
}

/// Waits for a child, at most for `longest`. Returns true if it succeeded.
fn wait(mut child: Child, longest: Duration) -> Result<bool, String> {
    let start = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status.success()),
            Ok(None) if start.elapsed() < longest => std::thread::sleep(LOOK),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("not over after {} s", longest.as_secs()));
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}

/// The folder of a script; dropping it removes the folder.
pub(crate) struct Files(PathBuf);

impl Files {
    fn new() -> Result<Files, String> {
        let name = |n| format!("paceline-live-{}-{n}", std::process::id());
        // All users share the temporary folder: no other one may write where scripts run.
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        for path in (0..1000).map(|n| std::env::temp_dir().join(name(n))) {
            match builder.create(&path) {
                Ok(()) => return Ok(Files(path)),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(format!("{}: {error}", path.display())),
            }
        }
        Err("there is no name left for a temporary folder".into())
    }

    /// Returns the text of a file.
    pub(crate) fn text(&self, name: &str) -> Result<String, String> {
        fs::read_to_string(self.0.join(name)).map_err(|error| format!("{name}: {error}"))
    }

    /// Returns the number in a file.
    pub(crate) fn number(&self, name: &str) -> Result<f64, String> {
        let text = self.text(name)?;
        text.trim().parse().map_err(|_| format!("{name}: `{}` is no number", text.trim()))
    }

    /// Returns the JSON value in a file.
    pub(crate) fn json(&self, name: &str) -> Result<Value, String> {
        serde_json::from_str(&self.text(name)?).map_err(|error| format!("{name}: {error}"))
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn no_other_user_can_write_where_scripts_run() {
        use std::os::unix::fs::PermissionsExt as _;

        let folder = Files::new().expect("a folder");
        let mode = fs::metadata(&folder.0).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
}
