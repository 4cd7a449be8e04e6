//! quinn (a1931ab): Cubic, the filter of the maximum bandwidth.

use paceline_cc::{Congestion, Span};
use paceline_peers::vector::{Vectors, near, same, that};
use paceline_schemes::parts::WindowedMax;

use crate::bench::{self, curve, epoch, ms};

pub(crate) fn vectors() -> Vectors {
    let mut vectors = Vectors::of("quinn");
    vectors.holds("cubic", "cubic.rs fast convergence: 8 of 12 packets leave W_max 6.8", || {
        let (mut window, mut acks) = epoch(&curve(12.0), ms(100));
        window.cap(8.0);
        window.on_feedback(&acks.event(Congestion::Loss));
        near("W_max", bench::of(&window, "w_max"), 6.8, 1e-9)?;
        near("ssthresh", window.ssthresh(), 5.6, 1e-9)
    });
    vectors.holds("cubic", "cubic.rs ten days without loss: at most a packet more", || {
        let (mut window, mut acks) = epoch(&curve(12.0), ms(100));
        let before = window.cwnd();
        acks.now += Span::from_secs(10 * 86_400);
        window.on_feedback(&acks.of(1.0));
        that("finite and at most one more", window.cwnd() <= before + 1.0)
    });
    vectors.holds("bandwidth filter", "bbr/min_max.rs test", || {
        let mut filter = WindowedMax::new(10);
        // Round trip, value, maximum over the last ten round trips.
        for (round, value, largest) in [
            (26, 100, 100),
            (28, 120, 120),
            (30, 160, 160),
            (32, 100, 160),
            (35, 100, 160),
            (39, 100, 160),
            (41, 100, 100),
            (43, 130, 130),
        ] {
            same(&format!("in round {round}"), filter.update(round, value), largest)?;
        }
        Ok(())
    });
    vectors
}
