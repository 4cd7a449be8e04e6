//! C2TCP's kernel (4b5b241): figures from running its `c2tcp_pkts_acked` on RTTs, without the
//! second in which Cubic ignores them.

use paceline_cc::Span;
use paceline_peers::vector::{Outcome, Vectors, near, same, that};

use crate::bench::{Acks, at, controller, ms, state};

/// Times in ms at which the window backs off in `backoffs`: 26 in the second with 130 ms, and 11 in
/// the second with 150 ms.
const BACKOFFS: [u64; 37] = [
    1305, 1405, 1455, 1515, 1565, 1610, 1650, 1690, 1725, 1760, 1795, 1825, 1855, 1885, 1915, 1945,
    1970, 1995, 2020, 2045, 2070, 2095, 2120, 2145, 2165, 2185, 2505, 2605, 2655, 2715, 2765, 2810,
    2850, 2890, 2925, 2960, 2995,
];

pub(super) fn vectors() -> Vectors {
    let mut vectors = Vectors::of("C2TCP's authors");
    for (test, target, packets) in [
        ("c2tcp_pkts_acked: two packets for one at half of the target", 100, 2),
        ("c2tcp_pkts_acked: three packets for one at a third of the target", 150, 3),
        ("c2tcp_pkts_acked: one packet for one above half of the target", 60, 1),
    ] {
        vectors.holds("c2tcp", test, move || opens(target, packets));
    }
    vectors.holds("c2tcp", "c2tcp_pkts_acked: back-offs at RTTs above twice the smallest", || {
        same("times", backoffs("c2tcp[target=2rtt,interval=2rtt,settle=0s]"), BACKOFFS.to_vec())
    });
    vectors.holds("c2tcp", "c2tcp_pkts_acked: the same with 100 ms in place of two RTTs", || {
        same(
            "back-offs",
            backoffs("c2tcp[target=100ms,interval=100ms,settle=0s]").len(),
            BACKOFFS.len(),
        )
    });
    vectors.holds(
        "c2tcp",
        "c2tcp_pkts_acked: the window becomes one packet, the threshold half",
        || {
            let mut sender = controller(
                "c2tcp[target=100ms,interval=100ms,initial_window=100,base=newreno,settle=0s]",
                1000,
            );
            let mut acks = Acks::new(1000, ms(130));
            acks.cwnd_limited = false;
            for step in 0..30 {
                if state(&*sender, "backoffs") == 0.0 {
                    acks.now = at(1000 + 5 * step);
                    // Of no packets: Linux' `cong_avoid`, which follows, would add them.
                    let mut feedback = acks.of(0.0);
                    feedback.rtt = Some(ms(130));
                    sender.on_feedback(&feedback);
                }
            }
            near("cwnd", state(&*sender, "cwnd"), 1.0, 1e-9)?;
            let ssthresh = state(&*sender, "ssthresh");
            that(&format!("a threshold of {ssthresh}"), (50.0..60.0).contains(&ssthresh))
        },
    );
    vectors
}

/// Compares the window after sixty acknowledgements at 50 ms: in addition to slow start, each
/// acknowledgement adds `packets` to a counter that opens the window by one packet per window.
fn opens(target: u64, packets: u64) -> Outcome {
    let mut sender = controller(
        &format!("c2tcp[target={target}ms,interval=100ms,base=newreno,settle=0s]"),
        1000,
    );
    let mut acks = Acks::new(1000, ms(50));
    let (mut cwnd, mut counter) = (10u64, 0u64);
    for step in 0..60 {
        acks.now = at(1000 + 5 * step);
        sender.on_feedback(&acks.of(1.0));
        counter += packets;
        let more = counter / cwnd;
        counter -= more * cwnd;
        cwnd += more + 1;
    }
    // Paceline keeps fractions, which the kernel's counter truncates.
    let cwnd = cwnd as f64;
    near("cwnd", state(&*sender, "cwnd"), cwnd, 0.03 * cwnd)
}

/// Returns the times at which the window backs off. An acknowledgement comes every 5 ms, with RTTs
/// of 50 ms for 0.2 s, 130 ms for 1 s, 60 ms for 0.2 s, and 150 ms.
fn backoffs(scheme: &str) -> Vec<u64> {
    let mut sender = controller(scheme, 1000);
    let mut acks = Acks::new(1000, ms(50));
    let (mut times, mut before) = (Vec::new(), 0.0);
    for step in 0..400u64 {
        let now = 1005 + 5 * step;
        // Within the millisecond, because the kernel's clock counts 1024 ns as a microsecond.
        acks.now = at(now) + Span::from_micros(400);
        acks.rtt = ms(match step {
            0..40 => 50,
            40..240 => 130,
            240..280 => 60,
            _ => 150,
        });
        sender.on_feedback(&acks.of(1.0));
        let count = state(&*sender, "backoffs");
        if count > before {
            times.push(now);
        }
        before = count;
    }
    times
}
