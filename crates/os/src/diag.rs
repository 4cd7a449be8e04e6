//! What the kernel knows of the TCP connections of a network namespace (`sock_diag`).

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::time::Duration;

use nix::sys::socket::SockProtocol;

use crate::RealTimeError;

use super::netlink::{Answer, Message, Netlink, attributes, u32_at};

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const REQ_SK_BPF_STORAGES: u16 = 2;
const STORAGE_REQ_MAP_FD: u16 = 1;
/// `INET_DIAG_INFO`, `INET_DIAG_CONG` and `INET_DIAG_SK_BPF_STORAGES`.
const INFO: u16 = 2;
const CONG: u16 = 4;
const SK_BPF_STORAGES: u16 = 20;
/// The kind of attribute in the list of storages, and that of the value in it.
const STORAGE: u16 = 1;
const STORAGE_VALUE: u16 = 3;
/// Connections that have begun and not ended: the states from ESTABLISHED to CLOSING that carry data.
const STATES: u32 = 1 << 1 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11;
/// Bytes of `struct inet_diag_msg`.
const MESSAGE: usize = 72;

/// The sending half of a TCP connection.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpSocket {
    /// Number that no other socket has.
    pub cookie: u64,
    /// Its own address.
    pub local: SocketAddr,
    /// The other end's.
    pub remote: SocketAddr,
    /// Its congestion control.
    pub scheme: String,
    /// The congestion window in packets.
    pub cwnd: u32,
    /// Packets in flight.
    pub in_flight: u32,
    /// The smoothed round-trip time.
    pub rtt: Duration,
    /// The smallest round-trip time of the last minutes.
    pub min_rtt: Duration,
    /// Bytes per second; `u64::MAX` without a limit.
    pub pacing: u64,
    /// Bytes per second, by the kernel's newest sample.
    pub delivery: u64,
    /// Bytes that the other end has acknowledged.
    pub acked: u64,
    /// Packets sent again.
    pub retransmits: u32,
    /// The value that eBPF programs have stored for it in the map that was named.
    pub storage: Option<Vec<u8>>,
}

/// Returns the TCP connections of the calling thread's network namespace. With `storage`, a map of socket storage, each
/// has its value in that map as well, which takes CAP_BPF.
///
/// # Errors
/// The kernel does not tell.
pub fn tcp_sockets(storage: Option<BorrowedFd<'_>>) -> Result<Vec<TcpSocket>, RealTimeError> {
    let fail = |error: io::Error| RealTimeError::system("the list of TCP connections")(error);
    let mut netlink = Netlink::open(SockProtocol::NetlinkSockDiag).map_err(fail)?;
    let mut found = Vec::new();
    for family in [libc::AF_INET, libc::AF_INET6] {
        let wanted = 1 << (INFO - 1) | 1 << (CONG - 1);
        let mut fixed = vec![family as u8, libc::IPPROTO_TCP as u8, wanted, 0];
        fixed.extend(STATES.to_ne_bytes());
        fixed.resize(56, 0);
        let mut message = Message::new(SOCK_DIAG_BY_FAMILY, libc::NLM_F_DUMP, &fixed);
        if let Some(map) = storage {
            message.nest(REQ_SK_BPF_STORAGES, |message| {
                message.number(STORAGE_REQ_MAP_FD, map.as_raw_fd() as u32);
            });
        }
        netlink.dump(message, |answer| found.extend(read(answer))).map_err(fail)?;
    }
    Ok(found)
}

fn read(answer: &Answer<'_>) -> Option<TcpSocket> {
    let body = answer.body.get(..MESSAGE)?;
    let port = |at: usize| Some(u16::from_be_bytes(body.get(at..at + 2)?.try_into().ok()?));
    let address = |at: usize| -> Option<IpAddr> {
        Some(match i32::from(*body.first()?) {
            libc::AF_INET => {
                let octets: [u8; 4] = body.get(at..at + 4)?.try_into().ok()?;
                Ipv4Addr::from(octets).into()
            }
            _ => {
                let octets: [u8; 16] = body.get(at..at + 16)?.try_into().ok()?;
                Ipv6Addr::from(octets).into()
            }
        })
    };
    let mut socket = TcpSocket {
        cookie: u64::from(u32_at(body, 44)) | u64::from(u32_at(body, 48)) << 32,
        local: SocketAddr::new(address(8)?, port(4)?),
        remote: SocketAddr::new(address(24)?, port(6)?),
        scheme: String::new(),
        cwnd: 0,
        in_flight: 0,
        rtt: Duration::ZERO,
        min_rtt: Duration::ZERO,
        pacing: 0,
        delivery: 0,
        acked: 0,
        retransmits: 0,
        storage: None,
    };
    for (kind, value) in attributes(answer.body.get(MESSAGE..)?) {
        match kind {
            CONG => {
                let end = value.iter().position(|&byte| byte == 0).unwrap_or(value.len());
                socket.scheme = String::from_utf8_lossy(&value[..end]).into_owned();
            }
            INFO => take_info(&mut socket, value),
            SK_BPF_STORAGES => {
                let of = |bytes, wanted| attributes(bytes).find(|(kind, _)| *kind == wanted);
                let inner = of(value, STORAGE).and_then(|(_, one)| of(one, STORAGE_VALUE));
                socket.storage = inner.map(|(_, value)| value.to_vec());
            }
            _ => {}
        }
    }
    Some(socket)
}

/// Reads `struct tcp_info`, which only ever grows at its end.
fn take_info(socket: &mut TcpSocket, info: &[u8]) {
    let wide = |at: usize| {
        let bytes = info.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u64::from_ne_bytes)
    };
    let micros = |at| Duration::from_micros(u32_at(info, at).into());
    let [unacked, sacked, lost, retransmitted] = [24, 28, 32, 36].map(|at| u32_at(info, at));
    socket.in_flight = (unacked + retransmitted).saturating_sub(sacked + lost);
    socket.rtt = micros(68);
    socket.cwnd = u32_at(info, 80);
    socket.retransmits = u32_at(info, 100);
    socket.pacing = wide(104);
    socket.acked = wide(120);
    socket.min_rtt = micros(148);
    socket.delivery = wide(160);
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_connection_over_loopback_is_listed_with_its_figures() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("an address");
        let to = listener.local_addr().expect("an address");
        let mut sender = TcpStream::connect(to).expect("somebody listens");
        let (mut receiver, _) = listener.accept().expect("a connection");
        sender.write_all(&[7; 1000]).expect("there is room");
        receiver.read_exact(&mut [0; 1000]).expect("it comes");
        let own = sender.local_addr().expect("an address");
        let all = match tcp_sockets(None) {
            Ok(all) => all,
            // A kernel without INET_DIAG says so.
            Err(error) => return assert!(error.to_string().contains("TCP connections")),
        };
        let mine = all.iter().find(|socket| socket.local == own).expect("is listed");
        assert_eq!(mine.remote, to);
        assert!(mine.cwnd >= 2 && mine.acked >= 1000 && !mine.scheme.is_empty(), "{mine:?}");
        assert!(!all.iter().any(|socket| socket.local == to && socket.remote != own));
        assert!(mine.storage.is_none() && mine.rtt > Duration::ZERO, "{mine:?}");
    }
}
