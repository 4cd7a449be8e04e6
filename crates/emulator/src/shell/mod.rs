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
mod record;
mod resolver;
mod server_port;
mod shell_id;
mod start;
mod supervisor;

use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{geteuid, getuid};
use paceline_os::RealTimeError;
use paceline_os::process::Process;
use paceline_os::{Tun, TunOptions, capability, namespace};

use addresses::{Addresses, Network};
use leftovers::AdoptedChildren;
use record::Undo;
pub use server_port::ServerPort;
use shell_id::ShellId;

/// How long a program that is asked to end may take, in milliseconds.
const PATIENCE: u16 = 1000;

/// The settings of a shell.
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
    /// A server outside that has to listen before the program starts.
    pub wait_for: Option<ServerPort>,
    /// Whether devices hand over large segments: see [`TunOptions::offload`].
    pub offload: bool,
    /// The MTU of both devices, in bytes.
    pub mtu: u32,
    /// Packets that the kernel keeps for the emulator at each device.
    pub queue_len: u32,
    /// Where the addresses of both ends come from.
    pub network: Network,
    /// How long the network inside stays after the program has ended, so that packets on their way still arrive.
    pub grace: Duration,
    /// The nice value of the programs, if they shall not have that of the emulator.
    pub nice: Option<i32>,
}

impl ShellOptions {
    /// Returns the settings of a shell of this kind around `command`, with the defaults of [`TunOptions`].
    pub fn new(kind: &str, command: Vec<OsString>) -> ShellOptions {
        let tun = TunOptions::new(kind);
        ShellOptions {
            kind: kind.into(),
            prompt: format!("[{kind}] "),
            command,
            outside: None,
            wait_for: None,
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
    /// The signal mask of this process before the start.
    signal_mask: SigSet,
    undo: Undo,
    /// The outer device, kept until things are put back.
    device: OwnedFd,
    companion: Option<Process>,
    shell_id: Option<ShellId>,
    adopted: AdoptedChildren,
    _rules: Vec<paceline_os::nat::Nat>,
}

/// How a shell has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellEnd {
    /// The program's status as shells give it.
    pub status: i32,
    /// True if the program of [`ShellOptions::outside`] has ended by itself with another status than 0.
    pub has_outside_failed: bool,
    /// Why a rule of this machine's firewall stays, which `paceline cleanup` removes.
    pub not_undone: Option<String>,
}

impl Shell {
    /// Makes the networks and starts the program. This process should have one thread.
    ///
    /// # Errors
    /// A right is missing or the kernel refuses something; the error says what would help.
    pub fn start(options: &ShellOptions) -> Result<(Shell, Devices), RealTimeError> {
        if getuid() != geteuid() {
            return Err(RealTimeError::Message(
                "installed setuid, it would write files as root for everybody; take that away and \
                 give it capabilities instead: sudo chmod u-s PROGRAM, sudo setcap \
                 cap_net_admin,cap_sys_admin,cap_net_bind_service+ep PROGRAM"
                    .into(),
            ));
        }
        let has_rights =
            capability::has(capability::NET_ADMIN) && capability::has(capability::SYS_ADMIN);
        if !has_rights {
            namespace::enter_own_user_and_network()?;
            paceline_os::route::Links::open()?.bring_up("lo")?;
        }
        let mut set = supervisor::signals(true);
        set.extend(supervisor::FATAL);
        let signal_mask = set.thread_swap_mask(nix::sys::signal::SigmaskHow::SIG_BLOCK);
        let signal_mask = signal_mask.map_err(RealTimeError::system("blocking signals"))?;
        let started = start::start(options, has_rights, signal_mask);
        if started.is_err() {
            let _ = signal_mask.thread_set_mask();
        }
        started
    }

    /// Returns the addresses of both ends.
    pub fn addresses(&self) -> Addresses {
        self.addresses
    }

    /// Returns what does not work, in words for the user.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// Returns a file that becomes readable when the program has ended.
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

    /// Waits for the program's end, puts everything back, and returns how the programs have ended. Drop the devices
    /// first.
    ///
    /// # Errors
    /// Another part of this process has waited for the program.
    pub fn finish(mut self) -> Result<ShellEnd, RealTimeError> {
        let status = self.process.wait().map_err(RealTimeError::system("waiting for the program"));
        if let Some(signals) = self.signals.take() {
            let _ = signals.join();
        }
        let has_outside_failed = self.companion.as_ref().is_some_and(companion::end);
        self.adopted.end(self.shell_id);
        let not_undone = self.undo.run(Some(self.device)).problem;
        let _ = self.signal_mask.thread_set_mask();
        Ok(ShellEnd { status: status?, has_outside_failed, not_undone })
    }
}
