//! msquic (4984c21): Cubic, HyStart++, one reaction per window.

use paceline_cc::{Congestion, Span};
use paceline_peers::vector::{Vectors, near, same, that};
use paceline_schemes::cubic::CubicWindow;

use crate::bench::{self, Acks, Books, SlowStart, curve, epoch, gain, ms};

/// Bytes of a packet in msquic's tests.
const PACKET: f64 = 1232.0;

pub(crate) fn vectors() -> Vectors {
    let mut vectors = Vectors::of("msquic");
    for (test, congestion) in [
        ("CubicTest.cpp OnDataLost: 17,248 of 24,640 bytes", Congestion::Loss),
        ("CubicTest.cpp OnEcn: 17,248 of 24,640 bytes", Congestion::Ecn),
    ] {
        vectors.holds("cubic", test, move || {
            let mut window = CubicWindow::new(&curve(20.0));
            window.on_feedback(&Acks::new(1232, ms(50)).event(congestion));
            near("bytes", window.cwnd() * PACKET, 17_248.0, 1.0)
        });
    }
    vectors.holds("cubic", "CubicTest.cpp FastConvergence: W_max 21,991 bytes", || {
        let (mut window, mut acks) = epoch(&curve(30.0), ms(50));
        window.on_feedback(&acks.event(Congestion::Loss));
        near("bytes", bench::of(&window, "w_max") * PACKET, 21_991.0, 2.0)
    });
    vectors.holds("cubic", "CubicTest.cpp MinimumWindowFloor_AfterLoss: two packets", || {
        let (window, _) = epoch(&curve(2.0), ms(50));
        near("ssthresh", window.ssthresh(), 2.0, 1e-9)
    });
    vectors.holds("cubic", "CubicTest.cpp BoundedGrowthClamp: 20,000 bytes gain 616", || {
        let gained = gain(20.0, 20_000.0 / PACKET, Span::from_secs(30_000), ms(50));
        near("bytes", gained * PACKET, 616.0, 0.5)
    });
    vectors.holds(
        "cubic",
        "CubicTest.cpp SpuriousCongestion_StateRollback: 20 packets, once",
        || {
            let mut window = CubicWindow::new(&curve(20.0));
            let mut acks = Acks::new(1232, ms(50));
            for congestion in [Congestion::Loss, Congestion::Undo, Congestion::Undo] {
                window.on_feedback(&acks.event(congestion));
            }
            near("cwnd", window.cwnd(), 20.0, 1e-9)
        },
    );
    vectors.holds(
        "HyStart++",
        "CubicTest.cpp HyStart_TerminalState: a loss ends it for good",
        || {
            let mut start = SlowStart::rfc9406();
            start.turns_conservative(100, 120);
            start.window.on_feedback(&start.acks.event(Congestion::Loss));
            start.window.on_feedback(&start.acks.event(Congestion::Undo));
            start.round(ms(100), 9);
            start.round(ms(200), 9);
            let gained = start.ack(ms(200));
            that("no conservative slow start", !start.window.in_slow_start() || gained > 0.9)
        },
    );
    vectors.holds("episodes", "CubicTest.cpp Recovery_DoubleLossNoDoubleReduction", || {
        let mut books = Books::new(1000);
        books.send(20);
        same("first", books.sack(3, 3, 14_000).congestion, Some(Congestion::Loss))?;
        same("second", books.sack(10, 10, 14_000).congestion, None)
    });
    vectors
}
