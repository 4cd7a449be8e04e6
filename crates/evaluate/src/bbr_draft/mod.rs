//! draft-ietf-ccwg-bbr, Appendix A: the 22 example test cases of BBR (added in April 2026, refined in July).
//!
//! The document describes each case in steps, which name states and variables of its pseudocode, and leaves rates,
//! delays and buffers open except for a few examples. Here a link of 10 Mbit/s has a round trip of 100 ms and 10
//! bandwidth-delay products of buffer, unless the case needs other settings. Where possible, the
//! figures use what any sender shows: the packets that it sends, the queue, the window and the pacing rate. Some steps
//! verify a variable of the pseudocode (`bw`, `min_rtt`, `pacing_gain`). `bbr3` reports these; for congestion
//! controls that do not, the answer stays open.
//!
//! The document gives few bounds: 2 % for the bandwidth estimate, gains, numbers of round trips, four packets. The
//! others are this program's, written before the first run; `docs/bbr-cases.md` has the changes since.

mod path;
mod probe_bw;
mod probe_rtt;
mod series;
mod startup;

use crate::case::Case;
use crate::criterion::Criterion;

/// A flow over an access link and a bottleneck.
const BBR: &str = include_str!("../../cases/bbr.toml");

/// Rate of the bottleneck in Mbit/s, unless a case says otherwise.
const LINK: f64 = 10.0;
/// Its bandwidth-delay product, in packets of 1500 bytes.
const BDP: f64 = 250.0 / 3.0;

/// Returns the criteria in the order of the cases.
pub(crate) fn criteria() -> Vec<&'static Criterion> {
    let mut all: Vec<&'static Criterion> =
        [startup::CRITERIA, probe_bw::CRITERIA, probe_rtt::CRITERIA, path::CRITERIA]
            .into_iter()
            .flatten()
            .collect();
    all.sort_by_key(|criterion| number(criterion));
    all
}

/// Returns the cases.
pub(crate) fn cases() -> Vec<&'static Case> {
    [startup::CASES, probe_bw::CASES, probe_rtt::CASES, path::CASES].into_iter().flatten().collect()
}

/// Returns the number of a criterion's case in the appendix.
fn number(criterion: &Criterion) -> u32 {
    let digits = criterion.section.trim_start_matches("A.").split(' ').next();
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_22_cases_are_asked() {
        let mut numbers: Vec<u32> = criteria().into_iter().map(number).collect();
        numbers.dedup();
        assert_eq!(numbers, (1..=22).collect::<Vec<u32>>());
        for criterion in criteria() {
            let (id, section) = (criterion.id, criterion.section);
            let wanted = format!("bbr-draft.{}.", number(criterion));
            assert!(id.starts_with(&wanted), "{id} is of section {section}");
        }
    }
}
