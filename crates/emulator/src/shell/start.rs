//! Starts a shell: both devices, the supervisor, the program of `--outside`.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::thread::JoinHandle;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::getpid;
use paceline_os::process::{self, Process};
use paceline_os::process_identity::ProcessIdentity;
use paceline_os::{RealTimeError, Tun, TunOptions};

use super::addresses::Addresses;
use super::leftovers::AdoptedChildren;
use super::outside::{OuterEnd, OuterEndRequest};
use super::resolver::{self, Resolver};
use super::shell_id::ShellId;
use super::supervisor::{self, SupervisorReady, SupervisorStart};
use super::{Devices, Shell, ShellOptions, companion};

/// Starts the supervisor, and through it the program. With `has_rights`, this process may change the network outside;
/// `signal_mask` is the mask that the programs get.
///
/// # Errors
/// As [`Shell::start`]; the supervisor is ended then.
pub(super) fn start(
    options: &ShellOptions,
    has_rights: bool,
    signal_mask: SigSet,
) -> Result<(Shell, Devices), RealTimeError> {
    let emulator = getpid();
    let adopted = AdoptedChildren::watch();
    let supervisor =
        |socket| supervisor::live(emulator, &socket, options, !has_rights, signal_mask);
    let (process, socket) =
        process::copy(supervisor).map_err(RealTimeError::system("starting the supervisor"))?;
    let process = Arc::new(process);
    let start = ShellStart::new(options, has_rights, signal_mask);
    start.finish(adopted, &socket, &process).inspect_err(|_| {
        drop(socket);
        let _ = process.signal(Signal::SIGTERM);
        let _ = process.wait();
    })
}

/// What the steps of a start share.
struct ShellStart<'a> {
    options: &'a ShellOptions,
    has_rights: bool,
    signal_mask: SigSet,
    shell_id: Option<ShellId>,
    /// The outer device. The inner one differs by its name.
    tun: TunOptions,
}

impl<'a> ShellStart<'a> {
    fn new(options: &'a ShellOptions, has_rights: bool, signal_mask: SigSet) -> ShellStart<'a> {
        let tun = TunOptions {
            offload: options.offload,
            mtu: options.mtu,
            queue_len: options.queue_len,
            ..TunOptions::new(format!("{}-{}", options.kind, getpid()))
        };
        ShellStart { options, has_rights, signal_mask, shell_id: ShellId::own(), tun }
    }

    /// Makes both devices and starts the programs. `socket` leads to the supervisor.
    fn finish(
        self,
        adopted: AdoptedChildren,
        socket: &OwnedFd,
        supervisor: &Arc<Process>,
    ) -> Result<(Shell, Devices), RealTimeError> {
        let mut outside = self.make_outer_end(supervisor)?;
        let addresses = outside.addresses;
        let resolver = match self.has_rights {
            true => Resolver::outside(addresses.outside, outside.translated),
            false => Resolver::default(),
        };
        let device = outside
            .tun
            .as_fd()
            .try_clone_to_owned()
            .map_err(RealTimeError::system("another handle on the outer device"))?;
        let started = self.start_programs(&mut outside, resolver.text, socket);
        let OuterEnd { tun: outer, mut remarks, undo, rules, .. } = outside;
        let (inner, companion) = match started {
            Ok(started) => started,
            Err(error) => {
                drop(outer);
                undo.run(Some(device));
                return Err(error);
            }
        };
        // Only now: this process may have one thread until all others are started.
        if let Some(server) = resolver.relay
            && let Err(error) = resolver::relay(addresses.outside, server)
        {
            remarks.push(format!("no names inside: relay at {}: {error}", addresses.outside));
        }
        if !self.has_rights {
            remarks.push(remark_without_rights(&addresses));
        }
        let shell = Shell {
            addresses,
            remarks,
            process: Arc::clone(supervisor),
            signals: Some(forward_signals(supervisor)?),
            signal_mask: self.signal_mask,
            undo,
            device,
            companion,
            shell_id: self.shell_id,
            adopted,
            _rules: rules,
        };
        Ok((shell, Devices { inner, outer }))
    }

    fn make_outer_end(&self, supervisor: &Process) -> Result<OuterEnd, RealTimeError> {
        OuterEnd::make(OuterEndRequest {
            tun: self.tun.clone(),
            beyond: self.has_rights,
            network: self.options.network,
            shell: self.shell_id,
            watchers: ProcessIdentity::of(supervisor.id()).into_iter().collect(),
        })
    }

    /// Starts the program of `--outside`, waits for its server if that was asked for, and has the supervisor start the
    /// program inside. Returns the inner device, and the process that watches over the program of `--outside`.
    fn start_programs(
        &self,
        outside: &mut OuterEnd,
        resolver_text: Option<String>,
        socket: &OwnedFd,
    ) -> Result<(Tun, Option<Process>), RealTimeError> {
        let message = SupervisorStart {
            addresses: outside.addresses,
            resolver: resolver_text,
            undo: outside.undo.clone(),
            tun: (self.tun.offload, self.tun.mtu, self.tun.queue_len),
            shell: self.shell_id,
        };
        let ShellStart { options, signal_mask, shell_id, .. } = *self;
        let (companion, failed) =
            companion::start(options, &outside.addresses, shell_id, signal_mask)?.unzip();
        let watcher = companion.as_ref().and_then(|companion| ProcessIdentity::of(companion.id()));
        outside.save_inside(None, watcher);
        let served = options.wait_for.map_or(Ok(()), |port| port.wait(failed.as_ref()));
        let handed_over = served.and_then(|()| hand_over(socket, &message, outside.tun.as_fd()));
        let (inner, ready) = handed_over.inspect_err(|_| {
            if let Some(companion) = &companion {
                companion::end(companion);
            }
        })?;
        outside.save_inside(ready.network, None);
        let tun = TunOptions { name: supervisor::INTERFACE.into(), ..self.tun.clone() };
        Ok((Tun::from_fd(inner, &tun), companion))
    }
}

/// Says where the program is if this process may not change the network outside, and what would help.
fn remark_without_rights(addresses: &Addresses) -> String {
    format!(
        "no root and no capabilities: outside lies an empty network of this user's own, not this \
         machine's. What --outside CMD starts is there, at {}. For the real outside, run it with \
         sudo, give the program capabilities (sudo setcap \
         cap_net_admin,cap_sys_admin,cap_net_bind_service+ep PROGRAM), or put `pasta --config-net \
         --` before the command",
        addresses.outside
    )
}

/// Starts the thread of [`pass_signals`].
fn forward_signals(supervisor: &Arc<Process>) -> Result<JoinHandle<()>, RealTimeError> {
    let supervisor = Arc::clone(supervisor);
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || pass_signals(&supervisor))
        .map_err(RealTimeError::system("thread for signals"))
}

/// Sends the supervisor its message and the outer device, and receives the inner device.
fn hand_over(
    socket: &OwnedFd,
    message: &SupervisorStart,
    outer: BorrowedFd<'_>,
) -> Result<(OwnedFd, SupervisorReady), RealTimeError> {
    let lost = "word from the supervisor";
    let text =
        serde_json::to_vec(message).map_err(|error| RealTimeError::Message(error.to_string()))?;
    // If it has failed already, what it says is of more interest.
    let sent = process::send(socket.as_fd(), &text, Some(outer));
    let (answer, fd) = process::receive(socket.as_fd()).map_err(RealTimeError::system(lost))?;
    match (answer.strip_prefix(b"!"), fd) {
        (Some(problem), _) => Err(RealTimeError::Message(String::from_utf8_lossy(problem).into())),
        (None, Some(fd)) => {
            sent.map_err(RealTimeError::system(lost))?;
            let ready = serde_json::from_slice(&answer)
                .map_err(|error| RealTimeError::Message(format!("{lost}: {error}")))?;
            Ok((fd, ready))
        }
        (None, None) => Err(RealTimeError::Message(format!("{lost}: no device"))),
    }
}

/// Passes signals on until the program has ended. Those of the terminal reach it by themselves.
fn pass_signals(process: &Process) {
    let mut set = supervisor::signals(false);
    set.extend(supervisor::FATAL);
    let Ok(source) = SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC) else { return };
    loop {
        let mut ready = [
            PollFd::new(process.as_fd(), PollFlags::POLLIN),
            PollFd::new(source.as_fd(), PollFlags::POLLIN),
        ];
        if poll(&mut ready, PollTimeout::NONE).is_err() {
            continue;
        }
        if ready[0].any() == Some(true) {
            return;
        }
        if let Ok(Some(info)) = source.read_signal()
            && !supervisor::from_terminal(info.ssi_code)
            && let Ok(signal) = Signal::try_from(info.ssi_signo as i32)
        {
            let fatal = supervisor::FATAL.contains(&signal);
            // It may have ended just now.
            let _ = process.signal(if fatal { Signal::SIGTERM } else { signal });
        }
    }
}
