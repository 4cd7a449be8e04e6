//! Interfaces, their addresses, and routes.

use std::net::IpAddr;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::{Duration, Instant};

use nix::sys::socket::SockProtocol;

use crate::RealTimeError;

use super::netlink::{Message, Netlink, attributes, u16_at, u32_at};

const IFLA_INET6_ADDR_GEN_MODE: u16 = 8;
const ADDR_GEN_MODE_NONE: u8 = 1;
const IFA_FLAGS: u16 = 8;
const CREATE: i32 = libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_EXCL;
/// Most interfaces that a message names.
const NAMED: usize = 8;
/// How long to wait until the kernel has made the routes of an address.
const PATIENCE: Duration = Duration::from_secs(5);

/// One interface.
#[derive(Clone, Debug, Default)]
pub struct Interface {
    /// Its number.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// The text that is attached to it.
    pub alias: Option<String>,
    /// True if its frames have Ethernet headers (`ARPHRD_ETHER`): not loopback, tunnels and WireGuard.
    pub has_ethernet_frames: bool,
    /// Its MTU, in bytes.
    pub mtu: u32,
    /// The length of its queue, in packets.
    pub queue_len: u32,
}

/// One route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The interface that it leads through.
    pub interface: u32,
    /// The origin of the route: `RTPROT_RA` for a router's advertisement.
    pub protocol: u8,
    /// The length of its prefix; zero for a default route.
    pub prefix: u8,
    /// The address of its prefix; `None` for a default route.
    pub to: Option<IpAddr>,
}

/// The interfaces, addresses and routes of the network namespace in which this was opened.
#[derive(Debug)]
pub struct Links {
    netlink: Netlink,
}

impl Links {
    /// Opens a socket in the network namespace of the calling thread.
    ///
    /// # Errors
    /// The system gives no such socket.
    pub fn open() -> Result<Links, RealTimeError> {
        let netlink = Netlink::open(SockProtocol::NetlinkRoute)
            .map_err(RealTimeError::system("netlink socket for routes"))?;
        Ok(Links { netlink })
    }

    /// Returns all interfaces.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn interfaces(&mut self) -> Result<Vec<Interface>, RealTimeError> {
        let message = Message::new(libc::RTM_GETLINK, libc::NLM_F_DUMP, &[0; 16]);
        let mut found = Vec::new();
        let each = |answer: &super::netlink::Answer<'_>| {
            let kind = answer.body.get(2..4).and_then(|kind| kind.try_into().ok());
            let mut interface = Interface {
                index: u32_at(answer.body, 4),
                has_ethernet_frames: kind.map(u16::from_ne_bytes) == Some(libc::ARPHRD_ETHER),
                ..Interface::default()
            };
            for (kind, value) in attributes(answer.body.get(16..).unwrap_or(&[])) {
                match kind {
                    libc::IFLA_IFNAME => interface.name = text(value),
                    libc::IFLA_IFALIAS => interface.alias = Some(text(value)),
                    libc::IFLA_MTU => interface.mtu = u32_at(value, 0),
                    libc::IFLA_TXQLEN => interface.queue_len = u32_at(value, 0),
                    _ => {}
                }
            }
            found.push(interface);
        };
        self.netlink.dump(message, each).map_err(RealTimeError::system("list of interfaces"))?;
        Ok(found)
    }

    /// Returns the number of an interface.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn index(&mut self, name: &str) -> Result<u32, RealTimeError> {
        let all = self.interfaces()?;
        if let Some(found) = all.iter().find(|interface| interface.name == name) {
            return Ok(found.index);
        }
        let names: Vec<&str> = all.iter().map(|interface| &*interface.name).take(NAMED).collect();
        let more = if all.len() > NAMED { ", ... (`ip link` lists all)" } else { "" };
        let names = names.join(", ");
        Err(RealTimeError::Message(format!(
            "there is no interface {name}; there are {names}{more}"
        )))
    }

    /// Brings an interface up with an MTU (bytes) and a queue (packets), and without an IPv6
    /// link-local address: its solicitations would travel over the emulated link.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn set_up(&mut self, index: u32, mtu: u32, queue: u32) -> Result<(), RealTimeError> {
        let mut quiet = set_link(index, false);
        quiet.nest(libc::IFLA_AF_SPEC, |message| {
            message.nest(libc::AF_INET6 as u16, |message| {
                message.attribute(IFLA_INET6_ADDR_GEN_MODE, &[ADDR_GEN_MODE_NONE]);
            });
        });
        // A kernel without IPv6 has nothing to be silenced.
        let _ = self.netlink.request(quiet);
        let mut message = set_link(index, false);
        message.number(libc::IFLA_MTU, mtu).number(libc::IFLA_TXQLEN, queue);
        self.netlink.request(message).map_err(RealTimeError::system(format!(
            "MTU {mtu} and queue {queue} of an interface"
        )))?;
        self.netlink
            .request(set_link(index, true))
            .map_err(RealTimeError::system("bringing an interface up"))
    }

    /// Brings an interface up as it is.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn bring_up(&mut self, name: &str) -> Result<(), RealTimeError> {
        let index = self.index(name)?;
        self.netlink
            .request(set_link(index, true))
            .map_err(RealTimeError::system(format!("bringing {name} up")))
    }

    /// Attaches a text to an interface.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn set_alias(&mut self, index: u32, alias: &str) -> Result<(), RealTimeError> {
        let mut message = set_link(index, false);
        message.attribute(libc::IFLA_IFALIAS, alias.as_bytes());
        self.netlink.request(message).map_err(RealTimeError::system("naming an interface"))
    }

    /// Moves an interface to another network namespace. For tests.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn move_to(&mut self, index: u32, namespace: BorrowedFd<'_>) -> Result<(), RealTimeError> {
        let mut message = set_link(index, false);
        message.number(libc::IFLA_NET_NS_FD, namespace.as_raw_fd() as u32);
        self.netlink
            .request(message)
            .map_err(RealTimeError::system("moving an interface to a network namespace"))
    }

    /// Adds an address to an interface that is up; its only neighbour is `peer`.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn add_address(
        &mut self,
        index: u32,
        own: IpAddr,
        peer: IpAddr,
    ) -> Result<(), RealTimeError> {
        let (family, bits) = kind(own);
        let mut fixed = vec![family, bits, libc::IFA_F_NODAD as u8, 0];
        fixed.extend(index.to_ne_bytes());
        let mut message = Message::new(libc::RTM_NEWADDR, CREATE, &fixed);
        message
            .attribute(libc::IFA_LOCAL, &octets(own))
            .attribute(libc::IFA_ADDRESS, &octets(peer))
            .number(IFA_FLAGS, libc::IFA_F_NODAD);
        self.netlink
            .request(message)
            .map_err(RealTimeError::system(format!("address {own} (peer {peer})")))?;
        // The kernel's own thread makes the routes of IPv6, soon after it has answered. Without
        // them the peer is not reached.
        let patience = Instant::now() + PATIENCE;
        while peer.is_ipv6()
            && !self.routes(true)?.iter().any(|it| it.interface == index && it.to == Some(peer))
            && Instant::now() < patience
        {
            std::thread::sleep(Duration::from_micros(200));
        }
        Ok(())
    }

    /// Adds an address to an interface that is up, and a route through the interface to its network of `prefix` bits.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn add_network(
        &mut self,
        index: u32,
        own: IpAddr,
        prefix: u8,
    ) -> Result<(), RealTimeError> {
        let (family, _) = kind(own);
        let mut fixed = vec![family, prefix, libc::IFA_F_NODAD as u8, 0];
        fixed.extend(index.to_ne_bytes());
        let mut message = Message::new(libc::RTM_NEWADDR, CREATE, &fixed);
        message
            .attribute(libc::IFA_LOCAL, &octets(own))
            .attribute(libc::IFA_ADDRESS, &octets(own))
            .number(IFA_FLAGS, libc::IFA_F_NODAD);
        self.netlink
            .request(message)
            .map_err(RealTimeError::system(format!("address {own}/{prefix}")))
    }

    /// Adds a route to a network through an interface that is up. The route goes with the interface.
    ///
    /// # Errors
    /// What the kernel refused: there may be such a route already.
    pub fn add_route(&mut self, index: u32, to: IpAddr, prefix: u8) -> Result<(), RealTimeError> {
        self.add_route_in(u32::from(libc::RT_TABLE_MAIN), index, to, prefix)
    }

    /// Adds a route as [`Links::add_route`] does, to this table.
    ///
    /// # Errors
    /// What the kernel refused: there may be such a route already.
    pub fn add_route_in(
        &mut self,
        table: u32,
        index: u32,
        to: IpAddr,
        prefix: u8,
    ) -> Result<(), RealTimeError> {
        let (family, _) = kind(to);
        let scope = if to.is_ipv4() { libc::RT_SCOPE_LINK } else { libc::RT_SCOPE_UNIVERSE };
        // A number of more than eight bits stands in the attribute alone.
        let short = u8::try_from(table).unwrap_or(libc::RT_TABLE_UNSPEC);
        let made = libc::RTPROT_STATIC;
        let fixed = [family, prefix, 0, 0, short, made, scope, libc::RTN_UNICAST, 0, 0, 0, 0];
        let mut message = Message::new(libc::RTM_NEWROUTE, CREATE, &fixed);
        message.number(libc::RTA_OIF, index).number(libc::RTA_TABLE, table);
        if prefix > 0 {
            message.attribute(libc::RTA_DST, &octets(to));
        }
        self.netlink
            .request(message)
            .map_err(RealTimeError::system(format!("route to {to}/{prefix}")))
    }

    /// Adds a default route through an interface.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn add_default_route(&mut self, index: u32, gateway: IpAddr) -> Result<(), RealTimeError> {
        let (family, _) = kind(gateway);
        let fixed = [
            family,
            0,
            0,
            0,
            libc::RT_TABLE_MAIN,
            libc::RTPROT_BOOT,
            libc::RT_SCOPE_UNIVERSE,
            libc::RTN_UNICAST,
            0,
            0,
            0,
            0,
        ];
        let mut message = Message::new(libc::RTM_NEWROUTE, CREATE, &fixed);
        message.number(libc::RTA_OIF, index);
        // In IPv6 the only neighbour needs no name, nor would the kernel take one that is no
        // link-local address.
        if gateway.is_ipv4() {
            message.attribute(libc::RTA_GATEWAY, &octets(gateway));
        }
        self.netlink
            .request(message)
            .map_err(RealTimeError::system(format!("default route by {gateway}")))
    }

    /// Returns all addresses in use with the numbers of their interfaces, those of peers included.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn addresses(&mut self) -> Result<Vec<(u32, IpAddr)>, RealTimeError> {
        let message = Message::new(libc::RTM_GETADDR, libc::NLM_F_DUMP, &[0; 8]);
        let mut found = Vec::new();
        let each = |answer: &super::netlink::Answer<'_>| {
            let index = u32_at(answer.body, 4);
            for (kind, value) in attributes(answer.body.get(8..).unwrap_or(&[])) {
                if matches!(kind, libc::IFA_LOCAL | libc::IFA_ADDRESS) {
                    found.extend(address(value).map(|address| (index, address)));
                }
            }
        };
        self.netlink.dump(message, each).map_err(RealTimeError::system("list of addresses"))?;
        Ok(found)
    }

    /// Returns the routes of IPv4 (or of IPv6) in the main table.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn routes(&mut self, six: bool) -> Result<Vec<Route>, RealTimeError> {
        let mut fixed = [0; 12];
        fixed[0] = if six { libc::AF_INET6 } else { libc::AF_INET } as u8;
        let message = Message::new(libc::RTM_GETROUTE, libc::NLM_F_DUMP, &fixed);
        let mut found = Vec::new();
        let each = |answer: &super::netlink::Answer<'_>| {
            let head = u32_at(answer.body, 0).to_ne_bytes();
            let table = u32_at(answer.body, 4).to_ne_bytes();
            let unicast = table[3] == libc::RTN_UNICAST;
            if table[0] != libc::RT_TABLE_MAIN || !unicast || u16_at(answer.body, 0) == 0 {
                return;
            }
            let mut route = Route { interface: 0, protocol: table[1], prefix: head[1], to: None };
            for (kind, value) in attributes(answer.body.get(12..).unwrap_or(&[])) {
                match kind {
                    libc::RTA_OIF => route.interface = u32_at(value, 0),
                    libc::RTA_DST => route.to = address(value),
                    _ => {}
                }
            }
            found.push(route);
        };
        self.netlink.dump(message, each).map_err(RealTimeError::system("list of routes"))?;
        Ok(found)
    }
}

/// Creates a message that changes an interface; with `up`, it brings it up.
fn set_link(index: u32, up: bool) -> Message {
    let flags = if up { libc::IFF_UP as u32 } else { 0 };
    let mut fixed = vec![0; 4];
    fixed.extend(index.to_ne_bytes());
    fixed.extend(flags.to_ne_bytes());
    fixed.extend(flags.to_ne_bytes());
    Message::new(libc::RTM_NEWLINK, libc::NLM_F_ACK, &fixed)
}

fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(value).trim_end_matches('\0').to_string()
}

/// Returns the family of an address and the length of its longest prefix, in bits.
fn kind(address: IpAddr) -> (u8, u8) {
    match address {
        IpAddr::V4(_) => (libc::AF_INET as u8, 32),
        IpAddr::V6(_) => (libc::AF_INET6 as u8, 128),
    }
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(four) => four.octets().to_vec(),
        IpAddr::V6(six) => six.octets().to_vec(),
    }
}

fn address(value: &[u8]) -> Option<IpAddr> {
    let four = <[u8; 4]>::try_from(value).map(IpAddr::from);
    four.or_else(|_| <[u8; 16]>::try_from(value).map(IpAddr::from)).ok()
}
