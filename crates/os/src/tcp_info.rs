//! The state of one TCP socket (`TCP_INFO`, tcp(7)).

use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// The sending half of a connection, as the kernel sees it. Windows and counts in packets.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// The congestion window.
    pub cwnd: u32,
    /// The slow-start threshold; 2147483647 before the first loss.
    pub ssthresh: u32,
    /// 0 Open, 1 Disorder, 2 CWR, 3 Recovery, 4 Loss.
    pub ca_state: u8,
    /// Packets that were sent and are not acknowledged cumulatively.
    pub unacked: u32,
    /// Of these, selectively acknowledged ones.
    pub sacked: u32,
    /// Of these, packets that count as lost.
    pub lost: u32,
    /// Of these, packets that were sent again.
    pub retrans: u32,
    /// The retransmission timeout.
    pub rto: Duration,
}

/// Returns the state of `socket`.
///
/// # Errors
/// The descriptor is no TCP socket.
pub fn tcp_info(socket: &impl AsRawFd) -> io::Result<TcpInfo> {
    // SAFETY: all bytes zero are a valid `tcp_info`, which has only integers.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: writes at most `length` bytes, the size of `info`, and the length.
    let done = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut length,
        )
    };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(TcpInfo {
        cwnd: info.tcpi_snd_cwnd,
        ssthresh: info.tcpi_snd_ssthresh,
        ca_state: info.tcpi_ca_state,
        unacked: info.tcpi_unacked,
        sacked: info.tcpi_sacked,
        lost: info.tcpi_lost,
        retrans: info.tcpi_retrans,
        rto: Duration::from_micros(u64::from(info.tcpi_rto)),
    })
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_new_connection_has_its_initial_window() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let address = listener.local_addr().expect("an address");
        let stream = TcpStream::connect(address).expect("a connection");
        let info = tcp_info(&stream).expect("a state");
        assert_eq!((info.unacked, info.lost, info.ca_state), (0, 0, 0));
        assert!(info.cwnd > 0 && info.rto > Duration::ZERO, "{info:?}");
        let file = std::fs::File::open("/dev/null").expect("a file");
        assert!(tcp_info(&file).is_err());
    }
}
