//! Ends a tunnel that runs, and undoes what one has left that was killed.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use paceline_os::LiveError;
use paceline_os::namespace::NetworkId;
use paceline_os::process::Process;

use super::hold::{self, Hold};
use super::record::undo_leftovers;
use super::{check_name, kill_switch};
use crate::tunnel::control::remove_dead_sockets;

/// How long a tunnel's process may take to end in good order: its farewell takes a second at most.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long the guard may take once the process was killed.
const LAST_PATIENCE: Duration = Duration::from_secs(20);
/// How long to wait for the next look at the lock.
const PAUSE: Duration = Duration::from_millis(20);

/// What [`take_down`] has found and done.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct TakenDown {
    /// Whether the tunnel was up.
    pub was_up: bool,
    /// Whether its process had to be killed.
    pub was_killed: bool,
    /// Whether a kill switch was lifted.
    pub was_lifted: bool,
}

/// Ends the tunnel `name` if it is up, waits until everything is undone, and lifts its kill switch unless that is to be
/// kept. Undoes what is left of one that was killed.
///
/// # Errors
/// The tunnel is up in another network namespace; its processes do not end; something could not be undone.
pub fn take_down(name: &str, keep_kill_switch: bool) -> Result<TakenDown, LiveError> {
    check_name(name).map_err(LiveError::Message)?;
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

/// Ends the process that has the lock, and takes the lock over.
fn end_holder(name: &str, was_killed: &mut bool) -> Result<Hold, LiveError> {
    // One that has just started may not have written it down yet.
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
        LiveError::Message(format!("tunnel {name}: its lock does not say which process has it"))
    })?;
    if NetworkId::current().ok() != Some(holder.network) {
        return Err(LiveError::Message(format!(
            "tunnel {name} is up in another network namespace, that of process {pid}: sudo nsenter --net --target {pid} \
             paceline tunnel down {name}",
            pid = holder.process.pid
        )));
    }
    // A process that has this number later is not meant: it is looked at again once the handle is on it.
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
    Err(LiveError::Message(format!(
        "tunnel {name}: a process still has {name}.lock; `fuser /run/paceline/tunnels/{name}.lock` names it"
    )))
}
