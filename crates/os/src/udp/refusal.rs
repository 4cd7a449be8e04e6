//! ICMP "port unreachable": the kernel keeps these errors for sockets that ask for them (ip(7), `IP_RECVERR`).

use std::mem::{self, size_of};
use std::net::SocketAddr;
use std::os::fd::AsRawFd as _;

use super::{CONTROL, Socket, address, set};

/// Number of bytes of a refused datagram that are read with its error; longer ones are cut.
const QUOTED: usize = 64;
/// The most errors that are read at once.
const MOST: usize = 64;

impl Socket {
    /// Turns on, or off, that the kernel keeps ICMP errors about this socket's datagrams. A kernel without this keeps
    /// none.
    pub fn watch_refusals(&self, on: bool) {
        let _ = set(&self.socket, libc::IPPROTO_IP, libc::IP_RECVERR, on.into());
        if self.v6 {
            let _ = set(&self.socket, libc::IPPROTO_IPV6, libc::IPV6_RECVERR, on.into());
        }
    }

    /// Returns the addresses for which "port unreachable" has come since the last call. IPv4 addresses are not mapped
    /// to IPv6.
    pub fn take_refused(&self) -> Vec<SocketAddr> {
        let errors = (0..MOST).map_while(|_| self.next_error());
        let refused = errors.filter(|(code, _)| *code == libc::ECONNREFUSED);
        refused
            .filter_map(|(_, at)| Some(SocketAddr::new(at?.ip().to_canonical(), at?.port())))
            .collect()
    }

    /// Takes the oldest error that the kernel keeps: its number, and the address to which the datagram was sent.
    fn next_error(&self) -> Option<(i32, Option<SocketAddr>)> {
        // SAFETY: all zeros are an address storage of no family, null pointers and empty lengths.
        let (mut name, mut header): (libc::sockaddr_storage, libc::msghdr) =
            unsafe { (mem::zeroed(), mem::zeroed()) };
        let (mut bytes, mut control) = ([0u8; QUOTED], [0u64; CONTROL]);
        let mut piece = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        header.msg_name = (&raw mut name).cast();
        header.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
        header.msg_iov = &raw mut piece;
        header.msg_iovlen = 1;
        header.msg_control = control.as_mut_ptr().cast();
        header.msg_controllen = (size_of::<u64>() * CONTROL) as _;
        let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
        // SAFETY: the header points to memory that outlives the call, with the lengths that it has.
        if unsafe { libc::recvmsg(self.socket.as_raw_fd(), &raw mut header, flags) } < 0 {
            return None;
        }
        // SAFETY: the kernel has written whole control messages into the memory that the header points to, and their
        // length into the header. Data is read as far as its kind goes, unaligned.
        let code = unsafe {
            let mut message = libc::CMSG_FIRSTHDR(&raw const header);
            let mut code = None;
            while !message.is_null() {
                let kind = ((*message).cmsg_level, (*message).cmsg_type);
                if let (libc::IPPROTO_IP, libc::IP_RECVERR)
                | (libc::IPPROTO_IPV6, libc::IPV6_RECVERR) = kind
                {
                    let error =
                        libc::CMSG_DATA(message).cast::<libc::sock_extended_err>().read_unaligned();
                    let by_icmp = [libc::SO_EE_ORIGIN_ICMP, libc::SO_EE_ORIGIN_ICMP6];
                    code = by_icmp.contains(&error.ee_origin).then_some(error.ee_errno as i32);
                }
                message = libc::CMSG_NXTHDR(&raw const header, message);
            }
            code
        };
        Some((code.unwrap_or(0), address(&name)))
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::super::{Inbox, SendOutcome};
    use super::*;

    #[test]
    fn a_closed_port_is_told_and_an_open_one_is_not() {
        for local in ["127.0.0.1:0", "[::1]:0"] {
            let local: SocketAddr = local.parse().expect("an address");
            let (Ok(mut socket), Ok(open), Ok(closed)) =
                (Socket::bind(local), Socket::bind(local), Socket::bind(local))
            else {
                let (need, test) = (paceline_testing::Need::Kernel, paceline_testing::this_test());
                paceline_testing::skip(need, &test, &format!("no sockets at {local}"));
                continue;
            };
            let to = closed.local().expect("an address");
            drop(closed);
            socket.watch_refusals(true);
            let there = open.local().expect("an address");
            assert_eq!(socket.send(there, 0, b"hello", 5), SendOutcome::All);
            assert!(!socket.take_refused().contains(&there));
            assert_eq!(socket.send(to, 0, b"hello", 5), SendOutcome::All);
            let end = Instant::now() + Duration::from_secs(60);
            let mut inbox = Inbox::default();
            while !socket.take_refused().contains(&to) {
                assert!(Instant::now() < end, "no refusal from {to}");
                // The error is no error of receiving.
                socket.receive(&mut inbox, |_| {}).expect("a socket");
            }
            assert!(socket.take_refused().is_empty());
        }
    }
}
