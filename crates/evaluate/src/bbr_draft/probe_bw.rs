//! A.5 to A.9, A.13, A.21 and A.22: the cycle of probes for bandwidth.

use super::series::{ROUND_TRIP, Series};
use super::{BBR, BDP, LINK};
use crate::case::Case;
use crate::criterion::{Bounds, Criterion, Measured};
use crate::figures::Look;

/// Times in seconds at which the losses of A.6 begin, each for 300 ms.
const LOSSES: [f64; 5] = [16.0, 19.3, 22.6, 25.9, 29.2];

pub(super) static CASES: &[Case] = &[
    Case::new("bbr-cycle", BBR, &[]).fine(),
    Case::new(
        "bbr-up-limited",
        BBR,
        &[
            ("duration", "40s"),
            ("warmup", "15s"),
            (
                "capacity",
                "schedule = [{ at = \"0s\", rate = \"5Mbps\" }, { at = \"5s\", rate = \"20Mbps\" }]",
            ),
            ("flow", "limited = { rate = \"8Mbps\" }"),
        ],
    )
    .fine(),
    Case::new(
        "bbr-up-loss",
        BBR,
        &[
            ("duration", "40s"),
            ("warmup", "15s"),
            (
                "capacity",
                "schedule = [{ at = \"0s\", rate = \"5Mbps\" }, { at = \"5s\", rate = \"20Mbps\" }]",
            ),
            (
                "gate",
                "[[link]]\nname = \"gate\"\nschedule = [{ at = \"0s\", rate = \"2Gbps\" }, { at = \"16s\", rate = \
                 \"6.5Mbps\" }, { at = \"16.3s\", rate = \"2Gbps\" }, { at = \"19.3s\", rate = \"6.5Mbps\" }, { at = \
                 \"19.6s\", rate = \"2Gbps\" }, { at = \"22.6s\", rate = \"6.5Mbps\" }, { at = \"22.9s\", rate = \
                 \"2Gbps\" }, { at = \"25.9s\", rate = \"6.5Mbps\" }, { at = \"26.2s\", rate = \"2Gbps\" }, { at = \
                 \"29.2s\", rate = \"6.5Mbps\" }, { at = \"29.5s\", rate = \"2Gbps\" }]\nbuffer = \"2p\"\nrtt = \
                 \"100ms\"\nqueue = \"droptail\"",
            ),
            ("path", "\"access\", \"gate\", \"link\""),
            ("flow", "limited = { rate = \"8Mbps\" }"),
        ],
    )
    .fine(),
    Case::new(
        "bbr-down-slower",
        BBR,
        &[(
            "capacity",
            "schedule = [{ at = \"0s\", rate = \"10Mbps\" }, { at = \"8s\", rate = \"9Mbps\" }]",
        )],
    )
    .fine(),
    Case::new("bbr-shallow", BBR, &[("duration", "60s"), ("buffer", "31kB")]).fine(),
    Case::new(
        "bbr-refill-limited",
        BBR,
        &[
            ("warmup", "10s"),
            (
                "capacity",
                "schedule = [{ at = \"0s\", rate = \"3Mbps\" }, { at = \"4s\", rate = \"10Mbps\" }]",
            ),
            ("flow", "limited = { rate = \"5Mbps\", message = 250000 }"),
        ],
    )
    .fine(),
];

/// Longest time in which the flow probes for more: sends at 1.15 times the link's rate, in seconds.
fn up(look: &Look<'_>, to: f64) -> f64 {
    Series::gain(look, LINK).longest(|gain| gain >= 1.15, 5.0, to)
}

/// Share of the packets at the bottleneck that it drops after the warm-up, in per cent.
pub(super) fn dropped(look: &Look<'_>) -> f64 {
    let drops = look.number("link.link.drops");
    let seconds = look.duration - look.warmup;
    let carried = look.number("link.link.throughput") * seconds * 1e6 / 12_000.0;
    100.0 * drops / (drops + carried)
}

/// Share of the losses during Up, in per cent, within 0.8 s after whose beginning Up ends. Down itself may be too short
/// for a bin, since the application leaves no queue.
fn answered(look: &Look<'_>) -> f64 {
    let gain = Series::state(look, "pacing_gain");
    let in_up = LOSSES.into_iter().filter(|at| gain.at(at - 0.1) > UP && gain.at(*at) > UP);
    let ended: Vec<bool> =
        in_up.map(|at| gain.between(at, at + 0.8).iter().any(|gain| *gain < UP)).collect();
    100.0 * ended.iter().filter(|ended| **ended).count() as f64 / ended.len() as f64
}

/// Pacing gain above which a flow probes for more bandwidth.
const UP: f64 = 1.1;

/// Returns true for the pacing gain of Down.
fn is_down(gain: f64) -> bool {
    (0.85..0.95).contains(&gain)
}

pub(super) static CRITERIA: &[Criterion] = &[
    Criterion::measured(
        "bbr-draft.5.time",
        "A.5 Up ends at a plateau",
        "How long does a probe for bandwidth last if there is no more?",
        Measured::new(
            "bbr-cycle",
            "longest probe",
            "s",
            "The longest of the probes for more bandwidth lasts {}",
            |look| up(look, 30.0),
        )
        .without_cubic()
        .judged(Bounds::new(
            1.0,
            2.0,
            "the case ends Up after 3 round trips at the plateau, here of up to 225 ms, and one more to see it",
        )),
        "A probe is a pacing rate of 1.15 times the link's; ends that do not report it are judged by what they send.",
    ),
    Criterion::measured(
        "bbr-draft.5.queue",
        "A.5 Up ends at a plateau",
        "Which queue do probes for bandwidth make?",
        Measured::new(
            "bbr-cycle",
            "95th percentile of the queueing delay",
            "ms",
            "95 % of the packets wait for less than {}",
            |look| look.number("link.link.delay.p95"),
        )
        .without_cubic()
        .judged(Bounds::new(125.0, 250.0, "Up's window of 2.25 bandwidth-delay products has 125 ms of queue at most")),
        "",
    ),
    Criterion::measured(
        "bbr-draft.6.exit",
        "A.6 Up ends at losses while the application limits",
        "Does a flow with little data leave Up at losses?",
        Measured::new(
            "bbr-up-loss",
            "losses in Up that end it",
            "%",
            "{} of the losses in Up end it within 0.8 s",
            answered,
        )
        .without_cubic()
        .judged(Bounds::new(
            100.0,
            50.0,
            "the case asks for Down at losses over a round trip; 0.3 s of losses, a round trip to learn of them, and 0.4 s",
        )),
        "Needs the variable `pacing_gain`.",
    ),
    Criterion::measured(
        "bbr-draft.7.startup",
        "A.7 no end of Up or Startup while the application limits",
        "Does a flow with little data stay in Startup?",
        Measured::new(
            "bbr-start-limited",
            "pacing rate as a multiple of the application's",
            "",
            "A flow of 2 Mbit/s that has never filled the link paces at {} times its rate",
            |look| Series::pacing(look).median(2.0, 4.5) / 2.0,
        )
        .without_cubic()
        .judged(Bounds::new(2.2, 1.5, "the case asks for Startup, whose gain is 2.77; rates are measured with 20 % to spare")),
        "Needs the pacing rate.",
    ),
    Criterion::measured(
        "bbr-draft.7.up",
        "A.7 no end of Up or Startup while the application limits",
        "Does a flow with little data and no losses stay in Up?",
        Measured::new(
            "bbr-up-limited",
            "longest time in Up",
            "s",
            "From 15 to 40 s, with the application limiting and no losses, a flow is in Up for up to {}",
            |look| Series::state(look, "pacing_gain").longest(|gain| gain > UP, 15.0, 40.0),
        )
        .without_cubic()
        .judged(Bounds::new(
            1.5,
            0.6,
            "the case asks to stay in Up until there are losses; a plateau would end it after 0.5 s, and probes for the RTT \
             end it every 5 to 10 s, up to 3 s of which come before Up; changed after first runs: the figure was the time in \
             Down, good at 0 s and mixed up to 1 s",
        )),
        "Needs the variable `pacing_gain`.",
    ),
    Criterion::measured(
        "bbr-draft.8.time",
        "A.8 Down ends by the flight",
        "How long does Down last?",
        Measured::new(
            "bbr-cycle",
            "longest time in Down",
            "s",
            "The longest Down lasts {}",
            |look| {
                let pacing = Series::pacing(look);
                // Stacks count other bytes of a packet than the link: the median is Cruise's rate.
                let median = pacing.median(5.0, 30.0);
                let pacing = pacing.times(1.0 / median);
                pacing.longest(|gain| (0.8..0.94).contains(&gain), 5.0, 30.0)
            },
        )
        .without_cubic()
        .judged(Bounds::new(
            1.7,
            3.0,
            "125 ms of queue drain in 1.25 s at a gain of 0.9; two round trips to see it. Down's longest time is 3 s",
        )),
        "Needs the pacing rate. Rates from 0.8 to 0.94 of their median, which is Cruise's, count as Down's.",
    ),
    Criterion::measured(
        "bbr-draft.8.queue",
        "A.8 Down ends by the flight",
        "Is the queue empty between probes?",
        Measured::new(
            "bbr-cycle",
            "median of the queueing delay",
            "ms",
            "Half of the time the queueing delay is below {}",
            |look| Series::queue(look).median(5.0, 30.0),
        )
        .without_cubic()
        .judged(Bounds::new(10.0, 50.0, "the case asks for a flight of at most one bandwidth-delay product in Cruise")),
        "",
    ),
    Criterion::measured(
        "bbr-draft.9.time",
        "A.9 Down ends by time",
        "How long does Down last if the link has become 10 % slower?",
        Measured::new(
            "bbr-down-slower",
            "longest time in Down",
            "s",
            "With 10 % less capacity from 8 s on, the longest Down lasts {}",
            |look| Series::state(look, "pacing_gain").longest(is_down, 8.0, 30.0),
        )
        .without_cubic()
        .judged(Bounds::new(3.2, 4.5, "the case asks to probe again after bw_probe_wait, 2 to 3 s; a round trip to see it")),
        "Needs the variable `pacing_gain`. The capacity falls at a fixed time.",
    ),
    Criterion::measured(
        "bbr-draft.9.queue",
        "A.9 Down ends by time",
        "How long does the queue last after the link has become 10 % slower?",
        Measured::new(
            "bbr-down-slower",
            "time until the queue is below 20 ms",
            "s",
            "After the link has become 10 % slower, the queue is below 20 ms within {}",
            |look| {
                Series::queue(look).until_drained(20.0, 0.3, 9.0, 30.0) + 1.0
            },
        )
        .without_cubic()
        .ending(22.0, "After the link has become 10 % slower, the queue is not below 20 ms within {}")
        .judged(Bounds::new(10.0, 20.0, "two cycles of 2 to 3 s, after which max_bw is the new one, and one more to drain")),
        "The first second after the change does not count.",
    ),
    Criterion::measured(
        "bbr-draft.13.rate",
        "A.13 Cruise with aggregation",
        "Is the link used if acknowledgements come in batches?",
        Measured::new(
            "bbr-aggregation",
            "utilization",
            "%",
            "With acknowledgements in batches every 50 ms, a flow uses {} of the link",
            |look| look.percent("link.link.utilization"),
        )
        .without_cubic()
        .judged(Bounds::new(95.0, 80.0, "the case asks for full utilization")),
        "Acknowledgements come in batches from the start.",
    ),
    Criterion::measured(
        "bbr-draft.13.window",
        "A.13 Cruise with aggregation",
        "Does the window allow for batches of acknowledgements?",
        Measured::new(
            "bbr-aggregation",
            "median of the window, in bandwidth-delay products",
            "",
            "With acknowledgements in batches, the window is {} bandwidth-delay products",
            |look| Series::state(look, "cwnd").median(10.0, 30.0) / BDP,
        )
        .without_cubic()
        .judged(Bounds::new(2.0, 1.5, "the case asks for a window with extra_acked added to 2 bandwidth-delay products")),
        "",
    ),
    Criterion::measured(
        "bbr-draft.21.time",
        "A.21 losses in Up with a bound",
        "How long does a probe for bandwidth last if it causes losses?",
        Measured::new(
            "bbr-shallow",
            "longest probe",
            "s",
            "With 25 ms of buffer, the longest of the probes for more bandwidth lasts {}",
            |look| up(look, 60.0),
        )
        .without_cubic()
        .judged(Bounds::new(
            0.6,
            1.2,
            "25 ms overflow after a round trip at a gain of 1.25, a second one reports it; up to its bound Up may take 4",
        )),
        "A probe is a pacing rate of 1.15 times the link's; ends that do not report it are judged by what they send.",
    ),
    Criterion::measured(
        "bbr-draft.21.loss",
        "A.21 losses in Up with a bound",
        "How many packets do probes for bandwidth lose?",
        Measured::new(
            "bbr-shallow",
            "dropped packets",
            "%",
            "With 25 ms of buffer, {} of the packets are dropped",
            dropped,
        )
        .without_cubic()
        .judged(Bounds::new(2.0, 5.0, "LossThresh, 2 %, of the probes; the case asks to abort them at losses")),
        "",
    ),
    Criterion::measured(
        "bbr-draft.21.rate",
        "A.21 losses in Up with a bound",
        "Is the link used if probes for bandwidth cause losses?",
        Measured::new(
            "bbr-shallow",
            "utilization",
            "%",
            "With 25 ms of buffer, a flow uses {} of the link",
            |look| look.percent("link.link.utilization"),
        )
        .without_cubic()
        .judged(Bounds::new(80.0, 60.0, "Beta and Headroom leave at least 0.7 times 1.25 of a bandwidth-delay product, less 15 %")),
        "",
    ),
    Criterion::measured(
        "bbr-draft.22.estimate",
        "A.22 Refill while the application limits",
        "Do samples that the application limits lower the estimated bandwidth?",
        Measured::new(
            "bbr-refill-limited",
            "smallest estimated bandwidth",
            "Mbit/s",
            "With data for half of the time, the estimated bandwidth of 10 Mbit/s falls to {}",
            |look| Series::state(look, "bw").smallest(10.0, 30.0),
        )
        .without_cubic()
        .judged(Bounds::new(9.5, 8.0, "the case asks not to lower max_bw; 5 % to spare")),
        "Needs the variable `bw`. The application pauses 2.5 times a second for 200 ms, in Refill and elsewhere.",
    ),
    Criterion::measured(
        "bbr-draft.22.burst",
        "A.22 Refill while the application limits",
        "At which rate does a flow send while it has data?",
        Measured::new(
            "bbr-refill-limited",
            "90th percentile of the rate over a round trip",
            "Mbit/s",
            "With data for half of the time, a flow sends at {} while it has data",
            |look| Series::of(look, "link.access.throughput").mean_over(ROUND_TRIP).quantile(0.9, 10.0, 30.0),
        )
        .without_cubic()
        .judged(Bounds::new(9.0, 7.0, "ours: close to the link's 10 Mbit/s, not to the application's mean of 5")),
        "",
    ),
];
