//! Acknowledgements of anything at all.

use paceline_cc::{Ack, Plan, Rate, Stream, Time};
use paceline_flow::RtoBounds;

use super::desk::{Desk, bulk};

/// Whatever a receiver claims, the sender neither panics nor sends beyond its window, and goes on.
#[test]
fn whatever_the_receiver_claims() {
    let mut random = Stream::new(3, "hostile receiver");
    for round in 0..60 {
        let mut plan = Plan::window(15_000);
        plan.pacing = (round % 3 == 0).then(|| Rate::from_mbps(5.0));
        plan.reduces_by_prr = round % 2 == 0;
        let config = bulk().with(|config| {
            config.reliable = round % 4 < 2;
            config.receive_window = if round % 5 == 0 { 30_000 } else { u64::MAX };
            config.rto = RtoBounds { max: paceline_cc::Span::from_secs(2), ..RtoBounds::LINUX };
        });
        let mut desk = Desk::new(config, plan);
        let (mut now, mut sent) = (0, 0);
        for _ in 0..300 {
            now += random.below(50);
            sent += desk.until(now).len() as u64;
            // The window, and a probe beyond it; each reaction that is taken back brings as many bytes
            // back, and there may be two before any of them has a fate.
            assert!(desk.in_flight() <= 3 * (15_000 + 1500), "{} bytes", desk.in_flight());
            desk.push(Ack { received: Time::from_millis(now), ..anything(&mut random, sent) });
        }
        let before = sent;
        assert!(before + desk.until(now + 10_000).len() as u64 > before, "round {round}: stuck");
    }
}

fn anything(random: &mut Stream, sent: u64) -> Ack {
    let mut near = |span: u64| match random.below(8) {
        0 => random.next_u64(),
        1 => u64::MAX - random.below(3),
        _ => random.below(span + 5),
    };
    Ack {
        largest: near(sent),
        cumulative: near(sent),
        ce_packets: near(9) as u32,
        lengths: [near(20) as u32, near(5) as u32, near(5) as u32],
        gaps: [near(5) as u32, near(5) as u32],
        explicit: near(100) as u32,
        ece: near(1) == 0,
        ..Ack::default()
    }
}
