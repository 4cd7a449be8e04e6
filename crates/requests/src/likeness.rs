//! Whether runs are equal.

use paceline_sim::{LinkOutcome, Outcome};

/// What equal runs have in common. A digest alone does not suffice: it covers what arrives at the
/// ends, but not packets that were lost on the way there or still travel at the end of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Likeness {
    digest: String,
    /// Packets that each flow sent.
    sent: Vec<u64>,
    /// Of each link and station: the bits of its throughput, drops, marks.
    links: Vec<(u64, u64, u64)>,
}

impl Likeness {
    /// Returns what to compare of a run. `None` if the run has no digest, or if no data packet
    /// arrived: such a run shows nothing of the seed or the start.
    pub(crate) fn of(outcome: &Outcome) -> Option<Likeness> {
        if outcome.digest.is_empty() || outcome.packets == 0 {
            return None;
        }
        let stations = outcome.media.iter().flat_map(|medium| &medium.stations);
        let links = outcome.links.iter().chain(stations.map(|station| &station.link));
        let seen = |link: &LinkOutcome| (link.throughput_mbps.to_bits(), link.drops, link.marks);
        Some(Likeness {
            digest: outcome.digest.clone(),
            sent: outcome.flows.iter().map(|flow| flow.since_start.sent).collect(),
            links: links.map(seen).collect(),
        })
    }

    /// Returns true if there are several runs, and all are known to be alike.
    pub(crate) fn all_equal(runs: &[Option<&Likeness>]) -> bool {
        match runs {
            [Some(first), rest @ ..] if !rest.is_empty() => {
                rest.iter().all(|run| *run == Some(*first))
            }
            _ => false,
        }
    }
}
