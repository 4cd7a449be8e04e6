//! Which client of a tunnel's server has which inside address. Without input or output.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use paceline_cc::{Span, Time};

/// Maximum number of addresses per client.
const MOST: usize = 64;
/// Minimum time without packets from an address before its client can replace it by another one.
const AGE: Span = Span::from_secs(300);
/// Resolution of the time of the last packet.
const GRAIN: Span = Span::from_secs(1);

/// Inside addresses, each with the client that owns it: the first one that sent a packet from it.
/// The owner keeps an address while it is connected, so that no other holder of the key can divert
/// its packets.
#[derive(Debug, Default)]
pub struct Neighbours {
    clients: BTreeMap<IpAddr, Owner>,
    /// The addresses of each client. Every client has an entry, also without addresses.
    addresses: BTreeMap<usize, BTreeSet<IpAddr>>,
}

/// The owner of an address from which a packet has come.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The sender owns it.
    Own,
    /// The sender may use the address and does not own it: it is a multicast address, or the sender
    /// has too many.
    Untracked,
    /// No client owns the address: the sender may have it, and loses the address `evicted`.
    Free {
        /// The sender's longest silent address, if it has too many.
        evicted: Option<IpAddr>,
    },
    /// Another client owns it.
    OwnedBy(usize),
}

/// The owner of an address.
#[derive(Copy, Clone, Debug)]
struct Owner {
    client: usize,
    /// When the last packet came from the address.
    heard: Time,
}

impl Neighbours {
    /// Adds a client that has connected.
    pub fn add(&mut self, client: usize) {
        self.addresses.entry(client).or_default();
    }
    /// Removes a client.
    pub fn remove(&mut self, client: usize) {
        for address in self.addresses.remove(&client).into_iter().flatten() {
            self.clients.remove(&address);
        }
    }
    /// Notes a packet from this address by this client. If the client already has too many
    /// addresses, the longest silent one is replaced, unless it was used within 300 s; then
    /// nothing changes.
    ///
    /// # Errors
    /// Another client owns the address, and is returned: this packet has a false source address.
    pub fn learn(&mut self, now: Time, address: IpAddr, client: usize) -> Result<(), usize> {
        match self.look(now, address, client) {
            Standing::OwnedBy(owner) => return Err(owner),
            Standing::Free { evicted } => self.take(now, address, client, evicted),
            Standing::Own | Standing::Untracked => {}
        }
        Ok(())
    }
    /// Returns the owner of this address, from which a packet of this client has come. If the
    /// client owns it, notes the time; changes nothing else.
    pub fn look(&mut self, now: Time, address: IpAddr, client: usize) -> Standing {
        if let Some(owner) = self.clients.get_mut(&address) {
            if owner.client != client {
                return Standing::OwnedBy(owner.client);
            }
            if now.since(owner.heard) >= GRAIN {
                owner.heard = now;
            }
            return Standing::Own;
        }
        if address.is_multicast() || address.is_unspecified() {
            return Standing::Untracked;
        }
        let Some(own) = self.addresses.get(&client) else { return Standing::Untracked };
        if own.len() < MOST {
            return Standing::Free { evicted: None };
        }
        let heard = |address: &IpAddr| self.clients.get(address).map(|owner| owner.heard);
        let oldest = own.iter().copied().min_by_key(heard);
        let is_old = |address: &IpAddr| heard(address).is_none_or(|at| now.since(at) >= AGE);
        match oldest.filter(is_old) {
            Some(oldest) => Standing::Free { evicted: Some(oldest) },
            None => Standing::Untracked,
        }
    }
    /// Assigns a free address to a connected client, in place of the address `evicted`.
    pub fn take(&mut self, now: Time, address: IpAddr, client: usize, evicted: Option<IpAddr>) {
        let Some(own) = self.addresses.get_mut(&client) else { return };
        if let Some(evicted) = evicted {
            own.remove(&evicted);
            self.clients.remove(&evicted);
        }
        own.insert(address);
        self.clients.insert(address, Owner { client, heard: now });
    }
    /// Returns the addresses that a client owns.
    pub fn of(&self, client: usize) -> impl Iterator<Item = IpAddr> + '_ {
        self.addresses.get(&client).into_iter().flatten().copied()
    }
    /// Returns the client that gets packets to this address: its owner. With a single client, returns that client for
    /// any address.
    pub fn find(&self, address: IpAddr) -> Option<usize> {
        let only = || match self.addresses.len() {
            1 => self.addresses.first_key_value().map(|(client, _)| *client),
            _ => None,
        };
        self.clients.get(&address).map(|owner| owner.client).or_else(only)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(last: u8) -> IpAddr {
        IpAddr::from([10, 77, 0, last])
    }

    #[test]
    fn addresses_are_learnt_and_stay_with_their_owner_while_it_is_connected() {
        let mut neighbours = Neighbours::default();
        assert_eq!(neighbours.find(at(2)), None);
        neighbours.add(5);
        assert_eq!(neighbours.find(at(2)), Some(5), "the only client gets everything");
        neighbours.add(6);
        assert_eq!(neighbours.find(at(2)), None);
        assert_eq!(neighbours.learn(Time::ZERO, at(2), 5), Ok(()));
        assert_eq!(neighbours.learn(Time::ZERO, at(3), 6), Ok(()));
        assert_eq!((neighbours.find(at(2)), neighbours.find(at(3))), (Some(5), Some(6)));
        // Another holder of the key claims the address of a connected client.
        let later = Time::ZERO + AGE * 2;
        assert_eq!(neighbours.learn(later, at(2), 6), Err(5));
        assert_eq!(neighbours.find(at(2)), Some(5));
        // The client reconnects, and its old connection ends.
        neighbours.add(7);
        assert_eq!(neighbours.learn(later, at(2), 7), Err(5));
        neighbours.remove(5);
        assert_eq!(neighbours.learn(later, at(2), 7), Ok(()));
        assert_eq!(neighbours.find(at(2)), Some(7));
        assert_eq!(neighbours.learn(later, at(9), 5), Ok(()));
        assert_eq!(neighbours.find(at(9)), None, "it is not there any more");
    }

    #[test]
    fn a_client_has_a_limited_number_of_addresses() {
        let mut neighbours = Neighbours::default();
        neighbours.add(1);
        neighbours.add(2);
        (0..=255).for_each(|last| assert_eq!(neighbours.learn(Time::ZERO, at(last), 1), Ok(())));
        let of_first = |neighbours: &Neighbours| {
            (0..=255).filter(|last| neighbours.find(at(*last)) == Some(1)).collect::<Vec<u8>>()
        };
        assert_eq!(of_first(&neighbours), (0..64).collect::<Vec<u8>>());
        // Silent addresses are replaced, longest silent first; addresses in use are kept.
        let later = Time::ZERO + AGE;
        let spoke = later - Span::from_secs(2);
        (1..64).for_each(|last| assert_eq!(neighbours.learn(spoke, at(last), 1), Ok(())));
        assert_eq!(neighbours.learn(later, at(200), 1), Ok(()));
        assert_eq!(neighbours.learn(later, at(201), 1), Ok(()));
        assert_eq!(of_first(&neighbours), (1..64).chain([200]).collect::<Vec<u8>>());
        neighbours.remove(1);
        neighbours.add(3);
        assert_eq!(of_first(&neighbours), Vec::<u8>::new());
    }
}
