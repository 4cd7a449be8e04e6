//! §7: queues that are managed, delays that vary, long round trips, misbehaving nodes, reordering, events on the
//! path, data centers.

use paceline_cc::Span;
use paceline_sim::scenario::Scenario;
use paceline_trace::Delays;

use super::general::{uses_capacity, waits};
use super::{ONE, PAIR, SEVERAL};
use crate::case::Case;
use crate::criterion::{Bounds, Criterion, Measured};

pub(super) static CASES: &[Case] = &[
    Case::new("codel", ONE, &[("buffer", "1000p"), ("link", "queue = \"codel\"")]),
    Case::new(
        "fq_codel",
        PAIR,
        &[("buffer", "1000p"), ("link", "queue = \"fq_codel\""), ("rival", "\"cubic\"")],
    )
    .against("cubic"),
    Case::new("pie", ONE, &[("buffer", "1000p"), ("link", "queue = \"pie\"")]),
    Case::new("ecn", ONE, &[("buffer", "1000p"), ("link", "queue = \"codel[ecn=true]\"")]),
    Case::new("l4s", ONE, &[("buffer", "1000p"), ("link", "queue = \"dualpi2\"")]),
    Case::new(
        "l4s-cubic",
        PAIR,
        &[("buffer", "1000p"), ("link", "queue = \"dualpi2\""), ("rival", "\"cubic\"")],
    )
    .against("cubic"),
    Case::new(
        "l4s-prague",
        PAIR,
        &[("buffer", "1000p"), ("link", "queue = \"dualpi2\""), ("rival", "\"prague\"")],
    )
    .against("prague"),
    Case::new(
        "rate-fall",
        ONE,
        &[("capacity", RATE_FALL), ("duration", "60s"), ("warmup", "0s"), ("buffer", "250p")],
    ),
    Case::new("jitter", ONE, &[("flow", "data = { jitter = \"10ms\" }")]),
    Case::new("rtt-up", ONE, &[("duration", "60s"), ("buffer", "250p")]).changed(rtt_up),
    Case::new("rtt-down", ONE, &[("duration", "60s"), ("buffer", "250p")]).changed(rtt_down),
    Case::new(
        "rtt-1ms",
        ONE,
        &[("capacity", "rate = \"100Mbps\""), ("rtt", "1ms"), ("buffer", "100p")],
    ),
    Case::new("rtt-800ms", ONE, &[("rtt", "800ms"), ("duration", "120s"), ("warmup", "40s")]),
    Case::new("acks-seldom", ONE, &[("flow", "ack_every = 16")]),
    Case::new("reorder", ONE, &[("flow", "data = { reorder = 0.05, reorder_by = \"20ms\" }")]),
    Case::new(
        "outage",
        ONE,
        &[("capacity", OUTAGE), ("duration", "60s"), ("warmup", "0s"), ("buffer", "sojourn=1s")],
    ),
    Case::new(
        "path-change",
        ONE,
        &[("capacity", PATH_CHANGE), ("duration", "60s"), ("buffer", "250p")],
    )
    .changed(rtt_up),
    Case::new("onset", PAIR, &[("rival", "\"cubic\""), ("rival_start", "30s"), ("warmup", "0s")]),
    Case::new(
        "data-center",
        SEVERAL,
        &[
            ("rate", "1Gbps"),
            ("rtt", "200us"),
            ("count", "16"),
            ("buffer", "400p"),
            ("duration", "5s"),
            ("warmup", "1s"),
            ("link", "queue = \"step[k=20]\""),
        ],
    ),
];

const RATE_FALL: &str = "schedule = [{ at = \"0s\", rate = \"20Mbps\" }, { at = \"20s\", rate = \"4Mbps\" }, { at = \"40s\", rate = \"20Mbps\" }]";
const OUTAGE: &str = "schedule = [{ at = \"0s\", rate = \"20Mbps\" }, { at = \"20s\", rate = \"0bps\" }, { at = \"30s\", rate = \"20Mbps\" }]";
const PATH_CHANGE: &str =
    "schedule = [{ at = \"0s\", rate = \"20Mbps\" }, { at = \"30s\", rate = \"10Mbps\" }]";

const AQM: &str = "ours; the section asks for the effects of such queues";
const VARIES: &str = "ours; the section asks for robust operation when the least delay changes";
const EVENTS: &str = "ours; the section asks for robust operation at sudden changes";

/// Makes the round trip 100 ms longer from 30 s on.
fn rtt_up(scenario: &mut Scenario) {
    step_delay(scenario, 0, 100);
}

/// Makes the round trip 100 ms longer up to 30 s.
fn rtt_down(scenario: &mut Scenario) {
    step_delay(scenario, 100, 0);
}

fn step_delay(scenario: &mut Scenario, before: u64, after: u64) {
    let [before, after] = [before, after].map(Span::from_millis);
    let half = Span::from_secs(30);
    let later = scenario.duration.max(half * 2);
    // Two steps within limits are always a recording.
    let Ok(delays) = Delays::new("step", &[(half, before), (later, after)]) else { return };
    for flow in &mut scenario.flows {
        flow.data.impairments.delays = Some(delays.clone());
    }
}

pub(super) static CRITERIA: &[Criterion] = &[
    uses_capacity!("codel.rate", "7.1 active queue management", "codel", "of a link with CoDel", Bounds::new(90.0, 60.0, AQM), ""),
    waits!("codel.delay", "7.1 active queue management", "codel", "at a link with CoDel", Bounds::beside(1.5, 4.0, AQM)),
    uses_capacity!("pie.rate", "7.1 active queue management", "pie", "of a link with PIE", Bounds::new(90.0, 60.0, AQM), ""),
    waits!("pie.delay", "7.1 active queue management", "pie", "at a link with PIE", Bounds::beside(1.5, 4.0, AQM)),
    Criterion::measured(
        "fq_codel.harm",
        "7.1 active queue management",
        "How much of its rate does a Cubic flow lose in FQ-CoDel against one more flow (below zero: gain)?",
        Measured::new(
            "fq_codel",
            "lost rate",
            "%",
            "In FQ-CoDel a Cubic flow loses {} of the rate that it has beside a second Cubic flow",
            |look| look.lost("flow.rival.goodput"),
        )
        .judged(Bounds::new(10.0, 40.0, AQM)),
        "",
    ),
    Criterion::measured(
        "ecn.drops",
        "7.1 active queue management",
        "Does a flow obey marks, so that a queue that marks drops nothing?",
        Measured::new(
            "ecn",
            "lost packets",
            "%",
            "At a link whose CoDel marks (RFC 3168), {} of the packets are lost",
            |look| look.lost_packets(&["subject"]),
        )
        .judged(Bounds::new(0.1, 2.0, AQM)),
        "A scheme that is not ECN-capable gets drops in place of marks.",
    ),
    waits!("ecn.delay", "7.1 active queue management", "ecn", "at a link whose CoDel marks", Bounds::beside(1.5, 4.0, AQM)),
    uses_capacity!("l4s.rate", "7.1 active queue management", "l4s", "of a link with DualPI2 (L4S)", Bounds::new(90.0, 60.0, AQM), ""),
    waits!("l4s.delay", "7.1 active queue management", "l4s", "at a link with DualPI2 (L4S)", Bounds::beside(1.5, 4.0, AQM)),
    Criterion::measured(
        "l4s.cubic",
        "7.1 active queue management",
        "How much of its rate does a Cubic flow lose in DualPI2 against one more flow (below zero: gain)?",
        Measured::new(
            "l4s-cubic",
            "lost rate",
            "%",
            "In DualPI2 a Cubic flow loses {} of the rate that it has beside a second Cubic flow",
            |look| look.lost("flow.rival.goodput"),
        )
        .judged(Bounds::new(20.0, 60.0, AQM)),
        "",
    ),
    Criterion::measured(
        "l4s.prague",
        "7.1 active queue management",
        "How late are the packets of a Prague flow in DualPI2 beside one more flow?",
        Measured::new(
            "l4s-prague",
            "95th percentile of the RTT",
            "ms",
            "The 95th percentile of the RTT of a Prague flow, with 50 ms of propagation, is {}",
            |look| look.number("flow.rival.rtt.p95"),
        )
        .judged(Bounds::new(55.0, 70.0, "ours: low latency is the aim of L4S, some milliseconds of queue")),
        "",
    ),
    Criterion::measured(
        "breaker.loss",
        "7.2 circuit breakers",
        "Does a flow react to excessive congestion before a circuit breaker does?",
        Measured::new(
            "rate-fall",
            "lost packets",
            "%",
            "While the link's rate falls to a fifth and rises again, {} of the packets are lost",
            |look| look.lost_packets(&["subject"]),
        )
        .judged(Bounds::new(2.0, 10.0, "ours; RFC 8083 §4.3 ends media that lose that much and go on")),
        "Circuit breakers themselves are not simulated. A fixed window that fits in the buffer loses nothing.",
    ),
    uses_capacity!(
        "jitter.rate",
        "7.3 varying delay",
        "jitter",
        "if delays vary by 10 ms at random",
        Bounds::new(80.0, 40.0, VARIES),
        "The delay of each packet is drawn on its own; packets keep their order."
    ),
    Criterion::measured(
        "rtt.up",
        "7.3 varying delay",
        "Does a flow keep its rate after the round trip has grown from 50 to 150 ms?",
        Measured::new(
            "rtt-up",
            "utilization in the next 30 s",
            "%",
            "In the 30 s after the round trip has grown from 50 to 150 ms, a flow uses {} of the link",
            |look| 5.0 * look.mean("link.link.throughput", 30.0, 60.0),
        )
        .judged(Bounds::new(80.0, 40.0, VARIES)),
        "",
    ),
    Criterion::measured(
        "rtt.down",
        "7.3 varying delay",
        "Does a flow keep its delay after the round trip has shrunk from 150 to 50 ms?",
        Measured::new(
            "rtt-down",
            "queueing delay in the last 20 s",
            "ms",
            "From 10 s after the round trip has shrunk from 150 to 50 ms, packets wait for {} on average",
            |look| look.mean_of_measured("link.link.delay", 40.0, 60.0),
        )
        .judged(Bounds::beside(
            1.0,
            1.5,
            "ours; the section asks for robust operation when the least delay changes; changed after first runs: times without \
             packets had no delay, so that a flow that sends nothing was good",
        )),
        "",
    ),
    Criterion::not_answerable(
        "iot",
        "7.4 Internet of Things",
        "Does the scheme run on small devices?",
        "Power and memory of devices are not simulated; rate.100k shows a slow link.",
    ),
    uses_capacity!(
        "rtt.1ms",
        "6.3 wired paths",
        "rtt-1ms",
        "of 100 Mbit/s with a round trip of 1 ms",
        Bounds::new(90.0, 60.0, AQM),
        ""
    ),
    uses_capacity!(
        "rtt.800ms",
        "7.5 high delay",
        "rtt-800ms",
        "with a round trip of 800 ms",
        Bounds::new(80.0, 40.0, "ours; the section asks for links such as satellites'"),
        ""
    ),
    Criterion::not_answerable(
        "optimistic",
        "7.6 misbehaving nodes",
        "What does a receiver gain that acknowledges packets before they arrive?",
        "Simulated receivers acknowledge packets that have arrived, and nothing else.",
    ),
    Criterion::not_answerable(
        "division",
        "7.6 misbehaving nodes",
        "What does a receiver gain that acknowledges each packet in parts?",
        "Acknowledgements name whole packets here, as QUIC's do; parts of packets cannot be acknowledged.",
    ),
    uses_capacity!(
        "acks.seldom",
        "7.6 misbehaving nodes",
        "acks-seldom",
        "if the receiver acknowledges every 16th packet only",
        Bounds::new(80.0, 40.0, "ours: receivers and middleboxes that thin out acknowledgements are common"),
        "Schemes that bring their own receivers may acknowledge at other times."
    ),
    uses_capacity!(
        "reorder.rate",
        "7.7 packet reordering",
        "reorder",
        "if 5 % of the packets arrive 20 ms late",
        Bounds::new(80.0, 30.0, "ours; the section asks not to presume that packets stay in order"),
        "The detection of losses is Paceline's (RACK), not the scheme's."
    ),
    Criterion::measured(
        "fall.queue",
        "7.8 transient events",
        "How long is the worst queue after the link's rate has fallen to a fifth?",
        Measured::new(
            "rate-fall",
            "worst queueing delay",
            "ms",
            "After the link's rate has fallen to a fifth, packets wait for up to {}",
            |look| look.largest("link.link.delay", 20.0, 40.0),
        )
        .judged(Bounds::beside(0.8, 1.1, EVENTS)),
        "The buffer has 250 packets, 750 ms at the lower rate.",
    ),
    Criterion::measured(
        "rise.time",
        "7.8 transient events",
        "How long does a flow need to use a rate that has risen?",
        Measured::new(
            "rate-fall",
            "time to 80 % of the link",
            "s",
            "After the link's rate has risen to the fivefold, a flow uses 80 % of it after {}",
            |look| look.reached("flow.subject.goodput", 16.0, 40.0, 60.0),
        )
        .ending(20.0, "After the link's rate has risen to the fivefold, a flow does not use 80 % of it within {}")
        .judged(Bounds::new(3.0, 15.0, EVENTS)),
        "A flow that does not reach it counts with the 20 s that are left.",
    ),
    Criterion::measured(
        "outage.recovery",
        "7.8 transient events",
        "How long does a flow need after an outage of 10 s?",
        Measured::new(
            "outage",
            "time to 80 % of the link",
            "s",
            "After an outage of 10 s, a flow uses 80 % of the link again after {}",
            |look| look.reached("flow.subject.goodput", 16.0, 30.0, 60.0),
        )
        .ending(30.0, "After an outage of 10 s, a flow does not use 80 % of the link within {}")
        .judged(Bounds::new(5.0, 20.0, EVENTS)),
        "Packets that wait for more than 1 s are dropped. A flow that does not reach it counts with the 30 s that are \
         left.",
    ),
    Criterion::measured(
        "onset.share",
        "7.8 transient events",
        "Does a flow make room for a Cubic flow that begins?",
        Measured::new(
            "onset",
            "time until Cubic has 30 % of the link",
            "s",
            "A Cubic flow that begins has 30 % of the link after {}",
            |look| look.reached("flow.rival.goodput", 6.0, 30.0, 60.0),
        )
        .ending(30.0, "A Cubic flow that begins does not have 30 % of the link within {}")
        .judged(Bounds::new(
            10.0,
            30.0,
            "ours; changed after first runs: with 1.5 and 4 times Cubic's time, a flow that never made room was not poor",
        )),
        "A flow that does not reach it counts with the 30 s that are left.",
    ),
    Criterion::measured(
        "path.change",
        "7.9 sudden changes in the path",
        "Does a flow use a new path with half the rate and a round trip that is 100 ms longer?",
        Measured::new(
            "path-change",
            "utilization in the next 30 s",
            "%",
            "In the 30 s after such a change, a flow uses {} of the link",
            |look| 10.0 * look.mean("link.link.throughput", 30.0, 60.0),
        )
        .judged(Bounds::new(80.0, 40.0, EVENTS)),
        "",
    ),
    Criterion::not_answerable(
        "multipath",
        "7.10 multipath transport",
        "How does the scheme behave on several paths at the same time?",
        "A simulated flow has one path.",
    ),
    Criterion::measured(
        "data-center.rate",
        "7.11 data centers",
        "Do 16 flows use a link of 1 Gbit/s with a round trip of 0.2 ms?",
        Measured::new(
            "data-center",
            "utilization",
            "%",
            "Sixteen flows use {} of a link of 1 Gbit/s whose queue marks from 20 packets on",
            |look| look.percent("link.link.utilization"),
        ),
        "Fabrics with several switches and requests that end together are not covered.",
    ),
    Criterion::measured(
        "data-center.delay",
        "7.11 data centers",
        "How long do packets of 16 flows wait at a link of 1 Gbit/s?",
        Measured::new(
            "data-center",
            "95th percentile of the queueing delay",
            "ms",
            "Packets of sixteen flows wait for up to {} (95 %)",
            |look| look.number("link.link.delay.p95"),
        ),
        "",
    ),
];
