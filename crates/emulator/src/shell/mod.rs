//! Shells: a program inside a network of its own, whose only way out is two TUN devices.
//!
//! Three processes: the emulator (this one) holds both devices and stays in the outside network;
//! a supervisor makes the inside and watches over it; the program is its child. A fourth watches
//! over the program of `--outside`. Whichever of them is killed, the others end the programs and
//! put things back; if all are killed, [`cleanup`] does.

pub mod addresses;
pub mod cleanup;
mod companion;
mod leftovers;
mod outside;
mod program;
pub(crate) mod record;
mod resolver;
pub(crate) mod shell_id;
mod supervisor;

use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::{geteuid, getpid, getuid};
use paceline_os::LiveError;
use paceline_os::process::{self, Process};
use paceline_os::process_identity::ProcessIdentity;
use paceline_os::{Tun, TunOptions, capability, namespace};

use addresses::{Addresses, Network};
use leftovers::AdoptedChildren;
use outside::{OuterEnd, OuterEndRequest, Undo};
use resolver::Resolver;
use shell_id::ShellId;
use supervisor::{SupervisorReady, SupervisorStart};

/// How long a program that is asked to end may take, in milliseconds.
const PATIENCE: u16 = 1000;

/// What a shell shall be like.
#[derive(Clone, Debug)]
pub struct ShellOptions {
    /// One word for what it does, such as `link`: part of the outer device's name.
    pub kind: String,
    /// What stands before the prompt inside, such as `[delay 20 ms] `.
    pub prompt: String,
    /// The program and its arguments; none stands for the user's shell.
    pub command: Vec<OsString>,
    /// A shell command to run in the outside network meanwhile. The program inside then is given
    /// that network's address, also in shells in shells.
    pub outside: Option<String>,
    /// Whether devices hand over large segments: see [`TunOptions::offload`].
    pub offload: bool,
    /// The MTU of both devices, in bytes.
    pub mtu: u32,
    /// Packets that the kernel keeps for the emulator at each device.
    pub queue_len: u32,
    /// Where the addresses of both ends come from.
    pub network: Network,
    /// How long the network inside stays when the program has ended, for what is on its way.
    pub grace: Duration,
    /// The nice value of the programs, if they shall not have that of the emulator.
    pub nice: Option<i32>,
}

impl ShellOptions {
    /// A program in a shell of this kind, with the defaults of [`TunOptions`].
    pub fn new(kind: &str, command: Vec<OsString>) -> ShellOptions {
        let tun = TunOptions::new(kind);
        ShellOptions {
            kind: kind.into(),
            prompt: format!("[{kind}] "),
            command,
            outside: None,
            offload: tun.offload,
            mtu: tun.mtu,
            queue_len: tun.queue_len,
            network: Network::default(),
            grace: Duration::ZERO,
            nice: None,
        }
    }
}

/// The two devices that carry a program's packets. They vanish when they are dropped.
#[derive(Debug)]
pub struct Devices {
    /// The inner device: what is read from it goes up.
    pub inner: Tun,
    /// The outer device: what is read from it goes down.
    pub outer: Tun,
}

/// A running program in a network of its own.
#[derive(Debug)]
pub struct Shell {
    addresses: Addresses,
    remarks: Vec<String>,
    process: Arc<Process>,
    signals: Option<JoinHandle<()>>,
    before: SigSet,
    undo: Undo,
    /// The outer device, kept until things are put back.
    device: OwnedFd,
    companion: Option<Process>,
    mark: Option<ShellId>,
    adopted: AdoptedChildren,
    _rules: Vec<paceline_os::nat::Nat>,
}

impl Shell {
    /// Makes the networks and starts the program. This process should have one thread.
    ///
    /// # Errors
    /// A right is missing or the kernel refuses something; the error says what would help.
    pub fn start(options: &ShellOptions) -> Result<(Shell, Devices), LiveError> {
        if getuid() != geteuid() {
            return Err(LiveError::Message(
                "installed setuid, it would write files as root for everybody; take that away and \
                 give it capabilities instead: sudo chmod u-s PROGRAM, sudo setcap \
                 cap_net_admin,cap_sys_admin,cap_net_bind_service+ep PROGRAM"
                    .into(),
            ));
        }
        let able = capability::has(capability::NET_ADMIN) && capability::has(capability::SYS_ADMIN);
        if !able {
            namespace::enter_own_user_and_network()?;
            paceline_os::route::Links::open()?.bring_up("lo")?;
        }
        let mut set = supervisor::signals(true);
        set.extend(supervisor::FATAL);
        let before = set.thread_swap_mask(nix::sys::signal::SigmaskHow::SIG_BLOCK);
        let before = before.map_err(LiveError::system("blocking signals"))?;
        let started = start(options, able, before);
        if started.is_err() {
            let _ = before.thread_set_mask();
        }
        started
    }

    /// The addresses of both ends.
    pub fn addresses(&self) -> Addresses {
        self.addresses
    }

    /// What does not work, in words for the user.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// Becomes readable when the program has ended.
    pub fn ended(&self) -> BorrowedFd<'_> {
        self.process.as_fd()
    }

    /// Asks the program to end, and ends it if it has not done so soon.
    pub fn stop(&self) {
        // It may have ended.
        let _ = self.process.signal(Signal::SIGTERM);
        let mut ended = [PollFd::new(self.ended(), PollFlags::POLLIN)];
        if !poll(&mut ended, PATIENCE).is_ok_and(|count| count > 0) {
            let _ = self.process.signal(supervisor::END);
        }
    }

    /// Waits for the program's end and takes everything away; its status as shells give it. The
    /// devices should be dropped by then.
    ///
    /// # Errors
    /// Somebody else has waited for the program.
    pub fn finish(mut self) -> Result<i32, LiveError> {
        let status = self.process.wait().map_err(LiveError::system("waiting for the program"));
        if let Some(signals) = self.signals.take() {
            let _ = signals.join();
        }
        if let Some(companion) = &self.companion {
            companion::end(companion);
        }
        self.adopted.end(self.mark);
        self.undo.run(Some(self.device));
        let _ = self.before.thread_set_mask();
        status
    }
}

fn start(
    options: &ShellOptions,
    able: bool,
    before: SigSet,
) -> Result<(Shell, Devices), LiveError> {
    let emulator = getpid();
    let adopted = AdoptedChildren::watch();
    let supervisor = |socket| supervisor::live(emulator, &socket, options, !able, before);
    let (process, socket) =
        process::copy(supervisor).map_err(LiveError::system("starting the supervisor"))?;
    let process = Arc::new(process);
    finish_start(options, able, before, adopted, &socket, &process).inspect_err(|_| {
        drop(socket);
        let _ = process.signal(Signal::SIGTERM);
        let _ = process.wait();
    })
}

fn finish_start(
    options: &ShellOptions,
    able: bool,
    before: SigSet,
    adopted: AdoptedChildren,
    socket: &OwnedFd,
    process: &Arc<Process>,
) -> Result<(Shell, Devices), LiveError> {
    let name = format!("{}-{}", options.kind, getpid());
    let tun = TunOptions {
        offload: options.offload,
        mtu: options.mtu,
        queue_len: options.queue_len,
        ..TunOptions::new(name)
    };
    let mark = ShellId::own();
    let mut outside = OuterEnd::make(OuterEndRequest {
        tun: tun.clone(),
        beyond: able,
        network: options.network,
        shell: mark,
        watchers: ProcessIdentity::of(process.id()).into_iter().collect(),
    })?;
    let addresses = outside.addresses;
    let resolver = if able {
        Resolver::outside(addresses.outside, outside.translated)
    } else {
        Resolver::default()
    };
    let begin = SupervisorStart {
        addresses,
        resolver: resolver.text,
        undo: outside.undo.clone(),
        tun: (tun.offload, tun.mtu, tun.queue_len),
        shell: mark,
    };
    let device = outside
        .tun
        .as_fd()
        .try_clone_to_owned()
        .map_err(LiveError::system("another handle on the outer device"))?;
    // While there is one thread only.
    let started = hand_over(socket, &begin, outside.tun.as_fd()).and_then(|(fd, ready)| {
        outside.save_inside(ready.network, None);
        let companion = companion::start(options, &addresses, mark, before)?;
        outside.save_inside(None, companion.as_ref().and_then(|it| ProcessIdentity::of(it.id())));
        Ok((fd, companion))
    });
    let OuterEnd { tun: outer, mut remarks, undo, rules, .. } = outside;
    let (inner, companion) = match started {
        Ok((fd, companion)) => {
            let options = TunOptions { name: supervisor::INTERFACE.into(), ..tun };
            (Tun::from_fd(fd, &options), companion)
        }
        Err(error) => {
            drop(outer);
            undo.run(Some(device));
            return Err(error);
        }
    };
    if let Some(server) = resolver.relay
        && let Err(error) = resolver::relay(addresses.outside, server)
    {
        remarks.push(format!("no names inside: relay at {}: {error}", addresses.outside));
    }
    let mut shell = Shell {
        addresses,
        remarks,
        process: Arc::clone(process),
        signals: None,
        before,
        undo,
        device,
        companion,
        mark,
        adopted,
        _rules: rules,
    };
    if !able {
        shell.remarks.push(format!(
            "no root and no capabilities: outside lies an empty network of this user's own, not \
             this machine's. What --outside CMD starts is there, at {}. For the real outside, run \
             it with sudo, give the program capabilities (sudo setcap \
             cap_net_admin,cap_sys_admin,cap_net_bind_service+ep PROGRAM), or put `pasta \
             --config-net --` before the command",
            addresses.outside
        ));
    }
    let forwarded = Arc::clone(&shell.process);
    shell.signals = Some(
        std::thread::Builder::new()
            .name("signals".into())
            .spawn(move || pass_signals(&forwarded))
            .map_err(LiveError::system("thread for signals"))?,
    );
    Ok((shell, Devices { inner, outer }))
}

/// Tells the supervisor what it needs, and takes the inner device from it.
fn hand_over(
    socket: &OwnedFd,
    begin: &SupervisorStart,
    outer: BorrowedFd<'_>,
) -> Result<(OwnedFd, SupervisorReady), LiveError> {
    let lost = "word from the supervisor";
    let text = serde_json::to_vec(begin).map_err(|error| LiveError::Message(error.to_string()))?;
    // If it has failed already, what it says is of more interest.
    let sent = process::send(socket.as_fd(), &text, Some(outer));
    let (answer, fd) = process::receive(socket.as_fd()).map_err(LiveError::system(lost))?;
    match (answer.strip_prefix(b"!"), fd) {
        (Some(problem), _) => Err(LiveError::Message(String::from_utf8_lossy(problem).into())),
        (None, Some(fd)) => {
            sent.map_err(LiveError::system(lost))?;
            let ready = serde_json::from_slice(&answer)
                .map_err(|error| LiveError::Message(format!("{lost}: {error}")))?;
            Ok((fd, ready))
        }
        (None, None) => Err(LiveError::Message(format!("{lost}: no device"))),
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
