//! Which client of a tunnel's server may send from an inside address and gets packets to it.
//! Without input or output.

use std::collections::BTreeMap;
use std::net::IpAddr;

use paceline_cc::Time;
use paceline_wire::ClientPublic;

use super::allowed::{Allowed, is_of_link_alone};
use super::neighbours::Neighbours;
use crate::clients_file::ClientsFile;

/// How a packet is handled, by its inside source address.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum SourceVerdict {
    /// The packet is delivered.
    Own,
    /// The packet is dropped and not counted: kernels send such packets through every device
    /// (router solicitations, multicast listener reports).
    OfLinkAlone,
    /// The packet is dropped and counted: the list gives the address to no client, or to another
    /// one.
    NotListed,
    /// The packet is dropped and counted: the connection at this place owns the address.
    OwnedBy(usize),
}

/// Owners of inside addresses.
#[derive(Debug)]
pub enum Owners {
    /// Without a list of clients: an address belongs to the client that uses it first.
    Learnt(Neighbours),
    /// With a list: addresses belong to listed clients, connected or not.
    Listed(ListedOwners),
}

/// The networks of listed clients, and the connections of those that are connected.
#[derive(Debug, Default)]
pub struct ListedOwners {
    allowed: Allowed<ClientPublic>,
    /// The client of each place.
    clients: BTreeMap<usize, ClientPublic>,
    /// Place of each client's newest confirmed connection: one that has received a packet since its
    /// handshake.
    places: BTreeMap<ClientPublic, usize>,
}

impl ListedOwners {
    /// Creates owners from a list, without connections.
    pub fn new(list: &ClientsFile) -> ListedOwners {
        let mut owners = ListedOwners::default();
        owners.set_list(list);
        owners
    }

    /// Replaces the list. Connections stay.
    pub fn set_list(&mut self, list: &ClientsFile) {
        self.allowed = Allowed::default();
        for client in &list.clients {
            for network in &client.networks {
                self.allowed.insert(*network, client.key);
            }
        }
    }
}

impl Owners {
    /// Notes that the connection at this place belongs to a client.
    pub fn add(&mut self, place: usize, client: Option<ClientPublic>) {
        match self {
            Owners::Learnt(neighbours) => neighbours.add(place),
            Owners::Listed(listed) => {
                if let Some(client) = client {
                    listed.clients.insert(place, client);
                }
            }
        }
    }

    /// Notes that the connection at this place has received a packet since its handshake. From now
    /// on its client's packets go over it.
    pub fn confirm(&mut self, place: usize) {
        if let Owners::Listed(listed) = self
            && let Some(client) = listed.clients.get(&place)
        {
            listed.places.insert(*client, place);
        }
    }

    /// Notes that the connection at this place is over.
    pub fn remove(&mut self, place: usize) {
        match self {
            Owners::Learnt(neighbours) => neighbours.remove(place),
            Owners::Listed(listed) => {
                if let Some(client) = listed.clients.remove(&place)
                    && listed.places.get(&client) == Some(&place)
                {
                    listed.places.remove(&client);
                }
            }
        }
    }

    /// Judges a packet with this source address, received over the connection at this place.
    pub fn judge(&mut self, now: Time, source: IpAddr, place: usize) -> SourceVerdict {
        match self {
            Owners::Learnt(neighbours) => match neighbours.learn(now, source, place) {
                Ok(()) => SourceVerdict::Own,
                Err(owner) => SourceVerdict::OwnedBy(owner),
            },
            Owners::Listed(listed) => {
                let owner = listed.allowed.owner(source);
                match owner {
                    Some(owner) if listed.clients.get(&place) == Some(&owner) => SourceVerdict::Own,
                    None if is_of_link_alone(source) => SourceVerdict::OfLinkAlone,
                    _ => SourceVerdict::NotListed,
                }
            }
        }
    }

    /// Returns the place of the connection that gets packets to this address. `None` if its owner
    /// is not connected: no other client gets its packets. With a list, packets to addresses of one
    /// link only (link-local, multicast, broadcast) go to no client.
    pub fn find(&self, address: IpAddr) -> Option<usize> {
        match self {
            Owners::Learnt(neighbours) => neighbours.find(address),
            Owners::Listed(listed) => {
                let owner = listed.allowed.owner(address)?;
                listed.places.get(&owner).copied().filter(|_| !is_of_link_alone(address))
            }
        }
    }

    /// Returns the addresses that the connection at this place has used. With a list there are
    /// none, because clients have listed networks.
    pub fn learnt_of(&self, place: usize) -> Vec<IpAddr> {
        match self {
            Owners::Learnt(neighbours) => neighbours.of(place).collect(),
            Owners::Listed(_) => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_wire::key::Identity;

    fn at(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn keys() -> [ClientPublic; 2] {
        let identity = Identity::generate().expect("random numbers");
        [(); 2].map(|()| identity.key().for_new_client().expect("random numbers").1)
    }

    fn list(lines: &[(&str, ClientPublic, &str)]) -> ClientsFile {
        let lines = lines.iter().map(|(name, key, networks)| format!("{name} {key} {networks}\n"));
        ClientsFile::parse(&lines.collect::<String>()).expect("a list")
    }

    #[test]
    fn addresses_of_listed_clients_are_theirs_alone() {
        let [ada, bob] = keys();
        let list =
            list(&[("ada", ada, "10.77.0.2 fd77::2"), ("bob", bob, "10.77.0.3 192.168.4.0/24")]);
        let mut owners = Owners::Listed(ListedOwners::new(&list));
        let now = Time::ZERO;
        owners.add(0, Some(ada));
        owners.add(1, Some(bob));
        assert_eq!(owners.find(at("10.77.0.2")), None, "nothing has come from it yet");
        owners.confirm(0);
        owners.confirm(1);
        for (source, place, verdict) in [
            ("10.77.0.2", 0, SourceVerdict::Own),
            ("fd77::2", 0, SourceVerdict::Own),
            ("10.77.0.2", 1, SourceVerdict::NotListed),
            ("192.168.4.77", 1, SourceVerdict::Own),
            ("192.168.5.77", 1, SourceVerdict::NotListed),
            ("10.77.0.1", 1, SourceVerdict::NotListed),
            ("fe80::1", 1, SourceVerdict::OfLinkAlone),
            ("::", 1, SourceVerdict::OfLinkAlone),
            ("10.77.0.2", 7, SourceVerdict::NotListed),
        ] {
            assert_eq!(owners.judge(now, at(source), place), verdict, "{source} from {place}");
        }
        for (to, place) in [
            ("10.77.0.2", Some(0)),
            ("192.168.4.9", Some(1)),
            ("10.77.0.9", None),
            ("ff02::1", None),
            ("255.255.255.255", None),
        ] {
            assert_eq!(owners.find(at(to)), place, "{to}");
        }
        // Packets to a listed client that is not connected go to no client.
        owners.remove(1);
        assert_eq!(owners.find(at("10.77.0.3")), None);
    }

    #[test]
    fn packets_follow_the_newest_connection_from_which_something_has_come() {
        let [ada, _] = keys();
        let list = list(&[("ada", ada, "10.77.0.2")]);
        let mut owners = Owners::Listed(ListedOwners::new(&list));
        owners.add(0, Some(ada));
        owners.confirm(0);
        // A repeated initiation alone does not divert any packets.
        owners.add(5, Some(ada));
        assert_eq!(owners.find(at("10.77.0.2")), Some(0));
        owners.confirm(5);
        assert_eq!(owners.find(at("10.77.0.2")), Some(5));
        owners.remove(0);
        assert_eq!(owners.find(at("10.77.0.2")), Some(5));
        owners.remove(5);
        assert_eq!(owners.find(at("10.77.0.2")), None);
    }

    #[test]
    fn a_new_list_counts_at_once() {
        let [ada, bob] = keys();
        let before = list(&[("ada", ada, "10.77.0.2"), ("bob", bob, "10.77.0.3")]);
        let mut owners = ListedOwners::new(&before);
        owners.set_list(&list(&[("ada", ada, "10.77.0.3"), ("bob", bob, "10.77.0.4")]));
        let mut owners = Owners::Listed(owners);
        owners.add(0, Some(ada));
        owners.confirm(0);
        assert_eq!(owners.find(at("10.77.0.3")), Some(0));
        assert_eq!(owners.judge(Time::ZERO, at("10.77.0.2"), 0), SourceVerdict::NotListed);
    }
}
