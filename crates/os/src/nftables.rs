//! Reads the firewalls of this network namespace: the base chains of nf_tables in the hooks `input` and `forward`, and
//! whether they drop or refuse packets, as far as single rules show it.

use std::io;

use nix::sys::socket::SockProtocol;

use super::netlink::{Message, Netlink, attributes};

pub(super) const SUBSYSTEM: u16 = (libc::NFNL_SUBSYS_NFTABLES as u16) << 8;
const GET_CHAIN: u16 = SUBSYSTEM | 4;
const GET_RULE: u16 = SUBSYSTEM | 7;
// linux/netfilter/nf_tables.h
const CHAIN_TABLE: u16 = 1;
const CHAIN_NAME: u16 = 3;
const CHAIN_HOOK: u16 = 4;
const CHAIN_POLICY: u16 = 5;
const CHAIN_TYPE: u16 = 7;
const RULE_TABLE: u16 = 1;
const RULE_CHAIN: u16 = 2;
const RULE_EXPRESSIONS: u16 = 4;
const DROP: u32 = 0;

/// The hook of a chain.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Hook {
    /// Packets for this machine.
    Input,
    /// Packets that this machine passes on.
    Forward,
}

/// A chain that packets enter from a hook of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BaseChain {
    /// As `nft` writes it: `ip`, `ip6` or `inet`.
    pub(crate) family: &'static str,
    pub(crate) table: String,
    pub(crate) name: String,
    pub(crate) hook: Hook,
    /// True if packets are dropped that no rule accepts.
    pub(crate) drops: bool,
    /// True if a rule without any condition drops or rejects.
    pub(crate) refuses: bool,
    /// True if its rules lead to chains that ufw has made.
    pub(crate) ufw: bool,
    /// Interfaces that its rules name, or the beginnings of such names.
    pub(crate) names: Vec<String>,
}

/// Returns all base chains that filter in the hooks `input` and `forward`.
///
/// # Errors
/// The kernel has no nf_tables, or this process may not ask.
pub(crate) fn base_chains() -> io::Result<Vec<BaseChain>> {
    let mut netlink = Netlink::open(SockProtocol::NetlinkNetFilter)?;
    let mut chains = Vec::new();
    // `struct nfgenmsg`: family, version, resource.
    netlink.dump(Message::new(GET_CHAIN, libc::NLM_F_DUMP, &[0; 4]), |answer| {
        let family = answer.body.first().copied().unwrap_or(0);
        chains.extend(chain(family, answer.body.get(4..).unwrap_or_default()));
    })?;
    for (family, chain) in &mut chains {
        let mut ask = Message::new(GET_RULE, libc::NLM_F_DUMP, &[*family, 0, 0, 0]);
        ask.text(RULE_TABLE, &chain.table).text(RULE_CHAIN, &chain.name);
        netlink.dump(ask, |answer| rule(chain, answer.body.get(4..).unwrap_or_default()))?;
    }
    Ok(chains.into_iter().map(|(_, chain)| chain).collect())
}

fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(value).trim_end_matches('\0').to_string()
}

/// Returns the number that `value` is in network byte order.
fn number(value: &[u8]) -> Option<u32> {
    value.get(..4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_be_bytes)
}

/// Returns the value of the first attribute of this kind.
fn find(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(bytes).find(|(found, _)| *found == kind).map(|(_, value)| value)
}

fn chain(family: u8, bytes: &[u8]) -> Option<(u8, BaseChain)> {
    let name_of_family = match i32::from(family) {
        libc::NFPROTO_IPV4 => "ip",
        libc::NFPROTO_IPV6 => "ip6",
        libc::NFPROTO_INET => "inet",
        _ => return None,
    };
    // Other chains are only met by jumps.
    let hook = match number(find(find(bytes, CHAIN_HOOK)?, 1)?)? {
        1 => Hook::Input,
        2 => Hook::Forward,
        _ => return None,
    };
    (text(find(bytes, CHAIN_TYPE)?) == "filter").then_some(())?;
    let chain = BaseChain {
        family: name_of_family,
        table: text(find(bytes, CHAIN_TABLE)?),
        name: text(find(bytes, CHAIN_NAME)?),
        hook,
        drops: find(bytes, CHAIN_POLICY).and_then(number) == Some(DROP),
        refuses: false,
        ufw: false,
        names: Vec::new(),
    };
    Some((family, chain))
}

/// Notes in `chain` what one of its rules does.
fn rule(chain: &mut BaseChain, bytes: &[u8]) {
    let (mut conditions, mut refuses) = (false, false);
    for (_, element) in attributes(find(bytes, RULE_EXPRESSIONS).unwrap_or_default()) {
        let name = find(element, 1).map(text).unwrap_or_default();
        let data = find(element, 2).unwrap_or_default();
        match name.as_str() {
            "counter" | "log" => {}
            "reject" => refuses = true,
            "immediate" => {
                let verdict = find(data, 2).and_then(|value| find(value, 2)).unwrap_or_default();
                refuses |= find(verdict, 1).and_then(number) == Some(DROP);
                chain.ufw |= find(verdict, 2).is_some_and(|to| text(to).starts_with("ufw"));
            }
            "cmp" => {
                conditions = true;
                let value = find(data, 3).and_then(|value| find(value, 1)).unwrap_or_default();
                let word = text(value);
                let plain = word.bytes().all(|byte| byte.is_ascii_graphic());
                if !word.is_empty() && plain {
                    chain.names.push(word);
                }
            }
            _ => conditions = true,
        }
    }
    chain.refuses |= refuses && !conditions;
}
