//! A.1 to A.4 and A.12: Startup and Drain.

use super::series::Series;
use super::{BBR, BDP, LINK};
use crate::case::Case;
use crate::criterion::{Bounds, Criterion, Measured};
use crate::figures::Look;

/// Rate of the application in A.2, in Mbit/s.
const APPLICATION: f64 = 5.0;

pub(super) static CASES: &[Case] = &[
    Case::new("bbr-start", BBR, &[("duration", "10s"), ("warmup", "2s")]).fine(),
    Case::new(
        "bbr-start-loss",
        BBR,
        &[
            ("duration", "10s"),
            ("warmup", "2s"),
            (
                "gate",
                "[[link]]\nname = \"gate\"\nschedule = [{ at = \"0s\", rate = \"2Gbps\" }, { at = \"1s\", rate = \
                 \"3.5Mbps\" }, { at = \"1.3s\", rate = \"2Gbps\" }]\nbuffer = \"2p\"\nrtt = \"100ms\"\nqueue = \
                 \"droptail\"",
            ),
            ("path", "\"access\", \"gate\", \"link\""),
            ("flow", "limited = { rate = \"5Mbps\" }"),
        ],
    )
    .fine(),
    Case::new(
        "bbr-drain",
        BBR,
        &[
            ("duration", "10s"),
            ("warmup", "2s"),
            (
                "capacity",
                "schedule = [{ at = \"0s\", rate = \"10Mbps\" }, { at = \"0.8s\", rate = \"9Mbps\" }]",
            ),
        ],
    )
    .fine(),
    Case::new(
        "bbr-drain-half",
        BBR,
        &[
            ("duration", "10s"),
            ("warmup", "2s"),
            (
                "capacity",
                "schedule = [{ at = \"0s\", rate = \"10Mbps\" }, { at = \"0.8s\", rate = \"5Mbps\" }]",
            ),
        ],
    )
    .fine(),
    Case::new("bbr-aggregation", BBR, &[("flow", "acks = { slot = \"50ms\" }")]).fine(),
];

/// Delay of a queue that has drained, in milliseconds. A start without a longer one has no peak.
const DRAINED: f64 = 10.0;

/// Time of the longest queue of the start, in seconds; NaN if the start makes no queue.
fn peak(look: &Look<'_>) -> f64 {
    let queue = Series::queue(look);
    if queue.largest(0.0, 3.0) > DRAINED { queue.time_of_largest(0.0, 3.0) } else { f64::NAN }
}

/// Longest time with a pacing rate below 70 % of the bandwidth before 6 s.
fn drain(look: &Look<'_>) -> f64 {
    Series::gain(look, LINK).longest(|gain| gain < 0.7, 0.4, 6.0)
}

const DRAIN: &str =
    "the case ends Drain after 3 round trips, here of 100 to 250 ms, and one more to see it";

pub(super) static CRITERIA: &[Criterion] = &[
    Criterion::measured(
        "bbr-draft.1.estimate",
        "A.1 Startup ends at a plateau",
        "How far is the estimated bandwidth from the link's after the start?",
        Measured::new(
            "bbr-start",
            "error of the estimated bandwidth",
            "%",
            "From 3 to 5 s the estimated bandwidth is wrong by {}",
            |look| 100.0 * (Series::state(look, "bw").median(3.0, 5.0) / LINK - 1.0).abs(),
        )
        .without_cubic()
        .judged(Bounds::new(2.0, 5.0, "the case asks for 2 %")),
        "Needs the variable `bw`.",
    ),
    Criterion::measured(
        "bbr-draft.1.rate",
        "A.1 Startup ends at a plateau",
        "Is the link used after the start?",
        Measured::new(
            "bbr-start",
            "utilization",
            "%",
            "From 2 to 10 s a flow uses {} of the link",
            |look| look.percent("link.link.utilization"),
        )
        .without_cubic()
        .judged(Bounds::new(95.0, 80.0, "ours: the plateau is the link's rate")),
        "",
    ),
    Criterion::measured(
        "bbr-draft.1.exit",
        "A.1 Startup ends at a plateau",
        "When does the start's queue begin to shrink?",
        Measured::new(
            "bbr-start",
            "time of the longest queue",
            "s",
            "The queue of the start is longest after {}",
            peak,
        )
        .without_cubic()
        .judged(Bounds::new(
            1.3,
            2.5,
            "a handshake, 4 round trips from 10 packets to the link's 83, 3 at the plateau with up to 200 ms, and 2 more",
        )),
        "The queue's peak stands for the step from Startup to Drain.",
    ),
    Criterion::measured(
        "bbr-draft.2.exit",
        "A.2 Startup ends at losses while the application limits",
        "Does a flow with little data leave Startup at losses?",
        Measured::new(
            "bbr-start-loss",
            "time from the losses until the pacing rate is low",
            "s",
            "After losses of 30 % for 3 round trips, the pacing rate is below 1.6 times the application's within {}",
            |look| {
                let gain = Series::pacing(look).times(1.0 / APPLICATION);
                // Who has left Startup before cannot show it.
                if gain.median(0.6, 1.0) < 1.6 { return f64::NAN }
                gain.until(|gain| gain <= 1.6, 0.1, 1.0, 5.0)
            },
        )
        .without_cubic()
        .ending(4.0, "For {} after the losses the pacing rate stays above 1.6 times the application's")
        .judged(Bounds::new(
            0.6,
            2.0,
            "the case asks for losses over a round trip; one more to learn of them, one to end, three to spare",
        )),
        "Needs the pacing rate. A second bottleneck of 70 % of the application's rate makes the losses.",
    ),
    Criterion::measured(
        "bbr-draft.3.gain",
        "A.3 Drain ends by the flight",
        "How far is Drain's rate from half of the link's?",
        Measured::new(
            "bbr-start",
            "error of Drain's gain",
            "",
            "The smallest pacing gain after the start's peak differs from 0.5 by {}",
            |look| {
                let from = peak(look);
                (Series::gain(look, LINK).smallest(from, from + 1.5) - 0.5).abs()
            },
        )
        .without_cubic()
        .judged(Bounds::new(0.05, 0.3, "the case asks for DrainPacingGain, 0.5; stacks count other bytes and margins")),
        "The rate at which the flow sends stands for the pacing rate of ends that do not report it.",
    ),
    Criterion::measured(
        "bbr-draft.3.time",
        "A.3 Drain ends by the flight",
        "How long does the start's queue take to drain?",
        Measured::new(
            "bbr-start",
            "time from the longest queue to 10 ms",
            "s",
            "The queue of the start takes {} to drain",
            |look| {
                let (queue, from) = (Series::queue(look), peak(look));
                // A start that makes no queue has none to drain, if the flow carries data.
                let carries_data = look.mean("flow.subject.goodput", 0.0, 3.0) > 0.0;
                if carries_data && queue.largest(0.0, 3.0) <= DRAINED { return 0.0 }
                queue.until_drained(DRAINED, 0.04, from, 10.0)
            },
        )
        .without_cubic()
        .judged(Bounds::new(
            0.8,
            2.0,
            "2 bandwidth-delay products of flight drain at half the rate in 2 round trips of 200 ms; twice that",
        )),
        "",
    ),
    Criterion::measured(
        "bbr-draft.3.rest",
        "A.3 Drain ends by the flight",
        "Does Drain leave the link busy?",
        Measured::new(
            "bbr-start",
            "smallest throughput over a round trip",
            "%",
            "In the 2 s after the start's peak, the link carries at least {} of its rate",
            |look| {
                let carried = Series::of(look, "link.link.throughput").mean_over(super::series::ROUND_TRIP);
                let from = peak(look);
                100.0 / LINK * carried.smallest(from, from + 2.0)
            },
        )
        .without_cubic()
        .judged(Bounds::new(85.0, 50.0, "ours: the case ends Drain at one bandwidth-delay product, not below")),
        "",
    ),
    Criterion::measured(
        "bbr-draft.4.time",
        "A.4 Drain ends by time",
        "How long does Drain last if the link has become 10 % slower?",
        Measured::new(
            "bbr-drain",
            "time in Drain",
            "s",
            "With 10 % less capacity from 0.8 s on, a flow paces below 70 % of the bandwidth for {}",
            drain,
        )
        .without_cubic()
        .judged(Bounds::new(1.0, 2.0, DRAIN)),
        "The capacity falls at a fixed time, which is in Startup or Drain.",
    ),
    Criterion::measured(
        "bbr-draft.4.half",
        "A.4 Drain ends by time",
        "How long does Drain last if the link has become half as fast, so that the queue cannot drain?",
        Measured::new(
            "bbr-drain-half",
            "time in Drain",
            "s",
            "With half of the capacity from 0.8 s on, a flow paces below 70 % of the first bandwidth for {}",
            |look| {
                let pacing = Series::pacing(look).times(1.0 / LINK);
                // Without a peak, too: `min` leaves NaN out.
                let from = peak(look).min(1.5);
                pacing.longest(|gain| gain < 0.7, from - 0.5, from + 2.5)
            },
        )
        .without_cubic()
        .judged(Bounds::new(
            1.8,
            2.9,
            "as with 10 %, with round trips of up to 400 ms: with 10 % less capacity the flight may still fit",
        )),
        "Needs the pacing rate. Within 2.5 s of the start's peak.",
    ),
    Criterion::measured(
        "bbr-draft.12.time",
        "A.12 Startup with aggregation",
        "How long does a flow take to fill a link whose acknowledgements come in batches?",
        Measured::new(
            "bbr-aggregation",
            "time to 95 % of the link",
            "s",
            "With acknowledgements in batches every 50 ms, a flow is at 95 % of the link after {}",
            |look| {
                let carried = Series::of(look, "link.link.throughput").mean_over(0.2);
                carried.until(|rate| rate >= 0.95 * LINK, 0.2, 0.0, 30.0)
            },
        )
        .without_cubic()
        .ending(30.0, "With acknowledgements in batches every 50 ms, a flow is not at 95 % of the link within {}")
        .judged(Bounds::new(2.0, 5.0, "ours: twice the time without batches; the case asks to reach the bandwidth")),
        "",
    ),
    Criterion::measured(
        "bbr-draft.12.window",
        "A.12 Startup with aggregation",
        "Does the window allow for batches of acknowledgements in Startup?",
        Measured::new(
            "bbr-aggregation",
            "largest window of the first 3 s, in bandwidth-delay products",
            "",
            "With acknowledgements in batches, the window of the start reaches {} bandwidth-delay products",
            |look| Series::state(look, "cwnd").largest(0.0, 3.0) / BDP,
        )
        .without_cubic()
        .judged(Bounds::new(2.0, 1.5, "the case asks for more than 2")),
        "",
    ),
];
