//! Validation: our figures beside those of peers, and facts that must hold.
//!
//! Every row of a peer's file that is not doubtful is a group of cases here: the scheme with its
//! defaults, whose verdict counts, and variants that copy what the peer does differently. Bounds are
//! stated before the first run; where one was changed afterwards, both stand beside the figure.

mod bottleneck;
mod bound;
mod case;
mod endpoint;
mod facts;
mod linux;
mod medium;
mod network;
mod page;
mod recorded;
mod simulators;
mod userspace;

use std::path::Path;

pub use case::{Case, Check, Counts, Ours, Row, Verdict, explain};
pub use page::page;

use recorded::Recorded;

/// All cases. Recorded traces are looked for in `traces`; without them their rows say so.
pub fn cases(traces: Option<&Path>) -> Vec<Case<'_>> {
    let recorded = Recorded(traces);
    let mut cases: Vec<Case<'_>> = Vec::new();
    cases.extend(bottleneck::cases("ns-3", simulators::NS3));
    cases.extend(bottleneck::cases("ns-2", simulators::NS2));
    cases.extend(bottleneck::cases("htsim", simulators::HTSIM));
    cases.extend(linux::cases(recorded));
    cases.extend(userspace::cases(recorded));
    cases.extend(endpoint::cases(recorded));
    cases.extend(facts::cases());
    cases
}

/// The cases of the shared 802.11 medium.
pub fn medium_cases() -> Vec<Case<'static>> {
    medium::cases()
}
