//! The default route through the tunnel.
//!
//! The route stands in a separate table. Policy rules direct all packets to that table, except
//! those of the tunnel itself, which have a mark. The main table is unchanged; its routes that are
//! more specific than a default route still apply.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use paceline_os::RealTimeError;
use paceline_os::route::Links;
use paceline_os::rule::{Action, Rule, Rules};
use paceline_os::ruleset::{Chain, Family, Hook, Lifetime, NewTable, Owner, Step};

use super::SetupOptions;
use super::record::{Record, VALID_MARK};

/// First number tried for a tunnel's mark and table.
const FIRST_MARK: u32 = 53_120;
/// First priority tried for a tunnel's rules. The main table's rule has 32766.
const FIRST_PRIORITY: u32 = 31_000;

const MANGLE: i32 = -150;
const INPUT: Chain = Chain {
    name: "prerouting",
    hook: Hook::Prerouting,
    priority: MANGLE,
    kind: "filter",
    drops: false,
};
const OUTPUT: Chain = Chain {
    name: "postrouting",
    hook: Hook::Postrouting,
    priority: MANGLE,
    kind: "filter",
    drops: false,
};
/// A chain before connection tracking.
const RAW: Chain =
    Chain { name: "raw", hook: Hook::Prerouting, priority: -300, kind: "filter", drops: false };

/// Returns a number that no rule uses as mark or as table.
///
/// # Errors
/// The kernel does not list its rules.
pub(super) fn free_mark() -> Result<u32, RealTimeError> {
    let mut rules = Rules::open()?;
    let used = [rules.list(false)?, rules.list(true)?].concat();
    let is_free = |mark: &u32| used.iter().all(|rule| rule.mark != *mark && rule.table != *mark);
    (FIRST_MARK..).find(is_free).ok_or_else(|| RealTimeError::Message("no mark is free".into()))
}

/// Adds default routes through the device to the tunnel's table, for the families of the device's
/// addresses. Returns these addresses. The routes are removed with the device; no rule directs
/// packets to the table before [`turn`].
///
/// # Errors
/// The kernel refuses a route.
pub(super) fn lead(
    options: &SetupOptions,
    mark: u32,
    index: u32,
) -> Result<Vec<IpAddr>, RealTimeError> {
    let mut links = Links::open()?;
    let of_device = |(at, own)| (at == index).then_some(own);
    let inside: Vec<IpAddr> = links.addresses()?.into_iter().filter_map(of_device).collect();
    for any in [IpAddr::from(Ipv4Addr::UNSPECIFIED), IpAddr::from(Ipv6Addr::UNSPECIFIED)] {
        if inside.iter().any(|own| own.is_ipv4() == any.is_ipv4()) {
            links.add_route_in(mark, index, any, 0)?;
        }
    }
    if inside.is_empty() {
        return Err(RealTimeError::Message(format!("device {} has no address", options.device)));
    }
    Ok(inside)
}

/// Records which rules and settings [`turn`] will change.
///
/// # Errors
/// The kernel does not list its rules, or the record cannot be written.
pub(super) fn note_changes(
    options: &SetupOptions,
    mark: u32,
    record: &mut Record,
) -> Result<(), RealTimeError> {
    let mut rules = Rules::open()?;
    let listed = [rules.list(false)?, rules.list(true)?].concat();
    let is_free = |first: &u32| {
        listed.iter().all(|rule| !(*first..first.saturating_add(3)).contains(&rule.priority))
    };
    let first = (FIRST_PRIORITY..)
        .step_by(3)
        .find(is_free)
        .ok_or_else(|| RealTimeError::Message("no priority of policy rules is free".into()))?;
    record.rules = wanted_rules(mark, first);
    let text = fs::read_to_string(VALID_MARK).unwrap_or_default();
    record.valid_mark_was_off = text.trim() == "0";
    record.save(&options.name)
}

/// Directs packets without the mark to the tunnel's table. A family without a route there becomes
/// unreachable, so that its packets do not bypass the tunnel.
///
/// # Errors
/// The kernel refuses a rule.
pub(super) fn turn(record: &Record, remarks: &mut Vec<String>) -> Result<(), RealTimeError> {
    if record.valid_mark_was_off
        && let Err(error) = fs::write(VALID_MARK, "1")
    {
        remarks.push(format!("{VALID_MARK}: {error}; {STRICT}"));
    }
    let mut rules = Rules::open()?;
    record.rules.iter().try_for_each(|rule| rules.add(rule).map(drop))
}

const STRICT: &str =
    "where rp_filter is 1, answers to the tunnel are dropped: sysctl net.ipv4.conf.all.rp_filter=2";

/// Returns the rules of both families, in the order in which they are added.
fn wanted_rules(mark: u32, first: u32) -> Vec<Rule> {
    let steps = [
        (None, Action::MainWithoutDefault),
        (Some(mark), Action::Table(mark)),
        (Some(mark), Action::Unreachable),
    ];
    let rule = |six: bool| {
        let numbered = steps.into_iter().zip(first..);
        numbered.map(move |((except_mark, action), priority)| Rule {
            six,
            priority,
            except_mark,
            action,
        })
    };
    rule(false).chain(rule(true)).collect()
}

/// Marks answers to the tunnel's packets with the tunnel's mark, so that a strict source check (RFC
/// 3704 §2.2) uses the route of the tunnel's packets. Drops packets to the tunnel's addresses that
/// arrive on another interface. Returns the owner of the rules, which are removed with this
/// process; `None`, and a remark, if the kernel does not support such rules.
pub(super) fn keep_marks(
    options: &SetupOptions,
    mark: u32,
    inside: &[IpAddr],
    remarks: &mut Vec<String>,
) -> Option<Owner> {
    let mut table =
        NewTable::new(Family::Both, &format!("paceline-{}", options.name), Lifetime::Owner);
    [INPUT, OUTPUT, RAW].iter().for_each(|chain| table.chain(chain));
    let udp = Step::Protocol(libc::IPPROTO_UDP);
    table.rule(&INPUT, &[udp.clone(), Step::ConnectionMarked(mark), Step::Mark(mark)]);
    table.rule(&OUTPUT, &[udp, Step::Marked(mark), Step::MarkConnection(mark)]);
    for &own in inside {
        let (family, bits) = if own.is_ipv4() { (Family::Four, 32) } else { (Family::Six, 128) };
        let device = Step::CameBy(options.device.clone(), false);
        let to = Step::To(own, bits);
        table.rule(&RAW, &[device, Step::Is(family), to, Step::FromElsewhere, Step::Drop]);
    }
    let installed = table.install();
    installed
        .inspect_err(|error| {
            remarks.push(format!("marks of the tunnel's packets (nf_tables): {error}; {STRICT}"));
        })
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_main_table_comes_first_and_no_route_last() {
        let rules = wanted_rules(7, 100);
        assert_eq!(rules.len(), 6);
        for (six, of_family) in [(false, &rules[..3]), (true, &rules[3..])] {
            let seen: Vec<_> = of_family.iter().map(|it| (it.priority, it.except_mark)).collect();
            assert_eq!(seen, [(100, None), (101, Some(7)), (102, Some(7))]);
            let actions: Vec<_> = of_family.iter().map(|it| it.action).collect();
            assert_eq!(
                actions,
                [Action::MainWithoutDefault, Action::Table(7), Action::Unreachable]
            );
            assert!(of_family.iter().all(|it| it.six == six));
        }
    }
}
