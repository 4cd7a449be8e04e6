//! Waits until a server outside listens, before the program inside starts.

use std::fmt;
use std::fs;
use std::str::FromStr;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use paceline_os::RealTimeError;
use std::os::fd::{AsFd as _, OwnedFd};

/// How long a server may take until it listens.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often the kernel's list of sockets is read meanwhile.
const INTERVAL_MS: u16 = 20;
/// Signals that end the waiting.
const ENDING: [Signal; 4] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT];
/// States of sockets in `/proc/net`: a TCP socket that listens, a UDP socket that is not connected.
const LISTENS: &str = "0A";
const UNCONNECTED: &str = "07";

/// A port at which a server listens.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct ServerPort {
    /// The port.
    pub port: u16,
    /// True for UDP, false for TCP.
    pub udp: bool,
}

impl fmt::Display for ServerPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} port {}", if self.udp { "UDP" } else { "TCP" }, self.port)
    }
}

/// Reads `5201`, `5201/tcp` or `4433/udp`.
impl FromStr for ServerPort {
    type Err = String;

    fn from_str(text: &str) -> Result<ServerPort, String> {
        let (port, protocol) = text.split_once('/').unwrap_or((text, "tcp"));
        let udp = match protocol {
            "tcp" => false,
            "udp" => true,
            _ => return Err(format!("unknown protocol `{protocol}`; write PORT/tcp or PORT/udp")),
        };
        match port.parse() {
            Ok(port) if port > 0 => Ok(ServerPort { port, udp }),
            _ => Err("expected a port from 1 to 65535, such as 5201 or 4433/udp".into()),
        }
    }
}

impl ServerPort {
    /// Returns the port as [`FromStr`] reads it.
    pub fn written(self) -> String {
        format!("{}/{}", self.port, if self.udp { "udp" } else { "tcp" })
    }

    /// Waits until a socket of this network namespace listens at the port. Nothing is sent to it. `failed` hangs up when
    /// the server's command has failed.
    ///
    /// # Errors
    /// None does within 30 s, or until the command has failed, a signal asks this process to end, or the kernel's list cannot be read. Signals must be
    /// blocked.
    pub(super) fn wait(self, failed: Option<&OwnedFd>) -> Result<(), RealTimeError> {
        let ending: SigSet = ENDING.into_iter().collect();
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        let signals = SignalFd::with_flags(&ending, flags)
            .map_err(RealTimeError::system("watching signals"))?;
        let begun = Instant::now();
        while !self.is_served()? {
            if begun.elapsed() > PATIENCE {
                return Err(RealTimeError::Message(format!(
                    "nothing listens at {self} outside after {} s (--wait-for): does the command \
                     of --outside run, and is it the right port?",
                    PATIENCE.as_secs()
                )));
            }
            let mut watched = vec![PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
            watched.extend(failed.map(|failed| PollFd::new(failed.as_fd(), PollFlags::POLLIN)));
            if !poll(&mut watched, PollTimeout::from(INTERVAL_MS)).is_ok_and(|count| count > 0) {
                continue;
            }
            if watched[0].any() == Some(true) {
                // It is not read: it ends this process once all is put back and signals are let in again.
                return Err(RealTimeError::Message(format!(
                    "interrupted while waiting for {self}"
                )));
            }
            return Err(RealTimeError::Message(format!(
                "the command of --outside has failed, and nothing listens at {self} (--wait-for)"
            )));
        }
        Ok(())
    }

    fn is_served(self) -> Result<bool, RealTimeError> {
        let mut is_served = false;
        for version in ["", "6"] {
            let protocol = if self.udp { "udp" } else { "tcp" };
            let path = format!("/proc/thread-self/net/{protocol}{version}");
            match fs::read_to_string(&path) {
                Ok(text) => is_served |= self.is_in(&text),
                // A kernel without IPv6 has no such list.
                Err(_) if version == "6" => {}
                Err(error) => return Err(RealTimeError::Message(format!("{path}: {error}"))),
            }
        }
        Ok(is_served)
    }

    /// True if a line of the kernel's list is a socket that listens at the port: its second word is
    /// `ADDRESS:PORT` in hexadecimal digits, its fourth the state.
    fn is_in(self, sockets: &str) -> bool {
        let wanted = if self.udp { UNCONNECTED } else { LISTENS };
        sockets.lines().skip(1).any(|line| {
            let mut words = line.split_ascii_whitespace().skip(1);
            let port = words.next().and_then(|local| local.rsplit_once(':')).map(|(_, port)| port);
            let state = words.nth(1);
            port.is_some_and(|port| u16::from_str_radix(port, 16) == Ok(self.port))
                && state == Some(wanted)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, UdpSocket};

    use super::*;

    #[test]
    fn ports_are_read() {
        let port = |port, udp| Ok(ServerPort { port, udp });
        assert_eq!("5201".parse(), port(5201, false));
        assert_eq!("5201/tcp".parse(), port(5201, false));
        assert_eq!("4433/udp".parse(), port(4433, true));
        assert_eq!(ServerPort { port: 4433, udp: true }.written(), "4433/udp");
        for (text, said) in [("0", "1 to 65535"), ("http", "1 to 65535"), ("1/sctp", "PORT/udp")] {
            let error = text.parse::<ServerPort>().expect_err(text);
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn sockets_that_listen_are_found() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let tcp = ServerPort { port, udp: false };
        assert!(tcp.is_served().expect("a list"));
        tcp.wait(None).expect("listens already");
        let socket = UdpSocket::bind("[::1]:0").or_else(|_| UdpSocket::bind("127.0.0.1:0"));
        let port = socket.as_ref().expect("a port").local_addr().expect("an address").port();
        assert!(ServerPort { port, udp: true }.is_served().expect("a list"));
    }

    #[test]
    fn connections_are_no_servers() {
        let list = "  sl  local_address rem_address   st tx_queue rx_queue\n   \
                    0: 0100007F:1451 0100007F:9C40 01 00000000:00000000\n";
        assert!(!ServerPort { port: 0x1451, udp: false }.is_in(list));
        assert!(ServerPort { port: 0x1451, udp: false }.is_in(&list.replace(" 01 ", " 0A ")));
        assert!(!ServerPort { port: 0x1452, udp: false }.is_in(&list.replace(" 01 ", " 0A ")));
        assert!(!ServerPort { port: 1, udp: true }.is_in("nonsense\n\n: :"));
    }
}
