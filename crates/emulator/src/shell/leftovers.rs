//! Ends processes that a shell has left behind.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use paceline_os::process::shell_status;

use super::shell_id::ShellId;

/// How long programs left over may take to end by themselves.
pub(super) const GRACE: Duration = Duration::from_millis(500);
/// How long to wait between two looks at the children.
const PAUSE: Duration = Duration::from_millis(5);

/// Reaps all children that have ended. Returns the status of `child` if it is among them.
pub(super) fn reap(child: Pid) -> Option<i32> {
    let mut found = None;
    while let Ok(status) = waitpid(None, Some(WaitPidFlag::WNOHANG)) {
        match status.pid() {
            Some(pid) if pid == child => found = shell_status(status),
            Some(_) => {}
            None => break,
        }
    }
    found
}

/// Ends all descendants of this process, whose network is gone; orphans become its children. Sends SIGHUP and SIGTERM
/// first, and SIGKILL after the deadline. Gives up [`GRACE`] after the deadline.
pub(super) fn end_descendants(deadline: Instant) {
    let mut asked = Vec::new();
    loop {
        reap(Pid::from_raw(-1));
        if waitpid(None, Some(WaitPidFlag::WNOHANG)) == Err(nix::Error::ECHILD) {
            return;
        }
        let now = Instant::now();
        // What cannot be killed (a process that the kernel holds) must not hold this one.
        if now >= deadline + GRACE {
            return;
        }
        let late = now >= deadline;
        for (child, _) in children() {
            if late {
                let _ = kill(child, Signal::SIGKILL);
            } else if !asked.contains(&child) {
                let _ = kill(child, Signal::SIGHUP);
                let _ = kill(child, Signal::SIGTERM);
                let _ = kill(child, Signal::SIGCONT);
                asked.push(child);
            }
        }
        std::thread::sleep(PAUSE);
    }
}

/// Returns this process's children with their folders in `/proc`, which may show the numbers of an outer process
/// namespace.
pub(super) fn children() -> Vec<(Pid, PathBuf)> {
    let own = fs::read_link("/proc/self").unwrap_or_default();
    let own = own.to_str().unwrap_or_default().to_string();
    let child = |path: PathBuf| {
        let status = fs::read_to_string(path.join("status")).ok()?;
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
        let parent = field("PPid:")?.trim();
        // As every namespace from the outermost on numbers it; the last is ours.
        let number = field("NSpid:")?.split_whitespace().next_back()?.parse().ok()?;
        (parent == own).then(|| (Pid::from_raw(number), path))
    };
    processes().filter_map(child).collect()
}

/// Returns the folders of all processes that `/proc` shows.
pub(super) fn processes() -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbered = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    entries.filter(move |it| it.file_name().to_str().is_some_and(numbered)).map(|it| it.path())
}

/// Returns the inode of the network namespace of a process; `None` if this process may not read it.
pub(super) fn network_of(process: &Path) -> Option<u64> {
    fs::metadata(process.join("ns/net")).ok().map(|found| found.ino())
}

/// Processes that became the emulator's children because the supervisor was killed.
#[derive(Debug)]
pub(super) struct AdoptedChildren {
    own_network: Option<u64>,
    /// Children that this process had at the start: it may have been a shell that became the emulator.
    before: Vec<Pid>,
}

impl AdoptedChildren {
    /// Notes the children that this process has already. Call it before the first process is started.
    pub(super) fn watch() -> AdoptedChildren {
        // Without this, orphans would become children of the first process.
        let _ = nix::sys::prctl::set_child_subreaper(true);
        let before = children().into_iter().map(|(child, _)| child).collect();
        AdoptedChildren { own_network: network_of(Path::new("/proc/self")), before }
    }

    /// Kills children that are in another network namespace than this process, or whose environment names `shell`,
    /// until there are none or 1 s is over.
    pub(super) fn end(&self, shell: Option<ShellId>) {
        let deadline = Instant::now() + GRACE * 2;
        loop {
            let ours: Vec<Pid> = children()
                .into_iter()
                .filter(|(child, path)| {
                    let network = network_of(path);
                    let away = network.is_some() && network != self.own_network;
                    let marked = || shell.is_some() && ShellId::of(path) == shell;
                    !self.before.contains(child) && (away || marked())
                })
                .map(|(child, _)| child)
                .collect();
            if ours.is_empty() || Instant::now() >= deadline {
                return;
            }
            for child in ours {
                let _ = kill(child, Signal::SIGKILL);
                let _ = waitpid(child, Some(WaitPidFlag::WNOHANG));
            }
            std::thread::sleep(PAUSE);
        }
    }
}
