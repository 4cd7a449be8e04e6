//! §5.1: flows of the evaluated scheme alone and among themselves.

use super::{ONE, PAIR, SEVERAL, SHORT};
use crate::case::Case;
use crate::criterion::{Bounds, Criterion, Measured};

pub(super) static CASES: &[Case] = &[
    Case::new(
        "loss-50",
        ONE,
        &[("duration", "120s"), ("warmup", "20s"), ("flow", "data = { loss = 0.5 }")],
    ),
    Case::new(
        "no-feedback",
        ONE,
        &[
            ("duration", "60s"),
            ("warmup", "0s"),
            ("flow", "acks = { loss = 1 }\nhandshake = false"),
        ],
    ),
    Case::new("bloat", ONE, &[("buffer", "1s"), ("duration", "60s"), ("warmup", "20s")]),
    Case::new("shallow-4", SEVERAL, &[("buffer", "0.5bdp"), ("count", "4")]),
    Case::new("shallow", ONE, &[("buffer", "0.1bdp")]),
    Case::new("same-2", PAIR, &[]),
    Case::new("same-8", SEVERAL, &[]),
    Case::new("same-late", PAIR, &[("duration", "80s"), ("warmup", "50s"), ("rival_start", "30s")]),
    Case::new("same-rtt", PAIR, &[("rtt", "20ms"), ("rival_rtt", "80ms")]),
    Case::new("short-own", SHORT, &[("long", "{subject}"), ("short", "{subject}")]),
    Case::new("start", ONE, &[("duration", "20s"), ("warmup", "0s"), ("buffer", "250p")]),
];

const FULL_BACKOFF: &str =
    "the section asks that a flow stops, or comes down to a packet per round trip and then less";
const STANDARDS: &str = "the section asks to improve on Reno and Cubic, which fill every FIFO";
const FAIR: &str = "ours; Jain's index of 2 flows is 0.9 at shares of 2:1, and 0.64 at 7:1";
const LOSSES: &str = "ours; the section names sustained loss of BBR version 1 in short buffers";

pub(super) static CRITERIA: &[Criterion] = &[
    Criterion::measured(
        "collapse.loss",
        "5.1.1 congestion collapse",
        "Does a flow back off fully while the path loses half of all packets?",
        Measured::new(
            "loss-50",
            "packets sent per round trip",
            "",
            "With half of all packets lost for 2 minutes, a flow sends {} packets per round trip of 50 ms",
            |look| look.number("flow.subject.sent") / (look.duration / 0.05),
        )
        .judged(Bounds::new(1.0, 4.0, FULL_BACKOFF)),
        "Random loss of a half stands for congestion of many flows; the queue itself does not overflow.",
    ),
    Criterion::measured(
        "collapse.feedback",
        "5.2 loss of all feedback",
        "Does a flow back off if no acknowledgement arrives?",
        Measured::new(
            "no-feedback",
            "packets sent in a minute",
            "packets",
            "Without any feedback a flow sends {} in a minute",
            |look| look.number("flow.subject.sent"),
        )
        .judged(Bounds::new(
            120.0,
            1200.0,
            "ours: a packet per ten round trips, and a packet per round trip",
        )),
        "The feedback is missing from the first packet on, not from the middle of a flow.",
    ),
    Criterion::measured(
        "bufferbloat.delay",
        "5.1.2 bufferbloat",
        "How much of a buffer of one second does a flow fill?",
        Measured::new(
            "bloat",
            "95th percentile of the queueing delay",
            "ms",
            "In a buffer of 1000 ms a flow makes packets wait for {}",
            |look| look.number("link.link.delay.p95"),
        )
        .judged(Bounds::new(250.0, 800.0, STANDARDS)),
        "One flow on one link; paths with several queues are not covered.",
    ),
    Criterion::measured(
        "bufferbloat.rate",
        "5.1.2 bufferbloat",
        "Which rate does a flow have over a buffer of one second?",
        Measured::new("bloat", "utilization", "%", "In a buffer of 1000 ms a flow uses {} of the link", |look| {
            look.percent("link.link.utilization")
        }),
        "",
    ),
    Criterion::measured(
        "loss.shallow-4",
        "5.1.3 high packet loss",
        "How many packets do four flows lose in a buffer of half a bandwidth-delay product?",
        Measured::new(
            "shallow-4",
            "lost packets",
            "%",
            "Of four flows' packets {} are lost at a buffer of half a bandwidth-delay product",
            |look| {
                let flows = ["subject-1", "subject-2", "subject-3", "subject-4"];
                look.lost_packets(&flows)
            },
        )
        .judged(Bounds::new(2.0, 10.0, LOSSES)),
        "",
    ),
    Criterion::measured(
        "loss.shallow",
        "5.1.3 high packet loss",
        "Does a flow use a link whose buffer is a tenth of the bandwidth-delay product?",
        Measured::new(
            "shallow",
            "utilization",
            "%",
            "Over a buffer of a tenth of the bandwidth-delay product a flow uses {} of the link",
            |look| look.percent("link.link.utilization"),
        ),
        "",
    ),
    Criterion::measured(
        "fairness.two",
        "5.1.4 fairness within the algorithm",
        "Do two flows that start together share the link?",
        Measured::new("same-2", "Jain's index", "", "Two flows share a link with a Jain index of {}", |look| {
            look.number("all.jain")
        })
        .judged(Bounds::new(0.9, 0.64, FAIR)),
        "",
    ),
    Criterion::measured(
        "fairness.eight",
        "5.1.4 fairness within the algorithm",
        "Do eight flows that start together share the link?",
        Measured::new("same-8", "Jain's index", "", "Eight flows share a link with a Jain index of {}", |look| {
            look.number("all.jain")
        })
        .judged(Bounds::new(0.9, 0.64, FAIR)),
        "",
    ),
    Criterion::measured(
        "fairness.late",
        "5.1.4 fairness within the algorithm",
        "Which share does a flow have that starts 30 s later than another one?",
        Measured::new(
            "same-late",
            "share of the later flow",
            "%",
            "From 20 s to 50 s after its start, a later flow has {} of what both carry",
            |look| look.share("flow.rival.goodput", "flow.subject.goodput"),
        )
        .judged(Bounds::new(35.0, 15.0, "ours: a third, and a seventh; half is fair")),
        "A share above a half is good here, although the earlier flow then has less.",
    ),
    Criterion::measured(
        "fairness.rtt",
        "5.1.4 fairness within the algorithm",
        "Which share does a flow have whose round trip is four times longer?",
        Measured::new(
            "same-rtt",
            "share of the longer round trip",
            "%",
            "Of two flows with round trips of 20 and 80 ms, the second one has {}",
            |look| look.share("flow.rival.goodput", "flow.subject.goodput"),
        ),
        "The document asks for no equality of flows with different round trips.",
    ),
    Criterion::measured(
        "short.own",
        "5.1.5 short flows",
        "How long do short flows take beside a long one of the same scheme?",
        Measured::new(
            "short-own",
            "95th percentile of the completion time",
            "ms",
            "Short flows of 50 kB on average complete within {} beside a long one",
            |look| look.completion_p95(),
        )
        .judged(Bounds::beside(
            1.2,
            2.5,
            "ours; Cubic beside Cubic is the present Internet; changed after first runs: the length of \
             the run if fewer than 95 % finish, since a scheme that finished three of ten was good",
        )),
        "Schemes that retransmit nothing complete no transfers; then there is no figure.",
    ),
    Criterion::measured(
        "short.long",
        "5.1.5 short flows",
        "Which rate does a long flow keep beside short ones of the same scheme?",
        Measured::new(
            "short-own",
            "rate of the long flow",
            "Mbit/s",
            "Beside short flows with 2 of 20 Mbit/s, a long flow has {}",
            |look| look.number("flow.long.goodput"),
        ),
        "",
    ),
    Criterion::measured(
        "start.time",
        "5.1.5 short flows",
        "How long does a new flow need to reach 80 % of the link?",
        Measured::new("start", "time to 80 % of the link", "s", "A new flow is at 80 % of the link after {}", |look| {
            look.reached("flow.subject.goodput", 16.0, 0.0, look.duration)
        })
        .ending(20.0, "A new flow is not at 80 % of the link within {}")
        .judged(Bounds::beside(2.0, 10.0, "ours; short flows live from their start")),
        "A flow that does not reach it counts with the whole run of 20 s.",
    ),
    Criterion::measured(
        "start.overshoot",
        "5.1.5 short flows",
        "How long is the queue that a new flow builds up?",
        Measured::new(
            "start",
            "largest queueing delay of the first 5 s",
            "ms",
            "In its first 5 s, a new flow makes packets wait for up to {} of the 150 ms that the buffer allows",
            |look| match look.number("flow.subject.goodput") > 0.0 {
                true => look.largest("link.link.delay", 0.0, 5.0),
                false => f64::NAN,
            },
        )
        .judged(Bounds::beside(1.0, 1.5, "ours")),
        "",
    ),
];
