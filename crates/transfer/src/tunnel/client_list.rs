//! The list of clients of a tunnel's server: which clients it admits, and what it hands out to
//! each.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use paceline_os::RealTimeError;
use paceline_wire::{Admission, ClientPublic, Handout, MOST_ROUTES, Prefix};

use crate::clients_file::{ClientsFile, ListedClient, overlap};

/// A file of clients, and what the server hands out to all of them.
#[derive(Clone, Debug)]
pub struct ClientListOptions {
    /// Path of the file.
    pub path: PathBuf,
    /// Networks that all clients reach through the tunnel, beside those of the device.
    pub routes: Vec<Prefix>,
}

impl ClientListOptions {
    /// Returns the file's absolute path without links, which identifies it for other programs.
    pub(super) fn full_path(&self) -> String {
        let path = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        path.display().to_string()
    }
}

/// A list of clients that was read.
#[derive(Debug)]
pub(super) struct ClientList {
    pub(super) file: ClientsFile,
    pub(super) admission: Arc<Admission>,
}

impl ClientList {
    /// Reads a list for a server whose device has the addresses `networks`.
    ///
    /// # Errors
    /// Names the file, the line, the mistake and the remedy.
    pub(super) fn read(
        options: &ClientListOptions,
        networks: &[Prefix],
    ) -> Result<ClientList, RealTimeError> {
        let ClientListOptions { path, routes } = options;
        if routes.len() > MOST_ROUTES {
            return Err(RealTimeError::Message(format!(
                "{} routes for clients: expected {MOST_ROUTES} at most",
                routes.len()
            )));
        }
        let file = ClientsFile::read(path)?;
        check(&file, path, networks)?;
        let admission = Arc::new(file.admission(|client| handout(client, networks, routes)));
        Ok(ClientList { file, admission })
    }

    /// Returns the name of the client with this key.
    pub(super) fn name(&self, key: &ClientPublic) -> Option<String> {
        self.admission.client(key).map(|client| client.name.clone())
    }
}

/// Returns an error if a client has an address of the server itself.
fn check(file: &ClientsFile, path: &Path, networks: &[Prefix]) -> Result<(), RealTimeError> {
    for client in &file.clients {
        for network in &client.networks {
            if let Some(error) = own_address_error(network, networks) {
                let name = &client.name;
                return Err(RealTimeError::Message(format!("{}: {name}: {error}", path.display())));
            }
        }
    }
    Ok(())
}

/// Returns the error if `network` contains an address of the server itself.
fn own_address_error(network: &Prefix, networks: &[Prefix]) -> Option<String> {
    let own = networks.iter().find(|own| network.contains(own.address))?;
    Some(format!(
        "{network} contains {}, the server's own address inside: give the client another network",
        own.address
    ))
}

/// Returns why a new client cannot get `network` from a server whose device has the addresses
/// `networks`; `None` if it can. Like [`free_addresses`], refuses the addresses of the server, and
/// the first address and the broadcast address of its networks of more than two addresses.
pub fn network_error(network: &Prefix, networks: &[Prefix]) -> Option<String> {
    if let Some(error) = own_address_error(network, networks) {
        return Some(error);
    }
    let single = if network.address.is_ipv4() { 32 } else { 128 };
    let is_reserved = |own: &&Prefix| {
        let is_first = own.bits + 1 < single && own.base() == network.address;
        own.contains(network.address) && (is_first || own.broadcast() == Some(network.address))
    };
    let own = networks.iter().filter(|_| network.bits == single).find(is_reserved)?;
    Some(format!(
        "{} is the first or the broadcast address of {}/{}, which no end can have: give the client another address",
        network.address,
        own.base(),
        own.bits
    ))
}

/// Returns the handout of a client: its single addresses, each with the prefix length of the
/// server's network that contains it, so that the client reaches this network through its device. A
/// client's larger networks lie behind it and are not handed out.
fn handout(client: &ListedClient, networks: &[Prefix], routes: &[Prefix]) -> Handout {
    let single = |prefix: &&Prefix| prefix.bits == if prefix.address.is_ipv4() { 32 } else { 128 };
    let within = |prefix: &Prefix| {
        let network = networks.iter().find(|network| network.contains(prefix.address));
        Prefix { bits: network.map_or(prefix.bits, |network| network.bits), ..*prefix }
    };
    let own = client.networks.iter().filter(single).map(within).collect();
    let is_own = |route: &Prefix| {
        client.networks.iter().any(|own| own.bits <= route.bits && overlap(own, route))
    };
    let routes = routes.iter().filter(|route| !is_own(route)).copied().collect();
    Handout { networks: own, routes }
}

/// Returns addresses for a new client: in each of the server's networks the first address that
/// neither a client nor the server has. Skips the network's own address and its broadcast address.
///
/// # Errors
/// A network is full, or no network of the server has room for another address.
pub fn free_addresses(file: &ClientsFile, networks: &[Prefix]) -> Result<Vec<Prefix>, String> {
    let mut found = Vec::new();
    for network in networks {
        let most = if network.address.is_ipv4() { 32 } else { 128 };
        if network.bits >= most {
            continue;
        }
        found.push(first_free(file, networks, network)?);
    }
    if found.is_empty() {
        return Err("the server's networks have one address each, its own: name the client's with --address".into());
    }
    Ok(found)
}

fn first_free(file: &ClientsFile, networks: &[Prefix], network: &Prefix) -> Result<Prefix, String> {
    let mut candidate = network.base();
    // Each skipped address is the server's, the broadcast address, or in a listed network, which is
    // skipped as a whole.
    loop {
        candidate = next(candidate).filter(|next| network.contains(*next)).ok_or_else(|| {
            format!(
                "{}/{} has no free address: name one with --address",
                network.base(),
                network.bits
            )
        })?;
        let taken = file.clients.iter().flat_map(|client| &client.networks);
        if let Some(taken) = taken.into_iter().find(|taken| taken.contains(candidate)) {
            candidate = last(taken);
            continue;
        }
        let is_servers = networks.iter().any(|own| own.address == candidate);
        if !is_servers && network.broadcast() != Some(candidate) {
            let bits = if candidate.is_ipv4() { 32 } else { 128 };
            return Ok(Prefix { address: candidate, bits });
        }
    }
}

fn next(address: IpAddr) -> Option<IpAddr> {
    match address {
        IpAddr::V4(four) => {
            four.to_bits().checked_add(1).map(|bits| Ipv4Addr::from_bits(bits).into())
        }
        IpAddr::V6(six) => {
            six.to_bits().checked_add(1).map(|bits| Ipv6Addr::from_bits(bits).into())
        }
    }
}

/// Returns the last address of a network.
fn last(network: &Prefix) -> IpAddr {
    match network.base() {
        IpAddr::V4(four) => {
            let rest = u32::MAX.checked_shr(u32::from(network.bits)).unwrap_or(0);
            Ipv4Addr::from_bits(four.to_bits() | rest).into()
        }
        IpAddr::V6(six) => {
            let rest = u128::MAX.checked_shr(u32::from(network.bits)).unwrap_or(0);
            Ipv6Addr::from_bits(six.to_bits() | rest).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_wire::key::Identity;

    fn prefixes(texts: &[&str]) -> Vec<Prefix> {
        texts.iter().map(|text| Prefix::parse(text).expect("a network")).collect()
    }

    fn list(networks: &[&str]) -> ClientsFile {
        let identity = Identity::generate().expect("random numbers");
        let lines = networks.iter().zip(0..).map(|(networks, number)| {
            let key = identity.key().for_new_client().expect("random numbers").1;
            format!("c{number} {key} {networks}\n")
        });
        ClientsFile::parse(&lines.collect::<String>()).expect("a list")
    }

    #[test]
    fn single_addresses_are_handed_out_with_the_servers_bits() {
        let server = prefixes(&["10.77.0.1/24", "fd77::1/64"]);
        let file = list(&["10.77.0.2 fd77::2 192.168.4.0/24 172.16.9.9"]);
        let routes = prefixes(&["10.0.0.0/8", "192.168.4.0/24"]);
        let handout = handout(&file.clients[0], &server, &routes);
        assert_eq!(handout.networks, prefixes(&["10.77.0.2/24", "fd77::2/64", "172.16.9.9/32"]));
        // A client gets no route into the tunnel for its own network.
        assert_eq!(handout.routes, prefixes(&["10.0.0.0/8"]));
    }

    #[test]
    fn free_addresses_are_found_one_after_the_other() {
        let server = prefixes(&["10.77.0.1/29", "fd77::1/64"]);
        for (taken, free) in [
            (&[][..], Ok(&["10.77.0.2/32", "fd77::2/128"][..])),
            (&["10.77.0.2 fd77::2", "10.77.0.4"], Ok(&["10.77.0.3/32", "fd77::3/128"])),
            (&["10.77.0.2/31", "10.77.0.4/31 fd77::/112"], Ok(&["10.77.0.6/32", "fd77::1:0/128"])),
            (&["10.77.0.2/31", "10.77.0.4/30"], Err("10.77.0.0/29 has no free address")),
        ] {
            // No listed network contains the server's own address.
            let found = free_addresses(&list(taken), &server);
            match free {
                Ok(free) => assert_eq!(found, Ok(prefixes(free)), "{taken:?}"),
                Err(error) => assert!(found.expect_err("it is full").contains(error)),
            }
        }
        assert!(free_addresses(&list(&[]), &prefixes(&["10.0.0.1/32"])).is_err());
        assert!(
            free_addresses(&list(&["128.0.0.0/1", "0.0.0.0/1"]), &prefixes(&["255.255.255.1/24"]))
                .is_err()
        );
    }

    #[test]
    fn a_client_has_no_address_of_the_server() {
        let server = prefixes(&["10.77.0.1/24"]);
        let path = Path::new("clients");
        assert!(check(&list(&["10.77.0.2", "10.77.0.128/25"]), path, &server).is_ok());
        let error = check(&list(&["10.77.0.0/24"]), path, &server).expect_err("it has").to_string();
        assert!(error.contains("clients: c0: 10.77.0.0/24 contains 10.77.0.1"), "{error}");
    }

    #[test]
    fn a_new_client_gets_no_address_that_the_server_or_its_network_needs() {
        let server = prefixes(&["10.77.0.1/29", "fd77::1/64", "10.78.0.1/31", "10.79.0.1/32"]);
        for (network, error) in [
            ("10.77.0.1", Some("10.77.0.1/32 contains 10.77.0.1, the server's own")),
            ("10.77.0.0/29", Some("contains 10.77.0.1, the server's own")),
            ("fd77::1", Some("contains fd77::1, the server's own")),
            ("10.79.0.1", Some("contains 10.79.0.1, the server's own")),
            ("10.77.0.0", Some("10.77.0.0 is the first or the broadcast address of 10.77.0.0/29")),
            ("10.77.0.7", Some("10.77.0.7 is the first or the broadcast address of 10.77.0.0/29")),
            ("fd77::", Some("fd77:: is the first or the broadcast address of fd77::/64")),
            // A network of two addresses has neither (RFC 3021).
            ("10.78.0.0", None),
            ("10.77.0.6", None),
            ("10.77.0.4/30", None),
            ("192.168.4.0/24", None),
        ] {
            let found = network_error(&prefixes(&[network])[0], &server);
            assert_eq!(found.is_some(), error.is_some(), "{network}: {found:?}");
            let said = found.unwrap_or_default();
            assert!(said.contains(error.unwrap_or_default()), "{network}: {said}");
        }
    }
}
