//! `paceline tunnel`: carries all packets of a device over a connection, as SproutTunnel does.

mod clients;
mod config;
mod status;
mod up;

use clap::{Args, Subcommand};
use paceline_cc::Span;
use paceline_os::capability;
use paceline_transfer::tunnel::{
    ClientListOptions, ClientOptions, DeviceOptions, Event, Prefix, ServerOptions, client, server,
};
use paceline_transfer::udp::{any_address, connect_to};
use paceline_wire::{Limits, ServerLimits};
use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use self::clients::Clients;
use self::status::Status;
use super::transfer_end::{PLAINTEXT, loops, processors};
use crate::args;
use crate::keys::{ClientKey, ServerKeys};
use crate::messages::Messages;
use crate::output::{self, Error};
use crate::registries;
use crate::table::counted;

/// Carry programs' packets over a connection under Sprout or another scheme
///
/// Each end creates a TUN device. Packets sent through it wait in one queue per flow, and leave as
/// fast as the scheme allows: a download no longer delays a call beside it. See docs/tunnel.md.
#[derive(Subcommand)]
#[command(after_help = "\
Examples:
  paceline tunnel up office
  paceline tunnel status
  paceline tunnel down office")]
pub(crate) enum Tunnel {
    Server(Server),
    Client(Client),
    Up(up::Up),
    Down(up::Down),
    Status(Status),
    #[command(subcommand)]
    Clients(Clients),
}

#[derive(Args)]
struct Device {
    /// An address of the device with the length of its network, as 10.77.0.1/24 or fd77::1/64; may
    /// be given several times. A client that the server lists needs none: it gets its addresses
    /// from the server
    #[arg(long, value_name = "ADDR/BITS", value_parser = Prefix::parse, help_heading = "Device")]
    address: Vec<Prefix>,
    /// A network to reach through the tunnel, as 0.0.0.0/0; may be given several times
    #[arg(long, value_name = "ADDR/BITS", value_parser = Prefix::parse, help_heading = "Device")]
    route: Vec<Prefix>,
    /// The name of the device
    #[arg(long, value_name = "NAME", default_value = "paceline0", help_heading = "Device")]
    device: String,
    /// Read and write single packets at the device: no segmentation offloads, which make bulk traffic cheaper
    #[arg(long, help_heading = "Device")]
    no_offload: bool,
    /// End after the first connection, instead of waiting for the next one
    #[arg(long, help_heading = "Connection")]
    once: bool,
    /// Do not encrypt, for measurements in a laboratory; both ends need it
    #[arg(long, help_heading = "Keys")]
    plaintext: bool,
    /// Consider the other end gone if no packet arrives from it for this time. Both ends have such
    /// a time and the longer one counts, the other end's up to 10 minutes
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = args::length, help_heading = "Connection")]
    timeout: Span,
    /// The seed of the schemes' random numbers
    #[arg(long, value_name = "N", value_parser = args::seed, default_value_t = 1, help_heading = "Connection")]
    seed: u64,
    /// Print only warnings, not even the key string of new keys
    #[arg(short, long, help_heading = "Outputs")]
    quiet: bool,
}

/// Wait for clients of a tunnel
///
/// Prints a line `key STRING`, which clients need, if it has made new keys.
#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline tunnel server --listen 0.0.0.0:5312 --address 10.77.0.1/24 --address fd77::1/64
  paceline tunnel server --key-file /etc/paceline/server.key --address 10.77.0.1/24 \\
    --clients /etc/paceline/clients")]
pub(crate) struct Server {
    /// Where to listen; port 0 takes a free one.
    #[arg(long, value_name = "ADDR:PORT", value_parser = address,
        help = "Where to listen; port 0 takes a free one [default: [::]:5312, for IPv6 and IPv4; 0.0.0.0:5312 without IPv6]", help_heading = "Connection")]
    listen: Option<SocketAddr>,
    #[command(flatten)]
    keys: ServerKeys,
    /// Admit only the clients of this list, and each only with its own addresses. It has a line
    /// `NAME plc-KEY ADDR[/BITS],...` for each, as `paceline tunnel clients add` writes it, and is
    /// read again at SIGHUP. Without a list, any client that has the key can use any address
    #[arg(long, value_name = "FILE", help_heading = "Clients")]
    clients: Option<PathBuf>,
    /// A network that listed clients reach through the tunnel, as 10.0.0.0/8: the server sends it
    /// to them; may be given several times
    #[arg(long, value_name = "ADDR/BITS", value_parser = Prefix::parse, requires = "clients", help_heading = "Clients")]
    client_route: Vec<Prefix>,
    /// How many event loops, each on its own thread, share the clients [default: one for each
    /// processor]
    #[arg(long, value_name = "N", value_parser = loops, help_heading = "Connection")]
    loops: Option<NonZeroUsize>,
    /// The largest packet between the ends in bytes, IP and UDP headers included, that clients may
    /// use. The device's MTU follows the client whose path carries the largest packets, up to this
    /// size
    #[arg(long, value_name = "BYTES", default_value_t = 1500,
        value_parser = clap::value_parser!(u16).range(1280..), help_heading = "Connection")]
    mtu: u16,
    #[command(flatten)]
    device: Device,
}

/// Connect to the server of a tunnel
#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline tunnel client 192.0.2.1:5312 --key-file FILE
  paceline tunnel client host:5312 --key-file FILE --address 10.77.0.2/24 --outer wwan0 \\
    --route 0.0.0.0/0
  paceline tunnel client host:5312 --key-file FILE --address fd77::2/64 --scheme c2tcp")]
pub(crate) struct Client {
    /// The server
    #[arg(value_name = "HOST:PORT")]
    to: String,
    #[command(flatten)]
    key: ClientKey,
    /// The scheme that decides how fast both ends send
    #[arg(long, value_name = "NAME", default_value = "sprout", help_heading = "Connection")]
    scheme: String,
    /// The largest packet between the ends in bytes, IP and UDP headers included; on a path that
    /// does not carry it, smaller ones are used
    #[arg(long, value_name = "BYTES", default_value_t = 1500,
        value_parser = clap::value_parser!(u16).range(1280..), help_heading = "Connection")]
    mtu: u16,
    /// How often the client sends a keepalive while the tunnel carries nothing, so that address
    /// translators on the path keep its entry and the server knows that it is there; with 0s the
    /// scheme's own packets continue instead
    #[arg(long, value_name = "TIME", default_value = "25s", value_parser = args::keepalive, help_heading = "Connection")]
    keepalive: Span,
    /// The interface by which the tunnel's own packets leave, whatever the routes: needed if
    /// --route includes the server's address
    #[arg(long, value_name = "INTERFACE", help_heading = "Connection")]
    outer: Option<String>,
    #[command(flatten)]
    device: Device,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    connect_to(text).map_err(|error| error.to_string())
}

/// Drops all capabilities except those that a running tunnel needs. Fails silently under a filter
/// of system calls, as in the systemd units: there systemd has dropped the others.
fn give_up_capabilities() {
    use capability::{NET_ADMIN, NET_BIND_SERVICE, NET_RAW};
    let _ = capability::retain(&[NET_ADMIN, NET_RAW, NET_BIND_SERVICE]);
}

/// Returns true if SIGHUP means that files are to be read again. At a terminal it means that the
/// terminal was closed.
fn outlives_hangup() -> bool {
    !std::io::stdin().is_terminal()
}

fn fail(error: paceline_os::RealTimeError) -> Error {
    Error::Message(error.to_string())
}

impl Device {
    fn options(&self) -> DeviceOptions {
        DeviceOptions {
            name: self.device.clone(),
            addresses: self.address.clone(),
            routes: self.route.clone(),
            offload: !self.no_offload,
        }
    }

    fn limits(&self) -> Limits {
        let (idle, silence) = (self.timeout, self.timeout);
        Limits { idle, silence, seed: self.seed, ..registries::limits() }
    }

    fn tell(&self, messages: &mut Messages, event: &Event) {
        let text = words(event);
        if !self.quiet || text.starts_with("warning") {
            messages.note(text);
        }
    }
}

impl Tunnel {
    pub(crate) fn run(self) -> Result<(), Error> {
        let (good, once) = match self {
            Tunnel::Status(status) => return status.run(),
            Tunnel::Clients(clients) => return clients.run(),
            Tunnel::Server(server) => (server.run()?, server.device.once),
            Tunnel::Client(client) => (client.run()?, client.device.once),
            Tunnel::Up(up) => return up.run(),
            Tunnel::Down(down) => return down.run(),
        };
        match good {
            false if once => Err(Error::Message("the connection ended badly".into())),
            _ => Ok(()),
        }
    }
}

impl Server {
    fn run(&self) -> Result<bool, Error> {
        let Device { plaintext, once, .. } = self.device;
        if self.device.address.is_empty() {
            return Err(Error::Usage(
                "no address inside: the server needs --address ADDR/BITS, as 10.77.0.1/24".into(),
            ));
        }
        let keys = self.keys.find(self.device.quiet)?;
        give_up_capabilities();
        if plaintext {
            output::note(PLAINTEXT);
        }
        let key = keys.line(self.device.quiet);
        let identity = keys.identity;
        let each = self.device.limits();
        let limits = ServerLimits { plaintext, each, mtu: self.mtu, ..ServerLimits::default() };
        let device = self.device.options();
        let options = ServerOptions {
            listen: self.listen.unwrap_or_else(|| any_address(5312)),
            identity,
            limits,
            device,
            clients: self.clients.clone().map(|path| {
                let routes = self.client_route.clone();
                ClientListOptions { path, routes }
            }),
            loops: self.loops.unwrap_or_else(processors),
            once,
            outlives_hangup: outlives_hangup(),
        };
        let mut messages = Messages::default();
        let good = server(&options, &mut |event| {
            self.device.tell(&mut messages, &event);
            if let (Event::Listening(_), Some(key)) = (&event, &key) {
                messages.print(key.clone());
            }
        });
        messages.end()?;
        good.map_err(fail)
    }
}

impl Client {
    fn run(&self) -> Result<bool, Error> {
        registries::build(&self.scheme)
            .map_err(|error| Error::Usage(format!("--scheme {}: {error}", self.scheme)))?;
        let key = self.key.find()?;
        give_up_capabilities();
        let Device { plaintext, once, .. } = self.device;
        if plaintext {
            output::note(PLAINTEXT);
        }
        let options = ClientOptions {
            to: self.to.clone(),
            key,
            scheme: self.scheme.clone(),
            plaintext,
            mtu: self.mtu,
            keepalive: self.keepalive,
            device: self.device.options(),
            outer: self.outer.clone(),
            mark: None,
            limits: self.device.limits(),
            once,
            outlives_hangup: outlives_hangup(),
        };
        let mut messages = Messages::default();
        let good = client(&options, &mut |event| self.device.tell(&mut messages, &event));
        messages.end()?;
        good.map_err(fail)
    }
}

fn words(event: &Event) -> String {
    match event {
        Event::Listening(at) => format!("listening at {at}"),
        Event::Device(name) => format!("device {name} is up"),
        Event::Connected { with, mtu, too_small: false } => {
            format!("{with}: connected; packets inside have up to {mtu} bytes")
        }
        Event::Connected { with, mtu, too_small: true } => format!(
            "{with}: connected; packets inside have up to {mtu} bytes, and IPv6, which needs 1280, is \
             carried in parts where it is longer"
        ),
        Event::PacketSize { with, mtu } => format!(
            "{with}: the path carries packets of another size now; packets inside have up to {mtu} bytes"
        ),
        Event::Moved(to) => format!("the other end has moved to {to}"),
        Event::SourceRefused { with, source, owner: Some(owner) } => format!(
            "warning: {with}: dropped packets from {source}, which belongs to {owner} as long as that is connected"
        ),
        Event::SourceRefused { with, source, owner: None } => {
            format!(
                "warning: {with}: dropped packets from {source}, which the list of clients does not give it"
            )
        }
        Event::ListRead(count) => {
            format!("the list of clients was read again: {}", counted(*count, "client"))
        }
        Event::NoList => "SIGHUP: there is no list of clients to read again".into(),
        Event::ListProblem(why) => format!("warning: the former list of clients stays: {why}"),
        Event::Ended { with, reason, stats } => {
            let reason = if reason.is_empty() { "closed" } else { reason };
            let count = |count: u64, what: &str| match count {
                0 => String::new(),
                count => format!(", {count} {what}"),
            };
            let long = count(stats.too_long, "were refused as too long");
            let parts = count(stats.in_parts, "went in parts");
            let forged = count(stats.not_allowed, "came from addresses of others");
            let (packets, dropped) = (stats.queues.packets, stats.queues.dropped);
            format!(
                "{with}: ended: {reason}; {packets} packets came to the queues, {dropped} were \
                 dropped{long}{parts}{forged}"
            )
        }
        Event::NoControl(why) => {
            format!(
                "warning: no control socket, so `paceline tunnel status` does not show this end: {why}"
            )
        }
        Event::LeftOut(count) => {
            format!("warning: {} left out", counted(*count as usize, "message"))
        }
        Event::Waiting(why) => format!("warning: not connected, trying again: {why}"),
        Event::Stopping(stats) => format!(
            "interrupted: {} connections since the start, {} refused; {} datagrams ignored",
            stats.accepted, stats.refused, stats.ignored
        ),
    }
}
