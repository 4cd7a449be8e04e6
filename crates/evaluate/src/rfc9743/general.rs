//! §6: tail-drop queues, tunnels, wired and wireless paths, and the range of rates.

use super::{ONE, WIFI};
use crate::case::Case;
use crate::criterion::{Bounds, Criterion, Measured};

pub(super) static CASES: &[Case] = &[
    Case::new("wired", ONE, &[]),
    Case::new(
        "rate-100k",
        ONE,
        &[
            ("capacity", "rate = \"100kbps\""),
            ("duration", "120s"),
            ("warmup", "30s"),
            ("buffer", "20p"),
        ],
    ),
    Case::new("rate-1m", ONE, &[("capacity", "rate = \"1Mbps\""), ("buffer", "20p")]),
    Case::new("rate-100m", ONE, &[("capacity", "rate = \"100Mbps\"")]),
    Case::new(
        "rate-1g",
        ONE,
        &[("capacity", "rate = \"1Gbps\""), ("duration", "15s"), ("warmup", "5s")],
    ),
    Case::new(
        "rate-10g",
        ONE,
        &[
            ("capacity", "rate = \"10Gbps\""),
            ("duration", "10s"),
            ("warmup", "5s"),
            ("rtt", "10ms"),
        ],
    )
    .long(),
    Case::new(
        "lte",
        ONE,
        &[("capacity", "trace = \"lte-driving\""), ("buffer", "250p"), ("duration", "60s")],
    ),
    Case::new(
        "umts",
        ONE,
        &[("capacity", "trace = \"umts-driving\""), ("buffer", "250p"), ("duration", "60s")],
    ),
    Case::new("wifi", WIFI, &[]),
    Case::new("loss-1", ONE, &[("flow", "data = { loss = 0.01 }")]),
    Case::new("loss-burst", ONE, &[("flow", "data = { loss = 0.01, burst = 5 }")]),
];

const FULL: &str = "ours: a wired link has no other flow and no loss but the queue's";
const CUBIC: &str = "ours: the present Internet's scheme on the same path";

/// The utilization of a case's link by one flow.
macro_rules! uses_capacity {
    ($id:literal, $section:literal, $case:literal, $where:literal, $bounds:expr, $cannot:literal) => {
        Criterion::measured(
            $id,
            $section,
            concat!("Which part of the capacity does a flow use ", $where, "?"),
            Measured::new(
                $case,
                "utilization",
                "%",
                concat!("A flow uses {} of the capacity ", $where),
                |look| look.percent("link.link.utilization"),
            )
            .judged($bounds),
            $cannot,
        )
    };
}
pub(super) use uses_capacity;

/// The queueing delay at a case's link that one flow makes.
macro_rules! waits {
    ($id:literal, $section:literal, $case:literal, $where:literal, $bounds:expr) => {
        Criterion::measured(
            $id,
            $section,
            concat!("How long do packets wait ", $where, "?"),
            Measured::new(
                $case,
                "95th percentile of the queueing delay",
                "ms",
                concat!("Packets wait for up to {} (95 %) ", $where),
                |look| look.number("link.link.delay.p95"),
            )
            .judged($bounds),
            "",
        )
    };
}
pub(super) use waits;

pub(super) static CRITERIA: &[Criterion] = &[
    uses_capacity!(
        "wired.rate",
        "6.1 tail-drop queues",
        "wired",
        "of a wired link",
        Bounds::new(90.0, 60.0, FULL),
        ""
    ),
    waits!(
        "wired.delay",
        "6.1 tail-drop queues",
        "wired",
        "at a wired link",
        Bounds::beside(1.1, 2.0, CUBIC)
    ),
    Criterion::not_answerable(
        "tunnel",
        "6.2 tunnels",
        "Do signals of routers arrive if the path is a tunnel?",
        "Tunnels are not simulated. For a scheme with a router, deployment.rate shows the path without its signals.",
    ),
    uses_capacity!(
        "rate.100k",
        "6.3 wired paths",
        "rate-100k",
        "of 100 kbit/s",
        Bounds::new(90.0, 60.0, FULL),
        ""
    ),
    uses_capacity!(
        "rate.1m",
        "6.3 wired paths",
        "rate-1m",
        "of 1 Mbit/s",
        Bounds::new(90.0, 60.0, FULL),
        ""
    ),
    uses_capacity!(
        "rate.100m",
        "6.3 wired paths",
        "rate-100m",
        "of 100 Mbit/s",
        Bounds::new(90.0, 60.0, FULL),
        ""
    ),
    uses_capacity!(
        "rate.1g",
        "6.3 wired paths",
        "rate-1g",
        "of 1 Gbit/s",
        Bounds::new(90.0, 60.0, FULL),
        "Hosts' processors are not simulated."
    ),
    uses_capacity!(
        "rate.10g",
        "6.3 wired paths",
        "rate-10g",
        "of 10 Gbit/s with a round trip of 10 ms",
        Bounds::new(90.0, 60.0, FULL),
        "Hosts' processors, offloads and interrupts are not simulated."
    ),
    uses_capacity!(
        "lte.rate",
        "6.4 wireless paths",
        "lte",
        "of an LTE link while driving",
        Bounds::beside(0.8, 0.4, CUBIC),
        "The link is a synthetic trace with the statistics of a recorded one."
    ),
    waits!(
        "lte.delay",
        "6.4 wireless paths",
        "lte",
        "at an LTE link while driving",
        Bounds::beside(0.5, 1.1, CUBIC)
    ),
    uses_capacity!(
        "umts.rate",
        "6.4 wireless paths",
        "umts",
        "of a UMTS link while driving",
        Bounds::beside(0.8, 0.4, CUBIC),
        "The link is a synthetic trace with the statistics of a recorded one."
    ),
    waits!(
        "umts.delay",
        "6.4 wireless paths",
        "umts",
        "at a UMTS link while driving",
        Bounds::beside(0.5, 1.1, CUBIC)
    ),
    Criterion::measured(
        "wifi.rate",
        "6.4 wireless paths",
        "Which rate does a download have over 802.11n?",
        Measured::new(
            "wifi",
            "rate",
            "Mbit/s",
            "Over 802.11n with a changing signal a download has {}",
            |look| look.number("flow.subject.goodput"),
        )
        .judged(Bounds::beside(0.8, 0.4, CUBIC)),
        "One station; docs/home.md has a home with several.",
    ),
    Criterion::measured(
        "wifi.delay",
        "6.4 wireless paths",
        "How late are a download's packets over 802.11n?",
        Measured::new(
            "wifi",
            "95th percentile of the RTT",
            "ms",
            "Over 802.11n, with 20 ms of propagation, the 95th percentile of the RTT is {}",
            |look| look.number("flow.subject.rtt.p95"),
        )
        .judged(Bounds::beside(0.8, 1.5, CUBIC)),
        "",
    ),
    uses_capacity!(
        "loss.rate",
        "6.4 wireless paths",
        "loss-1",
        "if 1 % of the packets is lost at random",
        Bounds::new(80.0, 30.0, "ours; the section asks for losses by radio effects"),
        ""
    ),
    uses_capacity!(
        "loss.burst",
        "6.4 wireless paths",
        "loss-burst",
        "if 1 % of the packets is lost, in bursts of 5",
        Bounds::new(80.0, 30.0, "ours; the section asks for losses by radio effects"),
        ""
    ),
];
