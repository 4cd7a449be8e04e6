//! smoltcp (5393f88): Reno and Cubic after timeouts.

use paceline_cc::Congestion;
use paceline_peers::vector::{Vectors, near, same, that};
use paceline_schemes::cubic::CubicWindow;

use crate::bench::{self, Acks, controller, curve, ms, state};

pub(crate) fn vectors() -> Vectors {
    let mut vectors = Vectors::of("smoltcp");
    vectors.holds(
        "newreno",
        "reno.rs slow_start_works: one packet after a timeout, threshold 16",
        || {
            // RFC 5681 §3.1: at most one packet per acknowledgement.
            let mut reno = controller("newreno[abc_limit=1,initial_window=32]", 1024);
            let mut acks = Acks::new(1024, ms(100));
            reno.on_feedback(&acks.event(Congestion::Timeout));
            near("ssthresh", state(&*reno, "ssthresh"), 16.0, 1e-9)?;
            let mut expected = 1.0;
            near("cwnd", state(&*reno, "cwnd"), expected, 1e-9)?;
            for (acked, opens) in [(2.0, 1.0); 10].into_iter().chain([(0.5, 0.5); 8]) {
                reno.on_feedback(&acks.of(acked));
                expected += opens;
                near("cwnd", state(&*reno, "cwnd"), expected, 1e-9)?;
            }
            Ok(())
        },
    );
    vectors.holds("newreno", "reno.rs repeated_rto_holds_ssthresh: 16 twice", || {
        let mut reno = controller("newreno[initial_window=32]", 1024);
        let mut acks = Acks::new(1024, ms(100));
        acks.in_recovery = true;
        reno.on_feedback(&acks.event(Congestion::Timeout));
        reno.on_feedback(&acks.event(Congestion::Timeout));
        near("ssthresh", state(&*reno, "ssthresh"), 16.0, 1e-9)
    });
    vectors.holds("newreno", "reno.rs zero_length_ack_does_not_grow_window", || {
        let mut reno = controller("newreno", 1024);
        reno.on_feedback(&Acks::new(1024, ms(100)).of(0.0));
        near("cwnd", state(&*reno, "cwnd"), 10.0, 1e-9)
    });
    vectors.holds("cubic", "cubic.rs repeated_rto_holds_ssthresh: 22.4 twice", || {
        let mut window = CubicWindow::new(&curve(32.0));
        let mut acks = Acks::new(1024, ms(100));
        acks.in_recovery = true;
        for _ in 0..2 {
            window.on_feedback(&acks.event(Congestion::Timeout));
            near("ssthresh", window.ssthresh(), 22.4, 1e-9)?;
            near("cwnd", window.cwnd(), 1.0, 1e-9)?;
        }
        Ok(())
    });
    vectors.holds("cubic", "cubic.rs progress_to_ca_via_rto: the plateau is at the start", || {
        let mut window = CubicWindow::new(&curve(34.0));
        let mut acks = Acks::new(1024, ms(100));
        window.on_feedback(&acks.event(Congestion::Timeout));
        while window.in_slow_start() {
            acks.now += ms(1);
            let before = window.cwnd();
            window.on_feedback(&acks.of(1.0));
            that("at most a packet more", window.cwnd() <= before + 1.0)?;
        }
        window.on_feedback(&acks.of(1.0));
        same("K", bench::of(&window, "k"), 0.0)
    });
    vectors
}
