//! The page with the kept figures of all congestion controls: `docs/quic-suite.md`.

use std::error::Error;
use std::path::Path;

use paceline_quic_sim::suite::{Suite, SuiteReport, figures, missed_bounds};

use crate::stacks::{self, RELEASED};

/// Packages with the stacks, and what the page calls them.
const STACKS: [(&str, &str); 3] =
    [("quinn-proto", "quinn"), ("noq-proto", "noq"), ("s2n-quic-core", "s2n-quic")];

/// Returns the page of the figures that the folder `baselines` keeps.
///
/// # Errors
/// A file cannot be read, or the lock file lacks a stack.
pub(crate) fn page(baselines: &Path) -> Result<String, Box<dyn Error>> {
    let lock = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock"))?;
    let mut versions = Vec::new();
    for (package, stack) in STACKS {
        let version = version(&lock, package).ok_or(format!("Cargo.lock has no {package}"))?;
        versions.push(format!("{stack} ({package} {version})"));
    }
    let reports = reports(baselines)?;
    let checks = reports.iter().flat_map(|report| &report.cases).flat_map(|case| &case.checks);
    let runs = checks.map(|check| check.values.len()).min().unwrap_or(0);
    Ok(format!(
        "# QUIC stacks in the suite\n\n\
         Figures of the suite that [QUIC](quic.md#the-suite-for-maintainers) describes, for {}. `quinn:own-cubic` is quinn\n\
         with its own Cubic. `s2n-cubic` and `s2n-bbr` are s2n-quic's controllers, and\n\
         `cubic`, `newreno`, `bbr3` and `copa` Paceline's, under the simulator's own sender. Packets of these six are not\n\
         ECN-capable, so that they miss the bound on marks: it is one for stacks.\n\n\
         ```sh\n\
         cargo run --release -p paceline-quic-sim --example suite -- --save=crates/quic-sim/baselines\n\
         cargo run --release -p paceline-quic-sim --example suite -- --baselines=crates/quic-sim/baselines --page=docs/quic-suite.md\n\
         ```\n\n\
         The second command wrote this page. Cells have the median of {runs} runs or more with other seeds and starts, and the smallest and the\n\
         largest of them. A bound is missed (bold figures) if it does not hold in more than half of the runs. `kB in 690 ms` is what\n\
         arrives in the first 690 ms. The reason of each bound is in `crates/quic-sim/src/suite/cases.rs`.\n\n\
         ## Missed bounds\n\n\
         {}\n\
         ## All figures\n\n\
         {}",
        versions.join(", "),
        missed_bounds(&reports),
        figures(&reports),
    ))
}

/// Returns the reports of the congestion controls that the folder keeps.
fn reports(baselines: &Path) -> Result<Vec<SuiteReport>, String> {
    let suite = Suite::standard();
    let mut reports = Vec::new();
    for (name, aim) in RELEASED {
        if stacks::kept_file(baselines, name).exists() {
            reports.push(stacks::kept(baselines, name)?.report(&suite, aim));
        }
    }
    Ok(reports)
}

/// Returns the version of a package in a lock file.
fn version<'a>(lock: &'a str, package: &str) -> Option<&'a str> {
    let (_, after) = lock.split_once(&format!("name = \"{package}\"\nversion = \""))?;
    after.split('"').next()
}
