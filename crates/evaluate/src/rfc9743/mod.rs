//! RFC 9743 (BCP 133), Specifying New Congestion Control Algorithms: its criteria (§5) in its general (§6)
//! and special cases (§7).
//!
//! The document has no thresholds. Where it has a criterion, the bounds here say what this program calls good
//! and poor, and why. If nothing else is said, a link has 20 Mbit/s, a round trip takes 50 ms, and the queue is
//! a FIFO of one bandwidth-delay product.

mod general;
mod mixed;
mod single;
mod special;

use crate::case::Case;
use crate::criterion::Criterion;

/// A link with one flow.
const ONE: &str = include_str!("../../cases/one.toml");
/// A link with two flows.
const PAIR: &str = include_str!("../../cases/pair.toml");
/// A link with several flows of one scheme.
const SEVERAL: &str = include_str!("../../cases/several.toml");
/// A long flow beside short ones.
const SHORT: &str = include_str!("../../cases/short.toml");
/// A long flow beside a call.
const CALL: &str = include_str!("../../cases/call.toml");
/// A download over 802.11n.
const WIFI: &str = include_str!("../../cases/wifi.toml");

/// Returns the criteria in the order of the sections.
pub(crate) fn criteria() -> Vec<&'static Criterion> {
    [single::CRITERIA, mixed::CRITERIA, general::CRITERIA, special::CRITERIA].concat_refs()
}

/// Returns the cases.
pub(crate) fn cases() -> Vec<&'static Case> {
    [single::CASES, mixed::CASES, general::CASES, special::CASES].concat_refs()
}

/// Lists of static values as one list of references.
trait ConcatRefs<T: 'static> {
    fn concat_refs(self) -> Vec<&'static T>;
}

impl<T: 'static, const N: usize> ConcatRefs<T> for [&'static [T]; N] {
    fn concat_refs(self) -> Vec<&'static T> {
        self.into_iter().flatten().collect()
    }
}
