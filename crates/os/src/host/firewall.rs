//! Firewalls of this machine that do not let packets from inside pass.

use std::process::{Command, Output, Stdio};

use crate::nftables::{self, BaseChain, Hook};

/// How long iptables waits for its lock, in seconds. Another program may hold it for ever.
const LOCK_PATIENCE: &str = "5";

fn output(words: &[String]) -> Option<Output> {
    let (program, arguments) = words.split_first()?;
    Command::new(program).args(arguments).stdin(Stdio::null()).output().ok()
}

/// Runs a program without input and discards its errors. Returns its output; `None` if it has failed.
pub fn run(words: &[String]) -> Option<String> {
    let output = output(words).filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns the first words of a command of `program`, iptables or ip6tables, that waits for the lock for 5 s at most.
pub fn iptables(program: &str) -> [&str; 3] {
    [program, "-w", LOCK_PATIENCE]
}

/// Runs a command that removes a rule of iptables. Returns false if iptables refuses: another program has removed
/// the rule already.
///
/// # Errors
/// Another program holds iptables' lock, so that the rule stays.
pub fn remove_rule(command: &[String]) -> Result<bool, String> {
    let Some(output) = output(command) else { return Ok(false) };
    let is_locked = String::from_utf8_lossy(&output.stderr).contains("xtables lock");
    if !output.status.success() && is_locked {
        return Err(format!(
            "another program has held iptables' lock for {LOCK_PATIENCE} s (`sudo fuser /run/xtables.lock` names it), \
             so that a rule stays: sudo {}",
            command.join(" ")
        ));
    }
    Ok(output.status.success())
}

/// Joins groups of words into the words of a command.
pub fn words(parts: &[&[&str]]) -> Vec<String> {
    parts.concat().into_iter().map(String::from).collect()
}

/// Returns the rules that let iptables pass packets from and to `device` on. There are none unless its policy is to
/// drop, as Docker and ufw set it, which no table of nf_tables can overrule.
pub fn admission(program: &str, device: &str) -> Vec<Vec<String>> {
    let policy = run(&words(&[&iptables(program), &["-S", "FORWARD"]])).unwrap_or_default();
    if !policy.contains("-P FORWARD DROP") {
        return Vec::new();
    }
    ["-i", "-o"].iter().map(|side| words(&[&["FORWARD", side, device, "-j", "ACCEPT"]])).collect()
}

/// Returns a remark for each chain of nf_tables that refuses packets from or to `device`, with the remedy. The chains
/// of iptables are among them where it is built on nf_tables.
pub fn objections(device: &str) -> Vec<String> {
    let chains = nftables::base_chains().unwrap_or_default();
    chains.iter().filter_map(|chain| objection(chain, device)).collect()
}

fn objection(chain: &BaseChain, device: &str) -> Option<String> {
    // A rule that names the device, or all of its kind by a beginning, is an exception for it.
    let named = |name: &String| name.len() > 2 && device.starts_with(name.as_str());
    if chain.names.iter().any(named) || !(chain.drops || chain.refuses) {
        return None;
    }
    let BaseChain { family, table, name, .. } = chain;
    let whose = match table.as_str() {
        "firewalld" => "firewalld".to_string(),
        _ if chain.ufw => format!("ufw ({family} {table} {name})"),
        _ => format!("the firewall nftables ({family} {table} {name})"),
    };
    let lost = match chain.hook {
        Hook::Input => "the inside may not reach servers of this machine",
        Hook::Forward => "the inside may reach only this machine",
    };
    let how = if chain.drops { "drops what no rule accepts" } else { "refuses what is left" };
    let kind = device.split('-').next().unwrap_or(device);
    let remedy = if table == "firewalld" {
        format!("sudo firewall-cmd --zone=trusted --add-interface={device}")
    } else if chain.ufw || (*family != "inet" && table == "filter") {
        let program = if *family == "ip6" { "ip6tables" } else { "iptables" };
        format!("sudo {program} -I {name} -i {kind}-+ -j ACCEPT")
    } else {
        format!("sudo nft insert rule {family} {table} {name} iifname '\"{kind}-*\"' accept")
    };
    let back = match (chain.hook, chain.ufw || table == "firewalld") {
        (Hook::Forward, false) => ", and the same with oifname",
        _ => "",
    };
    Some(format!("{whose} {how}: {lost}; {remedy}{back}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_behind_a_lock_is_told_from_one_that_is_gone() {
        let command = |script: &str| words(&[&["sh", "-c", script]]);
        let lock = "Another app is currently holding the xtables lock. Stopped waiting after 5s.";
        assert_eq!(remove_rule(&command("true")), Ok(true));
        assert_eq!(remove_rule(&command("echo Bad rule >&2; exit 1")), Ok(false));
        assert_eq!(remove_rule(&words(&[&["no-such-program"]])), Ok(false));
        // Iptables speaks of the lock also if it gets it in the end.
        assert_eq!(remove_rule(&command(&format!("echo '{lock}' >&2"))), Ok(true));
        let error = remove_rule(&command(&format!("echo '{lock}' >&2; exit 4")));
        assert!(error.is_err_and(|error| error.contains("iptables' lock for 5 s")));
    }
}
