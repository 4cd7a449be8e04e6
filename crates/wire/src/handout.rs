//! The addresses and routes that a server hands out to a client, with its answer to the handshake.

use core::net::IpAddr;

use crate::bytes::{Reader, Writer};
use crate::{FormatError, Prefix};

/// Largest number of networks in a [`Handout`].
pub const MOST_NETWORKS: usize = 8;
/// Largest number of routes in a [`Handout`].
pub const MOST_ROUTES: usize = 32;
/// Length in bytes of the longest handout: two counts, and for each prefix its family, address and
/// bits.
pub(crate) const LONGEST_HANDOUT: usize = 2 + (MOST_NETWORKS + MOST_ROUTES) * 18;

/// What a server hands out to a client. Empty if the connection is not a tunnel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Handout {
    /// Addresses for the client's device, each with the bits of its network; at most
    /// [`MOST_NETWORKS`].
    pub networks: Vec<Prefix>,
    /// Networks that the client reaches through the server; at most [`MOST_ROUTES`].
    pub routes: Vec<Prefix>,
}

impl Handout {
    /// Returns true without addresses and routes.
    pub fn is_empty(&self) -> bool {
        self.networks.is_empty() && self.routes.is_empty()
    }

    pub(crate) fn write(&self, writer: &mut Writer<'_>) -> Result<(), FormatError> {
        for (prefixes, most) in [(&self.networks, MOST_NETWORKS), (&self.routes, MOST_ROUTES)] {
            if prefixes.len() > most {
                return Err(FormatError::Room("a handout"));
            }
            writer.u8(prefixes.len() as u8)?;
            for Prefix { address, bits } in prefixes {
                match address {
                    IpAddr::V4(four) => {
                        writer.u8(4)?;
                        writer.put(&four.octets())?;
                    }
                    IpAddr::V6(six) => {
                        writer.u8(6)?;
                        writer.put(&six.octets())?;
                    }
                }
                writer.u8(*bits)?;
            }
        }
        Ok(())
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Handout, FormatError> {
        let networks = read_prefixes(reader, MOST_NETWORKS)?;
        Ok(Handout { networks, routes: read_prefixes(reader, MOST_ROUTES)? })
    }
}

fn read_prefixes(reader: &mut Reader<'_>, most: usize) -> Result<Vec<Prefix>, FormatError> {
    let count = reader.u8("the number of networks")?;
    if usize::from(count) > most {
        return Err(FormatError::Value {
            field: "the number of networks",
            value: u64::from(count),
        });
    }
    (0..count).map(|_| read_prefix(reader)).collect()
}

fn read_prefix(reader: &mut Reader<'_>) -> Result<Prefix, FormatError> {
    let (address, most) = match reader.u8("the family of an address")? {
        4 => (IpAddr::from(reader.array::<4>("an address")?), 32),
        6 => (IpAddr::from(reader.array::<16>("an address")?), 128),
        value => {
            let field = "the family of an address";
            return Err(FormatError::Value { field, value: u64::from(value) });
        }
    };
    match reader.u8("the bits of a network")? {
        bits if bits <= most => Ok(Prefix { address, bits }),
        value => {
            Err(FormatError::Value { field: "the bits of a network", value: u64::from(value) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_of(handout: &Handout) -> Result<Vec<u8>, FormatError> {
        let mut bytes = vec![0; LONGEST_HANDOUT];
        let mut writer = Writer::new(&mut bytes);
        handout.write(&mut writer)?;
        let length = writer.len();
        bytes.truncate(length);
        Ok(bytes)
    }

    #[test]
    fn handouts_come_back_and_are_bounded() {
        let prefix = |text: &str| Prefix::parse(text).expect("a network");
        let six = prefix("fd77::2/64");
        for handout in [
            Handout::default(),
            Handout { networks: vec![prefix("10.77.0.2/24"), six], routes: vec![] },
            Handout { networks: vec![six; MOST_NETWORKS], routes: vec![six; MOST_ROUTES] },
            Handout { networks: vec![], routes: vec![prefix("0.0.0.0/0"), prefix("::/0")] },
        ] {
            let bytes = bytes_of(&handout).expect("room");
            assert_eq!(Handout::read(&mut Reader::new(&bytes)), Ok(handout));
            for short in 0..bytes.len() {
                assert!(Handout::read(&mut Reader::new(&bytes[..short])).is_err());
            }
        }
        let long = Handout { networks: vec![six; MOST_NETWORKS + 1], routes: vec![] };
        assert!(bytes_of(&long).is_err());
    }

    #[test]
    fn hostile_handouts_are_refused() {
        for bytes in [
            &[9][..],                     // more networks than allowed
            &[255, 4, 10, 0, 0, 1, 24],   // far more networks than allowed
            &[0, 33],                     // more routes than allowed
            &[1, 5, 10, 0, 0, 1, 24, 0],  // an unknown address family
            &[1, 4, 10, 0, 0, 1, 33, 0],  // more bits than an IPv4 address has
            &[1, 6, 0, 0, 0, 0, 0, 0, 0], // a truncated address
        ] {
            assert!(Handout::read(&mut Reader::new(bytes)).is_err(), "{bytes:?}");
        }
        let mut six = vec![1, 6];
        six.extend([0xfd; 16]);
        six.extend([129, 0]);
        assert!(Handout::read(&mut Reader::new(&six)).is_err());
    }
}
