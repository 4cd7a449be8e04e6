//! Bulk traffic over the operating system's own TCP, for comparisons with the simulator.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, connect, setsockopt, socket, sockopt,
};
use paceline_os::RealTimeError;
use paceline_os::pacing;
use serde::{Deserialize, Serialize};

/// The port on which [`receive`] listens.
pub const PORT: u16 = 5310;
const SETTINGS: &str = "/proc/sys/net/ipv4";
/// Maximum time for a receiver to start listening.
const PATIENCE: Duration = Duration::from_secs(5);
/// Interval at which the receiver writes its byte count to the file.
const TELLING: Duration = Duration::from_millis(20);
/// Socket buffers grow up to this many bytes, so that they never limit the window.
const MOST_BUFFER: u64 = 256 << 20;

/// Counters of the sender's kernel for its network namespace.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Segments sent, without retransmissions.
    pub segments: u64,
    /// Segments retransmitted, without SYNs.
    pub retransmits: u64,
    /// Expiries of the retransmission timer, without those for SYNs.
    pub timeouts: u64,
}

/// Returns the congestion controls that this kernel has, by the kernel's names.
///
/// # Errors
/// The system does not list them.
pub fn schemes() -> Result<Vec<String>, RealTimeError> {
    let path = format!("{SETTINGS}/tcp_available_congestion_control");
    let text = std::fs::read_to_string(&path).map_err(RealTimeError::system(path))?;
    Ok(text.split_whitespace().map(String::from).collect())
}

/// Sets this network namespace's limits for large windows. Call it only in a namespace made for the
/// run.
///
/// # Errors
/// The system refuses a setting.
pub fn prepare(ecn: bool) -> Result<(), RealTimeError> {
    let buffers = format!("4096 131072 {MOST_BUFFER}");
    let ecn = if ecn { "1" } else { "0" };
    for (name, value) in [("tcp_wmem", &*buffers), ("tcp_rmem", &buffers), ("tcp_ecn", ecn)] {
        let path = format!("{SETTINGS}/{name}");
        std::fs::write(&path, value).map_err(RealTimeError::system(path))?;
    }
    Ok(())
}

/// Sends to `to` for `length`, with one flow per entry of `schemes` (the kernel's names). With
/// `paced`, the kernel paces the flows as the `fq` qdisc does. At the end it resets the
/// connections, so that data still in queues is dropped.
///
/// # Errors
/// The kernel does not have a scheme, no receiver listens at `to`, or a connection breaks.
pub fn send(
    to: IpAddr,
    schemes: &[String],
    paced: bool,
    length: Duration,
) -> Result<Counts, RealTimeError> {
    let end = Instant::now() + length;
    let to = SocketAddr::new(to, PORT);
    let flows: Vec<_> = schemes
        .iter()
        .map(|scheme| {
            let scheme = scheme.clone();
            thread::spawn(move || flow(to, &scheme, paced, end))
        })
        .collect();
    for flow in flows {
        let ended = flow.join();
        ended.unwrap_or_else(|_| Err(RealTimeError::Message("a sender has died".into())))?;
    }
    counts()
}

fn flow(to: SocketAddr, scheme: &str, paced: bool, end: Instant) -> Result<(), RealTimeError> {
    let mut stream = open(to, scheme, paced, end)?;
    let what = format!("sending to {to}");
    stream
        .set_write_timeout(Some(Duration::from_millis(10)))
        .map_err(RealTimeError::system(&what))?;
    let bytes = vec![0u8; 64 << 10];
    while Instant::now() < end {
        match stream.write(&bytes) {
            Ok(_) => {}
            Err(error) if is_pause(&error) => {}
            Err(error) => return Err(RealTimeError::system(what)(error)),
        }
    }
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    setsockopt(&stream, sockopt::Linger, &linger).map_err(RealTimeError::system(what))
}

fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// Opens a connection that uses this scheme from its first packet. A scheme set after connecting,
/// as iperf3 does it, would stay paced for the whole connection on a host whose default is BBR
/// (`sk_pacing_status`).
fn open(
    to: SocketAddr,
    scheme: &str,
    paced: bool,
    end: Instant,
) -> Result<TcpStream, RealTimeError> {
    let patience = Instant::now() + PATIENCE;
    loop {
        let family = if to.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
        let made = socket(family, SockType::Stream, SockFlag::SOCK_CLOEXEC, None);
        let made = made.map_err(RealTimeError::system("socket"))?;
        setsockopt(&made, sockopt::TcpCongestion, &scheme.into()).map_err(|error| {
            let known = self::schemes().unwrap_or_default().join(", ");
            RealTimeError::Message(format!(
                "congestion control `{scheme}`: {error}; this kernel has {known}; others may \
                 come with `sudo modprobe tcp_{scheme}`"
            ))
        })?;
        if paced {
            pacing::pace(&made).map_err(RealTimeError::system("SO_MAX_PACING_RATE"))?;
        }
        use std::os::fd::AsRawFd as _;
        match connect(made.as_raw_fd(), &SockaddrStorage::from(to)) {
            Ok(()) => return Ok(TcpStream::from(made)),
            Err(nix::errno::Errno::ECONNREFUSED)
                if Instant::now() < patience && Instant::now() < end =>
            {
                thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(RealTimeError::system(format!("connecting to {to}"))(error)),
        }
    }
}

fn counts() -> Result<Counts, RealTimeError> {
    let read = |name: &str| {
        let path = format!("/proc/self/net/{name}");
        std::fs::read_to_string(&path).map_err(RealTimeError::system(path))
    };
    let (snmp, netstat) = (read("snmp")?, read("netstat")?);
    Ok(counted(&snmp, &netstat))
}

/// Reads the counters from the tables `snmp` and `netstat` of a network namespace. Subtracts
/// retransmitted SYNs, which the kernel counts in both and the simulator in neither.
fn counted(snmp: &str, netstat: &str) -> Counts {
    let resent = counter(snmp, "Tcp:", "RetransSegs");
    let syns = counter(netstat, "TcpExt:", "TCPSynRetrans");
    let timeouts = counter(netstat, "TcpExt:", "TCPTimeouts");
    Counts {
        segments: counter(snmp, "Tcp:", "OutSegs").saturating_sub(resent),
        retransmits: resent.saturating_sub(syns),
        timeouts: timeouts.saturating_sub(syns),
    }
}

/// Reads a counter from a table that has a line of names above a line of values; 0 if the counter
/// is missing.
fn counter(text: &str, table: &str, name: &str) -> u64 {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(table));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return 0 };
    let mut pairs = names.split_whitespace().zip(values.split_whitespace());
    pairs.find(|(known, _)| *known == name).and_then(|(_, value)| value.parse().ok()).unwrap_or(0)
}

/// Receives everything that arrives at `at` and writes the number of bytes so far to the file
/// `count`, every 20 ms, until the process is ended. `scheme` is set on the listening socket, where
/// it decides whether the receiver negotiates Accurate ECN; `None` keeps the system's default.
///
/// # Errors
/// The system refuses the address, the scheme or the file.
pub fn receive(at: IpAddr, scheme: Option<&str>, count: &Path) -> Result<(), RealTimeError> {
    let listener = TcpListener::bind((at, PORT))
        .map_err(RealTimeError::system(format!("listening at {at}, port {PORT}")))?;
    if let Some(scheme) = scheme {
        setsockopt(&listener, sockopt::TcpCongestion, &scheme.into())
            .map_err(RealTimeError::system(format!("congestion control `{scheme}`")))?;
    }
    let received = Arc::new(AtomicU64::new(0));
    let all = Arc::clone(&received);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let all = Arc::clone(&all);
            thread::spawn(move || discard_input(stream, &all));
        }
    });
    loop {
        let text = received.load(Ordering::Relaxed).to_string();
        // Rename, so that a reader never sees a file that is half written.
        let fresh = count.with_extension("new");
        std::fs::write(&fresh, text)
            .and_then(|()| std::fs::rename(&fresh, count))
            .map_err(RealTimeError::system(count.display().to_string()))?;
        thread::sleep(TELLING);
    }
}

fn discard_input(mut stream: TcpStream, all: &AtomicU64) {
    let mut place = vec![0u8; 256 << 10];
    loop {
        match stream.read(&mut place) {
            Ok(0) => return,
            Ok(count) => all.fetch_add(count as u64, Ordering::Relaxed),
            Err(error) if is_pause(&error) => continue,
            Err(_) => return,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read() {
        let text = "Ip: A B\nIp: 1 2\nTcp: OutSegs RetransSegs\nTcp: 100 7\nTcpExt: X\nTcpExt: 3\n";
        assert_eq!(counter(text, "Tcp:", "RetransSegs"), 7);
        assert_eq!(counter(text, "TcpExt:", "X"), 3);
        assert_eq!(counter(text, "Tcp:", "Nope"), 0);
        assert_eq!(counter("", "Tcp:", "RetransSegs"), 0);
    }

    #[test]
    fn a_syn_sent_again_is_neither_a_retransmission_nor_a_timeout() {
        let snmp = "Tcp: OutSegs RetransSegs\nTcp: 100 7\n";
        let netstat = "TcpExt: TCPTimeouts TCPSynRetrans\nTcpExt: 3 2\n";
        let data = Counts { segments: 93, retransmits: 5, timeouts: 1 };
        assert_eq!(counted(snmp, netstat), data);
    }

    #[test]
    fn an_unknown_scheme_is_told_with_those_there_are() {
        let here = IpAddr::from([127, 0, 0, 1]);
        let error = send(here, &["nosuch".into()], false, Duration::from_millis(10));
        let text = error.expect_err("no such scheme").to_string();
        assert!(text.contains("nosuch") && text.contains("this kernel has"), "{text}");
    }
}
