//! §5.2 and §5.3: beside flows of other schemes.

use super::{CALL, ONE, PAIR, SHORT};
use crate::case::Case;
use crate::criterion::{Bounds, Criterion, Measured};

pub(super) static CASES: &[Case] = &[
    Case::new("with-cubic", PAIR, &[("rival", "\"cubic\"")]).against("cubic"),
    Case::new("with-cubic-deep", PAIR, &[("rival", "\"cubic\""), ("buffer", "5bdp")])
        .against("cubic"),
    Case::new("with-reno", PAIR, &[("rival", "\"newreno\"")]).against("newreno"),
    Case::new("with-bbr", PAIR, &[("rival", "\"bbr\"")]).against("bbr"),
    Case::new("with-bbr3", PAIR, &[("rival", "\"bbr3\"")]).against("bbr3"),
    Case::new("with-call", CALL, &[]),
    Case::new("short-cubic", SHORT, &[("long", "{subject}"), ("short", "\"cubic\"")]),
    Case::new("cubic-short", SHORT, &[("long", "\"cubic\""), ("short", "{subject}")]),
    Case::new("no-router", ONE, &[("link", "router = \"none\"")]),
];

const HARM: &str =
    "ours; the section asks whether standard flows suffer more than beside flows of their own kind";
const STARVES: &str = "ours; the section asks for the potential to cause starvation";

/// The criterion of the loss of rate of a rival of the case.
macro_rules! harm {
    ($id:literal, $case:literal, $rival:literal) => {
        Criterion::measured(
            $id,
            "5.2.1 existing congestion control",
            concat!(
                "How much of its rate does a ",
                $rival,
                " flow lose against one more flow (below zero: gain)?"
            ),
            Measured::new(
                $case,
                "lost rate",
                "%",
                concat!(
                    "A ",
                    $rival,
                    " flow loses {} of the rate that it has beside a second ",
                    $rival,
                    " flow"
                ),
                |look| look.lost("flow.rival.goodput"),
            )
            .judged(Bounds::new(20.0, 60.0, HARM)),
            "",
        )
    };
}

/// The criterion of the evaluated flow's share beside a rival of the case.
macro_rules! share {
    ($id:literal, $case:literal, $rival:literal) => {
        Criterion::measured(
            $id,
            "5.2.1 existing congestion control",
            concat!("Which share does a flow have beside ", $rival, "?"),
            Measured::new(
                $case,
                "share",
                "%",
                concat!("Beside ", $rival, " a flow has {} of what both carry"),
                |look| look.share("flow.subject.goodput", "flow.rival.goodput"),
            ),
            "",
        )
    };
}

pub(super) static CRITERIA: &[Criterion] = &[
    share!("cubic.share", "with-cubic", "Cubic"),
    harm!("cubic.harm", "with-cubic", "Cubic"),
    Criterion::measured(
        "cubic.delay",
        "5.2.1 existing congestion control",
        "Does a Cubic flow wait longer beside one more flow?",
        Measured::new(
            "with-cubic",
            "RTT as a multiple",
            "",
            "The 95th percentile of a Cubic flow's RTT is {} times that beside a second Cubic flow",
            |look| look.times("flow.rival.rtt.p95"),
        )
        .judged(Bounds::new(1.1, 1.5, HARM))
        .without_cubic(),
        "",
    ),
    Criterion::measured(
        "cubic.loss",
        "5.2.1 existing congestion control",
        "Are more packets lost if a flow is beside Cubic?",
        Measured::new(
            "with-cubic",
            "lost packets",
            "%",
            "Beside Cubic {} of both flows' packets are lost",
            |look| look.lost_packets(&["subject", "rival"]),
        )
        .judged(Bounds::new(
            1.0,
            5.0,
            "ours; changed after first runs: 2 and 10 times Cubic's share are both below 1 % of the packets",
        )),
        "",
    ),
    share!(
        "cubic-deep.share",
        "with-cubic-deep",
        "Cubic in a buffer of 5 bandwidth-delay products"
    ),
    harm!("cubic-deep.harm", "with-cubic-deep", "Cubic"),
    share!("reno.share", "with-reno", "Reno"),
    harm!("reno.harm", "with-reno", "Reno"),
    share!("bbr.share", "with-bbr", "BBR"),
    harm!("bbr.harm", "with-bbr", "BBR"),
    share!("bbr3.share", "with-bbr3", "BBR version 3"),
    harm!("bbr3.harm", "with-bbr3", "BBR version 3"),
    Criterion::measured(
        "call.rate",
        "5.2.2 real-time congestion control",
        "Which rate does a call keep beside a flow?",
        Measured::new(
            "with-call",
            "rate of the video",
            "Mbit/s",
            "Of a link of 10 Mbit/s, a video of at most 2.5 Mbit/s gets {}",
            |look| look.number("flow.call.goodput"),
        )
        .judged(Bounds::new(1.5, 0.5, STARVES)),
        "The call is `gcc`, which runs libwebrtc's algorithm; other applications' algorithms are not published.",
    ),
    Criterion::measured(
        "call.delay",
        "5.2.2 real-time congestion control",
        "How late are a call's audio packets beside a flow?",
        Measured::new(
            "with-call",
            "95th percentile of the one-way delay",
            "ms",
            "Packets of a constant rate of 64 kbit/s arrive within {}",
            |look| look.number("flow.audio.owd.p95"),
        )
        .judged(Bounds::new(
            75.0,
            115.0,
            "ours: 25 ms of propagation, and 50 of the 100 ms of the queue, or 90 of them",
        )),
        "",
    ),
    Criterion::measured(
        "call.loss",
        "5.2.2 real-time congestion control",
        "Does a call lose packets beside a flow?",
        Measured::new(
            "with-call",
            "lost audio packets",
            "%",
            "Of the packets of a constant rate, {} are lost",
            |look| look.lost_packets(&["audio"]),
        )
        .judged(Bounds::new(
            1.0,
            5.0,
            "ours: what audio codecs conceal, and what listeners hear",
        )),
        "",
    ),
    Criterion::measured(
        "short-cubic.time",
        "5.2.3 short and long flows",
        "How long do short Cubic flows take beside a long flow?",
        Measured::new(
            "short-cubic",
            "95th percentile of the completion time",
            "ms",
            "Short Cubic flows of 50 kB on average complete within {} beside a long flow",
            |look| look.completion_p95(),
        )
        .judged(Bounds::beside(
            1.2,
            2.5,
            "ours; the section asks whether standard flows suffer more than beside flows of their own kind; changed after \
             first runs: the length of the run if fewer than 95 % finish",
        )),
        "",
    ),
    Criterion::measured(
        "cubic-short.rate",
        "5.2.3 short and long flows",
        "Which rate does a long Cubic flow keep beside short flows?",
        Measured::new(
            "cubic-short",
            "rate of the Cubic flow",
            "Mbit/s",
            "Beside short flows with 2 of 20 Mbit/s, a long Cubic flow has {}",
            |look| look.number("flow.long.goodput"),
        )
        .judged(Bounds::beside(0.9, 0.5, HARM)),
        "",
    ),
    Criterion::not_answerable(
        "principles",
        "5.3.1 congestion control principles",
        "Which differences are there to RFC 2914 and RFC 7141?",
        "The specification of the scheme says it; runs do not.",
    ),
    Criterion::measured(
        "deployment.rate",
        "5.3.2 incremental deployment",
        "Does a flow work over a link whose router does not know the scheme?",
        Measured::new(
            "no-router",
            "utilization",
            "%",
            "Over a link without a router of the scheme, a flow uses {}",
            |look| look.percent("link.link.utilization"),
        )
        .judged(Bounds::new(
            80.0,
            30.0,
            "ours; the section asks for correct operation with present equipment",
        )),
        "Middleboxes that change packets are not simulated.",
    ),
];
