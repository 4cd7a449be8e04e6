//! The addresses of a shell's two ends.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A prefix of RFC 4193's local space; the IPv4 address is the low 32 bits.
const LOCAL: u128 = 0xfd6e_a13c_52d4_0000_0000_0000_0000_0000;

/// The IPv4 network from which shells take their addresses, such as `10.77.0.0/16`.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    first: Ipv4Addr,
    bits: u8,
}

impl Default for Network {
    /// RFC 6598's shared space, as Mahimahi uses it: 100.64.0.0/10.
    fn default() -> Network {
        Network { first: Ipv4Addr::new(100, 64, 0, 0), bits: 10 }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.bits)
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Network, String> {
        let wrong = || {
            format!("expected an IPv4 network such as 10.77.0.0/16 or 100.64.0.0/10, not `{text}`")
        };
        let (first, bits) = text.split_once('/').ok_or_else(wrong)?;
        let first: Ipv4Addr = first.parse().map_err(|_| wrong())?;
        let bits: u8 = bits.parse().map_err(|_| wrong())?;
        if !(8..=30).contains(&bits) {
            return Err(format!("{text}: a network has a prefix of 8 to 30 bits"));
        }
        let network = Network { first, bits };
        if u32::from(first) & !network.mask() != 0 {
            let first = Ipv4Addr::from(u32::from(first) & network.mask());
            return Err(format!("{text}: this network begins at {first}: write {first}/{bits}"));
        }
        let usable = first.is_private() || Network::default().contains(first) || is_test(first);
        if !usable {
            return Err(format!(
                "{text}: these addresses belong to others; use a part of 10.0.0.0/8, \
                 172.16.0.0/12, 192.168.0.0/16, 100.64.0.0/10 or 198.18.0.0/15"
            ));
        }
        Ok(network)
    }
}

/// RFC 2544's addresses for benchmarks: 198.18.0.0/15.
fn is_test(address: Ipv4Addr) -> bool {
    u32::from(address) >> 17 == u32::from(Ipv4Addr::new(198, 18, 0, 0)) >> 17
}

impl Network {
    fn mask(self) -> u32 {
        u32::MAX << (32 - self.bits)
    }

    /// Returns true if the address lies in this network.
    pub fn contains(self, address: Ipv4Addr) -> bool {
        u32::from(address) & self.mask() == u32::from(self.first)
    }

    /// Returns true if the two networks have addresses in common.
    pub(crate) fn overlaps(self, other: Network) -> bool {
        self.contains(other.first) || other.contains(self.first)
    }
}

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
    /// Returns the first pair of the network above all addresses in use, so that nested shells do not take an address
    /// of those around them; at the network's end, the first free pair. `None` if all are in use.
    pub(crate) fn above(used: &[(u32, IpAddr)], network: Network) -> Option<Addresses> {
        let used: Vec<u32> = used
            .iter()
            .filter_map(|(_, address)| match address {
                IpAddr::V4(four) => Some(*four).filter(|four| network.contains(*four)),
                IpAddr::V6(_) => None,
            })
            .map(u32::from)
            .collect();
        let begin = u32::from(network.first);
        let last = begin | !network.mask();
        let fits =
            |first: u32| first < last - 1 && !used.contains(&first) && !used.contains(&(first + 1));
        let highest = used.iter().max().copied().unwrap_or(begin);
        let above = Some(highest + 1).filter(|&first| highest < last && fits(first));
        let free = || (begin + 1..last).step_by(2).find(|&first| fits(first));
        let first = above.or_else(free)?;
        let six = |bits: u32| Ipv6Addr::from(LOCAL | u128::from(bits));
        Some(Addresses {
            outside: first.into(),
            inside: (first + 1).into(),
            outside6: six(first),
            inside6: six(first + 1),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_lie_above_those_in_use() {
        let above = |used: &[(u32, IpAddr)]| {
            Addresses::above(used, Network::default()).expect("a free pair")
        };
        let first = above(&[(1, Ipv4Addr::LOCALHOST.into())]);
        assert_eq!(first.outside, Ipv4Addr::new(100, 64, 0, 1));
        assert_eq!(first.inside, Ipv4Addr::new(100, 64, 0, 2));
        assert_eq!(first.inside6.to_string(), "fd6e:a13c:52d4::6440:2");
        let used = [(2, first.inside.into()), (2, first.outside.into())];
        let second = above(&used);
        assert_eq!(second.outside, Ipv4Addr::new(100, 64, 0, 3));
        let last = [(3, Ipv4Addr::new(100, 127, 255, 254).into())];
        assert_eq!(above(&last), first);
    }

    #[test]
    fn a_small_network_is_used_up() {
        let network: Network = "10.77.0.0/29".parse().expect("a network");
        let mut used = Vec::new();
        for first in [1, 3, 5] {
            let pair = Addresses::above(&used, network).expect("a free pair");
            assert_eq!(pair.outside, Ipv4Addr::new(10, 77, 0, first));
            used.extend([(1, pair.outside.into()), (1, pair.inside.into())]);
        }
        assert_eq!(Addresses::above(&used, network), None);
        used.drain(2..4);
        let freed = Addresses::above(&used, network).expect("a free pair");
        assert_eq!(freed.outside, Ipv4Addr::new(10, 77, 0, 3));
    }

    #[test]
    fn networks_are_read_and_mistakes_told() {
        let read = |text: &str| text.parse::<Network>();
        assert_eq!(read("100.64.0.0/10"), Ok(Network::default()));
        assert_eq!(read("192.168.7.0/24").map(|it| it.to_string()), Ok("192.168.7.0/24".into()));
        assert!(read("198.18.0.0/15").is_ok());
        for (wrong, word) in [
            ("10.1", "expected"),
            ("10.1.0.0/x", "expected"),
            ("10.1.0.0/31", "prefix"),
            ("10.1.0.1/16", "write 10.1.0.0/16"),
            ("8.8.0.0/16", "belong to others"),
        ] {
            assert!(read(wrong).is_err_and(|error| error.contains(word)), "{wrong}");
        }
    }
}
