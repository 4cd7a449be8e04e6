//! Facts of papers and RFCs that whole runs must reproduce.

use paceline_cc::{AckPolicy, Rate, Span};

use super::bound::{Bound, Tolerance};
use super::case::{Case, Check, Observations, OwnScheme};
use super::network::{self, Settings};
use paceline_requests::compare::{CompareRow, Comparison};
use paceline_sim::scenario::{Capacity, check_scheme};

/// A figure of a run on a constant link.
struct Fact {
    /// Name of the fact; may be a formula.
    name: &'static str,
    /// Name of the measured figure.
    what: &'static str,
    source: &'static str,
    scheme: &'static str,
    mbps: f64,
    flows: u32,
    expected: f64,
    tolerance: Tolerance,
    figure: fn(&CompareRow) -> f64,
}

/// All runs have an RTT of 100 ms.
static FACTS: [Fact; 7] = [
    Fact {
        name: "abc, A < 0: eta + N/(mu*l)",
        what: "utilisation",
        source: "ABC paper, theorem 1",
        scheme: "abc[dual_window=false]",
        mbps: 12.0,
        flows: 1,
        // 0.98 of the link, and 1 packet per round trip of 100 packets.
        expected: 0.99,
        tolerance: Tolerance::Within(0.01),
        figure: |row| row.utilization,
    },
    Fact {
        name: "abc, 16 flows on 24 Mbit/s, A > 0: A*delta + dt",
        what: "mean delay, ms",
        source: "ABC paper, theorem 1",
        scheme: "abc[dual_window=false]",
        mbps: 24.0,
        flows: 16,
        // With l = 100 ms plus the delay x itself: x = 133 (-.02 + 16/(2 (100 + x))) + 50.
        expected: 54.2,
        tolerance: Tolerance::Share(0.05),
        figure: |row| row.queue_delay_ms.mean,
    },
    Fact {
        name: "abc, 8 flows on 24 Mbit/s",
        what: "Jain's index",
        source: "ABC paper §7.5: within 5 % of 1",
        scheme: "abc",
        mbps: 24.0,
        flows: 8,
        expected: 1.0,
        tolerance: Tolerance::Within(0.05),
        figure: |row| row.jain,
    },
    Fact {
        name: "newreno: the buffer's 250 packets of 1 ms and the packet's own",
        what: "largest delay, ms",
        source: "droptail",
        scheme: "newreno",
        mbps: 12.0,
        flows: 1,
        expected: 251.0,
        tolerance: Tolerance::Within(0.01),
        figure: |row| row.queue_delay_ms.max,
    },
    Fact {
        name: "vegas: alpha = 2 to beta = 4 packets wait, and one that truncation hides",
        what: "mean delay, ms",
        source: "Brakmo and Peterson 1995",
        scheme: "vegas",
        mbps: 12.0,
        flows: 1,
        expected: 3.5,
        tolerance: Tolerance::Within(1.5),
        // Subtract the packet's own transmission time.
        figure: |row| row.queue_delay_ms.mean - 1.0,
    },
    Fact {
        name: "cubic over pie, 4 flows: QDELAY_REF",
        what: "mean delay, ms",
        source: "RFC 8033 §4.2",
        scheme: "cubic+pie",
        mbps: 12.0,
        flows: 4,
        expected: 15.0,
        tolerance: Tolerance::Either(0.1, 2.0),
        // Subtract the packet's own transmission time.
        figure: |row| row.queue_delay_ms.mean - 1.0,
    },
    Fact {
        name: "cubic over codel with ECN: packets are marked instead",
        what: "drops",
        source: "RFC 8289 §3, RFC 3168 §5",
        scheme: "cubic[ecn=true]+codel[ecn=true]",
        mbps: 12.0,
        flows: 1,
        expected: 0.0,
        tolerance: Tolerance::Within(0.0),
        figure: |row| row.drops as f64,
    },
];

/// Returns one case per fact.
pub(super) fn cases<'a>() -> impl Iterator<Item = Case<'a>> {
    FACTS.iter().map(|fact| Case {
        peer: fact.source,
        group: fact.name.into(),
        ours: OwnScheme::default(fact.scheme),
        checks: vec![Check::new(fact.what, fact.expected, Bound::stated(fact.tolerance))],
        run: Box::new(move || measure(fact)),
    })
}

fn measure(fact: &Fact) -> Result<Observations, String> {
    let scheme = check_scheme(fact.scheme).map_err(|error| error.to_string())?;
    let capacity = Capacity::Constant(Rate::from_mbps(fact.mbps));
    let comparison = Comparison {
        flows: fact.flows,
        warmup: Span::from_secs(20),
        duration: Span::from_secs(80),
        ..Comparison::new("constant", capacity, scheme)
    };
    // Schemes with a receiver's half acknowledge in their own way.
    let ack = (!fact.scheme.starts_with("abc")).then_some(AckPolicy::EACH);
    let row = match fact.flows {
        1 => network::plain(&comparison, ack)?,
        _ => network::behind_access_links(&comparison, ack, &Settings::default())?,
    };
    Ok(vec![vec![(fact.figure)(&row)]])
}
