//! Forwarding and address translation, so that a server's clients reach the networks behind it.

use std::net::IpAddr;

use paceline_os::RealTimeError;
use paceline_os::host::firewall::{admission, iptables, run};
use paceline_os::host::forwarding;
use paceline_os::host::lock::Lock;
use paceline_os::nat::Nat;
use paceline_os::route::Links;

use super::record::Record;
use super::{SetupOptions, Translate};

/// Forwards packets of these networks with this machine's addresses. Returns the rules, which are
/// removed with this process.
///
/// # Errors
/// The kernel refuses, or does not support translation.
pub(super) fn apply(
    options: &SetupOptions,
    translate: &Translate,
    record: &mut Record,
    remarks: &mut Vec<String>,
) -> Result<Vec<Nat>, RealTimeError> {
    let mut rules = Vec::new();
    for four in [true, false] {
        let of_family: Vec<(IpAddr, u8)> = translate
            .networks
            .iter()
            .filter(|network| network.address.is_ipv4() == four)
            .map(|network| (network.base(), network.bits))
            .collect();
        if !of_family.is_empty() {
            let table = format!("paceline-{}", options.name);
            let outer = translate.outer.as_deref();
            rules.push(Nat::masquerade_networks(&table, &of_family, &options.device, outer)?);
        }
    }
    let mut links = Links::open()?;
    let index = links.index(&options.device)?;
    let lock = Lock::take();
    let mut plan = forwarding::plan(&mut links, index)?;
    record.settings.clone_from(&plan.claimed);
    record.save(&options.name)?;
    forwarding::turn_on(&mut links, &mut plan)?;
    drop(lock);
    // The remarks speak of the emulator's inside network; here they are about clients.
    remarks.extend(
        plan.remarks.iter().map(|text| text.replace("the inside reaches", "clients reach")),
    );
    for program in ["iptables", "ip6tables"] {
        let rules = admission(program, &options.device).unwrap_or_else(|problem| {
            remarks.push(problem);
            Vec::new()
        });
        for rule in rules {
            let command = |what: &str| {
                let words = iptables(program).into_iter().chain([what]).map(String::from);
                words.chain(rule.iter().cloned()).collect::<Vec<String>>()
            };
            record.commands.push(command("-D"));
            record.save(&options.name)?;
            if run(&command("-I")).is_none() {
                record.commands.pop();
                record.save(&options.name)?;
                let rule = command("-I").join(" ");
                remarks.push(format!("this machine's firewall passes nothing on: sudo {rule}"));
            }
        }
    }
    Ok(rules)
}
