//! Cloudflare's quiche (e97798e): Cubic, Reno, proportional rate reduction.

use paceline_cc::{Congestion, Span};
use paceline_peers::vector::{Vectors, near, same, that};
use paceline_schemes::cubic::CubicWindow;

use crate::bench::{self, Acks, Books, SlowStart, controller, curve, epoch, ms, state};
use crate::causes;

pub(crate) fn vectors() -> Vectors {
    let mut vectors = Vectors::of("quiche (Cloudflare)");
    cubic(&mut vectors);
    reno(&mut vectors);
    prr(&mut vectors);
    vectors
}

fn cubic(vectors: &mut Vectors) {
    vectors.holds("cubic", "cubic.rs cubic_slow_start_multi_acks: three packets more", || {
        let mut window = CubicWindow::new(&curve(10.0));
        window.on_feedback(&Acks::new(1200, ms(100)).of(3.0));
        near("cwnd", window.cwnd(), 13.0, 1e-9)
    });
    vectors.holds("cubic", "cubic.rs cubic_congestion_event: 0.7", || {
        let (window, _) = epoch(&curve(10.0), ms(100));
        near("cwnd", window.cwnd(), 7.0, 1e-3)
    });
    vectors.by_design(
        "cubic",
        "cubic.rs cubic_congestion_avoidance: a packet more after six acknowledgements",
        "RFC 9438 §4.2 counts time from the beginning of congestion avoidance, Cloudflare's quiche from the loss",
        || {
            let mut window = CubicWindow::new(&curve(10.0));
            let mut acks = Acks::new(1200, ms(100));
            window.on_feedback(&acks.event(Congestion::Loss));
            acks.now += ms(200);
            for _ in 0..6 {
                window.on_feedback(&acks.of(1.0));
                acks.now += ms(100);
            }
            same("whole packets", window.cwnd().floor(), 8.0)
        },
    );
    vectors.holds("cubic", "cubic.rs cubic_fast_convergence: W_max is 0.85 of the window", || {
        let (mut window, mut acks) = epoch(&curve(10.0), ms(100));
        window.add(8.0 - window.cwnd());
        window.on_feedback(&acks.event(Congestion::Loss));
        near("W_max", bench::of(&window, "w_max"), 6.8, 1e-9)?;
        near("cwnd", window.cwnd(), 5.6, 1e-9)
    });
    vectors.holds(
        "cubic",
        "cubic.rs a spurious event in congestion avoidance is taken back",
        || {
            let (mut window, mut acks) = epoch(&curve(10.0), ms(100));
            let before = window.cwnd();
            window.on_feedback(&acks.event(Congestion::Loss));
            window.on_feedback(&acks.event(Congestion::Undo));
            near("cwnd", window.cwnd(), before, 1e-9)
        },
    );
    vectors.holds("cubic", "cubic.rs cubic_genuine_idle_epoch_shift: no jump after 5 s", || {
        let (mut window, mut acks) = epoch(&curve(10.0), ms(100));
        let idle = Span::from_secs(5);
        acks.now += idle;
        window.on_idle(acks.now, idle, Span::from_secs(6));
        acks.now += ms(100);
        window.on_feedback(&acks.of(7.0));
        that("at most a packet and a half more", window.cwnd() < 8.5)
    });
    vectors.holds(
        "HyStart++",
        "cubic.rs cubic_hystart_css_to_ca: the threshold is the window",
        || {
            let mut start = SlowStart::rfc9406();
            for rtt in [50, 100, 100, 100, 100, 100] {
                start.round(ms(rtt), 9);
            }
            start.ack(ms(100));
            that("congestion avoidance", !start.window.in_slow_start())?;
            near("cwnd", start.window.cwnd(), start.window.ssthresh(), 0.6)
        },
    );
}

fn reno(vectors: &mut Vectors) {
    vectors.holds("newreno", "reno.rs reno_slow_start_multi_acks: three packets more", || {
        let mut reno = controller("newreno", 1200);
        reno.on_feedback(&Acks::new(1200, ms(100)).of(3.0));
        near("cwnd", state(&*reno, "cwnd"), 13.0, 1e-9)
    });
    vectors.holds("newreno", "reno.rs reno_congestion_event: half", || {
        let mut reno = controller("newreno", 1200);
        reno.on_feedback(&Acks::new(1200, ms(100)).event(Congestion::Loss));
        near("cwnd", state(&*reno, "cwnd"), 5.0, 1e-9)
    });
    vectors.holds("newreno", "reno.rs reno_congestion_avoidance: a packet for a window", || {
        let mut reno = controller("newreno", 1200);
        let mut acks = Acks::new(1200, ms(100));
        reno.on_feedback(&acks.event(Congestion::Loss));
        // Packets acknowledged at once, and the window after that.
        for (acked, cwnd) in [(4.0, 5.0), (1.0, 6.0), (5.0, 6.0), (1.0, 7.0)] {
            reno.on_feedback(&acks.of(acked));
            near("cwnd", state(&*reno, "cwnd"), cwnd, 1e-9)?;
        }
        Ok(())
    });
}

fn prr(vectors: &mut Vectors) {
    vectors.holds("PRR", "prr.rs on_packet_acked_prr: half of what is delivered", || {
        let mut books = Books::reducing(1000, 10, 1, 5000);
        that("the repair leaves at once", books.room(5000) >= 1000 && books.repair())?;
        books.sack(1, 4, 5000);
        same("after two", books.room(5000), 0)?;
        books.sack(1, 5, 5000);
        same("after three", books.room(5000), 500)
    });
    vectors.holds("PRR", "prr.rs on_packet_acked_prr_overflow: nothing after too much", || {
        let mut books = Books::reducing(1000, 20, 1, 10_000);
        books.repair();
        books.send(1);
        books.sack(1, 4, 10_000);
        same("room", books.room(10_000), 0)
    });
    vectors.by_design(
        "PRR",
        "prr.rs on_packet_acked_prr_ssrb: two packets for one delivered",
        causes::PRR_SLOW_START,
        || {
            let mut books = Books::new(1000);
            books.send(10);
            books.sack(9, 9, 5000);
            books.repair();
            same("room beside the repair", books.room(5000), 1000)
        },
    );
}
