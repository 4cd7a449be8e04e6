//! The standard cases. All bounds were written before the first run.

use paceline_sim::path::BufferSize;

use super::Case;
use super::bounds::Measure::{DelayP95Ms, GoodputMbps, LossPercent, Marks, Share, Utilisation};
use super::bounds::{Aim, Bound};
use super::stages::PathStage::{
    AckLoss, Buffer, Competitor, Messages, Policer, Queue, Rate, Reordering, RttMs, Steps, Trace,
};

pub(super) fn standard() -> Vec<Case> {
    let mut cases = steady();
    cases.extend(changing());
    cases.extend(damaged());
    cases.extend(shared());
    cases
}

/// Returns cases with links of constant rate.
fn steady() -> Vec<Case> {
    vec![
        Case::new(
            ("startup", "The first 3 s over 12 Mbit/s, RTT 100 ms"),
            (0, 3),
            [],
            [Bound::at_least(
                Utilisation,
                0.5,
                "the handshake and slow start from 10 to 100 packets take 5 round trips, half a \
                 second; another second is left for a loss on the way",
            )],
        ),
        Case::new(
            ("steady", "12 Mbit/s, RTT 100 ms, a buffer of one bandwidth-delay product"),
            (5, 25),
            [],
            [
                Bound::at_least(
                    Utilisation,
                    0.85,
                    "with this buffer even a halved window keeps the link busy",
                ),
                Bound::at_most(
                    LossPercent,
                    2.0,
                    "slow start may overshoot by a window, 1 % of all packets, and probing for \
                     more takes a packet or so in a hundred round trips",
                ),
                Bound::at_most(
                    DelayP95Ms,
                    125.0,
                    "50 ms of propagation and three quarters of the buffer's 100 ms",
                )
                .only(Aim::LimitsDelay),
            ],
        ),
        Case::new(
            ("bufferbloat", "5 Mbit/s, RTT 100 ms, a buffer of half a second"),
            (5, 25),
            [Rate(5.0), Buffer(BufferSize::Bytes(312_500))],
            [
                Bound::at_least(Utilisation, 0.85, "a buffer of five round trips never runs dry"),
                Bound::at_most(
                    DelayP95Ms,
                    200.0,
                    "50 ms of propagation; two bandwidth-delay products in flight are 100 ms of \
                     queue, and probing adds a quarter of a round trip",
                )
                .only(Aim::LimitsDelay),
            ],
        ),
        Case::new(
            ("ecn", "12 Mbit/s, RTT 100 ms, CoDel that marks instead of dropping"),
            (5, 25),
            [Queue("codel[ecn=true]".into()), Buffer(BufferSize::Packets(250))],
            [
                Bound::at_least(Marks, 1.0, "the stack sends packets as ECN-capable"),
                Bound::at_most(
                    DelayP95Ms,
                    125.0,
                    "50 ms of propagation and 75 ms of queue: CoDel marks once per 100 ms or more \
                     often beyond 5 ms, and who answers marks never fills the buffer's 250 ms",
                ),
                Bound::at_least(Utilisation, 0.7, "one flow that halves its window at each mark"),
            ],
        ),
    ]
}

/// Returns cases with links whose rate changes.
fn changing() -> Vec<Case> {
    vec![
        Case::new(
            ("lte", "The built-in trace lte-driving, RTT 100 ms, 250 packets"),
            (5, 35),
            [Trace("lte-driving".into()), Buffer(BufferSize::Packets(250))],
            [
                Bound::at_least(Utilisation, 0.7, "the buffer bridges most of the trace's changes"),
                Bound::at_most(LossPercent, 5.0, "losses come where the rate falls, not always"),
            ],
        ),
        Case::new(
            ("lte-walking", "The built-in trace lte-walking, RTT 50 ms, 250 packets"),
            (5, 35),
            [Trace("lte-walking".into()), Buffer(BufferSize::Packets(250)), RttMs(50)],
            [
                Bound::at_least(Utilisation, 0.7, "as lte"),
                Bound::at_most(LossPercent, 5.0, "as lte"),
            ],
        ),
        Case::new(
            ("outage", "12 Mbit/s that fall silent for 2 s, measured from 2 s after the end"),
            (12, 27),
            [Steps(vec![(0.0, 12.0), (8.0, 0.0), (10.0, 12.0)])],
            [Bound::at_least(
                Utilisation,
                0.8,
                "what waited in the buffer is acknowledged when the link comes back; probes are at \
                 most 2 s apart, as the timer doubles from some 300 ms",
            )],
        ),
        Case::new(
            ("step-down", "20 Mbit/s that fall to 5, measured from 4 s later, RTT 60 ms"),
            (14, 30),
            [Steps(vec![(0.0, 20.0), (10.0, 5.0)]), Buffer(BufferSize::Packets(250)), RttMs(60)],
            [
                Bound::at_least(Utilisation, 0.85, "the buffer holds ten bandwidth-delay products"),
                Bound::at_most(
                    DelayP95Ms,
                    150.0,
                    "30 ms of propagation and two round trips of queue; 4 s are 66 round trips in \
                     which to find that the rate has fallen",
                )
                .only(Aim::LimitsDelay),
            ],
        ),
    ]
}

/// Returns cases with loss and reordering.
fn damaged() -> Vec<Case> {
    vec![
        Case::new(
            ("policer", "A policer of 5 Mbit/s and 62.5 kB before 100 Mbit/s, RTT 50 ms"),
            (10, 30),
            [Rate(100.0), Policer(5.0, 62_500), RttMs(50)],
            [
                Bound::at_least(
                    GoodputMbps,
                    3.5,
                    "the policer's burst is two bandwidth-delay products, so that a halved window \
                     still keeps up 70 %",
                ),
                Bound::at_most(
                    LossPercent,
                    10.0,
                    "slow start into the policer loses a window; later losses are rare if they are \
                     answered",
                ),
            ],
        ),
        Case::new(
            ("ack-loss", "12 Mbit/s, every fifth acknowledgement lost"),
            (5, 25),
            [AckLoss(0.2)],
            [
                Bound::at_least(Utilisation, 0.85, "the next acknowledgement tells the same"),
                Bound::at_most(LossPercent, 2.0, "a lost acknowledgement is no lost packet"),
            ],
        ),
        Case::new(
            ("reordering", "12 Mbit/s, one packet in twenty overtaken by two others"),
            (5, 25),
            [Reordering(0.05, 2), Buffer(BufferSize::Packets(250))],
            [
                Bound::at_least(
                    Utilisation,
                    0.85,
                    "RFC 9002 waits for three packets before it takes one for lost",
                ),
                Bound::at_most(LossPercent, 2.0, "as steady"),
            ],
        ),
        Case::new(
            ("late-packets", "12 Mbit/s, one packet in a hundred 10 ms late"),
            (5, 25),
            [Reordering(0.01, 10), Buffer(BufferSize::Packets(250))],
            [Bound::at_least(
                Utilisation,
                0.1,
                "RFC 9002 takes these for lost; 1 % of loss leaves Reno 1.2 Mbit/s at this RTT",
            )],
        ),
    ]
}

/// Returns cases with other flows, and with applications that send little.
fn shared() -> Vec<Case> {
    vec![
        Case::new(
            ("video", "2.5 Mbit/s in 30 messages a second over 12 Mbit/s"),
            (2, 22),
            [Messages(2.5, 10_417)],
            [
                Bound::at_least(GoodputMbps, 2.45, "the link has five times as much"),
                Bound::at_most(
                    DelayP95Ms,
                    70.0,
                    "50 ms of propagation; a message takes 7 ms, and the one before has left",
                ),
            ],
        ),
        Case::new(
            ("beside-cubic", "20 Mbit/s, RTT 60 ms, one bandwidth-delay product, beside a Cubic"),
            (10, 40),
            [Rate(20.0), RttMs(60), Competitor("cubic".into())],
            [Bound::between(
                Share,
                (0.15, 0.85),
                "half is fair; less than a third of that, or leaving less to Cubic, is starving",
            )],
        ),
    ]
}
