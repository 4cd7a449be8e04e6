//! The changes to undo after a tunnel has ended, written down before they are made.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use paceline_os::RealTimeError;
use paceline_os::host::firewall::remove_rule;
use paceline_os::host::forwarding::{self, Setting};
use paceline_os::host::lock::Lock;
use paceline_os::host::run_folders::boot;
use paceline_os::namespace::NetworkId;
use paceline_os::rule::{Rule, Rules};
use serde::{Deserialize, Serialize};

use super::{hold, names};

/// The setting that makes source address checks (`rp_filter`) respect marks.
pub(super) const VALID_MARK: &str = "/proc/sys/net/ipv4/conf/all/src_valid_mark";

/// Changes to undo. Fields may be missing in a record of an older version.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    /// Id of the current boot: changes made before it no longer exist.
    boot: String,
    /// The network namespace of the changes.
    pub(super) network: NetworkId,
    pub(super) device: String,
    /// Policy rules to delete.
    #[serde(default)]
    pub(super) rules: Vec<Rule>,
    /// True if [`VALID_MARK`] was off.
    #[serde(default)]
    pub(super) valid_mark_was_off: bool,
    /// Forwarding settings that were off.
    #[serde(default)]
    pub(super) settings: Vec<Setting>,
    /// Commands to run.
    #[serde(default)]
    pub(super) commands: Vec<Vec<String>>,
}

fn path(name: &str) -> Result<PathBuf, RealTimeError> {
    hold::place(&format!("{name}.json"))
}

impl Record {
    /// Returns the record of the tunnel `name`; `None` if it is not up, or this user may not read
    /// the record.
    pub(super) fn find(name: &str) -> Option<Record> {
        let text = fs::read(hold::existing(&format!("{name}.json"))?).ok()?;
        let record: Record = serde_json::from_slice(&text).ok()?;
        (record.boot == boot()).then_some(record)
    }

    /// Creates an empty record for this thread's network namespace.
    ///
    /// # Errors
    /// `/proc` is missing.
    pub(super) fn new(device: &str) -> Result<Record, RealTimeError> {
        let network = NetworkId::current().map_err(RealTimeError::system("network namespace"))?;
        let (rules, settings, commands) = (Vec::new(), Vec::new(), Vec::new());
        let (boot, device) = (boot(), device.to_string());
        Ok(Record { boot, network, device, rules, valid_mark_was_off: false, settings, commands })
    }

    /// Writes the record of the tunnel `name`. The file is never half written.
    ///
    /// # Errors
    /// The disk is full.
    pub(super) fn save(&self, name: &str) -> Result<(), RealTimeError> {
        let path = path(name)?;
        let new = path.with_extension("new");
        let mut options = File::options();
        options.write(true).create(true).truncate(true).mode(0o600);
        let text = serde_json::to_vec(self).map_err(io::Error::other);
        text.and_then(|text| options.open(&new)?.write_all(&text))
            .and_then(|()| fs::rename(&new, &path))
            .map_err(RealTimeError::system(path.display().to_string()))
    }

    /// Undoes the changes of the record. Returns which could not be undone, each with the reason. Keeps only what can
    /// be tried again later: rules of iptables that stay because another program holds its lock.
    fn undo(&mut self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut commands = VecDeque::from(std::mem::take(&mut self.commands));
        if self.boot != boot() {
            return problems;
        }
        if NetworkId::current().ok() != Some(self.network) {
            // If the namespace no longer exists, its settings have gone with it; but it may also
            // exist where this process cannot see it.
            problems.push(
                "the tunnel was set up in another network namespace: if that still exists, run `paceline tunnel down` \
                 there to undo its rules"
                    .into(),
            );
            return problems;
        }
        match Rules::open() {
            Ok(mut rules) => {
                for rule in &self.rules {
                    problems.extend(rules.delete(rule).err().map(|error| error.to_string()));
                }
            }
            Err(error) => problems.push(error.to_string()),
        }
        if self.valid_mark_was_off
            && let Err(error) = fs::write(VALID_MARK, "0")
        {
            problems.push(format!("{VALID_MARK}: {error}"));
        }
        // One lock guards all rules, so the commands behind one that has waited in vain would wait, too.
        while let Some(command) = commands.front() {
            if let Err(problem) = remove_rule(command) {
                problems.push(problem);
                break;
            }
            commands.pop_front();
        }
        self.commands = commands.into();
        if !self.settings.is_empty() {
            let _lock = Lock::take();
            let restored = forwarding::restore(&self.settings, Some(&self.device));
            problems.extend(restored.err().map(|error| error.to_string()));
        }
        (self.rules, self.valid_mark_was_off, self.settings) = (Vec::new(), false, Vec::new());
        problems
    }
}

/// Undoes the remaining changes of the tunnel `name`, by its record and by the text of
/// `/etc/resolv.conf`, which survives a power cut. Does nothing if there are none. Call it with the
/// tunnel's lock.
///
/// # Errors
/// Names the change that cannot be undone. It is not tried again, except for rules of iptables behind its lock: the
/// record keeps them for the next call.
pub(super) fn undo_leftovers(name: &str) -> Result<(), RealTimeError> {
    let mut problems = Vec::new();
    if let Err(error) = names::restore(Some(name)) {
        problems.push(error.to_string());
    }
    let path = path(name)?;
    if let Ok(text) = fs::read(&path) {
        let mut is_kept = false;
        match serde_json::from_slice::<Record>(&text) {
            Ok(mut record) => {
                problems.extend(record.undo());
                is_kept = !record.commands.is_empty();
                if is_kept && let Err(error) = record.save(name) {
                    // The record stays as it was.
                    problems.push(error.to_string());
                }
            }
            Err(error) => problems.push(format!("{}: {error}", path.display())),
        }
        if !is_kept {
            let _ = fs::remove_file(&path);
        }
    }
    match problems.is_empty() {
        true => Ok(()),
        false => Err(RealTimeError::Message(format!("not undone: {}", problems.join("; ")))),
    }
}
