//! TCP's own pacing, as on a host with the `fq` qdisc.

use std::io;
use std::os::fd::AsRawFd;

use super::udp::set;

/// Lets the kernel pace this TCP socket from its first packet on (`SO_MAX_PACING_RATE`, tcp(7)): at most at 17
/// Gbit/s, and below that at the rate which the kernel works out for every scheme, as the `fq` qdisc has it.
///
/// # Errors
/// The system refuses.
pub fn pace(socket: &impl AsRawFd) -> io::Result<()> {
    set(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, libc::c_int::MAX)
}
