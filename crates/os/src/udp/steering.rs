//! Several sockets at one address, one for each event loop. The kernel gives each datagram to one of them: datagrams
//! of some kinds to the socket whose number stands in the datagram, so that they reach its loop from whatever address
//! they come; anything else by its addresses and ports.

use std::io;
use std::mem::size_of;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

use nix::sys::socket::{setsockopt, sockopt};

use super::Socket;
use crate::RealTimeError;

/// The most sockets at one address.
pub const MOST_SOCKETS: usize = 64;

/// The datagrams that carry the number of a socket.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Steering {
    /// First bytes of these datagrams.
    pub kinds: [u8; 2],
    /// Position of the byte that is the socket's number.
    pub number_at: usize,
}

/// The filter's result for datagrams without a number: there is no such socket, so that the kernel chooses one by
/// addresses and ports.
const NO_SOCKET: u32 = u32::MAX;

impl Socket {
    /// Binds `count` sockets to one address, at most [`MOST_SOCKETS`]; port 0 takes a free one. Other programs cannot
    /// bind to it. The kernel divides datagrams among the sockets by `steering`.
    ///
    /// # Errors
    /// The address is not of this machine or taken, or the system refuses a setting.
    pub fn bind_several(
        at: SocketAddr,
        count: usize,
        steering: Steering,
    ) -> Result<Vec<Socket>, RealTimeError> {
        // The first is bound before it may share its address: so it finds out whether that is taken.
        let mut sockets = vec![Socket::bind(at)?];
        let first = sockets.first().map(|first| (first.local(), &first.socket));
        let Some((at, first)) = first else { return Ok(sockets) };
        if count <= 1 {
            return Ok(sockets);
        }
        let at = at?;
        let refused = |what: &str| {
            RealTimeError::system(format!("{what} at {at}, which `--loops 1` does without"))
        };
        setsockopt(first, sockopt::ReusePort, &true).map_err(refused("sharing the address"))?;
        for _ in 1..count.min(MOST_SOCKETS) {
            let socket = super::bound(at, true).map_err(refused("opening a further socket"))?;
            sockets.push(Socket::of(socket, at)?);
        }
        if let Some(first) = sockets.first() {
            steer(&first.socket, steering).map_err(refused("dividing datagrams among sockets"))?;
        }
        Ok(sockets)
    }
}

/// Attaches the filter that returns the number of the socket for a datagram. The kernel numbers sockets in the order in
/// which they were bound.
fn steer(socket: &UdpSocket, steering: Steering) -> nix::Result<()> {
    let [load_byte, equal, answer, answer_loaded] = [
        libc::BPF_LD | libc::BPF_B | libc::BPF_ABS,
        libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
        libc::BPF_RET | libc::BPF_K,
        libc::BPF_RET | libc::BPF_A,
    ]
    .map(|code| code as u16);
    let [kind, other_kind] = steering.kinds.map(u32::from);
    let step = |code, k| libc::sock_filter { code, jt: 0, jf: 0, k };
    // The kernel runs it with UDP's content at byte 0. A datagram without that byte ends it with 0.
    let mut program = [
        step(load_byte, 0),
        libc::sock_filter { code: equal, jt: 2, jf: 0, k: kind },
        libc::sock_filter { code: equal, jt: 1, jf: 0, k: other_kind },
        step(answer, NO_SOCKET),
        step(load_byte, steering.number_at as u32),
        step(answer_loaded, 0),
    ];
    let program =
        libc::sock_fprog { len: program.len() as libc::c_ushort, filter: program.as_mut_ptr() };
    // SAFETY: the pointer and the length are those of `program`, whose filter outlives the call; the kernel
    // copies both.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_REUSEPORT_CBPF,
            (&raw const program).cast(),
            size_of::<libc::sock_fprog>() as libc::socklen_t,
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(nix::Error::from_raw(io::Error::last_os_error().raw_os_error().unwrap_or(0))),
    }
}

#[cfg(test)]
mod tests {
    use paceline_cc::Stream;

    use super::super::Inbox;
    use super::*;

    const STEERING: Steering = Steering { kinds: [0x41, 0x42], number_at: 2 };

    /// Returns the number of the socket that a datagram has reached.
    fn taker(sockets: &[Socket], inbox: &mut Inbox) -> Option<usize> {
        let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while std::time::Instant::now() < end {
            for (number, socket) in sockets.iter().enumerate() {
                if socket.receive(inbox, |_| ()).expect("a socket") > 0 {
                    return Some(number);
                }
            }
        }
        None
    }

    #[test]
    fn packets_reach_the_socket_of_their_number_from_any_address() {
        for at in ["127.0.0.1:0", "[::1]:0"] {
            let at: SocketAddr = at.parse().expect("an address");
            let Ok(mut sockets) = Socket::bind_several(at, 3, STEERING) else {
                paceline_testing::skip(
                    paceline_testing::Need::Kernel,
                    &paceline_testing::this_test(),
                    &format!("no sockets at {at}"),
                );
                continue;
            };
            let to = sockets[0].local().expect("an address");
            let mut inbox = Inbox::default();
            let mut random = Stream::new(1, "steering");
            for i in 0..60 {
                // A new port each time.
                let from = UdpSocket::bind(at).expect("a socket");
                let number = i % 3;
                let mut packet = vec![random.next_u64() as u8; 20 + i];
                let kind = STEERING.kinds[i / 3 % 2];
                (packet[0], packet[STEERING.number_at]) = (kind, number as u8);
                from.send_to(&packet, to).expect("sent");
                assert_eq!(taker(&sockets, &mut inbox), Some(number));
            }
            // Anything else arrives somewhere, always at the same from one address: handshakes, packets
            // with a number that no socket has, and what is too short.
            let from = UdpSocket::bind(at).expect("a socket");
            let mut takers = Vec::new();
            for packet in [&[0x91, 1, 2, 3][..], &[0x91; 1200], &[0x41, 0, 77, 0, 0], &[9]] {
                from.send_to(packet, to).expect("sent");
                takers.push(taker(&sockets, &mut inbox).expect("somebody has it"));
            }
            assert!(takers.iter().all(|taker| *taker == takers[0]), "{takers:?}");
            // The address is taken, for one socket as for several.
            assert!(Socket::bind(to).is_err() && Socket::bind_several(to, 2, STEERING).is_err());
            sockets.clear();
            // Another program may be given this port meanwhile, and have it for a moment.
            let again = (0..3000).find_map(|_| {
                std::thread::sleep(std::time::Duration::from_millis(10));
                Socket::bind(to).ok()
            });
            assert!(again.is_some(), "{to} stays taken");
        }
    }
}
