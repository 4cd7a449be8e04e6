//! Cubic's window, slow start, and Prague.

use paceline_cc::{Congestion, Span};
use paceline_peers::vector::{Vectors, near, same, that};
use paceline_schemes::cubic::HyStartKind;

use super::super::{mark_share, windows_of_few};
use crate::bench::{
    self, Acks, Books, Desk, SlowStart, at, controller, curve, epoch, ms, ranges, state,
};

pub(super) fn add(vectors: &mut Vectors) {
    cubic(vectors);
    slow_start(vectors);
    prague(vectors);
}

fn cubic(vectors: &mut Vectors) {
    vectors.holds("cubic", "cubic_bytes_test.cc LossEvents, first two: 0.7, W_max 0.85", || {
        let (mut window, mut acks) = epoch(&curve(422.0), ms(100));
        near("W_max", bench::of(&window, "w_max"), 422.0, 1e-6)?;
        let before = window.cwnd();
        window.on_feedback(&acks.event(Congestion::Loss));
        near("W_max", bench::of(&window, "w_max"), 0.85 * before, 1e-6)?;
        near("cwnd", window.cwnd(), 0.7 * before, 1e-6)
    });
    vectors.by_design(
        "cubic",
        "cubic_bytes_test.cc LossEvents, third: a byte below W_max is no fast convergence",
        "RFC 9438 §4.7 compares the window with W_max without slack",
        || {
            let (mut window, mut acks) = epoch(&curve(422.0), ms(100));
            window.add(422.0 - 1.0 / 1460.0 - window.cwnd());
            window.on_feedback(&acks.event(Congestion::Loss));
            near("W_max", bench::of(&window, "w_max"), 422.0, 0.01)
        },
    );
    vectors.holds(
        "cubic",
        "tcp_cubic_sender_bytes_test.cc TcpCubicResetEpochOnQuiescence: 100 s without a packet more",
        || {
            let (mut window, mut acks) = epoch(&curve(10.0), ms(60));
            for _ in 0..7 {
                acks.now += ms(9);
                window.on_feedback(&acks.of(1.0));
            }
            let idle = Span::from_secs(100);
            acks.now += idle;
            // The timeout has not expired, because the vector is about the epoch.
            window.on_idle(acks.now, idle, idle * 2);
            acks.now += ms(60);
            let before = window.cwnd();
            window.on_feedback(&acks.of(1.0));
            that("less than a packet more", window.cwnd() - before < 1.0)
        },
    );
    vectors.holds("episodes", "tcp_cubic_sender_bytes_test.cc MultipleLossesInOneWindow", || {
        let mut books = Books::new(1000);
        books.send(10);
        books.now = at(100);
        same("first", books.sack(3, 3, 7000).congestion, Some(Congestion::Loss))?;
        same("second", books.take(&ranges(0, &[(9, 9), (3, 3)]), 7000).congestion, None)?;
        while books.repair() {}
        books.send(4);
        books.now = at(200);
        // All new packets but the first.
        let next = books.account.next_number();
        let ack = ranges(10, &[(next - 3, next - 1), (10, next - 5), (9, 9)]);
        same("in the next window", books.take(&ack, 7000).congestion, Some(Congestion::Loss))
    });
}

fn slow_start(vectors: &mut Vectors) {
    vectors.by_design(
        "HyStart",
        "hybrid_slow_start_test.cc Delay: ends with the eighth sample above an eighth",
        "Linux and Paceline compare the delay from the ninth sample of a round on",
        || {
            let mut start = SlowStart::new(HyStartKind::Linux, false);
            start.window.add(90.0);
            start.round(ms(60), 8);
            start.round(ms(70), 8);
            that("it has ended", !start.window.in_slow_start())
        },
    );
    vectors.by_design(
        "slow start",
        "tcp_cubic_sender_bytes_test.cc ApplicationLimitedSlowStart: ten packets, 14 in the end",
        "slow start goes on up to twice the largest flight of the last round trip, as in Linux (tcp_is_cwnd_limited); \
         Google's compares the window with the bytes in flight at each acknowledgement",
        || windows_of_few(10, &[12, 14, 14, 14, 14]),
    );
    vectors.holds(
        "slow start",
        "tcp_cubic_sender_bytes_test.cc ExponentialSlowStart: 50 packets after twenty times two",
        || {
            let mut desk = Desk::new("cubic[hystart=off]", 1460);
            desk.write(1000);
            for count in 1..=20 {
                desk.ack_first(60 * count, 2 * count);
            }
            same("window", desk.cwnd(), 50)
        },
    );
}

fn prague(vectors: &mut Vectors) {
    vectors.holds("prague", "prague_sender_test.cc rtt_virt: 25 ms for an RTT of 10 ms", || {
        // A window in which all packets are marked ends at once. Then three round trips of 10 ms
        // count as one of 25 ms.
        let after = |unmarked: usize| {
            let rounds = [vec![(10.0, 10)], vec![(10.0, 0); unmarked]].concat();
            mark_share("prague", ms(10), &rounds)
        };
        same("alpha in the second and third", [after(1), after(2)], [after(0); 2])?;
        that("alpha falls in the fourth", after(3) < after(0))
    });
    vectors.holds(
        "prague",
        "prague_sender_test.cc ReducedRttDependence: growth by 1/2.5^2",
        || {
            // Growth from five packets: half of the squared window counts the acknowledged packets.
            let grown = |rtt: Span| {
                let mut prague = controller("prague", 1460);
                let mut acks = Acks::new(1460, rtt);
                prague.on_feedback(&acks.event(Congestion::Loss));
                for _ in 0..2000 {
                    acks.now += rtt / 5;
                    prague.on_feedback(&acks.of(1.0));
                }
                (state(&*prague, "cwnd").powi(2) - 25.0) / 2.0
            };
            near("25 ms to 10 ms", grown(ms(25)) / grown(ms(10)), 6.25, 0.35)
        },
    );
    vectors.holds("prague", "prague_sender_test.cc EcnResponseInSlowStart: a mark ends it", || {
        let mut prague = controller("prague", 1460);
        let mut acks = Acks::new(1460, ms(10));
        acks.now += ms(10);
        let mut feedback = acks.marked(1.0, 1);
        feedback.congestion = Some(Congestion::Ecn);
        prague.on_feedback(&feedback);
        let reduced = state(&*prague, "cwnd");
        that("reduced", reduced < 10.0)?;
        prague.on_feedback(&acks.of(1.0));
        that("no slow start", state(&*prague, "cwnd") < reduced + 0.9)
    });
}
