//! RCP, VCP and ABC: figures computed by hand from their papers and ns-2 models.

use paceline_cc::{
    Body, Data, Ecn, Header, Load, Packet, Rate, RcpHeader, Span, Time, TrafficClass,
};
use paceline_peers::vector::{Vectors, near, same};

use crate::bench::{Acks, Hop, at, controller, header_of, ms, state, with_header};

pub(crate) fn vectors() -> [Vectors; 4] {
    [rcp(), vcp_paper(), vcp_model(), abc()]
}

/// 10 Mbit/s, slots of 10 ms, an RTT of 100 ms, and the model's gains.
const RCP: &str = "rcp[alpha=0.4,beta=0.226,eta=1,t=10ms,rtt=100ms,initial_rate=2Mbps]";

/// Returns RCP's router after a slot of 10 ms in which a packet of `bytes` with the RTT `rtt` in
/// its header arrived and `queue` bytes waited.
fn after_a_slot(scheme: &str, bytes: u32, rtt: u64, queue: u64) -> Hop {
    let mut hop = Hop::new(scheme, 10.0);
    hop.queue = queue;
    for (now, bytes) in [(5, bytes), (10, 0)] {
        let header = RcpHeader { rtt: ms(rtt), rate: Rate::from_bps(u64::MAX) };
        hop.arrive(at(now), &mut with_header(bytes, Header::Rcp(header)));
    }
    hop
}

fn rcp() -> Vectors {
    let mut vectors = Vectors::of("RCP's ns-2 model");
    for (test, bytes, queue, factor) in [
        ("queue_timeout: an unused link, 1 + 0.1 x 0.4", 0, 0, 1.04),
        ("queue_timeout: half of the link used", 6250, 0, 1.02),
        (
            "queue_timeout: all used, and a queue of half an RTT",
            12_500,
            62_500,
            1.0 - 0.1 * 0.226 * 0.5,
        ),
        ("queue_timeout: twice the link's capacity arrives", 25_000, 0, 0.96),
    ] {
        vectors.holds("rcp", test, move || {
            let hop = after_a_slot(RCP, bytes, 100, queue);
            near("Mbit/s", hop.state("rate_mbps"), 2.0 * factor, 1e-6)
        });
    }
    vectors.holds("rcp", "queue_timeout: not above gamma times the capacity", || {
        let scheme = "rcp[alpha=0.5,beta=0.25,eta=0.95,t=10ms,rtt=10ms,initial_rate=9Mbps]";
        near("Mbit/s", after_a_slot(scheme, 0, 10, 0).state("rate_mbps"), 9.5, 1e-6)
    });
    vectors.holds("rcp", "queue_timeout: a longer RTT counts by T / d0", || {
        near("d0, ms", after_a_slot(RCP, 12_500, 200, 0).state("d0_ms"), 110.0, 1e-6)
    });
    vectors.by_design(
        "rcp",
        "queue_timeout: a shorter RTT counts by R/C RTT/d0 T/d0",
        "the thesis uses one gain for RTTs above and below the mean; the model uses a part of it for those below",
        || near("d0, ms", after_a_slot(RCP, 12_500, 50, 0).state("d0_ms"), 99.5, 1e-6),
    );
    vectors.holds("rcp", "fill_in_feedback: the smaller of what is asked for and R", || {
        let mut hop = Hop::new(RCP, 10.0);
        for (asked, granted) in [(1.0, 1.0), (5.0, 2.0)] {
            let header = RcpHeader { rtt: ms(100), rate: Rate::from_mbps(asked) };
            let mut packet = with_header(1500, Header::Rcp(header));
            hop.depart(at(1), &mut packet, Span::ZERO);
            let Some(Header::Rcp(header)) = header_of(&packet) else {
                return Err("no header".into());
            };
            same("Mbit/s", header.rate.as_mbps(), granted)?;
        }
        Ok(())
    });
    vectors
}

/// Returns VCP's window after all packets of a window of `cwnd` are acknowledged with `load`.
fn vcp_window(cwnd: f64, rtt: u64, load: Load) -> f64 {
    let mut sender = controller(&format!("vcp[t_rho=200ms,initial_window={cwnd}]"), 1000);
    let mut acks = Acks::new(1000, ms(rtt));
    for _ in 0..cwnd as u32 {
        let mut feedback = acks.of(1.0);
        feedback.explicit = load as u32;
        sender.on_feedback(&feedback);
    }
    state(&*sender, "cwnd")
}

fn vcp_paper() -> Vectors {
    let mut vectors = Vectors::of("VCP's paper");
    // xi is 0.25 (1/0.8 - 1) per t_rho; each acknowledgement opens the window by its share.
    for (test, cwnd, rtt, load, expected, tolerance) in [
        ("§3.2: MI by 1.0625 at an RTT of t_rho", 16.0, 200, Load::Low, 17.0, 1e-6),
        (
            "§3.3, eq. 7: MI at an RTT of 100 ms",
            16.0,
            100,
            Load::Low,
            16.0 * 1.0625f64.sqrt(),
            1e-6,
        ),
        ("§3.3, eq. 8: AI of one packet at 100 ms", 100.0, 100, Load::High, 101.0, 0.01),
        ("§3.3, eq. 8: AI of four packets at 200 ms", 100.0, 200, Load::High, 104.0, 0.1),
        ("§3.2: MD to 0.875 once", 100.0, 100, Load::Overload, 87.5, 1e-6),
    ] {
        vectors.holds("vcp", test, move || {
            near("cwnd", vcp_window(cwnd, rtt, load), expected, tolerance)
        });
    }
    for (test, arrived, queue, load) in [
        ("§3.1, eq. 1: the load of 200,000 bytes of 250,000", 200_000, 0, 0.8),
        ("§3.1, eq. 1: and half of a queue of 50,000 bytes", 225_000, 50_000, 1.0),
    ] {
        vectors.holds("vcp", test, move || {
            let mut hop = Hop::new("vcp[gamma_l=1,kappa_q=0.5,t_rho=200ms]", 10.0);
            hop.queue = queue;
            // Sixty intervals, in which the queue's average settles.
            for tenth in 0..600 {
                hop.arrive(at(20 * tenth + 5), &mut Packet::opaque(arrived / 10));
            }
            hop.arrive(at(12_000), &mut Packet::opaque(0));
            near("load", hop.state("load"), load, 1e-6)
        });
    }
    vectors
}

fn vcp_model() -> Vectors {
    let mut vectors = Vectors::of("VCP's ns-2 model");
    vectors.holds("vcp", "vcp-src.cc: MI of an RTT above 2.5 t_rho counts as 2.5", || {
        near("cwnd", vcp_window(16.0, 800, Load::Low), 16.0 * 1.0625f64.powf(2.5), 1e-6)
    });
    vectors.holds("vcp", "vcp-src.cc: AI below 20 ms is linear, 0.02 packets at 10 ms", || {
        near("cwnd", vcp_window(50.0, 10, Load::High), 50.02, 1e-3)
    });
    vectors.holds("vcp", "vcp-src.cc: AI above 500 ms, 26 packets at 600 ms", || {
        let expected = (0..200).fold(200.0, |cwnd: f64, _| cwnd + 26.0 / cwnd);
        near("cwnd", vcp_window(200.0, 600, Load::High), expected, 0.01)
    });
    vectors.holds(
        "vcp",
        "vcp-src.cc: overload cuts, freezes for t_rho, adds for an RTT, cuts",
        || {
            let scheme = "vcp[t_rho=200ms,initial_window=100,settle=overload]";
            let mut sender = controller(scheme, 1000);
            let mut acks = Acks::new(1000, ms(100));
            let once = 87.5 + 1.0 / 87.5;
            let twice = once + 1.0 / once;
            for (now, expected) in [
                (1000, 87.5),
                (1100, 87.5),
                (1199, 87.5),
                (1201, once),
                (1299, twice),
                (1301, 0.875 * twice),
            ] {
                acks.now = at(now);
                let mut feedback = acks.of(1.0);
                feedback.explicit = Load::Overload as u32;
                sender.on_feedback(&feedback);
                near(&format!("cwnd at {now}"), state(&*sender, "cwnd"), expected, 1e-6)?;
            }
            Ok(())
        },
    );
    vectors.by_design(
        "vcp",
        "vcp-queue.cc: 79.5 % is a high load, as percentages are rounded up",
        "the paper's bounds between the loads are 80 and 100 %",
        || {
            let mut hop = Hop::new("vcp[gamma_l=1,t_rho=200ms]", 10.0);
            hop.arrive(at(100), &mut Packet::opaque(198_750));
            let mut packet = with_header(0, Header::Vcp(Load::Low));
            hop.depart(at(201), &mut packet, Span::ZERO);
            let Some(Header::Vcp(load)) = header_of(&packet) else {
                return Err("no header".into());
            };
            same("load", load, Load::High)
        },
    );
    vectors
}

/// Returns the fraction of accelerates on a link of 12 Mbit/s that is never idle, for a sojourn
/// time in ms.
fn accelerates(sojourn: u64) -> f64 {
    let mut hop = Hop::new("abc[delay=sojourn,eta=0.98,delta=133ms,dt=20ms]", 12.0);
    hop.queue = 15_000;
    for number in 0..500 {
        let body = Body::Data(Data { number, segment: number, ..Data::default() });
        let mut packet = Packet { flow: 1, body, ..Packet::opaque(1500) };
        (packet.ecn, packet.class) = (Ecn::Ect1, TrafficClass::EXPLICIT);
        let now = Time::from_millis(1000 + number);
        hop.arrive(now, &mut packet);
        hop.depart(now + Span::from_micros(500), &mut packet, ms(sojourn));
    }
    hop.state("accel_fraction")
}

/// Returns ABC's window after `count` acknowledgements that echo a mark.
fn abc_window(cwnd: f64, echo: Ecn, count: u32) -> f64 {
    let scheme = format!("abc[dual_window=false,initial_window={cwnd}]");
    let mut sender = controller(&scheme, 1000);
    let mut acks = Acks::new(1000, ms(100));
    for _ in 0..count {
        let mut feedback = acks.of(1.0);
        feedback.echo = echo;
        sender.on_feedback(&feedback);
    }
    state(&*sender, "w_abc")
}

fn abc() -> Vectors {
    let mut vectors = Vectors::of("ABC's paper");
    for (test, sojourn, fraction) in [
        ("eq. 1, 2: no queue beyond dt, half of eta", 20, 0.49),
        ("eq. 1, 2: half of delta beyond dt", 20 + 66, 0.5 * (0.98 - 66.0 / 133.0)),
        ("eq. 1, 2: delta beyond dt, no accelerate", 20 + 133, 0.0),
    ] {
        vectors.holds("abc", test, move || near("fraction", accelerates(sojourn), fraction, 0.005));
    }
    for (test, echo, expected) in [
        ("eq. 3: an accelerate, 1 + 1/w", Ecn::Ect1, 11.1),
        ("eq. 3: a brake, -1 + 1/w", Ecn::Ect0, 9.1),
    ] {
        vectors.holds("abc", test, move || near("w", abc_window(10.0, echo, 1), expected, 1e-9));
    }
    vectors.holds(
        "abc",
        "§3.1: a round trip of accelerates doubles the window, and ln 2 more",
        || near("w", abc_window(100.0, Ecn::Ect1, 100), 200.0 + 2f64.ln(), 0.5),
    );
    vectors
}
