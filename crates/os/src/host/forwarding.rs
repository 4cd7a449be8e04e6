//! Lets this machine pass packets on, and puts its settings back afterwards.
//!
//! Where the kernel can limit forwarding to single interfaces, it is turned on for the shell's own and for those of
//! this machine's routes, on which answers come in. Forwarding is only ever turned on, so that the settings to put back
//! are a list of settings that were off.
//!
//! Several shells may run at the same time, also of different users. Each attaches its list to its interface as the
//! alias, so that the last one to end knows which settings were off before the first.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::RealTimeError;
use crate::route::{Interface, Links};

/// A setting that was off before shells turned it on. Interfaces go by their numbers: names change.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Setting {
    /// IPv4 forwarding of packets that come in on this interface.
    Four(u32),
    /// IPv6 forwarding of packets that come in on this interface, which kernels before 6.17 lack.
    Six(u32),
    /// IPv6 forwarding on all interfaces.
    SixAll,
}

/// The beginning of the aliases of shells' interfaces.
pub const MARK: &str = "paceline";
/// The most bytes of an interface's alias.
const LONGEST_ALIAS: usize = 255;
/// The origin of routes that routers have announced (`RTPROT_RA`).
const ANNOUNCED: u8 = 9;

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Setting::Four(index) => write!(f, "4.{index}"),
            Setting::Six(index) => write!(f, "6.{index}"),
            Setting::SixAll => f.write_str("6.all"),
        }
    }
}

impl Setting {
    fn parse(word: &str) -> Option<Setting> {
        match word.split_once('.')? {
            ("6", "all") => Some(Setting::SixAll),
            ("6", index) => index.parse().ok().map(Setting::Six),
            ("4", index) => index.parse().ok().map(Setting::Four),
            _ => None,
        }
    }
}

/// The names of interfaces by their numbers, to find settings below /proc/sys.
struct Settings(BTreeMap<u32, String>);

impl Settings {
    fn of(interfaces: &[Interface]) -> Settings {
        Settings(interfaces.iter().map(|it| (it.index, it.name.clone())).collect())
    }

    /// Returns the setting's name below `/proc/sys`; `None` if the interface has gone.
    fn name(&self, setting: Setting) -> Option<String> {
        let (family, index, word) = match setting {
            Setting::Four(index) => ("ipv4", index, "forwarding"),
            Setting::Six(index) => ("ipv6", index, "force_forwarding"),
            Setting::SixAll => return Some("net/ipv6/conf/all/forwarding".into()),
        };
        Some(format!("net/{family}/conf/{}/{word}", self.0.get(&index)?))
    }

    /// Returns true if the setting is on; `None` if the kernel has no such setting.
    fn is_on(&self, setting: Setting) -> Option<bool> {
        let text = fs::read_to_string(Path::new("/proc/sys").join(self.name(setting)?)).ok()?;
        Some(text.trim() != "0")
    }

    fn set(&self, setting: Setting, on: bool) -> Result<(), RealTimeError> {
        let Some(name) = self.name(setting) else { return Ok(()) };
        let value = if on { "1" } else { "0" };
        fs::write(Path::new("/proc/sys").join(&name), value).map_err(RealTimeError::system(name))
    }
}

/// Returns the settings that the alias of a shell's interface lists; `None` for interfaces of no shell.
fn listed_settings(interface: &Interface) -> Option<Vec<Setting>> {
    let text = interface.alias.as_deref()?.strip_prefix(MARK)?;
    Some(text.split_whitespace().filter_map(Setting::parse).collect())
}

/// The settings that a shell turns on.
pub struct ForwardingPlan {
    /// Settings that were off before this shell and those that run already: the last of them to end puts them back.
    pub claimed: Vec<Setting>,
    /// Settings that are off now.
    turn_on: Vec<Setting>,
    /// What will not work, for the user.
    pub remarks: Vec<String>,
}

const SIX: &str = "by IPv6 the inside reaches only this machine";
const FOUR: &str = "by IPv4 the inside reaches only this machine";

/// Finds the settings that must be turned on, and lists them in the alias of the interface `own` for other shells. Does
/// not turn them on: the caller first records what it will have to put back.
pub fn plan(links: &mut Links, own: u32) -> Result<ForwardingPlan, RealTimeError> {
    let interfaces = links.interfaces()?;
    let settings = Settings::of(&interfaces);
    let others = || interfaces.iter().filter(|it| it.index != own);
    let earlier: Vec<Setting> = others().filter_map(listed_settings).flatten().collect();
    let mut wanted =
        ForwardingPlan { claimed: Vec::new(), turn_on: Vec::new(), remarks: Vec::new() };
    let shells: Vec<u32> =
        others().filter(|it| listed_settings(it).is_some()).map(|it| it.index).collect();
    // Interfaces that routes lead through; those of default routes first.
    let mut outward = |six: bool| -> Vec<(u32, bool)> {
        let mut routes = links.routes(six).unwrap_or_default();
        routes.sort_by_key(|route| route.to.is_some());
        let mut found: Vec<(u32, bool)> = Vec::new();
        for route in routes {
            let no =
                [own, LOOPBACK].contains(&route.interface) || shells.contains(&route.interface);
            if !no && found.iter().all(|(index, _)| *index != route.interface) {
                found.push((route.interface, route.to.is_none() && route.protocol == ANNOUNCED));
            }
        }
        found
    };
    let mut want = |setting: Setting| {
        let Some(on) = settings.is_on(setting) else { return };
        if !on || earlier.contains(&setting) {
            wanted.claimed.push(setting);
        }
        if !on {
            wanted.turn_on.push(setting);
        }
    };
    for (index, _) in outward(false) {
        want(Setting::Four(index));
    }
    let ways = outward(true);
    let single = settings.is_on(Setting::Six(own)).is_some();
    if settings.is_on(Setting::SixAll) == Some(false) && single {
        for &(index, _) in &ways {
            want(Setting::Six(index));
        }
    } else if ways.iter().any(|&(_, announced)| announced)
        && settings.is_on(Setting::SixAll) == Some(false)
    {
        // Forwarding on all interfaces makes a host deaf to announcements of routers.
        wanted.remarks.push(format!("{SIX}: its default route is a router's announcement"));
    } else {
        want(Setting::SixAll);
    }
    // The shell's own settings go with its interface, so that nothing need be put back.
    if let Err(error) = settings.set(Setting::Four(own), true) {
        wanted.remarks.push(format!("{error}; {FOUR}"));
    }
    if single && let Err(error) = settings.set(Setting::Six(own), true) {
        wanted.remarks.push(format!("{error}; {SIX}"));
    }
    let alias = |claimed: &[Setting]| {
        claimed.iter().fold(String::from(MARK), |text, setting| format!("{text} {setting}"))
    };
    while alias(&wanted.claimed).len() > LONGEST_ALIAS {
        let last = wanted.claimed.pop();
        wanted.turn_on.retain(|setting| Some(*setting) != last);
        let name = last.and_then(|last| settings.name(last)).unwrap_or_default();
        wanted.remarks.push(format!("{name} stays as it is: too many interfaces to keep in mind"));
    }
    links.set_alias(own, &alias(&wanted.claimed))?;
    Ok(wanted)
}

/// The number of the loopback interface in every network namespace.
const LOOPBACK: u32 = 1;

/// Turns on the settings of a plan. Adds a remark for each that cannot be turned on.
pub fn turn_on(links: &mut Links, wanted: &mut ForwardingPlan) -> Result<(), RealTimeError> {
    let settings = Settings::of(&links.interfaces()?);
    for setting in std::mem::take(&mut wanted.turn_on) {
        if let Err(error) = settings.set(setting, true) {
            let lost = if matches!(setting, Setting::Four(_)) { FOUR } else { SIX };
            wanted.remarks.push(format!("{error}; {lost}"));
        }
    }
    Ok(())
}

/// Turns off the settings in `found`, except those that another shell still lists. `own` is the shell's interface if it
/// still exists; its list is emptied. Settings of interfaces that have gone went with them. Returns the names of the
/// settings that were turned off.
pub fn restore(found: &[Setting], own: Option<&str>) -> Result<Vec<String>, RealTimeError> {
    let mut links = Links::open()?;
    if let Some(index) = own.and_then(|name| links.index(name).ok()) {
        // It may have gone just now.
        let _ = links.set_alias(index, MARK);
    }
    let interfaces = links.interfaces()?;
    let settings = Settings::of(&interfaces);
    let needed: Vec<Setting> = interfaces.iter().filter_map(listed_settings).flatten().collect();
    let mut restored = Vec::new();
    for &setting in found.iter().filter(|setting| !needed.contains(setting)) {
        if settings.is_on(setting) == Some(true) {
            settings.set(setting, false)?;
            restored.extend(settings.name(setting));
        }
    }
    Ok(restored)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_is_read_back_from_the_interface() {
        let found = [Setting::Four(2), Setting::Six(17), Setting::SixAll];
        let text = found.iter().fold(String::from(MARK), |text, it| format!("{text} {it}"));
        assert_eq!(text, "paceline 4.2 6.17 6.all");
        let interface = Interface { alias: Some(text), ..Interface::default() };
        assert_eq!(listed_settings(&interface), Some(found.to_vec()));
        let other = Interface { alias: Some("uplink".into()), ..Interface::default() };
        assert_eq!(listed_settings(&other), None);
        assert_eq!(Setting::parse("4.x"), None);
    }
}
