//! Firewalls of this machine that do not let packets from inside pass.

use std::process::{Command, Output, Stdio};

use crate::nftables::{self, BaseChain, Hook};
use crate::process::without_blocked_signals;

/// How long iptables waits for its lock, in seconds. Another program may hold it for ever.
const LOCK_PATIENCE: &str = "5";

fn output(words: &[String]) -> Option<Output> {
    let (program, arguments) = words.split_first()?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    // Old versions of iptables end their wait for the lock by SIGALRM.
    without_blocked_signals(&mut command).output().ok()
}

/// Returns true if iptables has failed because another program holds its lock.
fn is_locked(output: &Output) -> bool {
    !output.status.success() && String::from_utf8_lossy(&output.stderr).contains("xtables lock")
}

/// Says who holds the lock, and what follows.
fn lock_is_held(what_follows: &str) -> String {
    format!(
        "another program has held iptables' lock for {LOCK_PATIENCE} s (`sudo fuser /run/xtables.lock` names it), \
         so that {what_follows}"
    )
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
    if is_locked(&output) {
        return Err(lock_is_held(&format!("a rule stays: sudo {}", command.join(" "))));
    }
    Ok(output.status.success())
}

/// Joins groups of words into the words of a command.
pub fn words(parts: &[&[&str]]) -> Vec<String> {
    parts.concat().into_iter().map(String::from).collect()
}

/// Returns the rules that let iptables pass packets from and to `device` on. There are none unless its policy is to
/// drop, as Docker and ufw set it, which no table of nf_tables can overrule.
///
/// # Errors
/// Another program holds iptables' lock, so that the policy is not known.
pub fn admission(program: &str, device: &str) -> Result<Vec<Vec<String>>, String> {
    let Some(policy) = output(&words(&[&iptables(program), &["-S", "FORWARD"]])) else {
        return Ok(Vec::new());
    };
    if is_locked(&policy) {
        let what = format!("{program} has got no rule for {device}, and may pass nothing on");
        return Err(lock_is_held(&what));
    }
    let text = String::from_utf8_lossy(&policy.stdout);
    if !policy.status.success() || !text.contains("-P FORWARD DROP") {
        return Ok(Vec::new());
    }
    let rule = |side| words(&[&["FORWARD", side, device, "-j", "ACCEPT"]]);
    Ok(["-i", "-o"].map(rule).into())
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

    /// Iptables 1.8.9 ends its wait for the lock by SIGALRM, and a program inherits what its parent blocks.
    #[test]
    fn no_signal_is_blocked_in_iptables() {
        let all = nix::sys::signal::SigSet::all();
        let before = all.thread_swap_mask(nix::sys::signal::SigmaskHow::SIG_SETMASK);
        let text = run(&words(&[&["grep", "SigBlk", "/proc/self/status"]]));
        before.expect("a mask").thread_set_mask().expect("the mask before");
        assert_eq!(text.as_deref(), Some("SigBlk:\t0000000000000000\n"));
    }

    #[test]
    fn a_policy_behind_a_lock_is_not_taken_for_one_that_accepts() {
        let folder = paceline_testing::Folder::new("iptables");
        let program = folder.path("iptables");
        let script = |text: &str| {
            std::fs::write(&program, format!("#!/bin/sh\n{text}\n")).expect("room");
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(&program, mode).expect("ours");
        };
        script("echo '-P FORWARD DROP'");
        assert_eq!(admission(&program, "up0").expect("no lock").len(), 2);
        script("echo '-P FORWARD ACCEPT'");
        assert_eq!(admission(&program, "up0"), Ok(Vec::new()));
        script("echo 'Another app is currently holding the xtables lock.' >&2; exit 4");
        assert!(admission(&program, "up0").is_err_and(|text| text.contains("may pass nothing on")));
    }

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
