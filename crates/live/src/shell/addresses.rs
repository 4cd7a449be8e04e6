//! The two ends' addresses, and a lock under which they are chosen.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::LiveError;

/// RFC 6598's shared space, as Mahimahi uses it: 100.64.0.0/10.
const SHARED: u32 = 0x6440_0000;
const SHARED_BITS: u32 = 10;
/// A prefix of RFC 4193's local space; the IPv4 address makes the rest.
const LOCAL: u128 = 0xfd6e_a13c_52d4_0000_0000_0000_0000_0000;

/// The addresses of both ends of a shell, each of which is the other's only neighbour.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Addresses {
    /// The outer end: this machine, as seen from inside.
    pub outside: Ipv4Addr,
    /// The inner end.
    pub inside: Ipv4Addr,
    /// The outer end in IPv6.
    pub outside6: Ipv6Addr,
    /// The inner end in IPv6.
    pub inside6: Ipv6Addr,
}

impl Addresses {
    /// The first pair above all that are in use, so that nested shells never meet again an address
    /// of those around them.
    pub(crate) fn above(used: &[(u32, IpAddr)]) -> Addresses {
        let mask = u32::MAX << (32 - SHARED_BITS);
        let shared = used.iter().filter_map(|(_, address)| match address {
            IpAddr::V4(four) => Some(u32::from(*four)).filter(|bits| bits & mask == SHARED),
            IpAddr::V6(_) => None,
        });
        let highest = shared.max().unwrap_or(SHARED);
        // At the end of four million addresses, begin anew.
        let first = if highest + 2 < SHARED | !mask { highest + 1 } else { SHARED + 1 };
        let six = |bits: u32| Ipv6Addr::from(LOCAL | u128::from(bits));
        Addresses {
            outside: first.into(),
            inside: (first + 1).into(),
            outside6: six(first),
            inside6: six(first + 1),
        }
    }
}

/// Keeps other shells from choosing addresses or changing settings in the same network namespace
/// meanwhile.
#[derive(Debug)]
pub(crate) struct Lock {
    _listener: UnixListener,
}

impl Lock {
    /// Waits for its turn.
    pub(crate) fn take() -> Result<Lock, LiveError> {
        let what = "lock of this network namespace";
        let name = SocketAddr::from_abstract_name(b"paceline").map_err(LiveError::system(what))?;
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            match UnixListener::bind_addr(&name) {
                Ok(listener) => return Ok(Lock { _listener: listener }),
                Err(error)
                    if error.kind() == io::ErrorKind::AddrInUse && Instant::now() < deadline =>
                {
                    std::thread::sleep(Duration::from_millis(2));
                }
                Err(error) => return Err(LiveError::system(what)(error)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_lie_above_those_in_use() {
        let first = Addresses::above(&[(1, Ipv4Addr::LOCALHOST.into())]);
        assert_eq!(first.outside, Ipv4Addr::new(100, 64, 0, 1));
        assert_eq!(first.inside, Ipv4Addr::new(100, 64, 0, 2));
        assert_eq!(first.inside6.to_string(), "fd6e:a13c:52d4::6440:2");
        let used = [(2, first.inside.into()), (2, first.outside.into())];
        let second = Addresses::above(&used);
        assert_eq!(second.outside, Ipv4Addr::new(100, 64, 0, 3));
        let last = [(3, Ipv4Addr::new(100, 127, 255, 254).into())];
        assert_eq!(Addresses::above(&last), first);
    }
}
