//! Lets this machine pass packets on, and puts its settings back afterwards.
//!
//! Several shells may run at the same time. What each has found is attached to its interface, so
//! that whichever ends last knows what there was before the first.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::LiveError;
use crate::linux::route::{Interface, Links};

/// Settings below /proc/sys with the values that they had, by name.
pub(crate) type Found = BTreeMap<String, String>;

const MARK: &str = "paceline";
const IPV4: &str = "net/ipv4/ip_forward";
const IPV6: &str = "net/ipv6/conf/all/forwarding";
/// The protocol of routes that routers have announced (`RTPROT_RA`).
const ANNOUNCED: u8 = 9;

fn read(name: &str) -> Option<String> {
    let text = fs::read_to_string(Path::new("/proc/sys").join(name)).ok()?;
    Some(text.trim().to_string())
}

fn write(name: &str, value: &str) -> std::io::Result<()> {
    fs::write(Path::new("/proc/sys").join(name), value)
}

/// What a shell's interface says that it has found.
fn told(interface: &Interface) -> Option<Found> {
    let text = interface.alias.as_deref()?.strip_prefix(MARK)?;
    let pairs = text.split_whitespace().filter_map(|pair| pair.split_once('='));
    Some(pairs.map(|(name, value)| (name.to_string(), value.to_string())).collect())
}

/// Turns forwarding on and marks the shell's own interface. Returns what was found, and remarks
/// for the user.
pub(crate) fn enable(links: &mut Links, own: u32) -> Result<(Found, Vec<String>), LiveError> {
    let mut earlier = Found::new();
    for interface in links.interfaces()? {
        earlier.extend(told(&interface).unwrap_or_default());
    }
    let mut found = Found::new();
    let mut remarks = Vec::new();
    let mut switch = |name: &str, missing: &str| {
        let Some(now) = read(name) else { return };
        if let Some(before) = earlier.get(name) {
            found.insert(name.to_string(), before.clone());
        }
        if now != "0" {
            return;
        }
        match write(name, "1") {
            Ok(()) => _ = found.entry(name.to_string()).or_insert(now),
            Err(error) => remarks.push(format!("{name}: {error}; {missing}")),
        }
    };
    switch(IPV4, "the inside reaches only this machine");
    let six = "by IPv6 the inside reaches only this machine";
    let routes = links.routes(true).unwrap_or_default();
    let outward: Vec<_> = routes.iter().filter(|route| route.to.is_none()).collect();
    let mut single = Vec::new();
    for interface in links.interfaces()? {
        let name = format!("net/ipv6/conf/{}/force_forwarding", interface.name);
        if interface.index == own {
            // It goes with its interface, so that nothing need be put back.
            let _ = write(&name, "1");
            single.push(name);
        } else if outward.iter().any(|route| route.interface == interface.index) {
            single.push(name);
        }
    }
    // Forwarding on all interfaces makes a host deaf to announcements of routers.
    if read(IPV6).as_deref() != Some("1") {
        if single.iter().all(|name| read(name).is_some()) {
            for name in &single {
                switch(name, six);
            }
        } else if outward.iter().any(|route| route.protocol == ANNOUNCED) {
            remarks.push(format!("{six}: its default route is a router's announcement"));
        } else {
            switch(IPV6, six);
        }
    } else if earlier.contains_key(IPV6) {
        switch(IPV6, six);
    }
    let pairs: Vec<_> = found.iter().map(|(name, value)| format!("{name}={value}")).collect();
    links.set_alias(own, &format!("{MARK} {}", pairs.join(" ")))?;
    Ok((found, remarks))
}

/// Puts back what was found, except where another shell still needs it. The shell's own interface
/// must be gone. Those of interfaces that are gone went with them.
pub(crate) fn restore(found: &Found) -> Result<(), LiveError> {
    let others: Vec<_> = Links::open()?.interfaces()?.iter().filter_map(told).collect();
    for (name, value) in found {
        if others.iter().all(|other| !other.contains_key(name)) && read(name).is_some() {
            write(name, value).map_err(LiveError::system(format!("/proc/sys/{name}")))?;
        }
    }
    Ok(())
}
