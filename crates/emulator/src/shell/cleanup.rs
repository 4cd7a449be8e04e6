//! Undoes what shells have left behind whose processes were all killed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, setns};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpid, getuid};
use paceline_os::RealTimeError;
use paceline_os::namespace::NetworkId;
use paceline_os::process;

use super::leftovers::{network_of, processes};
use super::record::Record;
use super::shell_id::ShellId;

/// How long a supervisor that still runs may take to put things back itself.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long to wait between two looks at `/proc`.
const PAUSE: Duration = Duration::from_millis(10);

/// What [`cleanup`] has found and done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CleanupReport {
    /// Settings and rules that were put back.
    pub undone: Vec<String>,
    /// Rules that could not be removed, and why. The next call tries again.
    pub problems: Vec<String>,
    /// Processes that were killed: number and name.
    pub killed: Vec<String>,
    /// Shells that still run, of which nothing was touched.
    pub running: usize,
    /// Shells that have ended and have changed another network namespace, which still exists: they
    /// can only be undone from there.
    pub elsewhere: usize,
    /// Processes of other users whose environment names a shell that has ended: that proves nothing, since anybody can
    /// write it, and they are left alone.
    pub others: usize,
}

/// Ends the programs of this user's shells that have lost both their emulator and their supervisor,
/// and puts back what these shells have changed in this network namespace. This process should have
/// one thread.
///
/// # Errors
/// The system does not tell which network namespace this is.
pub fn cleanup() -> Result<CleanupReport, RealTimeError> {
    let here = NetworkId::current().map_err(RealTimeError::system("asking for this network"))?;
    let mut cleaned = CleanupReport::default();
    let deadline = Instant::now() + PATIENCE;
    for (place, record) in Record::all() {
        while record.shell.is_over() && record.is_alive() && Instant::now() < deadline {
            std::thread::sleep(PAUSE);
        }
        if record.is_alive() {
            cleaned.running += 1;
            continue;
        }
        let inside = record.inside.filter(|inside| inside.cookie != 0);
        // The record is this user's: its network inside is the shell's, whoever its programs have become there.
        end(&mut cleaned, |process| {
            is_own(process) && ShellId::of(process) == Some(record.shell)
                || inside.is_some_and(|inside| is_in(process, inside))
        });
        if record.outside == here {
            let undone = record.undo.at(place).run(None);
            cleaned.undone.extend(undone.done);
            cleaned.problems.extend(undone.problem);
        } else if processes().any(|process| network_of(&process) == Some(record.outside.inode)) {
            cleaned.elsewhere += 1;
        } else {
            place.remove();
        }
    }
    let over = |process: &Path| ShellId::of(process).is_some_and(ShellId::is_over);
    end(&mut cleaned, |process| is_own(process) && over(process));
    let spared = ancestors();
    let others = processes().filter(|process| {
        !is_own(process)
            && is_alive(process)
            && over(process)
            && !number(process).is_some_and(|pid| spared.contains(&pid))
    });
    cleaned.others = others.count();
    Ok(cleaned)
}

/// Returns true if the real user of a process is this user.
fn is_own(process: &Path) -> bool {
    let status = fs::read_to_string(process.join("status")).unwrap_or_default();
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap_or_default();
    users.split_whitespace().next().and_then(|user| user.parse().ok()) == Some(getuid().as_raw())
}

/// Returns the number of a process, from its folder in `/proc`.
fn number(process: &Path) -> Option<i32> {
    process.file_name()?.to_str()?.parse().ok()
}

/// Returns true if a process is in a network namespace. The inode may belong to a later namespace by now, so that a
/// copy of this process enters it and reads its cookie, which no other namespace gets.
fn is_in(process: &Path, network: NetworkId) -> bool {
    if network_of(process) != Some(network.inode) {
        return false;
    }
    let asked = process::copy(|_| {
        let enter = |name: &str, kind| -> std::io::Result<()> {
            Ok(setns(File::open(process.join("ns").join(name))?, kind)?)
        };
        let net = || enter("net", CloneFlags::CLONE_NEWNET);
        // An ordinary user must first enter the user namespace to which it belongs.
        let entered =
            net().or_else(|_| enter("user", CloneFlags::CLONE_NEWUSER).and_then(|()| net()));
        let same = entered.is_ok() && NetworkId::current().is_ok_and(|found| found == network);
        i32::from(!same)
    });
    asked.is_ok_and(|(copy, _)| copy.wait().is_ok_and(|status| status == 0))
}

/// Returns this process and its ancestors, which are left alone even if they are in a dead shell.
fn ancestors() -> Vec<i32> {
    let mut found = vec![getpid().as_raw()];
    while let Some(&pid) = found.last() {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"));
        match parent.and_then(|parent| parent.trim().parse().ok()) {
            Some(parent) if parent > 0 && !found.contains(&parent) => found.push(parent),
            _ => break,
        }
    }
    found
}

/// Kills the processes for which `of` is true, until there are none or [`PATIENCE`] is over.
fn end(cleaned: &mut CleanupReport, of: impl Fn(&Path) -> bool) {
    let spared = ancestors();
    let deadline = Instant::now() + PATIENCE;
    loop {
        let found: Vec<(i32, PathBuf)> = processes()
            .filter_map(|path| Some((number(&path)?, path)))
            .filter(|(pid, path)| !spared.contains(pid) && is_alive(path) && of(path))
            .collect();
        if found.is_empty() || Instant::now() >= deadline {
            return;
        }
        for (pid, path) in found {
            let name = fs::read_to_string(path.join("comm")).unwrap_or_default();
            if kill(Pid::from_raw(pid), Signal::SIGKILL).is_ok() {
                let told = format!("{pid} ({})", name.trim());
                if !cleaned.killed.contains(&told) {
                    cleaned.killed.push(told);
                }
            }
        }
        std::thread::sleep(PAUSE);
    }
}

/// Returns true if a process has not ended yet. Zombies have, which may wait for their parent for ever.
fn is_alive(process: &Path) -> bool {
    let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().next());
    state.is_some_and(|state| !matches!(state, "Z" | "X"))
}
