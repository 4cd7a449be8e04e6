//! Arbitrary acknowledgements.

use paceline_cc::{Ack, Congestion, Plan, Rate, Stream, Time};
use paceline_flow::RtoBounds;

use super::desk::{Desk, bulk};

/// The window in bytes.
const WINDOW: u64 = 15_000;
const PACKET: u64 = 1500;

/// Whatever a receiver claims, the sender neither panics nor sends beyond its window, and
/// continues.
///
/// The window alone does not bound the flight: each timeout in a row declares a window lost, and
/// undoing the reaction puts all of them in flight again. But only an undo adds to the flight when
/// an acknowledgement arrives. And packets that leave fit into the window, except a tail probe and
/// the first packet retransmitted. Under proportional rate reduction they may also take the place
/// of bytes delivered since the reaction (RFC 6937), whether declared lost before or not.
#[test]
fn whatever_the_receiver_claims() {
    let mut random = Stream::new(3, "hostile receiver");
    let mut undone = 0;
    for round in 0..60 {
        let mut plan = Plan::window(WINDOW);
        plan.pacing = (round % 3 == 0).then(|| Rate::from_mbps(5.0));
        plan.reduces_by_prr = round % 2 == 0;
        let config = bulk().with(|config| {
            config.reliable = round % 4 < 2;
            config.receive_window = if round % 5 == 0 { 30_000 } else { u64::MAX };
            config.rto = RtoBounds { max: paceline_cc::Span::from_secs(2), ..RtoBounds::LINUX };
        });
        let mut desk = Desk::new(config, plan);
        let (mut now, mut sent, mut before, mut reacted) = (0, 0, 0, 0);
        for _ in 0..300 {
            now += random.below(50);
            sent += desk.until(now).len() as u64;
            let (in_flight, delivered) = (desk.in_flight(), desk.delivered());
            let replaced = if plan.reduces_by_prr { delivered - reacted } else { 0 };
            let most = before.max(WINDOW) + 2 * PACKET + replaced;
            assert!(in_flight <= most, "{in_flight} bytes, {before} before, {replaced} replaced");
            let mut reactions = desk.reactions();
            desk.push(Ack { received: Time::from_millis(now), ..anything(&mut random, sent) });
            let of_ack = desk.reactions();
            let undo = of_ack.contains(&Congestion::Undo);
            assert!(undo || desk.in_flight() <= in_flight, "{} after it", desk.in_flight());
            reactions.extend(of_ack);
            reacted = if reactions.is_empty() { reacted } else { delivered };
            undone += u64::from(undo);
            before = desk.in_flight();
        }
        let before = sent;
        assert!(before + desk.until(now + 10_000).len() as u64 > before, "round {round}: stuck");
    }
    assert!(undone > 20, "only {undone} reactions were taken back");
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
