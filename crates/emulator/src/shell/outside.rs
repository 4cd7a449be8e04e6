//! The outer end: its device, its addresses, and the way on from there.

use std::net::IpAddr;

use paceline_os::RealTimeError;
use paceline_os::host::firewall::{self, iptables, run, words};
use paceline_os::host::forwarding;
use paceline_os::host::lock::Lock;
use paceline_os::namespace::NetworkId;
use paceline_os::nat::Nat;
use paceline_os::process_identity::ProcessIdentity;
use paceline_os::route::Links;
use paceline_os::{Tun, TunOptions};

use super::addresses::{Addresses, Network};
use super::record::{Record, Undo};
use super::shell_id::ShellId;

/// The outer end of a shell.
#[derive(Debug)]
pub(crate) struct OuterEnd {
    pub(crate) tun: Tun,
    pub(crate) addresses: Addresses,
    /// True if packets from inside leave this machine with its own IPv4 address.
    pub(crate) translated: bool,
    pub(crate) remarks: Vec<String>,
    pub(crate) undo: Undo,
    pub(crate) rules: Vec<Nat>,
    record: Option<Record>,
}

/// What a shell asks of its outer end.
#[derive(Clone, Debug)]
pub(crate) struct OuterEndRequest {
    pub(crate) tun: TunOptions,
    /// Whether packets are passed on beyond this machine.
    pub(crate) beyond: bool,
    pub(crate) network: Network,
    pub(crate) shell: Option<ShellId>,
    /// The supervisor.
    pub(crate) watchers: Vec<ProcessIdentity>,
}

impl OuterEnd {
    /// Makes the device in this network namespace.
    pub(crate) fn make(wish: OuterEndRequest) -> Result<OuterEnd, RealTimeError> {
        let here = NetworkId::current().ok();
        let mut remarks = Vec::new();
        for (place, record) in Record::all() {
            // All of its processes were killed: none of them will undo it.
            if Some(record.outside) == here && !record.is_alive() {
                remarks.extend(record.undo.at(place).run(None).problem);
            }
        }
        let tun = Tun::open_beside(&wish.tun)?;
        let mut links = Links::open()?;
        let index = links.index(tun.name())?;
        let lock = Lock::take();
        let used = links.addresses()?;
        let addresses = Addresses::above(&used, wish.network).ok_or_else(|| {
            let network = wish.network;
            RealTimeError::Message(format!(
                "all addresses of {network} are in use; choose another network with --base"
            ))
        })?;
        links.add_address(index, addresses.outside.into(), addresses.inside.into())?;
        let undo = Undo { device: tun.name().to_string(), ..Undo::default() };
        let record = wish
            .shell
            .zip(here)
            .map(|(shell, here)| Record::new(shell, wish.watchers, here, undo.clone()));
        let mut outside = OuterEnd {
            tun,
            addresses,
            translated: false,
            remarks,
            undo,
            rules: Vec::new(),
            record,
        };
        if !lock.is_held() {
            outside.remarks.push(
                "another process has held the lock of this network for 10 s; going on without it"
                    .into(),
            );
        }
        outside.save();
        outside.remarks.extend(clashes(&mut links, wish.network, index, &used));
        if let Err(error) =
            links.add_address(index, addresses.outside6.into(), addresses.inside6.into())
        {
            outside.remarks.push(format!("no IPv6: {error}"));
        }
        if wish.beyond {
            let mut wanted = forwarding::plan(&mut links, index)?;
            outside.undo.settings.clone_from(&wanted.claimed);
            outside.save();
            forwarding::turn_on(&mut links, &mut wanted)?;
            outside.remarks.append(&mut wanted.remarks);
            drop(lock);
            outside.translated = outside.translate(addresses.inside.into(), "iptables");
            outside.translate(addresses.inside6.into(), "ip6tables");
            outside.admit("iptables");
            outside.admit("ip6tables");
            outside.remarks.extend(firewall::objections(outside.tun.name()));
        }
        Ok(outside)
    }

    /// Writes down what must be undone, before it is done.
    fn save(&mut self) {
        let Some(record) = &mut self.record else { return };
        record.undo.clone_from(&self.undo);
        match record.write(self.undo.place.as_ref()) {
            Ok(place) => self.undo.place = Some(place),
            Err(error) => {
                self.record = None;
                self.remarks.push(format!(
                    "if all its processes are killed, `paceline cleanup` will not know what to put \
                     back: {error}"
                ));
            }
        }
    }

    /// Writes down where the programs run, and who watches over them.
    pub(crate) fn save_inside(
        &mut self,
        inside: Option<NetworkId>,
        watcher: Option<ProcessIdentity>,
    ) {
        if let Some(record) = &mut self.record {
            record.inside = inside.or(record.inside);
            record.watchers.extend(watcher);
        }
        self.save();
    }

    /// Has packets from inside leave with this machine's own addresses. Returns false if that is not possible.
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
        let device = self.tun.name().to_string();
        let rule = ["POSTROUTING", "-s", &source, "!", "-o", &device, "-j", "MASQUERADE"];
        if self.add_rule(&[&iptables(program)[..], &["-t", "nat"]].concat(), &rule) {
            return true;
        }
        self.remarks.push(format!(
            "{error}; by {} the inside reaches only this machine",
            if inside.is_ipv4() { "IPv4" } else { "IPv6" }
        ));
        false
    }

    /// Where iptables passes nothing on unless told to, makes an exception for the device.
    fn admit(&mut self, program: &str) {
        let rules = firewall::admission(program, self.tun.name()).unwrap_or_else(|problem| {
            self.remarks.push(problem);
            Vec::new()
        });
        for rule in rules {
            let words: Vec<&str> = rule.iter().map(String::as_str).collect();
            if !self.add_rule(&iptables(program), &words) {
                self.remarks.push(format!(
                    "this machine's firewall passes nothing on: sudo {program} -I {}",
                    rule.join(" ")
                ));
            }
        }
    }

    /// Adds a rule, the first of its chain, which [`Undo::run`] removes. Returns false if iptables refuses it.
    fn add_rule(&mut self, program: &[&str], rule: &[&str]) -> bool {
        self.undo.commands.push(words(&[program, &["-D"], rule]));
        self.save();
        let done = run(&words(&[program, &["-I"], rule])).is_some();
        if !done {
            self.undo.commands.pop();
            self.save();
        }
        done
    }
}

/// Returns a remark if another interface has addresses of `network`, or filters them.
fn clashes(
    links: &mut Links,
    network: Network,
    own: u32,
    used: &[(u32, IpAddr)],
) -> Option<String> {
    let interfaces = links.interfaces().ok()?;
    let is_shell = |alias: &Option<String>| {
        alias.as_deref().is_some_and(|alias| alias.starts_with(forwarding::MARK))
    };
    let other = interfaces.iter().find(|it| {
        let has = used.iter().any(|&(index, address)| {
            index == it.index && matches!(address, IpAddr::V4(four) if network.contains(four))
        });
        let shared = it.name == "tailscale0" && network.overlaps(Network::default());
        it.index != own
            && !is_shell(&it.alias)
            && it.name != super::supervisor::INTERFACE
            && (has || shared)
    })?;
    Some(format!(
        "{} uses addresses of {network}, too, and may filter those of others, as Tailscale does; \
         choose another network, such as --base 10.77.0.0/16",
        other.name
    ))
}
