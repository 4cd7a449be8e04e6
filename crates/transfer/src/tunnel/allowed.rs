//! Inside addresses that each listed client may use. Without input or output.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::Prefix;

/// The networks of all listed clients. An address belongs to the client with the longest network
/// that contains it (WireGuard's AllowedIPs).
#[derive(Clone, Debug)]
pub struct Allowed<K> {
    owners: BTreeMap<(u8, IpAddr), K>,
    /// Prefix lengths in use, longest first, for IPv4 and for IPv6.
    lengths: [Vec<u8>; 2],
}

impl<K> Default for Allowed<K> {
    fn default() -> Allowed<K> {
        Allowed { owners: BTreeMap::new(), lengths: [Vec::new(), Vec::new()] }
    }
}

impl<K: Copy> Allowed<K> {
    /// Gives a network to a client. Another client that has the same network loses it.
    pub fn insert(&mut self, network: Prefix, owner: K) {
        self.owners.insert((network.bits, network.base()), owner);
        let lengths = &mut self.lengths[usize::from(network.address.is_ipv6())];
        if let Err(place) = lengths.binary_search_by(|bits| network.bits.cmp(bits)) {
            lengths.insert(place, network.bits);
        }
    }

    /// Returns the client that owns an address; `None` if no listed network contains it.
    pub fn owner(&self, address: IpAddr) -> Option<K> {
        let address = address.to_canonical();
        let lengths = &self.lengths[usize::from(address.is_ipv6())];
        lengths
            .iter()
            .find_map(|&bits| self.owners.get(&(bits, Prefix { address, bits }.base())).copied())
    }
}

/// Returns true for addresses that are valid on one link only: link-local, unspecified, multicast
/// and IPv4 broadcast. A tunnel's server carries no packets from these addresses, and none from its
/// device to them.
pub fn is_of_link_alone(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(four) => {
            four.is_link_local()
                || four.is_unspecified()
                || four.is_multicast()
                || four.is_broadcast()
        }
        IpAddr::V6(six) => {
            six.is_unicast_link_local() || six.is_unspecified() || six.is_multicast()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn allowed(networks: &[(&str, u32)]) -> Allowed<u32> {
        let mut allowed = Allowed::default();
        for (network, owner) in networks {
            allowed.insert(Prefix::parse(network).expect("a network"), *owner);
        }
        allowed
    }

    #[test]
    fn the_longest_network_owns_an_address() {
        let allowed = allowed(&[
            ("10.77.0.0/24", 1),
            ("10.77.0.7/32", 2),
            ("10.77.0.64/26", 3),
            ("fd77::/64", 4),
            ("fd77::7/128", 5),
            ("0.0.0.0/0", 6),
        ]);
        for (address, owner) in [
            ("10.77.0.2", Some(1)),
            ("10.77.0.7", Some(2)),
            ("10.77.0.64", Some(3)),
            ("10.77.0.127", Some(3)),
            ("10.77.0.128", Some(1)),
            ("::ffff:10.77.0.7", Some(2)),
            ("192.0.2.1", Some(6)),
            ("fd77::2", Some(4)),
            ("fd77::7", Some(5)),
            ("fd77:0:0:1::7", None),
            ("::1", None),
        ] {
            assert_eq!(allowed.owner(at(address)), owner, "{address}");
        }
        assert_eq!(Allowed::<u32>::default().owner(at("10.0.0.1")), None);
    }

    #[test]
    fn host_bits_of_a_listed_network_do_not_count() {
        let allowed = allowed(&[("10.77.0.9/24", 1), ("fd77::9/64", 2)]);
        assert_eq!(allowed.owner(at("10.77.0.200")), Some(1));
        assert_eq!(allowed.owner(at("fd77::200")), Some(2));
    }

    #[test]
    fn addresses_of_one_link_are_known() {
        for address in ["fe80::1", "::", "ff02::1", "169.254.1.1", "224.0.0.251", "0.0.0.0"] {
            assert!(is_of_link_alone(at(address)), "{address}");
        }
        for address in ["10.77.0.2", "fd77::2", "2001:db8::1", "192.0.2.1"] {
            assert!(!is_of_link_alone(at(address)), "{address}");
        }
    }
}
