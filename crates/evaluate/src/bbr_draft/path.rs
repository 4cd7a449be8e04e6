//! A.14 to A.19: paths that are slow, change, police, or deliver late.

use super::probe_bw::dropped;
use super::series::Series;
use super::{BBR, LINK};
use crate::case::Case;
use crate::criterion::{Bounds, Criterion, Measured};
use crate::figures::Look;

/// Rate of the slow link of A.14 in Mbit/s: with 1 ms of round trip it holds a twelfth of a packet.
const SLOW: f64 = 1.0;

/// A link that becomes ten times as fast after 10 s.
const RISE: &str =
    "schedule = [{ at = \"0s\", rate = \"10Mbps\" }, { at = \"10s\", rate = \"100Mbps\" }]";

pub(super) static CASES: &[Case] = &[
    Case::new(
        "bbr-sub-packet",
        BBR,
        &[
            ("duration", "20s"),
            ("warmup", "2s"),
            ("jitter", "0.1ms"),
            ("capacity", "rate = \"1Mbps\""),
            ("rtt", "1ms"),
            ("buffer", "100p"),
        ],
    )
    .fine(),
    Case::new("bbr-rise", BBR, &[("capacity", RISE)]).fine(),
    Case::new("bbr-rise-shallow", BBR, &[("capacity", RISE), ("buffer", "62kB")]).fine(),
    Case::new(
        "bbr-fall",
        BBR,
        &[
            ("duration", "50s"),
            (
                "capacity",
                "schedule = [{ at = \"0s\", rate = \"100Mbps\" }, { at = \"10s\", rate = \"10Mbps\" }]",
            ),
        ],
    )
    .fine(),
    Case::new(
        "bbr-policer",
        BBR,
        &[
            ("duration", "60s"),
            ("warmup", "10s"),
            ("capacity", "rate = \"100Mbps\""),
            ("queue", "policer[rate=10Mbps,burst=125000]"),
        ],
    )
    .fine(),
    Case::new("bbr-reordering", BBR, &[("flow", "data = { reorder = 0.05, reorder_by = \"20ms\" }")])
        .fine(),
    Case::new(
        "bbr-late",
        BBR,
        &[
            ("duration", "20s"),
            (
                "capacity",
                "schedule = [{ at = \"0s\", rate = \"10Mbps\" }, { at = \"10s\", rate = \"0Mbps\" }, { at = \
                 \"11.2s\", rate = \"10Mbps\" }]",
            ),
        ],
    )
    .fine(),
];

/// Returns a figure of the time after the fall; NaN if the flow did not use half of the link before.
fn after_fall(look: &Look<'_>, figure: impl Fn() -> f64) -> f64 {
    let carried = Series::of(look, "link.link.throughput").mean_over(2.0).at(8.0);
    if carried >= 50.0 { figure() } else { f64::NAN }
}

/// Seconds from the rise of the capacity until 80 % of it are used.
fn risen(look: &Look<'_>) -> f64 {
    let carried = Series::of(look, "link.link.throughput").mean_over(0.2);
    carried.until(|rate| rate >= 80.0, 0.4, 10.0, 30.0)
}

const RISEN: &str = "the case asks for O(log(BDP)) round trips: up to 3 s until the next probe, then 10 round trips at \
                     a gain of 1.25, of up to 225 ms; twice that is poor";

pub(super) static CRITERIA: &[Criterion] = &[
    Criterion::measured(
        "bbr-draft.14.window",
        "A.14 paths of less than a packet",
        "Which window does a flow keep on a path that holds less than a packet?",
        Measured::new(
            "bbr-sub-packet",
            "smallest window",
            "packets",
            "On a path that holds less than a packet, the window is at least {}",
            |look| Series::state(look, "cwnd").smallest(2.0, 20.0),
        )
        .without_cubic()
        .judged(Bounds::new(4.0, 2.0, "the case asks for MinPipeCwnd, 4 packets")),
        "",
    ),
    Criterion::measured(
        "bbr-draft.14.rate",
        "A.14 paths of less than a packet",
        "Is a link used that holds less than a packet?",
        Measured::new(
            "bbr-sub-packet",
            "utilization",
            "%",
            "On a path that holds less than a packet, a flow uses {} of the link",
            |look| look.percent("link.link.utilization"),
        )
        .without_cubic()
        .judged(Bounds::new(95.0, 80.0, "the case asks not to stall")),
        "",
    ),
    Criterion::measured(
        "bbr-draft.14.pacing",
        "A.14 paths of less than a packet",
        "Does the pacing rate fit a link that holds less than a packet?",
        Measured::new(
            "bbr-sub-packet",
            "error of the pacing rate",
            "%",
            "On a path that holds less than a packet, the median of the pacing rate is wrong by {}",
            |look| 100.0 * (Series::pacing(look).median(5.0, 20.0) / SLOW - 1.0).abs(),
        )
        .without_cubic()
        .judged(Bounds::new(10.0, 50.0, "the case asks for a pacing rate that matches the bandwidth; the gains are 0.9 and above")),
        "Needs the pacing rate.",
    ),
    Criterion::measured(
        "bbr-draft.15.time",
        "A.15 ten times the bandwidth",
        "How long does a flow take to use ten times the bandwidth?",
        Measured::new(
            "bbr-rise",
            "time to 80 % of the link",
            "s",
            "After a rise from 10 to 100 Mbit/s, a flow is at 80 Mbit/s after {}",
            risen,
        )
        .without_cubic()
        .ending(20.0, "After a rise from 10 to 100 Mbit/s, a flow is not at 80 Mbit/s within {}")
        .judged(Bounds::new(5.3, 10.6, RISEN)),
        "",
    ),
    Criterion::measured(
        "bbr-draft.15.bound",
        "A.15 ten times the bandwidth",
        "How long does a flow take to use ten times the bandwidth after losses have set a bound?",
        Measured::new(
            "bbr-rise-shallow",
            "time to 80 % of the link",
            "s",
            "After a rise from 10 to 100 Mbit/s, with 62 kB of buffer, a flow is at 80 Mbit/s after {}",
            risen,
        )
        .without_cubic()
        .ending(20.0, "After a rise from 10 to 100 Mbit/s, with 62 kB of buffer, a flow is not at 80 Mbit/s within {}")
        .judged(Bounds::new(5.3, 10.6, RISEN)),
        "The buffer holds half of the first bandwidth-delay product, so that the first probes cause losses.",
    ),
    Criterion::measured(
        "bbr-draft.16.sent",
        "A.16 a tenth of the bandwidth",
        "How fast does a flow send less after losses?",
        Measured::new(
            "bbr-fall",
            "time until the rate is below 13 Mbit/s",
            "s",
            "After a fall from 100 to 10 Mbit/s, a flow sends below 13 Mbit/s after {}",
            |look| after_fall(look, || Series::of(look, "link.access.throughput").mean_over(0.5).until(|rate| rate <= 13.0, 1.0, 10.0, 50.0)),
        )
        .without_cubic()
        .ending(40.0, "After a fall from 100 to 10 Mbit/s, a flow does not send below 13 Mbit/s within {}")
        .judged(Bounds::new(3.0, 10.0, "the case asks for a rapid fall: the window holds 2 s at the new rate, and a round trip has 1.1 s")),
        "",
    ),
    Criterion::measured(
        "bbr-draft.16.estimate",
        "A.16 a tenth of the bandwidth",
        "How long does the estimated bandwidth take to fall?",
        Measured::new(
            "bbr-fall",
            "time until the estimate is right",
            "s",
            "After a fall from 100 to 10 Mbit/s, the estimated bandwidth is below 11 Mbit/s after {}",
            |look| after_fall(look, || Series::state(look, "bw").until(|bw| bw <= 11.0, 1.0, 10.0, 50.0)),
        )
        .without_cubic()
        .ending(40.0, "After a fall from 100 to 10 Mbit/s, the estimated bandwidth is not below 11 Mbit/s within {}")
        .judged(Bounds::new(12.0, 24.0, "the case asks for two cycles of 2 to 3 s, each with 3 round trips of up to 1.1 s of probing; twice that is poor")),
        "Needs the variable `bw`, the smaller one of max_bw and bw_shortterm.",
    ),
    Criterion::measured(
        "bbr-draft.16.queue",
        "A.16 a tenth of the bandwidth",
        "How long does the queue last after the bandwidth has fallen?",
        Measured::new(
            "bbr-fall",
            "time until the queue is below 100 ms",
            "s",
            "After a fall from 100 to 10 Mbit/s, the queue is below 100 ms after {}",
            |look| after_fall(look, || Series::queue(look).until_drained(100.0, 0.5, 10.5, 50.0) + 0.5),
        )
        .without_cubic()
        .ending(40.0, "After a fall from 100 to 10 Mbit/s, the queue is not below 100 ms within {}")
        .judged(Bounds::new(14.0, 28.0, "the estimate's bound, and two round trips to drain")),
        "",
    ),
    Criterion::measured(
        "bbr-draft.17.loss",
        "A.17 policers",
        "How many packets does a policer drop in the long run?",
        Measured::new(
            "bbr-policer",
            "dropped packets",
            "%",
            "From 10 s on, a policer of 10 Mbit/s drops {} of the packets",
            dropped,
        )
        .without_cubic()
        .judged(Bounds::new(5.0, 20.0, "the case asks for no excessive losses; LossThresh is 2 %, and probes at a gain of 1.25 lose a fifth")),
        "",
    ),
    Criterion::measured(
        "bbr-draft.17.rate",
        "A.17 policers",
        "Is the rate used that a policer admits?",
        Measured::new(
            "bbr-policer",
            "rate as a share of the policer's",
            "%",
            "A flow through a policer carries {} of its rate",
            |look| 100.0 / LINK * look.number("flow.subject.goodput"),
        )
        .without_cubic()
        .judged(Bounds::new(70.0, 40.0, "the case asks for a stable rate that conforms; Beta is 0.7")),
        "",
    ),
    Criterion::measured(
        "bbr-draft.18.rate",
        "A.18 spurious fast recovery",
        "Is the link used if packets overtake each other, so that they seem lost?",
        Measured::new(
            "bbr-reordering",
            "utilization",
            "%",
            "With one packet in twenty 20 ms late, a flow uses {} of the link",
            |look| look.percent("link.link.utilization"),
        )
        .without_cubic()
        .judged(Bounds::new(90.0, 70.0, "the case asks to restore what losses that were none have changed")),
        "Whether losses that were none are found, and when, is the transport's matter.",
    ),
    Criterion::measured(
        "bbr-draft.18.bound",
        "A.18 spurious fast recovery",
        "Do losses that were none leave a bound of the flight?",
        Measured::new(
            "bbr-reordering",
            "smallest window, in bandwidth-delay products",
            "",
            "With one packet in twenty 20 ms late, the 10th percentile of the window is {} bandwidth-delay products",
            |look| Series::state(look, "cwnd").quantile(0.1, 5.0, 30.0) / super::BDP,
        )
        .without_cubic()
        .judged(Bounds::new(1.5, 1.0, "the case asks for the saved bounds; without losses the window is 2 outside of ProbeRTT")),
        "",
    ),
    Criterion::measured(
        "bbr-draft.19.time",
        "A.19 spurious timeouts",
        "How fast does a flow return to its rate after packets that were only late?",
        Measured::new(
            "bbr-late",
            "time to 80 % of the link",
            "s",
            "After packets have come 1.2 s late, a flow is at 80 % of the link after {}",
            |look| {
                let goodput = Series::of(look, "flow.subject.goodput").mean_over(0.2);
                goodput.until(|rate| rate >= 0.8 * LINK, 0.2, 11.2, 20.0)
            },
        )
        .without_cubic()
        .ending(8.8, "After packets have come 1.2 s late, a flow is not at 80 % of the link within {}")
        .judged(Bounds::new(1.0, 3.0, "the case asks to return to the state of before; what was sent twice passes first, one flight, 200 ms")),
        "A link that stands still for 1.2 s makes the packets late, in place of reordering.",
    ),
    Criterion::measured(
        "bbr-draft.19.window",
        "A.19 spurious timeouts",
        "Is the window restored after packets that were only late?",
        Measured::new(
            "bbr-late",
            "window as a share of the one before",
            "%",
            "1.5 s after packets have come late, the window is {} of the one before",
            |look| {
                let cwnd = Series::state(look, "cwnd");
                100.0 * cwnd.median(12.5, 12.9) / cwnd.median(8.0, 9.8)
            },
        )
        .without_cubic()
        .judged(Bounds::new(90.0, 50.0, "the case asks to restore what was saved")),
        "",
    ),
];
