//! Address translation by nf_tables, without any program: packets from inside take this
//! machine's own addresses on their way out.

use std::net::IpAddr;

use crate::{RealTimeError, nftables};

use super::ruleset::{Chain, Family, Hook, Lifetime, NewTable, Owner, Step};

/// The chain of the rules: source translation, after routing.
const OUTWARD: Chain =
    Chain { name: "outward", hook: Hook::Postrouting, priority: 100, kind: "nat", drops: false };

/// Checks that the kernel has nf_tables, by asking for its chains.
///
/// # Errors
/// There is no nf_tables, or this process may not ask, which takes CAP_NET_ADMIN.
pub fn check() -> Result<(), RealTimeError> {
    nftables::base_chains().map(drop).map_err(RealTimeError::system("nf_tables"))
}

/// Rules that live as long as this value, or as its process.
#[derive(Debug)]
pub struct Nat {
    _owner: Owner,
}

impl Nat {
    /// Translates what comes from the address `inside`. `table` names the rules in listings.
    ///
    /// # Errors
    /// The kernel has no nf_tables or no masquerading for this family, or refuses.
    pub fn masquerade(table: &str, inside: IpAddr) -> Result<Nat, RealTimeError> {
        let bits = if inside.is_ipv4() { 32 } else { 128 };
        Nat::install(table, inside, &[vec![Step::From(inside, bits), Step::Masquerade]])
    }

    /// Translates what comes from `networks`, which are of one family, and does not leave by `device`; with `outer`, only
    /// what leaves by that interface. `table` names the rules in listings.
    ///
    /// # Errors
    /// As [`Nat::masquerade`]; there is no network.
    pub fn masquerade_networks(
        table: &str,
        networks: &[(IpAddr, u8)],
        device: &str,
        outer: Option<&str>,
    ) -> Result<Nat, RealTimeError> {
        let Some(&(first, _)) = networks.first() else {
            return Err(RealTimeError::Message("address translation: there is no network".into()));
        };
        let leaves = match outer {
            Some(outer) => Step::LeavesBy(outer.into(), true),
            None => Step::LeavesBy(device.into(), false),
        };
        let rule =
            |&(from, bits): &_| vec![Step::From(from, bits), leaves.clone(), Step::Masquerade];
        Nat::install(table, first, &networks.iter().map(rule).collect::<Vec<_>>())
    }

    fn install(table: &str, inside: IpAddr, rules: &[Vec<Step>]) -> Result<Nat, RealTimeError> {
        let family = if inside.is_ipv4() { Family::Four } else { Family::Six };
        let mut new = NewTable::new(family, table, Lifetime::Owner);
        new.chain(&OUTWARD);
        rules.iter().for_each(|rule| new.rule(&OUTWARD, rule));
        let what = format!("address translation for {inside} (nf_tables)");
        Ok(Nat { _owner: new.install().map_err(RealTimeError::system(what))? })
    }
}
