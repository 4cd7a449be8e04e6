//! `paceline doctor`: what this machine can do, and what it lacks.

mod checks;
mod trial;
mod verdict;

use clap::Args;
use serde::Serialize;

use self::checks::Check;
use self::verdict::Verdict;
use crate::output::{self, Error};

/// Say what this machine can do and what it lacks: rights, devices, kernel, tools
///
/// The checks are those that the commands make when they start; one of them starts an emulator for a moment. Nothing
/// is installed or changed.
/// Say what this machine can do and what it lacks: rights, devices, kernel, tools
///
/// Changes nothing on this machine. Each finding names the commands that need it, and how to get it.
#[derive(Args)]
#[command(after_help = "\
Verdicts: `ok`; `limited` if the commands above work in part, or less well; `missing` if they do not
work, or not with this option. The remedy stands behind the finding.

Examples:
  paceline doctor
  paceline doctor link tunnel --strict
  paceline doctor --json")]
pub(crate) struct Doctor {
    /// Check only what these commands need, such as `link`
    #[arg(value_name = "COMMAND")]
    commands: Vec<String>,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
    /// Fail if something is missing
    #[arg(long)]
    strict: bool,
}

#[derive(Serialize)]
struct Diagnosis<'a> {
    version: &'static str,
    features: Vec<&'static str>,
    checks: &'a [Check],
}

/// Returns the optional features of this build that are switched on.
fn features() -> Vec<&'static str> {
    let [bpf, page] =
        [cfg!(feature = "bpf").then_some("bpf"), cfg!(feature = "page").then_some("page")];
    bpf.into_iter().chain(page).collect()
}

impl Doctor {
    pub(crate) fn run(self) -> Result<(), Error> {
        let areas = checks::areas();
        let known = |name: &String| areas.iter().any(|area| area.commands.contains(&&**name));
        if let Some(name) = self.commands.iter().find(|name| !known(name)) {
            let mut all: Vec<_> = areas.iter().flat_map(|area| area.commands).copied().collect();
            all.sort_unstable();
            all.dedup();
            return Err(Error::Usage(format!(
                "`{name}`: there is no check for it; there are checks for {}",
                all.join(", ")
            )));
        }
        let wanted = |area: &&checks::Area| {
            let is_named = |name: &String| area.commands.contains(&&**name);
            self.commands.is_empty() || self.commands.iter().any(is_named)
        };
        let checks: Vec<Check> = areas.iter().filter(wanted).flat_map(checks::Area::run).collect();
        if self.json {
            let version = env!("CARGO_PKG_VERSION");
            let diagnosis = Diagnosis { version, features: features(), checks: &checks };
            output::print_json(&diagnosis)?;
        } else {
            output::print(&text(&checks))?;
        }
        let missing = count(&checks, Verdict::Missing);
        match self.strict && missing > 0 {
            true => Err(Error::Message(format!(
                "--strict: {} missing",
                if missing == 1 { "1 thing is".into() } else { format!("{missing} things are") }
            ))),
            false => Ok(()),
        }
    }
}

fn count(checks: &[Check], verdict: Verdict) -> usize {
    checks.iter().filter(|check| check.verdict == verdict).count()
}

/// Returns the checks as text: the commands, and below them the checks of what they need.
fn text(checks: &[Check]) -> String {
    let mut text = String::new();
    let width = checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
    for group in checks.chunk_by(|one, next| one.commands == next.commands) {
        let commands = group.first().map_or(&[][..], |check| check.commands);
        text += &format!("{}\n", commands.join(", "));
        for Check { name, verdict, detail, .. } in group {
            text += &format!("  {:<8} {name:<width$}  {detail}\n", verdict.word());
        }
        text.push('\n');
    }
    let features = features();
    let features = if features.is_empty() { "none".into() } else { features.join(", ") };
    let [ok, limited, missing] =
        [Verdict::Ok, Verdict::Limited, Verdict::Missing].map(|verdict| count(checks, verdict));
    let version = env!("CARGO_PKG_VERSION");
    text + &format!(
        "{ok} ok, {limited} limited, {missing} missing; paceline {version}, optional features: {features}\n"
    )
}
