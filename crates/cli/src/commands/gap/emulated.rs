//! The emulated half of `gap`: this machine's TCP through the emulator.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use paceline_cc::SchemeSpec;
use paceline_kernel::Program;
use paceline_requests::compare::Comparison;
use paceline_requests::gap::{RealLink, RealRun};
use paceline_sim::scenario::Scenario;
use paceline_transfer::traffic::Counts;
use serde::Deserialize;
use serde_json::Value;

use crate::commands::traffic;
use crate::emulation::{Emulation, Plan, scenario};
use crate::keys;
use crate::output::Error;
use crate::temporary::Folder;

/// Exit status of a program that Ctrl-C has ended: 128 plus the number of SIGINT.
const INTERRUPTED: u8 = 130;

/// Counters by name.
pub(super) type Counters = BTreeMap<&'static str, u64>;

/// Returns a program's counters so far.
fn counters(program: &Program) -> Result<Counters, Error> {
    let counted = paceline_kernel::stats(program);
    let counted = counted.map_err(|error| Error::Message(error.to_string()))?;
    Ok(counted.into_iter().collect())
}

/// Returns a program's counters since `before`. Fails if a connection fell back to Cubic.
fn counted_since(program: &Program, before: &Counters) -> Result<Counters, Error> {
    let mut now = counters(program)?;
    for (name, value) in &mut now {
        *value -= before.get(name).copied().unwrap_or(0);
    }
    match now.get("fallbacks") {
        Some(0) => Ok(now),
        _ => Err(Error::Message(format!(
            "a connection of `{}` has fallen back to Cubic: its ends did not agree on ECN",
            program.name
        ))),
    }
}

/// Returns the comparison's scheme. It has a name, since it was read from arguments.
fn named(comparison: &Comparison) -> Result<&SchemeSpec, Error> {
    let unnamed = || Error::Message(format!("`{}` has no name here", comparison.scheme));
    comparison.scheme.named().ok_or_else(unnamed)
}

/// Runs real TCP over the scenario's path for its duration; `priority` has the emulator's processor
/// and priority.
pub(super) fn run(
    comparison: &Comparison,
    scenario: &Scenario,
    priority: Emulation,
) -> Result<RealRun, Error> {
    let kernel_scheme = super::kernel_name(named(comparison)?).map_err(Error::Message)?;
    let known = paceline_transfer::traffic::schemes();
    let known = known.map_err(|error| Error::Message(error.to_string()))?;
    if !known.contains(&kernel_scheme) {
        return Err(Error::Message(format!(
            "this kernel's TCP has {}, but no `{kernel_scheme}`: name one of these with --schemes, \
             try `sudo modprobe tcp_{kernel_scheme}`, or run Paceline's own senders with --udp",
            known.join(", ")
        )));
    }
    let folder = Folder::make("gap")?;
    let (json, counts, bytes) =
        (folder.file("summary.json"), folder.file("counts.json"), folder.file("bytes"));
    let own = crate::host::program().map_err(Error::Message)?;
    let mut command: Vec<OsString> = vec![own.clone().into(), "traffic".into(), "send".into()];
    command.extend(["--duration".into(), comparison.duration.to_string().into()]);
    command.extend(["--counts".into(), counts.clone().into()]);
    if named(comparison)?.sender.args.iter().any(super::is_paced) {
        command.push("--paced".into());
    }
    let program = super::program(named(comparison)?)?.map(|chosen| chosen.program);
    if program.is_some_and(|program| program.accelerates) {
        command.extend(["--accelerate".into(), OsString::from(&kernel_scheme)]);
    }
    command.extend((0..comparison.flows).map(|_| OsString::from(&kernel_scheme)));
    let quoted = |path: &Path| format!("'{}'", path.display().to_string().replace('\'', "'\\''"));
    let mut outside = format!("exec {} traffic receive --bytes {}", quoted(&own), quoted(&bytes));
    if program.is_some() {
        outside += &format!(" --scheme {kernel_scheme}");
    }
    let before = program.map(counters).transpose()?;
    let summary = emulate(scenario, command, outside, &json, priority)?;
    let counters = match (program, &before) {
        (Some(program), Some(before)) => Some(counted_since(program, before)?),
        _ => None,
    };
    let counts: Counts = read(&counts)?;
    let received: f64 = read(&bytes)?;
    let link = link_of(&summary)?;
    Ok(RealRun {
        goodput_mbps: received * 8e-6 / link.duration_s,
        link,
        kernel_scheme,
        flows: comparison.flows,
        retransmits: counts.retransmits,
        timeouts: counts.timeouts,
        counters,
        late: summary["late"] == true,
        lateness_ms: summary["lateness_ms"].clone(),
        handshake_s: 0.0,
    })
}

/// Runs Paceline's own sender and receiver over UDP over the scenario's path for its duration.
pub(super) fn run_udp(
    comparison: &Comparison,
    scenario: &Scenario,
    priority: Emulation,
) -> Result<RealRun, Error> {
    let folder = Folder::make("gap")?;
    let (json, counts, identity) =
        (folder.file("summary.json"), folder.file("counts.json"), folder.file("identity"));
    keys::make(&identity)?;
    let own = crate::host::program().map_err(Error::Message)?;
    let scheme = named(comparison)?.sender.to_string();
    let mut command: Vec<OsString> = vec![own.clone().into(), "traffic".into(), "send-udp".into()];
    command.push(scheme.clone().into());
    command.extend(["--duration".into(), comparison.duration.to_string().into()]);
    command.extend(["--seed".into(), scenario.seed.to_string().into()]);
    command.extend(["--identity".into(), identity.clone().into()]);
    command.extend(["--counts".into(), counts.clone().into()]);
    // Gives both ends priority, too: a sender that has to wait for a processor sends less than its
    // scheme says.
    let ahead = if priority.realtime { " --realtime" } else { "" };
    command.extend(priority.realtime.then(|| OsString::from("--realtime")));
    let quoted = |path: &Path| format!("'{}'", path.display().to_string().replace('\'', "'\\''"));
    let outside = format!(
        "exec {} recv --listen \"$PACELINE_BASE:{}\" --quiet --timeout 60s -o /dev/null --key-file {}{ahead}",
        quoted(&own),
        traffic::UDP_PORT,
        quoted(&identity),
    );
    let summary = emulate(scenario, command, outside, &json, priority)?;
    let counts: traffic::UdpCounts = read(&counts)?;
    let link = link_of(&summary)?;
    Ok(RealRun {
        counters: None,
        goodput_mbps: counts.acknowledged as f64 * 8e-6 / link.duration_s,
        link,
        kernel_scheme: format!("{scheme} over UDP"),
        flows: comparison.flows,
        retransmits: counts.retransmits,
        timeouts: counts.timeouts,
        late: summary["late"] == true,
        lateness_ms: summary["lateness_ms"].clone(),
        handshake_s: counts.handshake_s,
    })
}

/// Runs one command inside the scenario's path and another outside. Returns the emulator's summary,
/// which it writes to `json`.
fn emulate(
    scenario: &Scenario,
    command: Vec<OsString>,
    outside: String,
    json: &Path,
    priority: Emulation,
) -> Result<Value, Error> {
    let (up, down) = scenario::sides_of(scenario, &scenario.name, None)?;
    let options = Emulation {
        command,
        outside: Some(outside),
        summary: Some(json.to_path_buf()),
        seed: Some(scenario.seed),
        quiet: true,
        ..priority
    };
    let status = Plan { kind: "gap", prompt: "[gap] ".into(), up, down, options }.run()?;
    if status == ExitCode::from(INTERRUPTED) {
        return Err(Error::Message("interrupted; this run has no figures".into()));
    }
    if status != ExitCode::SUCCESS {
        return Err(Error::Message("the sender inside the emulation has failed".into()));
    }
    read(json)
}

/// Returns the fields of a summary about the first link up.
fn link_of(summary: &Value) -> Result<RealLink, Error> {
    serde_json::from_value(summary["up"].clone())
        .map_err(|error| Error::Message(format!("summary of the emulation: {error}")))
}

fn read<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<T, Error> {
    let fail = |problem: String| Error::Message(format!("{}: {problem}", path.display()));
    let text = std::fs::read(path).map_err(|error| fail(error.to_string()))?;
    serde_json::from_slice(&text).map_err(|error| fail(error.to_string()))
}
