//! Address translation by nf_tables, without any program: packets from inside take this
//! machine's own addresses on their way out.

use std::net::IpAddr;

use nix::sys::socket::SockProtocol;

use crate::LiveError;

use super::netlink::{Message, Netlink};

// linux/netfilter/nf_tables.h
const SUBSYSTEM: u16 = (libc::NFNL_SUBSYS_NFTABLES as u16) << 8;
const NEW_TABLE: u16 = SUBSYSTEM;
const NEW_CHAIN: u16 = SUBSYSTEM | 3;
const NEW_RULE: u16 = SUBSYSTEM | 6;
/// The table belongs to the socket that made it and goes with it (since Linux 5.12).
const TABLE_OWNER: u32 = 2;
const NETWORK_HEADER: u32 = 1;
const REGISTER: u32 = 1;
const POSTROUTING: u32 = 4;
const SOURCE_NAT: u32 = 100;

/// Rules that live as long as this value, or as its process.
#[derive(Debug)]
pub struct Nat {
    _owner: Netlink,
}

/// `struct nfgenmsg`: family, version, resource in network order.
fn general(family: u8, resource: u16) -> [u8; 4] {
    let resource = resource.to_be_bytes();
    [family, 0, resource[0], resource[1]]
}

impl Nat {
    /// Translates what comes from the address `inside` and leaves by another interface. `table`
    /// names the rules in listings.
    ///
    /// # Errors
    /// The kernel has no nf_tables or no masquerading for this family, or refuses.
    pub fn masquerade(table: &str, inside: IpAddr) -> Result<Nat, LiveError> {
        let what = format!("address translation for {inside} (nf_tables)");
        let mut netlink = Netlink::open(SockProtocol::NetlinkNetFilter)
            .map_err(LiveError::system(what.clone()))?;
        let (family, offset, source) = match inside {
            IpAddr::V4(four) => (libc::NFPROTO_IPV4 as u8, 12, four.octets().to_vec()),
            IpAddr::V6(six) => (libc::NFPROTO_IPV6 as u8, 8, six.octets().to_vec()),
        };
        let resource = libc::NFNL_SUBSYS_NFTABLES as u16;
        let border = |kind: i32| Message::new(kind as u16, 0, &general(0, resource));
        let create = libc::NLM_F_CREATE | libc::NLM_F_ACK;
        let mut new_table = Message::new(NEW_TABLE, create | libc::NLM_F_EXCL, &general(family, 0));
        new_table.text(1, table).network_number(2, TABLE_OWNER);
        let mut chain = Message::new(NEW_CHAIN, create, &general(family, 0));
        chain.text(1, table).text(3, "outward");
        chain.nest(4, |hook| {
            hook.network_number(1, POSTROUTING).network_number(2, SOURCE_NAT);
        });
        chain.text(7, "nat");
        let mut rule = Message::new(NEW_RULE, create | libc::NLM_F_APPEND, &general(family, 0));
        rule.text(1, table).text(2, "outward");
        rule.nest(4, |list| {
            expression(list, "payload", |data| {
                data.network_number(1, REGISTER)
                    .network_number(2, NETWORK_HEADER)
                    .network_number(3, offset)
                    .network_number(4, source.len() as u32);
            });
            expression(list, "cmp", |data| {
                data.network_number(1, REGISTER).network_number(2, 0);
                data.nest(3, |value| {
                    value.attribute(1, &source);
                });
            });
            expression(list, "masq", |_| {});
        });
        let messages = vec![
            border(libc::NFNL_MSG_BATCH_BEGIN),
            new_table,
            chain,
            rule,
            border(libc::NFNL_MSG_BATCH_END),
        ];
        netlink.batch(messages, 3).map_err(LiveError::system(what))?;
        Ok(Nat { _owner: netlink })
    }
}

/// Adds one expression of a rule.
fn expression(list: &mut Message, name: &str, fill: impl FnOnce(&mut Message)) {
    list.nest(1, |element| {
        element.text(1, name);
        element.nest(2, fill);
    });
}
