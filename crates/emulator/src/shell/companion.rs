//! The program of `--outside`, and a process that watches over it as the supervisor does inside.

use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::process::Command;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl::{set_child_subreaper, set_pdeathsig};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::{Pid, getpid, getppid, setpgid};
use paceline_os::RealTimeError;
use paceline_os::priority;
use paceline_os::process::{self, Process, spawn_bound};

use super::ShellOptions;
use super::addresses::Addresses;
use super::leftovers::{GRACE, end_descendants, reap};
use super::program;
use super::shell_id::ShellId;
use super::supervisor::{self, ORPHANED};

/// How long the programs may take to end, those that must be killed included.
const PATIENCE: Duration = Duration::from_secs(2);
/// Exit status of the watching process after the program of `--outside` has failed.
const FAILED: i32 = 3;

/// Starts the program of `--outside`, if there is one, and the process that watches over it. Returns that process, and a
/// file that hangs up when the program has failed.
pub(super) fn start(
    options: &ShellOptions,
    addresses: &Addresses,
    mark: Option<ShellId>,
    before: SigSet,
) -> Result<Option<(Process, OwnedFd)>, RealTimeError> {
    let Some(text) = &options.outside else { return Ok(None) };
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(text);
    program::environment(&mut command, addresses, true, mark);
    let emulator = getpid();
    let watch = |socket| attend((emulator, socket), &mut command, options.nice, before);
    process::copy(watch).map(Some).map_err(RealTimeError::system("starting --outside"))
}

/// Runs the watching process until the emulator has died or asks it to end. Closes the socket to the emulator when the
/// program has failed. Returns its exit status: 0, [`FAILED`], or 1 if it could not watch.
fn attend(
    (emulator, socket): (Pid, OwnedFd),
    command: &mut Command,
    nice: Option<i32>,
    before: SigSet,
) -> i32 {
    let mut socket = Some(socket);
    let own = Pid::from_raw(0);
    // What is typed at the terminal is for the program inside.
    let prepared = set_pdeathsig(ORPHANED)
        .and_then(|()| set_child_subreaper(true))
        .and_then(|()| setpgid(own, own));
    if prepared.is_err() || getppid() != emulator {
        return 1;
    }
    if let Some(nice) = nice {
        let _ = priority::set_niceness(nice);
    }
    let child = match spawn_bound(command, before) {
        Ok(child) => Pid::from_raw(child.id() as i32),
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "paceline: starting --outside: {error}");
            return FAILED;
        }
    };
    let Ok(source) = SignalFd::with_flags(&supervisor::signals(true), SfdFlags::SFD_CLOEXEC) else {
        return 1;
    };
    let mut result = 0;
    loop {
        if getppid() != emulator {
            end_descendants(Instant::now());
            return 1;
        }
        let info = source.read_signal().ok().flatten();
        // Reaps after every signal, so that a status is reported also if the end is asked for at
        // the same time.
        if let Some(status) = reap(child).filter(|status| *status != 0) {
            result = FAILED;
            let _ = writeln!(
                std::io::stderr(),
                "paceline: warning: the command of --outside has ended with status {status}"
            );
            drop(socket.take());
        }
        match info.and_then(|info| Signal::try_from(info.ssi_signo as i32).ok()) {
            Some(ORPHANED) => end_descendants(Instant::now()),
            Some(supervisor::END) => end_descendants(Instant::now() + GRACE),
            _ => continue,
        }
        return result;
    }
}

/// Ends the program of `--outside` and its descendants. Returns true if the program had failed before.
pub(super) fn end(companion: &Process) -> bool {
    let _ = companion.signal(supervisor::END);
    let mut ended = [PollFd::new(companion.as_fd(), PollFlags::POLLIN)];
    let wait = PollTimeout::try_from(PATIENCE).unwrap_or(PollTimeout::MAX);
    if !poll(&mut ended, wait).is_ok_and(|count| count > 0) {
        let _ = companion.signal(Signal::SIGKILL);
    }
    companion.wait().is_ok_and(|status| status == FAILED)
}
