//! Writes tables of nf_tables with their chains and rules, each table in one transaction.

use std::io;
use std::net::IpAddr;

use nix::sys::socket::SockProtocol;

use super::netlink::{Message, Netlink};
use super::nftables::SUBSYSTEM;

// linux/netfilter/nf_tables.h
const NEW_TABLE: u16 = SUBSYSTEM;
const DELETE_TABLE: u16 = SUBSYSTEM | 2;
const NEW_CHAIN: u16 = SUBSYSTEM | 3;
const NEW_RULE: u16 = SUBSYSTEM | 6;
/// Flag of a table that belongs to the socket that made it and goes with it (since Linux 5.12).
const TABLE_OWNER: u32 = 2;
const NETWORK_HEADER: u32 = 1;
const TRANSPORT_HEADER: u32 = 2;
/// The registers of values and of verdicts.
const REGISTER: u32 = 1;
const VERDICT_REGISTER: u32 = 0;
const META_MARK: u32 = 3;
const META_INPUT_NAME: u32 = 6;
const META_OUTPUT_NAME: u32 = 7;
const META_FAMILY: u32 = 15;
const META_PROTOCOL: u32 = 16;
const CONNECTION_MARK: u32 = 3;
/// The result of a FIB query that says what kind of address it is, and which address is asked for.
const FIB_ADDRESS_TYPE: u32 = 3;
const FIB_SOURCE: u32 = 1;
const COMPARE_EQUAL: u32 = 0;
const COMPARE_NOT_EQUAL: u32 = 1;
const COMPARE_AT_MOST: u32 = 3;
const COMPARE_AT_LEAST: u32 = 5;
const VERDICT_DROP: u32 = 0;
const VERDICT_ACCEPT: u32 = 1;

/// The IP versions that a table sees.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Family {
    /// IPv4.
    Four,
    /// IPv6.
    Six,
    /// Both.
    Both,
}

impl Family {
    fn number(self) -> u8 {
        match self {
            Family::Four => libc::NFPROTO_IPV4 as u8,
            Family::Six => libc::NFPROTO_IPV6 as u8,
            Family::Both => libc::NFPROTO_INET as u8,
        }
    }
}

/// How long a table stays.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// As long as the [`Owner`]: the kernel removes it when the process ends.
    Owner,
    /// Until [`delete`].
    Persistent,
}

/// Where a chain sees packets: the numbers of `enum nf_inet_hooks`.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Hook {
    /// Packets that arrive, before routing.
    Prerouting = 0,
    /// Packets that this machine passes on.
    Forward = 2,
    /// Packets that this machine sends.
    Output = 3,
    /// Packets that leave, after routing.
    Postrouting = 4,
}

/// A chain that packets enter from a hook of the kernel.
#[derive(Copy, Clone, Debug)]
pub struct Chain {
    /// Its name.
    pub name: &'static str,
    /// Where it sees packets.
    pub hook: Hook,
    /// Lower numbers see packets first: -300 raw, -150 mangle, 0 filter, 100 source translation.
    pub priority: i32,
    /// `filter` or `nat`.
    pub kind: &'static str,
    /// True if packets are dropped that no rule accepts.
    pub drops: bool,
}

/// One step of a rule. Each packet takes them in order, until a comparison fails.
#[derive(Clone, Debug)]
pub enum Step {
    /// Goes on with packets that leave by this interface, or with `false` with all others.
    LeavesBy(String, bool),
    /// Goes on with packets that came in by this interface, or with `false` with all others.
    CameBy(String, bool),
    /// Goes on with packets of this family: [`Family::Four`] or [`Family::Six`].
    Is(Family),
    /// Goes on with packets of this protocol (`IPPROTO_...`).
    Protocol(i32),
    /// Goes on with packets that have this mark.
    Marked(u32),
    /// Goes on with packets whose connection has this mark.
    ConnectionMarked(u32),
    /// Goes on with packets whose source lies in this network. Needs [`Step::Is`] before it in tables of both families.
    From(IpAddr, u8),
    /// Goes on with packets whose destination lies in this network, as [`Step::From`].
    To(IpAddr, u8),
    /// Goes on with packets whose source and destination ports are these.
    Ports(u16, u16),
    /// Goes on with ICMPv6 messages whose type lies in this range.
    MessageTypes(u8, u8),
    /// Goes on with packets whose source is not an address of this machine.
    FromElsewhere,
    /// Gives the packet this mark.
    Mark(u32),
    /// Gives the packet's connection this mark.
    MarkConnection(u32),
    /// Lets the packet pass this chain.
    Accept,
    /// Drops the packet.
    Drop,
    /// Gives the packet an address of the interface by which it leaves, and its answers the old one.
    Masquerade,
}

/// The owner of a table with [`Lifetime::Owner`], which goes with this value.
#[derive(Debug)]
pub struct Owner {
    _netlink: Netlink,
}

/// A table that is not in the kernel yet.
pub struct NewTable {
    family: u8,
    name: String,
    lifetime: Lifetime,
    messages: Vec<Message>,
}

/// `struct nfgenmsg`: family, version, resource in network order.
fn general(family: u8, resource: u16) -> [u8; 4] {
    let resource = resource.to_be_bytes();
    [family, 0, resource[0], resource[1]]
}

fn border(kind: i32) -> Message {
    Message::new(kind as u16, 0, &general(0, libc::NFNL_SUBSYS_NFTABLES as u16))
}

const CREATE: i32 = libc::NLM_F_CREATE | libc::NLM_F_ACK;

impl NewTable {
    /// Creates a table without chains.
    pub fn new(family: Family, name: &str, lifetime: Lifetime) -> NewTable {
        NewTable { family: family.number(), name: name.into(), lifetime, messages: Vec::new() }
    }

    /// Adds a chain.
    pub fn chain(&mut self, chain: &Chain) {
        let mut message = Message::new(NEW_CHAIN, CREATE, &general(self.family, 0));
        message.text(1, &self.name).text(3, chain.name);
        message.nest(4, |hook| {
            hook.network_number(1, chain.hook as u32);
            hook.network_number(2, chain.priority.cast_unsigned());
        });
        let policy = if chain.drops { VERDICT_DROP } else { VERDICT_ACCEPT };
        message.network_number(5, policy).text(7, chain.kind);
        self.messages.push(message);
    }

    /// Adds a rule at the end of a chain.
    pub fn rule(&mut self, chain: &Chain, steps: &[Step]) {
        let flags = CREATE | libc::NLM_F_APPEND;
        let mut message = Message::new(NEW_RULE, flags, &general(self.family, 0));
        message.text(1, &self.name).text(2, chain.name);
        message.nest(4, |list| steps.iter().for_each(|step| step.write(list)));
        self.messages.push(message);
    }

    /// Puts the table into the kernel. A persistent one takes the place of one of its name, without a moment between;
    /// for an owned one there must be none.
    ///
    /// # Errors
    /// The kernel has no nf_tables, or lacks an expression or a hook for this family, or refuses.
    pub fn install(self) -> io::Result<Owner> {
        let mut netlink = Netlink::open(SockProtocol::NetlinkNetFilter)?;
        let named = |kind: u16, flags: i32| {
            let mut message = Message::new(kind, flags, &general(self.family, 0));
            message.text(1, &self.name);
            message
        };
        let mut messages = vec![border(libc::NFNL_MSG_BATCH_BEGIN)];
        match self.lifetime {
            Lifetime::Owner => {
                let mut table = named(NEW_TABLE, CREATE | libc::NLM_F_EXCL);
                table.network_number(2, TABLE_OWNER);
                messages.push(table);
            }
            // To delete a table that may not be there, it is added first.
            Lifetime::Persistent => messages.extend([
                named(NEW_TABLE, CREATE),
                named(DELETE_TABLE, libc::NLM_F_ACK),
                named(NEW_TABLE, CREATE),
            ]),
        }
        messages.extend(self.messages);
        let acknowledged = messages.len() - 1;
        messages.push(border(libc::NFNL_MSG_BATCH_END));
        netlink.batch(messages, acknowledged)?;
        Ok(Owner { _netlink: netlink })
    }
}

/// Deletes a table; false if there is none.
///
/// # Errors
/// The kernel refuses: the table belongs to another process.
pub fn delete(family: Family, name: &str) -> io::Result<bool> {
    let mut netlink = Netlink::open(SockProtocol::NetlinkNetFilter)?;
    let mut message = Message::new(DELETE_TABLE, libc::NLM_F_ACK, &general(family.number(), 0));
    message.text(1, name);
    let messages =
        vec![border(libc::NFNL_MSG_BATCH_BEGIN), message, border(libc::NFNL_MSG_BATCH_END)];
    match netlink.batch(messages, 1) {
        Ok(()) => Ok(true),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns the name of an interface as registers hold it: filled up with zeros.
fn interface(name: &str) -> Vec<u8> {
    let mut bytes = name.as_bytes().to_vec();
    bytes.resize(libc::IFNAMSIZ, 0);
    bytes
}

/// Adds one expression of a rule.
fn expression(list: &mut Message, name: &str, fill: impl FnOnce(&mut Message)) {
    list.nest(1, |element| {
        element.text(1, name);
        element.nest(2, fill);
    });
}

fn load_meta(list: &mut Message, key: u32) {
    expression(list, "meta", |data| {
        data.network_number(1, REGISTER).network_number(2, key);
    });
}

fn load_payload(list: &mut Message, header: u32, offset: u32, length: u32) {
    expression(list, "payload", |data| {
        data.network_number(1, REGISTER).network_number(2, header);
        data.network_number(3, offset).network_number(4, length);
    });
}

fn compare(list: &mut Message, how: u32, value: &[u8]) {
    expression(list, "cmp", |data| {
        data.network_number(1, REGISTER).network_number(2, how);
        data.nest(3, |data| {
            data.attribute(1, value);
        });
    });
}

/// Loads a number into the register.
fn load_immediate(list: &mut Message, value: u32) {
    expression(list, "immediate", |data| {
        data.network_number(1, REGISTER).nest(2, |data| {
            data.attribute(1, &value.to_ne_bytes());
        });
    });
}

fn verdict(list: &mut Message, code: u32) {
    expression(list, "immediate", |data| {
        data.network_number(1, VERDICT_REGISTER).nest(2, |data| {
            data.nest(2, |verdict| {
                verdict.network_number(1, code);
            });
        });
    });
}

/// Compares an address of the IP header with a network: the source, or the destination.
fn compare_address(list: &mut Message, network: IpAddr, bits: u8, source: bool) {
    let (octets, offset) = match (network, source) {
        (IpAddr::V4(four), true) => (four.octets().to_vec(), 12),
        (IpAddr::V4(four), false) => (four.octets().to_vec(), 16),
        (IpAddr::V6(six), true) => (six.octets().to_vec(), 8),
        (IpAddr::V6(six), false) => (six.octets().to_vec(), 24),
    };
    let bits = u32::from(bits);
    let mask: Vec<u8> = (0..octets.len() as u32)
        .map(|byte| !(0xFFu32 >> bits.saturating_sub(8 * byte).min(8)) as u8)
        .collect();
    load_payload(list, NETWORK_HEADER, offset, octets.len() as u32);
    expression(list, "bitwise", |data| {
        data.network_number(1, REGISTER).network_number(2, REGISTER);
        data.network_number(3, octets.len() as u32);
        data.nest(4, |value| {
            value.attribute(1, &mask);
        });
        data.nest(5, |value| {
            value.attribute(1, &vec![0; octets.len()]);
        });
    });
    let base: Vec<u8> = octets.iter().zip(&mask).map(|(octet, mask)| octet & mask).collect();
    compare(list, COMPARE_EQUAL, &base);
}

impl Step {
    fn write(&self, list: &mut Message) {
        let equality = |is: bool| if is { COMPARE_EQUAL } else { COMPARE_NOT_EQUAL };
        match self {
            Step::LeavesBy(name, is) => {
                load_meta(list, META_OUTPUT_NAME);
                compare(list, equality(*is), &interface(name));
            }
            Step::CameBy(name, is) => {
                load_meta(list, META_INPUT_NAME);
                compare(list, equality(*is), &interface(name));
            }
            Step::Is(family) => {
                load_meta(list, META_FAMILY);
                compare(list, COMPARE_EQUAL, &[family.number()]);
            }
            Step::Protocol(number) => {
                load_meta(list, META_PROTOCOL);
                compare(list, COMPARE_EQUAL, &[*number as u8]);
            }
            Step::Marked(mark) => {
                load_meta(list, META_MARK);
                compare(list, COMPARE_EQUAL, &mark.to_ne_bytes());
            }
            Step::ConnectionMarked(mark) => {
                expression(list, "ct", |data| {
                    data.network_number(1, REGISTER).network_number(2, CONNECTION_MARK);
                });
                compare(list, COMPARE_EQUAL, &mark.to_ne_bytes());
            }
            Step::From(network, bits) => compare_address(list, *network, *bits, true),
            Step::To(network, bits) => compare_address(list, *network, *bits, false),
            Step::Ports(source, destination) => {
                load_payload(list, TRANSPORT_HEADER, 0, 4);
                let ports = [source.to_be_bytes(), destination.to_be_bytes()].concat();
                compare(list, COMPARE_EQUAL, &ports);
            }
            Step::MessageTypes(least, most) => {
                load_meta(list, META_PROTOCOL);
                compare(list, COMPARE_EQUAL, &[libc::IPPROTO_ICMPV6 as u8]);
                load_payload(list, TRANSPORT_HEADER, 0, 1);
                compare(list, COMPARE_AT_LEAST, &[*least]);
                compare(list, COMPARE_AT_MOST, &[*most]);
            }
            Step::FromElsewhere => {
                expression(list, "fib", |data| {
                    data.network_number(1, REGISTER).network_number(2, FIB_ADDRESS_TYPE);
                    data.network_number(3, FIB_SOURCE);
                });
                let local = u32::from(libc::RTN_LOCAL).to_ne_bytes();
                compare(list, COMPARE_NOT_EQUAL, &local);
            }
            Step::Mark(mark) => {
                load_immediate(list, *mark);
                expression(list, "meta", |data| {
                    data.network_number(2, META_MARK).network_number(3, REGISTER);
                });
            }
            Step::MarkConnection(mark) => {
                load_immediate(list, *mark);
                expression(list, "ct", |data| {
                    data.network_number(2, CONNECTION_MARK).network_number(4, REGISTER);
                });
            }
            Step::Accept => verdict(list, VERDICT_ACCEPT),
            Step::Drop => verdict(list, VERDICT_DROP),
            Step::Masquerade => expression(list, "masq", |_| {}),
        }
    }
}
