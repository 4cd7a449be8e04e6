//! Which client of a tunnel's server has which address inside. Without input or output.

use std::collections::BTreeMap;
use std::net::IpAddr;

/// The most addresses of one client.
const MOST: usize = 64;

/// Addresses inside, and the clients that have shown that they use them: packets from there came from
/// this client. The last one counts.
#[derive(Debug, Default)]
pub struct Neighbours {
    clients: BTreeMap<IpAddr, usize>,
    /// How many addresses each client has; every client is here, also without any.
    counts: BTreeMap<usize, usize>,
}

impl Neighbours {
    /// A client has connected.
    pub fn add(&mut self, client: usize) {
        self.counts.entry(client).or_default();
    }
    /// A client has gone.
    pub fn remove(&mut self, client: usize) {
        self.counts.remove(&client);
        self.clients.retain(|_, owner| *owner != client);
    }
    /// A packet from this address has come from this client. Nothing changes if the client has too
    /// many addresses already.
    pub fn learn(&mut self, address: IpAddr, client: usize) {
        let owner = self.clients.get(&address).copied();
        if owner == Some(client) || address.is_multicast() || address.is_unspecified() {
            return;
        }
        let Some(count) = self.counts.get_mut(&client).filter(|count| **count < MOST) else {
            return;
        };
        *count += 1;
        self.clients.insert(address, client);
        if let Some(count) = owner.and_then(|owner| self.counts.get_mut(&owner)) {
            *count = count.saturating_sub(1);
        }
    }
    /// Who gets a packet to this address: who has shown it, or else the only client that there is.
    pub fn find(&self, address: IpAddr) -> Option<usize> {
        let only = || match self.counts.len() {
            1 => self.counts.first_key_value().map(|(client, _)| *client),
            _ => None,
        };
        self.clients.get(&address).copied().or_else(only)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(last: u8) -> IpAddr {
        IpAddr::from([10, 77, 0, last])
    }

    #[test]
    fn addresses_are_learnt_and_move() {
        let mut neighbours = Neighbours::default();
        assert_eq!(neighbours.find(at(2)), None);
        neighbours.add(5);
        assert_eq!(neighbours.find(at(2)), Some(5), "the only client gets everything");
        neighbours.add(6);
        assert_eq!(neighbours.find(at(2)), None);
        neighbours.learn(at(2), 5);
        neighbours.learn(at(3), 6);
        assert_eq!((neighbours.find(at(2)), neighbours.find(at(3))), (Some(5), Some(6)));
        // The client comes again, before the old connection has ended.
        neighbours.add(7);
        neighbours.learn(at(2), 7);
        neighbours.remove(5);
        assert_eq!(neighbours.find(at(2)), Some(7));
        neighbours.learn(at(9), 5);
        assert_eq!(neighbours.find(at(9)), None, "it is not there any more");
    }

    #[test]
    fn a_client_has_a_limited_number_of_addresses() {
        let mut neighbours = Neighbours::default();
        neighbours.add(1);
        neighbours.add(2);
        (0..=255).for_each(|last| neighbours.learn(at(last), 1));
        assert_eq!((0..=255).filter(|last| neighbours.find(at(*last)) == Some(1)).count(), MOST);
    }
}
