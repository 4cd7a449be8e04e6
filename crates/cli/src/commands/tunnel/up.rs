//! `paceline tunnel up` and `down`: run a tunnel from a file, and make and undo its changes on this
//! machine.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use clap::Args;
use paceline_os::capability;
use paceline_os::{Interrupts, RealTimeError};
use paceline_transfer::tunnel::setup::{Detached, Foreground, Setup, detach, take_down};
use paceline_transfer::tunnel::{
    ClientOptions, DeviceOptions, Event, ServerOptions, client, server,
};
use paceline_wire::key::{Identity, Key};
use paceline_wire::{Limits, ServerLimits};

use super::config::{self, Role, TunnelFile};
use super::{fail, give_up_capabilities, outlives_hangup, words};
use crate::keys::KeyText;
use crate::messages::Messages;
use crate::output::{self, Error};
use crate::registries;

/// Bring up a tunnel that a file describes, with default route, name servers, address translation
/// and kill switch
///
/// The file is /etc/paceline/NAME.toml. When the tunnel ends, however it ends, its changes on this
/// machine are undone; only a kill switch stays until `paceline tunnel down NAME`. Needs root. See
/// docs/tunnel.md, "One command".
#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline tunnel up office
  paceline tunnel up --detach ./office.toml
  systemctl enable --now paceline-tunnel@office

Exit status: 0 if a signal or `paceline tunnel down` has ended it, with --detach if it is connected;
1 if it could not be brought up, or something could not be undone; 2 if its file is wrong, and
nothing was changed.")]
pub(crate) struct Up {
    /// The tunnel's name, or the path of its file
    #[arg(value_name = "NAME|FILE")]
    name: String,
    /// Go into the background once the tunnel is connected
    #[arg(long)]
    detach: bool,
    /// Print only warnings
    #[arg(short, long)]
    quiet: bool,
}

/// End a tunnel of `tunnel up`, undo its remaining settings if it was killed, and remove its kill
/// switch
#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline tunnel down office
  paceline tunnel down --keep-kill-switch office

Exit status: 0 if the tunnel is down and everything is undone, also if it was not up; 1 if not.")]
pub(crate) struct Down {
    /// The tunnel's name, or the path of its file
    #[arg(value_name = "NAME|FILE")]
    name: String,
    /// Keep the kill switch: no packet leaves this machine outside the tunnel until the tunnel is
    /// up again
    #[arg(long)]
    keep_kill_switch: bool,
    /// Print only warnings
    #[arg(short, long)]
    quiet: bool,
}

/// Keys of this end.
enum Keys {
    Client(Key),
    Server(Box<Identity>),
}

impl Up {
    pub(crate) fn run(&self) -> Result<(), Error> {
        let file = config::read(&self.name)?;
        let keys = keys(&file)?;
        if !capability::has(capability::NET_ADMIN) {
            return Err(Error::Usage(format!(
                "CAP_NET_ADMIN is missing: run it as root, as sudo paceline tunnel up {}",
                self.name
            )));
        }
        if !self.detach {
            return carry(file, keys, self.quiet, None);
        }
        let name = file.setup.name.clone();
        let run = |foreground| match carry(file, keys, self.quiet, Some(foreground)) {
            Ok(()) => 0,
            Err(error) => {
                output::error(&error);
                i32::from(error.status())
            }
        };
        match detach(run).map_err(fail)? {
            Detached::Background(pid) if !self.quiet => {
                output::note(&format!("tunnel {name} goes on in the background as process {pid}"));
                Ok(())
            }
            Detached::Background(_) | Detached::Ended(0) => Ok(()),
            Detached::Ended(_) => Err(Error::Message(format!("tunnel {name} is not up"))),
        }
    }
}

/// Reads the key of this end.
fn keys(file: &TunnelFile) -> Result<Keys, Error> {
    let text = KeyText::read(&file.key_file)?;
    match file.role {
        Role::Client { .. } => Ok(Keys::Client(text.key().clone())),
        Role::Server { .. } => {
            let place = file.key_file.display().to_string();
            Ok(Keys::Server(Box::new(text.into_identity(&place)?)))
        }
    }
}

/// Handles the events of the tunnel's loop: makes the changes on this machine, and prints messages.
struct Attendant {
    setup: Setup,
    foreground: Option<Foreground>,
    /// Error of the setup, because of which the loop was asked to end.
    failure: Option<RealTimeError>,
    messages: Messages,
    quiet: bool,
}

/// Carries packets until the tunnel ends.
fn carry(
    file: TunnelFile,
    keys: Keys,
    quiet: bool,
    foreground: Option<Foreground>,
) -> Result<(), Error> {
    give_up_capabilities();
    let TunnelFile { role, device, addresses, routes, mtu, timeout, setup, .. } = file;
    let outlives_hangup = outlives_hangup() || foreground.is_some();
    let lists_clients = matches!(&role, Role::Server { clients: Some(_), .. });
    // Blocks the signals before the first change: one that comes from now on waits until the loop
    // below reads it and ends the tunnel in good order.
    let _signals = Interrupts::watch_for(outlives_hangup || lists_clients).map_err(fail)?;
    let setup = Setup::begin(setup).map_err(fail)?;
    let device = DeviceOptions { name: device, addresses, routes, offload: true };
    let limits = Limits { idle: timeout, silence: timeout, ..registries::limits() };
    let mark = setup.mark();
    let mut attendant =
        Attendant { setup, foreground, failure: None, messages: Messages::default(), quiet };
    let ended = match (role, keys) {
        (Role::Client { server: to, scheme, keepalive }, Keys::Client(key)) => {
            let options = ClientOptions {
                to,
                key,
                scheme,
                plaintext: false,
                mtu,
                keepalive,
                device,
                outer: None,
                mark,
                limits,
                once: false,
                outlives_hangup,
            };
            client(&options, &mut |event| attendant.hear(event))
        }
        (Role::Server { listen, clients, loops }, Keys::Server(identity)) => {
            let limits = ServerLimits { each: limits, mtu, ..ServerLimits::default() };
            let options = ServerOptions {
                listen,
                identity: *identity,
                limits,
                device,
                clients,
                loops,
                once: false,
                outlives_hangup,
            };
            server(&options, &mut |event| attendant.hear(event))
        }
        _ => Err(RealTimeError::Message("the key is not one of this end".into())),
    };
    let Attendant { setup, failure, mut messages, .. } = attendant;
    if let Some(note) = setup.kill_switch_note() {
        messages.note(note);
    }
    let undone = setup.end();
    messages.flush();
    failure.map_or(Ok(()), Err).and(ended.map(drop)).and(undone).map_err(fail)
}

impl Attendant {
    fn hear(&mut self, event: Event) {
        let text = words(&event);
        if !self.quiet || text.starts_with("warning") {
            self.messages.note(text);
        }
        match event {
            Event::Connected { .. } | Event::Listening(_) => {
                if let Err(error) = self.stand() {
                    self.failure.get_or_insert(error);
                    // The loop watches for signals, so it ends in good order.
                    let _ = Interrupts::request_end();
                }
            }
            // The service counts as started: it tries to connect again by itself.
            Event::Waiting(why) => notify(&format!("READY=1\nSTATUS=not connected: {why}")),
            Event::Ended { .. } => notify("STATUS=not connected"),
            _ => {}
        }
    }

    /// Makes the changes on this machine, once the tunnel is connected.
    fn stand(&mut self) -> Result<(), RealTimeError> {
        for remark in self.setup.apply()? {
            self.messages.note(format!("warning: {remark}"));
        }
        notify("READY=1\nSTATUS=up");
        match self.foreground.take() {
            Some(foreground) => {
                // Writes the messages before standard error is closed.
                self.messages.flush();
                foreground.leave()
            }
            None => Ok(()),
        }
    }
}

/// Reports the service's state to systemd, if systemd has started it (sd_notify(3)).
fn notify(state: &str) {
    let Some(name) = std::env::var_os("NOTIFY_SOCKET") else { return };
    let name = name.as_encoded_bytes();
    let address = match name.strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(String::from_utf8_lossy(name).as_ref()),
    };
    // Ignores errors: without a service manager there is no socket to notify.
    let _ = address.and_then(|to| UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &to));
}

impl Down {
    pub(crate) fn run(&self) -> Result<(), Error> {
        let (_, name) = config::find(&self.name)?;
        let done = take_down(&name, self.keep_kill_switch).map_err(fail)?;
        if done.was_killed {
            output::note(&format!("warning: tunnel {name} did not end when asked, and was killed"));
        }
        if !self.quiet {
            let state = if done.was_up { "is down" } else { "was not up" };
            let lifted = if done.was_lifted { "; its kill switch is lifted" } else { "" };
            output::note(&format!("tunnel {name} {state}{lifted}"));
        }
        Ok(())
    }
}
