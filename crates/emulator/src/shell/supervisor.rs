//! The supervisor, a process inside: makes the inner device, starts the program, passes signals on to it, and ends
//! the program's descendants, also when the emulator is killed.

use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl::{set_child_subreaper, set_pdeathsig};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::{Pid, getppid};
use paceline_os::RealTimeError;
use paceline_os::namespace::NetworkId;
use paceline_os::process::{receive, send, spawn_bound};
use paceline_os::route::Links;
use paceline_os::{Tun, TunOptions, capability, namespace, priority};
use serde::{Deserialize, Serialize};

use super::ShellOptions;
use super::addresses::Addresses;
use super::leftovers::{GRACE, end_descendants, reap};
use super::record::Undo;
use super::shell_id::ShellId;

/// The name of the interface inside, as in Mahimahi.
pub(crate) const INTERFACE: &str = "ingress";
/// Signals that are passed on to the program.
const PASSED: [Signal; 7] = [
    Signal::SIGINT,
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGQUIT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGWINCH,
];
/// Signals that would end the emulator before it has written its summary: it asks the program to end
/// instead.
pub(crate) const FATAL: [Signal; 6] = [
    Signal::SIGALRM,
    Signal::SIGVTALRM,
    Signal::SIGPROF,
    Signal::SIGXFSZ,
    Signal::SIGIO,
    Signal::SIGSTKFLT,
];
/// The signal that tells of the emulator's death. It may come while the last of its threads still
/// ends, and its number is still that of this process's parent.
pub(super) const ORPHANED: Signal = Signal::SIGPWR;
/// The signal by which the emulator asks the supervisor to kill the programs at once.
pub(crate) const END: Signal = Signal::SIGXCPU;
/// `si_code` of signals from the terminal, which the program receives by itself.
const FROM_KERNEL: i32 = 0x80;
/// Statuses of programs that cannot be started, as in shells.
const NOT_FOUND: i32 = 127;
const NOT_EXECUTABLE: i32 = 126;

/// Returns the signals that the emulator passes on; with `supervisor`, those that only the supervisor reads, too.
pub(crate) fn signals(supervisor: bool) -> SigSet {
    let mut set: SigSet = PASSED.into_iter().collect();
    if supervisor {
        set.add(Signal::SIGCHLD);
        set.add(END);
        set.add(ORPHANED);
    }
    set
}

/// Returns true for the `si_code` of a signal that came from a terminal.
pub(crate) fn from_terminal(code: i32) -> bool {
    code == FROM_KERNEL
}

/// The emulator's message to the supervisor once the outer end stands.
#[derive(Serialize, Deserialize)]
pub(crate) struct SupervisorStart {
    pub(crate) addresses: Addresses,
    /// The text of /etc/resolv.conf inside, if it differs.
    pub(crate) resolver: Option<String>,
    pub(crate) undo: Undo,
    /// Offload, MTU in bytes and queue length in packets of the inner device.
    pub(crate) tun: (bool, u32, u32),
    /// The shell that the program's environment names.
    pub(crate) shell: Option<ShellId>,
}

/// The supervisor's answer once the inner end stands.
#[derive(Serialize, Deserialize)]
pub(crate) struct SupervisorReady {
    pub(crate) network: Option<NetworkId>,
}

/// Runs the supervisor until the program and its descendants have ended, and returns its exit status. With `keep`, the
/// program keeps its capabilities; `before` is the program's signal mask.
pub(crate) fn live(
    emulator: Pid,
    socket: &OwnedFd,
    options: &ShellOptions,
    keep: bool,
    before: SigSet,
) -> i32 {
    let (home, begin, device) = match prepare(emulator, socket, keep) {
        Ok(prepared) => prepared,
        Err(error) => {
            let _ = send(socket.as_fd(), format!("!{error}").as_bytes(), None);
            return 1;
        }
    };
    let mut command = options.command(&begin.addresses, begin.shell);
    if let Some(nice) = options.nice {
        // Where that is not allowed, the program has the nice value of before.
        let _ = priority::set_niceness(nice);
    }
    let status = match spawn_bound(&mut command, before) {
        Ok(child) => supervise(emulator, Pid::from_raw(child.id() as i32)),
        Err(error) => {
            let program = command.get_program();
            let _ = writeln!(std::io::stderr(), "paceline: {}: {error}", program.display());
            Some(if is_found(Path::new(program), &error) { NOT_EXECUTABLE } else { NOT_FOUND })
        }
    };
    match status {
        Some(status) => {
            end_descendants(Instant::now() + GRACE);
            if linger(emulator, options.grace) {
                return status;
            }
        }
        None => end_descendants(Instant::now()),
    }
    if namespace::enter_network(&home).is_ok() {
        begin.undo.run(Some(device));
    }
    1
}

/// Keeps the network inside for `time`, for packets that are still on their way. A signal that would end the program
/// ends the wait. Returns false if the emulator has died meanwhile.
fn linger(emulator: Pid, time: Duration) -> bool {
    let end = Instant::now() + time;
    let Ok(source) = SignalFd::with_flags(&signals(true), SfdFlags::SFD_CLOEXEC) else {
        return true;
    };
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let wait = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
        let mut ready = [PollFd::new(source.as_fd(), PollFlags::POLLIN)];
        if left.is_zero() || !poll(&mut ready, wait).is_ok_and(|count| count > 0) {
            return getppid() == emulator;
        }
        let info = source.read_signal().ok().flatten();
        match info.and_then(|info| Signal::try_from(info.ssi_signo as i32).ok()) {
            Some(ORPHANED) => return false,
            Some(Signal::SIGCHLD | Signal::SIGWINCH) | None => {}
            Some(_) => return getppid() == emulator,
        }
    }
}

/// Makes the inner end and hands its device to the emulator. Returns the network namespace outside, the emulator's
/// message and the outer device.
fn prepare(
    emulator: Pid,
    socket: &OwnedFd,
    keep: bool,
) -> Result<(OwnedFd, SupervisorStart, OwnedFd), RealTimeError> {
    set_pdeathsig(ORPHANED)
        .and_then(|()| set_child_subreaper(true))
        .map_err(RealTimeError::system("supervising processes"))?;
    if getppid() != emulator {
        return Err(RealTimeError::Message("the emulator has gone".into()));
    }
    let home = namespace::current_network()?;
    namespace::enter_own_network_and_mounts()?;
    let (text, device) =
        receive(socket.as_fd()).map_err(RealTimeError::system("word from the emulator"))?;
    let device = device.ok_or_else(|| RealTimeError::Message("no outer device".into()))?;
    let begin: SupervisorStart = serde_json::from_slice(&text)
        .map_err(|error| RealTimeError::Message(format!("word from the emulator: {error}")))?;
    let (offload, mtu, queue_len) = begin.tun;
    let tun = Tun::open(&TunOptions { offload, mtu, queue_len, ..TunOptions::new(INTERFACE) })?;
    let mut links = Links::open()?;
    links.bring_up("lo")?;
    let index = links.index(INTERFACE)?;
    let Addresses { outside, inside, outside6, inside6 } = begin.addresses;
    links.add_address(index, inside.into(), outside.into())?;
    links.add_default_route(index, outside.into())?;
    // A kernel without IPv6 has been remarked on outside.
    let _ = links
        .add_address(index, inside6.into(), outside6.into())
        .and_then(|()| links.add_default_route(index, outside6.into()));
    if let Some(text) = &begin.resolver {
        namespace::cover_file(Path::new("/etc/resolv.conf"), text)?;
    }
    if keep {
        let all = [capability::NET_ADMIN, capability::NET_RAW, capability::SYS_ADMIN];
        capability::keep(&all).map_err(RealTimeError::system("keeping capabilities inside"))?;
    }
    let ready = SupervisorReady { network: NetworkId::current().ok() };
    let ready =
        serde_json::to_vec(&ready).map_err(|error| RealTimeError::Message(error.to_string()))?;
    send(socket.as_fd(), &ready, Some(tun.as_fd()))
        .map_err(RealTimeError::system("handing over the inner device"))?;
    Ok((home, begin, device))
}

/// Returns true if there is a program of this name, which cannot be executed. A folder on the way that may not be
/// searched is no such program.
fn is_found(program: &Path, error: &std::io::Error) -> bool {
    let named = program.components().count() > 1;
    error.kind() != std::io::ErrorKind::NotFound
        && (named || {
            let path = std::env::var_os("PATH").unwrap_or_default();
            std::env::split_paths(&path).any(|folder| folder.join(program).exists())
        })
}

/// Waits for the program's end and returns its status; `None` if the emulator has died.
fn supervise(emulator: Pid, child: Pid) -> Option<i32> {
    let source = SignalFd::with_flags(&signals(true), SfdFlags::SFD_CLOEXEC).ok()?;
    loop {
        if getppid() != emulator {
            return None;
        }
        if let Some(status) = reap(child) {
            return Some(status);
        }
        let Ok(Some(info)) = source.read_signal() else { continue };
        let signal = Signal::try_from(info.ssi_signo as i32).ok();
        match signal {
            Some(ORPHANED) => return None,
            Some(END) => {
                end_descendants(Instant::now());
                return Some(128 + Signal::SIGKILL as i32);
            }
            _ => {}
        }
        let passed = signal.filter(|signal| PASSED.contains(signal));
        if passed.is_some() && !from_terminal(info.ssi_code) {
            let _ = kill(child, passed);
        }
    }
}
