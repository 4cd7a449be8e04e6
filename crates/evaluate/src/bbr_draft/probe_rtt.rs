//! A.10, A.11 and A.20: the probes for the round trip's propagation time.

use super::series::Series;
use super::{BBR, LINK};
use crate::case::Case;
use crate::criterion::{Bounds, Criterion, Measured};
use crate::figures::Look;

pub(super) static CASES: &[Case] = &[
    Case::new(
        "bbr-probe-rtt",
        BBR,
        &[
            ("duration", "40s"),
            (
                "rival",
                "[[flow]]\nname = \"rival\"\nscheme = \"cubic\"\npath = [\"link\"]\nrtt = \"100ms\"\nstart = \
                 \"4s\"\nreceive_window = 250000",
            ),
        ],
    )
    .fine(),
    // Changed: with messages every 20 s the idle time was 9.4 s, less than the interval of ProbeRTT in the later text, which
    // then came on time, half a second after the idle time's end.
    Case::new(
        "bbr-idle",
        BBR,
        &[
            ("duration", "55s"),
            ("warmup", "15s"),
            ("flow", "limited = { rate = \"4Mbps\", message = 12500000 }"),
        ],
    )
    .fine(),
    Case::new(
        "bbr-start-limited",
        BBR,
        &[("duration", "40s"), ("warmup", "2s"), ("flow", "limited = { rate = \"2Mbps\" }")],
    )
    .fine(),
];

/// Returns the largest window of the first second after the minimum RTT was replaced by a longer one, as a multiple of
/// the bandwidth-delay product before: the smallest window that it has in that second, for each such time.
fn window_after_expiry(look: &Look<'_>) -> f64 {
    let named = Series::state(look, "min_rtt");
    let rtt = if named.is_empty() { Series::state(look, "rtprop") } else { named };
    let (bw, cwnd) = (Series::state(look, "bw"), Series::state(look, "cwnd"));
    let windows = rtt.rises(0.2, 9.0, 38.0).into_iter().map(|at| {
        let bdp = bw.at(at - 0.1) * rtt.at(at - 0.1) * 1e3 / 12_000.0;
        // Four packets are the floor.
        (cwnd.smallest(at - 0.1, at + 1.0) - 4.0).max(0.0) / bdp
    });
    windows.fold(f64::NAN, f64::max)
}

/// Smallest rate over 200 ms in the 1.7 s after an idle time, in per cent of the link's.
fn after_idle(look: &Look<'_>) -> f64 {
    let sent = Series::of(look, "link.access.throughput").mean_over(0.2);
    let least = [25.3, 50.3].map(|from| sent.smallest(from, from + 1.5));
    100.0 / LINK * least[0].min(least[1])
}

pub(super) static CRITERIA: &[Criterion] = &[
    Criterion::measured(
        "bbr-draft.10.rest",
        "A.10 ProbeRTT",
        "Does a flow with a standing queue of another one send less for a while, to measure the RTT?",
        Measured::new(
            "bbr-probe-rtt",
            "smallest rate over 200 ms as a share of the median",
            "%",
            "Beside a flow that keeps a queue, a flow's smallest rate over 200 ms is {} of its median",
            |look| {
                let sent = Series::of(look, "link.access.throughput").mean_over(0.2);
                100.0 * sent.smallest(8.0, 38.0) / sent.median(8.0, 38.0)
            },
        )
        .without_cubic()
        .judged(Bounds::new(70.0, 95.0, "the case asks for half of the window for 200 ms or more; half with 20 points to spare")),
        "",
    ),
    Criterion::measured(
        "bbr-draft.10.window",
        "A.10 ProbeRTT",
        "Is ProbeRTT's window made of the minimum RTT from before it expired?",
        Measured::new(
            "bbr-probe-rtt",
            "window of ProbeRTT above 4 packets, in bandwidth-delay products",
            "",
            "When the minimum RTT is replaced by a longer one, the window falls to {} of the bandwidth-delay product of \
             before",
            window_after_expiry,
        )
        .without_cubic()
        .judged(Bounds::new(0.6, 0.9, "the case asks for ProbeRTTCwndGain, 0.5, times the RTT before the filter expired")),
        "Needs the variables `bw` and `min_rtt`.",
    ),
    Criterion::measured(
        "bbr-draft.10.time",
        "A.10 ProbeRTT",
        "How long does ProbeRTT last?",
        Measured::new(
            "bbr-probe-rtt",
            "longest time at a low rate",
            "s",
            "A flow sends at less than three quarters of its median rate for at most {}",
            |look| {
                let sent = Series::sent(look);
                let median = sent.median(8.0, 38.0);
                sent.longest(|rate| rate < 0.75 * median, 8.0, 38.0)
            },
        )
        .without_cubic()
        .judged(Bounds::new(
            1.2,
            2.0,
            "the case asks for 200 ms and a round trip, here of up to 400 ms; one more to come down and one to return",
        )),
        "",
    ),
    Criterion::measured(
        "bbr-draft.11.rate",
        "A.11 no ProbeRTT after idle times",
        "Does a flow return to its rate after 14 s without data?",
        Measured::new(
            "bbr-idle",
            "smallest rate over 200 ms in the 1.7 s after",
            "%",
            "From 0.3 s after an idle time of 14 s on, a flow sends at {} of the link's rate or more",
            after_idle,
        )
        .without_cubic()
        .judged(Bounds::new(80.0, 60.0, "the case asks to skip ProbeRTT, which halves the window; the cycle's gains are 0.9 and above")),
        "",
    ),
    Criterion::measured(
        "bbr-draft.20.probe",
        "A.20 ProbeRTT in Startup",
        "Does ProbeRTT come in a slow Startup?",
        Measured::new(
            "bbr-start-limited",
            "smallest window as a share of the median",
            "%",
            "The window of a flow of 2 Mbit/s falls to {} of its median in ProbeRTT",
            |look| {
                let cwnd = Series::state(look, "cwnd");
                100.0 * cwnd.smallest(4.0, 40.0) / cwnd.median(4.0, 40.0)
            },
        )
        .without_cubic()
        .judged(Bounds::new(80.0, 99.0, "the case asks for ProbeRTT, whose window is smaller, before Startup has ended")),
        "",
    ),
    Criterion::measured(
        "bbr-draft.20.back",
        "A.20 ProbeRTT in Startup",
        "Does Startup continue after ProbeRTT?",
        Measured::new(
            "bbr-start-limited",
            "pacing rate as a multiple of the application's",
            "",
            "After ProbeRTT, a flow of 2 Mbit/s that has never filled the link paces at {} times its rate",
            |look| Series::pacing(look).median(30.0, 40.0) / 2.0,
        )
        .without_cubic()
        .judged(Bounds::new(2.2, 1.5, "the case asks for Startup, whose gain is 2.77; rates are measured with 20 % to spare")),
        "Needs the pacing rate.",
    ),
];
