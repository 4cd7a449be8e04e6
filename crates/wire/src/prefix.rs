//! An address with the length of its network's prefix.

use core::net::IpAddr;
use std::fmt;

/// An address and the number of its leading bits that name the network: `10.77.0.1/24`,
/// `fd77::1/64`.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// The address.
    pub address: IpAddr,
    /// Number of bits of the network.
    pub bits: u8,
}

impl Prefix {
    /// Reads `ADDRESS/BITS`. Without bits, the network is the single address.
    ///
    /// # Errors
    /// A text in words that says what is wrong.
    pub fn parse(text: &str) -> Result<Prefix, String> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let help =
            "expected an address and the length of its network, as 10.77.0.1/24 or fd77::1/64";
        let address: IpAddr = address.parse().map_err(|_| help.to_string())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            Some(bits) => bits.parse().ok().filter(|bits| *bits <= most).ok_or(help)?,
            None => most,
        };
        Ok(Prefix { address, bits })
    }

    fn number(address: IpAddr) -> (u128, u8) {
        match address {
            IpAddr::V4(four) => (u128::from(four.to_bits()) << 96, 32),
            IpAddr::V6(six) => (six.to_bits(), 128),
        }
    }

    /// Returns the leading bits of `address` that name its network.
    fn network(self, address: IpAddr) -> u128 {
        let (number, _) = Prefix::number(address);
        number.checked_shr(128 - u32::from(self.bits)).unwrap_or(0)
    }

    /// Returns true if the address lies in this network.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv4() == self.address.is_ipv4()
            && self.network(address) == self.network(self.address)
    }

    /// Returns the network's own address: the prefix's bits, followed by zeros.
    #[must_use]
    pub fn base(&self) -> IpAddr {
        let (_, most) = Prefix::number(self.address);
        let rest = 128 - u32::from(self.bits);
        let number = self.network(self.address).checked_shl(rest).unwrap_or(0);
        match most {
            32 => IpAddr::from(((number >> 96) as u32).to_be_bytes()),
            _ => IpAddr::from(number.to_be_bytes()),
        }
    }

    /// Returns the network's broadcast address, if it has one: in IPv4, except in networks of one
    /// or two addresses (RFC 3021).
    #[must_use]
    pub fn broadcast(&self) -> Option<IpAddr> {
        match self.address {
            IpAddr::V4(four) if self.bits < 31 => {
                Some(IpAddr::from((four.to_bits() | u32::MAX >> self.bits).to_be_bytes()))
            }
            _ => None,
        }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_contain_their_addresses() {
        let at = |text: &str| text.parse::<IpAddr>().expect("an address");
        for (text, inside, outside, base) in [
            ("10.77.0.1/24", "10.77.0.255", "10.77.1.0", "10.77.0.0"),
            ("10.77.0.1", "10.77.0.1", "10.77.0.2", "10.77.0.1"),
            ("0.0.0.0/0", "192.0.2.1", "::1", "0.0.0.0"),
            ("fd77::1/64", "fd77::ffff", "fd77:0:0:1::1", "fd77::"),
            ("::/0", "2001:db8::1", "10.0.0.1", "::"),
        ] {
            let prefix = Prefix::parse(text).expect("a network");
            assert!(prefix.contains(at(inside)) && !prefix.contains(at(outside)), "{text}");
            assert_eq!(prefix.base(), at(base));
        }
        assert!(Prefix::parse("10.0.0.0/8").expect("a network").contains(at("::ffff:10.0.0.1")));
        for (text, broadcast) in [
            ("10.77.0.1/24", Some("10.77.0.255")),
            ("10.77.0.1/30", Some("10.77.0.3")),
            ("0.0.0.0/0", Some("255.255.255.255")),
            ("10.77.0.0/31", None),
            ("10.77.0.1", None),
            ("fd77::1/64", None),
        ] {
            assert_eq!(Prefix::parse(text).expect("a network").broadcast(), broadcast.map(at));
        }
        for text in ["", "10.0.0.1/33", "fd77::1/129", "10.0.0/8", "10.0.0.1/x", "host/8"] {
            assert!(Prefix::parse(text).is_err(), "{text}");
        }
    }
}
