//! Changes of `paceline tunnel up` on this machine beside the device: the default route, name
//! servers, address translation, and a kill switch that drops packets outside of the tunnel.
//!
//! Before each change, a `Record` in `/run/paceline/tunnels` says how to undo it. A second process,
//! the `Guard`, undoes the changes when the tunnel's process has ended for any reason. If both were
//! killed, [`take_down`] or the next [`Setup::begin`] undoes them. Only the kill switch stays until
//! [`take_down`] removes it: it protects the time in which no tunnel runs.

mod detach;
mod down;
mod guard;
mod hold;
mod kill_switch;
mod names;
mod record;
mod routing;
mod translation;

use std::net::IpAddr;

pub use detach::{Detached, Foreground, detach};
pub use down::{TakenDown, take_down};

use guard::Guard;
use hold::Hold;
use record::Record;

use paceline_os::RealTimeError;
use paceline_os::nat::Nat;
use paceline_os::route::Links;
use paceline_os::ruleset::Owner;

use super::Prefix;

/// Changes that a tunnel makes on this machine beside its device.
#[derive(Clone, Debug, Default)]
pub struct SetupOptions {
    /// The tunnel's name, see [`check_name`].
    pub name: String,
    /// The name of its device.
    pub device: String,
    /// Routes all packets without a more specific route through the tunnel.
    pub default_route: bool,
    /// Name servers that replace this machine's.
    pub name_servers: Vec<IpAddr>,
    /// Drops packets outside of the tunnel, except those to these networks.
    pub kill_switch: Option<Vec<Prefix>>,
    /// Forwards packets of these networks, translated to this machine's own addresses.
    pub translate: Option<Translate>,
}

/// The packets that a server forwards.
#[derive(Clone, Debug)]
pub struct Translate {
    /// The inside networks.
    pub networks: Vec<Prefix>,
    /// The interface by which they leave; `None` for any interface but the tunnel's.
    pub outer: Option<String>,
}

/// The current changes, until [`Setup::end`].
#[derive(Debug)]
pub struct Setup {
    options: SetupOptions,
    record: Record,
    guard: Option<Guard>,
    mark: Option<u32>,
    /// Index of the device for which the changes were made.
    applied_to: Option<u32>,
    /// Owner of the nf_tables that are removed with this process.
    marks: Option<Owner>,
    _translation: Vec<Nat>,
    /// Locks, kept until the process ends, and by the guard until it has undone all changes.
    _holds: Vec<Hold>,
}

/// A tunnel that `paceline tunnel up` has brought up, and its network namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpDevice {
    /// The name of its device.
    pub device: String,
    /// The network namespace of its process, in the format of
    /// [`TunnelStatus`](super::TunnelStatus).
    pub network: String,
}

/// Returns the device of the tunnel `name`; `None` if it is not up, or if this user is not root.
pub fn device_of(name: &str) -> Option<UpDevice> {
    check_name(name).ok()?;
    let Record { device, network, .. } = Record::find(name)?;
    Some(UpDevice { device, network: format!("net:[{}]", network.inode) })
}

/// Checks the name of a tunnel: at most 32 letters, digits, `_`, `-` and `.`, of which the first is
/// a letter or a digit.
///
/// # Errors
/// The mistake in the name, in words.
pub fn check_name(name: &str) -> Result<(), String> {
    let is_good = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    if begins && name.len() <= 32 && name.bytes().all(is_good) {
        return Ok(());
    }
    Err(format!(
        "{name:?} is no name of a tunnel: use letters, digits, _, - and ., at most 32, and begin with a letter or a digit"
    ))
}

impl Setup {
    /// Takes the lock of the tunnel's name, undoes the remaining changes of an earlier process,
    /// installs the kill switch, and starts the guard. Call it before this process has threads.
    ///
    /// # Errors
    /// The tunnel is already up, another tunnel has the default route or the name servers, or the
    /// kernel refuses something.
    pub fn begin(options: SetupOptions) -> Result<Setup, RealTimeError> {
        check_name(&options.name).map_err(RealTimeError::Message)?;
        let name = &options.name;
        let hold = Hold::take(name)?.ok_or_else(|| {
            RealTimeError::Message(format!(
                "tunnel {name} is up already; end it with: paceline tunnel down {name}"
            ))
        })?;
        let mut holds = Vec::new();
        if options.default_route {
            holds.push(Hold::take_for_all(hold::DEFAULT_ROUTE, "has the default route")?);
        }
        if !options.name_servers.is_empty() {
            holds.push(Hold::take_for_all(hold::NAMES, "has set the name servers")?);
            // Restore another tunnel's file too, so that it is not mistaken for this machine's own.
            names::restore(None)?;
        }
        record::undo_leftovers(name)?;
        let mark = options.default_route.then(routing::free_mark).transpose()?;
        let mut is_blocked = false;
        if let (Some(allowed), Some(mark)) = (&options.kill_switch, mark) {
            kill_switch::install(name, &options.device, mark, allowed)?;
            is_blocked = true;
        }
        let started = Setup::start_guard(name, &options.device, &hold);
        // The kill switch may be that of an earlier tunnel, and protect the time since then: it is
        // not lifted here.
        let (record, guard) = started.map_err(|error| match is_blocked {
            true => RealTimeError::Message(format!("{error}; {}", kill_switch_note(name))),
            false => error,
        })?;
        holds.push(hold);
        Ok(Setup {
            options,
            record,
            guard: Some(guard),
            mark,
            applied_to: None,
            marks: None,
            _translation: Vec::new(),
            _holds: holds,
        })
    }

    /// Saves a record without changes, and starts the guard, which undoes what the record will have.
    fn start_guard(
        name: &str,
        device: &str,
        hold: &Hold,
    ) -> Result<(Record, Guard), RealTimeError> {
        let record = Record::new(device)?;
        record.save(name)?;
        hold.note_holder(record.network)?;
        Ok((record, Guard::start(name)?))
    }

    /// Returns the mark that keeps the tunnel's own packets out of the tunnel.
    pub fn mark(&self) -> Option<u32> {
        self.mark
    }

    /// Makes the changes, after the device has its addresses. Call it whenever the tunnel is
    /// connected. If the device was created again, because the server hands out other addresses, it
    /// gets the routes and name servers that were removed with the former one; otherwise a second
    /// call changes nothing. Returns remarks for the user: which part is missing, and the remedy.
    ///
    /// # Errors
    /// The kernel refuses a change without which the tunnel would not do what the user asked for.
    pub fn apply(&mut self) -> Result<Vec<String>, RealTimeError> {
        let mut remarks = Vec::new();
        let index = Links::open()?.index(&self.options.device)?;
        let is_first = match self.applied_to.replace(index) {
            Some(applied) if applied == index => return Ok(remarks),
            applied => applied.is_none(),
        };
        if let Some(mark) = self.mark {
            // Remove the old table first: two tables cannot have one name.
            self.marks = None;
            let inside = routing::lead(&self.options, mark, index)?;
            if is_first {
                routing::note_changes(&self.options, mark, &mut self.record)?;
            }
            // Before the policy rules, so that answers to the tunnel's packets never fail a strict
            // source check.
            self.marks = routing::keep_marks(&self.options, mark, &inside, &mut remarks);
            if is_first {
                routing::turn(&self.record, &mut remarks)?;
            }
        }
        if !self.options.name_servers.is_empty() {
            names::apply(&self.options, is_first, &mut remarks)?;
        }
        if let (Some(translate), true) = (&self.options.translate, is_first) {
            self._translation =
                translation::apply(&self.options, translate, &mut self.record, &mut remarks)?;
        }
        Ok(remarks)
    }

    /// Undoes all changes except the kill switch, and waits until that is done.
    ///
    /// # Errors
    /// Names the change that could not be undone.
    pub fn end(mut self) -> Result<(), RealTimeError> {
        if let Some(guard) = self.guard.take() {
            guard.end();
        }
        // If the guard was killed, undo the changes here.
        record::undo_leftovers(&self.options.name)
    }

    /// If packets outside of the tunnel stay blocked after its end, returns the words that say so, with the remedy.
    pub fn kill_switch_note(&self) -> Option<String> {
        self.options.kill_switch.is_some().then(|| kill_switch_note(&self.options.name))
    }
}

fn kill_switch_note(name: &str) -> String {
    format!("the kill switch of tunnel {name} stays; to lift it: paceline tunnel down {name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tunnels_are_names_of_files_without_surprises() {
        for name in ["office", "Home-2", "a.b_c", "0"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        let long = "x".repeat(33);
        for name in ["", ".", "..", ".hidden", "-x", "a/b", "a b", "ä", &long] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
