//! Validation: Paceline's figures beside those of peers, and facts that must hold.
//!
//! Every row of a peer's file that is not doubtful is a group of cases: the scheme with its
//! defaults, whose verdict counts, and variants that copy a property of the peer. Bounds are stated
//! before the first run. If one was changed afterwards, both stand beside the figure.

mod bottleneck;
mod bound;
mod case;
mod endpoint;
mod facts;
mod guests;
mod linux;
mod medium;
mod network;
mod page;
mod record;
mod recorded;
mod runs;
mod simulators;
mod trust;
mod userspace;

use std::path::Path;

pub use case::{Case, Check, ComparedFigure, Counts, OwnScheme, Verdict, explain};
pub use guests::{GuestRun, guest_figures, guest_runs};
pub use page::{page, section, summary};
pub use record::{read_record, record, recorded};
pub use trust::readme_with_trust;

use recorded::ValidationFolders;

/// Returns all cases. Looks for recorded traces in `traces`, and for published tables of rules in
/// `tables`; rows that lack their file say so.
pub fn cases<'a>(traces: Option<&'a Path>, tables: Option<&'a Path>) -> Vec<Case<'a>> {
    let folders = ValidationFolders { traces, tables };
    let mut cases: Vec<Case<'a>> = Vec::new();
    cases.extend(bottleneck::cases("ns-3", simulators::NS3));
    cases.extend(bottleneck::cases("ns-2", simulators::NS2));
    cases.extend(bottleneck::cases("htsim", simulators::HTSIM));
    cases.extend(medium::cases());
    cases.extend(linux::cases(folders));
    cases.extend(guests::cases());
    cases.extend(userspace::cases(folders));
    cases.extend(endpoint::cases(folders));
    cases.extend(facts::cases());
    cases
}
