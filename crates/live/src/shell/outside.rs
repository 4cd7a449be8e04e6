//! The outer end: its device, its addresses, and the way on from there.

use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::LiveError;
use crate::linux::nat::Nat;
use crate::linux::route::Links;
use crate::linux::{Tun, TunOptions};

use super::addresses::{Addresses, Lock};
use super::forwarding::{self, Found};

/// What must be undone outside when the shell is over. All else goes with its processes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Undo {
    /// The outer device, which goes first.
    device: String,
    settings: Found,
    commands: Vec<Vec<String>>,
}

/// The outer end of a shell.
#[derive(Debug)]
pub(crate) struct Outside {
    pub(crate) tun: Tun,
    pub(crate) addresses: Addresses,
    /// Whether the inside reaches what lies beyond this machine, as far as that is up to us.
    pub(crate) translated: bool,
    pub(crate) remarks: Vec<String>,
    pub(crate) undo: Undo,
    pub(crate) rules: Vec<Nat>,
}

impl Outside {
    /// Makes the device in this network namespace. With `beyond`, packets are passed on.
    pub(crate) fn make(options: &TunOptions, beyond: bool) -> Result<Outside, LiveError> {
        let _lock = Lock::take()?;
        let tun = Tun::open(options)?;
        let mut links = Links::open()?;
        let index = links.index(tun.name())?;
        let addresses = Addresses::above(&links.addresses()?);
        links.add_address(index, addresses.outside.into(), addresses.inside.into())?;
        let mut outside = Outside {
            tun,
            addresses,
            translated: false,
            remarks: Vec::new(),
            undo: Undo { device: options.name.clone(), ..Undo::default() },
            rules: Vec::new(),
        };
        if let Err(error) =
            links.add_address(index, addresses.outside6.into(), addresses.inside6.into())
        {
            outside.remarks.push(format!("no IPv6: {error}"));
        }
        if beyond {
            let (settings, remarks) = forwarding::enable(&mut links, index)?;
            outside.undo.settings = settings;
            outside.remarks.extend(remarks);
            outside.translated = outside.translate(addresses.inside.into(), "iptables");
            outside.translate(addresses.inside6.into(), "ip6tables");
            outside.admit("iptables");
            outside.admit("ip6tables");
        }
        Ok(outside)
    }

    /// Has packets from inside leave with this machine's own addresses.
    fn translate(&mut self, inside: IpAddr, program: &str) -> bool {
        let table = format!("paceline-{}", self.tun.name());
        let error = match Nat::masquerade(&table, inside) {
            Ok(nat) => {
                self.rules.push(nat);
                return true;
            }
            Err(error) => error,
        };
        let source = inside.to_string();
        let rule = ["POSTROUTING", "-s", &source, "!", "-o", self.tun.name(), "-j", "MASQUERADE"];
        if self.undo.add_rule(&[program, "-w", "-t", "nat"], &rule) {
            return true;
        }
        self.remarks.push(format!(
            "{error}; by {} the inside reaches only this machine",
            if inside.is_ipv4() { "IPv4" } else { "IPv6" }
        ));
        false
    }
}

impl Outside {
    /// Where a firewall passes nothing on unless told to, as Docker sets it up, makes an exception
    /// for the device. No table of our own could overrule that.
    fn admit(&mut self, program: &str) {
        let policy = run(&words(&[&[program, "-w", "-S", "FORWARD"]])).unwrap_or_default();
        if !policy.contains("-P FORWARD DROP") {
            return;
        }
        for side in ["-i", "-o"] {
            let rule = ["FORWARD", side, self.tun.name(), "-j", "ACCEPT"];
            if !self.undo.add_rule(&[program, "-w"], &rule) {
                self.remarks.push(format!(
                    "this machine's firewall passes nothing on: {program} -I {}",
                    rule.join(" ")
                ));
            }
        }
    }
}

/// Runs a program in silence; what it has printed, if it succeeded.
fn run(words: &[String]) -> Option<String> {
    let (program, arguments) = words.split_first()?;
    let mut command = Command::new(program);
    let output = command.args(arguments).stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn words(parts: &[&[&str]]) -> Vec<String> {
    parts.concat().into_iter().map(String::from).collect()
}

impl Undo {
    /// Adds a rule, the first of its chain, to be removed in the end; whether it could.
    fn add_rule(&mut self, program: &[&str], rule: &[&str]) -> bool {
        let done = run(&words(&[program, &["-I"], rule])).is_some();
        if done {
            self.commands.push(words(&[program, &["-D"], rule]));
        }
        done
    }

    /// Puts things back, in the network namespace where they were changed. `device` keeps the
    /// outer device there until nobody else is looking: it says what was found.
    pub(crate) fn run(&self, device: OwnedFd) {
        for command in &self.commands {
            run(command);
        }
        // Errors could only be told to somebody who can do nothing about them.
        let _lock = Lock::take();
        drop(device);
        // The emulator may have been killed and still hold it for a moment.
        let there = |device| Links::open().and_then(|mut links| links.index(device)).is_ok();
        for _ in 0..200 {
            if !there(&self.device) {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = forwarding::restore(&self.settings);
    }
}
