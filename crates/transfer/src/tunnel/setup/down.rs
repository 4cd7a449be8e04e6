//! Ends a running tunnel, and undoes the remaining changes of a killed one.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use paceline_os::RealTimeError;
use paceline_os::namespace::NetworkId;
use paceline_os::process::Process;

use super::hold::{self, Hold};
use super::record::undo_leftovers;
use super::{check_name, kill_switch};
use crate::tunnel::control::remove_dead_sockets;

/// Maximum time for a tunnel's process to end cleanly. Closing its connection takes at most a
/// second.
const PATIENCE: Duration = Duration::from_secs(20);
/// Maximum time for the guard to finish after the process was killed.
const LAST_PATIENCE: Duration = Duration::from_secs(20);
/// Interval between two looks at the lock.
const PAUSE: Duration = Duration::from_millis(20);

/// What [`take_down`] has found and done.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct TakenDown {
    /// True if the tunnel was up.
    pub was_up: bool,
    /// True if its process had to be killed.
    pub was_killed: bool,
    /// True if a kill switch was removed.
    pub was_lifted: bool,
}

/// Ends the tunnel `name` if it is up, waits until all of its changes are undone, and removes its
/// kill switch unless `keep_kill_switch`. Undoes the remaining changes of a killed tunnel.
///
/// # Errors
/// The tunnel is up in another network namespace, its processes do not end, or a change could not
/// be undone.
pub fn take_down(name: &str, keep_kill_switch: bool) -> Result<TakenDown, RealTimeError> {
    check_name(name).map_err(RealTimeError::Message)?;
    let mut done = TakenDown { was_up: false, was_killed: false, was_lifted: false };
    let _hold = match Hold::take(name)? {
        Some(hold) => hold,
        None => {
            done.was_up = true;
            end_holder(name, &mut done.was_killed)?
        }
    };
    undo_leftovers(name)?;
    remove_dead_sockets();
    if !keep_kill_switch {
        done.was_lifted = kill_switch::lift(name)?;
    }
    Ok(done)
}

/// Ends the process that holds the lock, and takes the lock.
fn end_holder(name: &str, was_killed: &mut bool) -> Result<Hold, RealTimeError> {
    // A process that has just started may not have written its record yet.
    let mut holder = None;
    let end = Instant::now() + PATIENCE;
    while holder.is_none() && Instant::now() < end {
        if let Some(hold) = Hold::take(name)? {
            return Ok(hold);
        }
        holder = hold::holder(name);
        std::thread::sleep(PAUSE);
    }
    let holder = holder.ok_or_else(|| {
        RealTimeError::Message(format!("tunnel {name}: its lock does not say which process has it"))
    })?;
    if NetworkId::current().ok() != Some(holder.network) {
        return Err(RealTimeError::Message(format!(
            "tunnel {name} is up in another network namespace, that of process {pid}: sudo nsenter --net --target {pid} \
             paceline tunnel down {name}",
            pid = holder.process.pid
        )));
    }
    // Check again after the handle is open, because the process id may have been reused.
    let process = Process::of(holder.process.pid).ok().filter(|_| holder.process.lives());
    for (signal, patience) in [(Signal::SIGTERM, PATIENCE), (Signal::SIGKILL, LAST_PATIENCE)] {
        if let Some(process) = &process {
            *was_killed |= process.signal(signal).is_ok() && signal == Signal::SIGKILL;
        }
        let end = Instant::now() + patience;
        while Instant::now() < end {
            if let Some(hold) = Hold::take(name)? {
                return Ok(hold);
            }
            std::thread::sleep(PAUSE);
        }
    }
    Err(RealTimeError::Message(format!(
        "tunnel {name}: a process still has {name}.lock; `fuser /run/paceline/tunnels/{name}.lock` names it"
    )))
}
