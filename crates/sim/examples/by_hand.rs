//! One Cubic flow without the simulator: `cargo run --example by_hand`. The loop below drives a
//! sender, a link with a queue, a receiver and two pipes. That is all that a driver does: it
//! supplies the time, and carries packets from one stage to the next.

use paceline_sim::flow::{Receiver, ReceiverConfig, SENDER_SIGNALS, Sender, SenderConfig};
use paceline_sim::path::{Limit, Link, Pipe, Service, queue};
use paceline_sim::{
    cc::{Packet, Rate, RouterSetup, Setup, Span, Spec, Stage, Stream, Time},
    schemes::registry,
};

/// Pushes the packets that leave one stage at `now` into the next one.
fn hand_over(now: Time, from: &mut impl Stage, to: &mut impl Stage) {
    let mut packet = Packet::opaque(0);
    while from.pop_into(now, &mut packet) {
        to.push(now, &packet);
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The halves of a scheme, by name: any name of `paceline schemes` works.
    let halves = registry::build(&Spec::parse("cubic")?)?;

    // The two ends: a bulk flow with number 0, in a run with seed 1.
    let config = SenderConfig::of(&halves, Setup::new(1, 0));
    let mut sender = Sender::new(config, halves.controller.clone(), SENDER_SIGNALS)?;
    let mut receiver = Receiver::new(ReceiverConfig::of(&halves, Setup::new(1, 0)));

    // Between them a link of 12 Mbit/s with a buffer of 100 packets, and 25 ms each way. The caller
    // gives a queue its random stream, even though droptail draws no numbers.
    let random = Stream::new(1, "queue");
    let queue = queue::build(&Spec::parse("droptail")?, Limit::packets(100), random)?;
    let mut link = Link::new(queue, Service::constant(Rate::from_mbps(12.0)));
    if let Some(make) = &halves.router {
        link = link.with_router(make(&RouterSetup::new(1, "link")));
    }
    let mut there = Pipe::new(Span::from_millis(25));
    let mut back = Pipe::new(Span::from_millis(25));

    let mut text = String::from("  second   Mbit/s   window kB   RTT ms   lost\n");
    let mut now = Time::ZERO;
    let mut received = 0;
    for second in 1..=10 {
        loop {
            // Each stage returns when a packet may next leave it. The earliest time is the next
            // event; zero means at once.
            let next = sender.wake().min(link.wake()).min(there.wake());
            let next = next.min(receiver.wake()).min(back.wake()).max(now);
            if next >= Time::from_secs(second) {
                break;
            }
            now = next;
            hand_over(now, &mut sender, &mut link);
            hand_over(now, &mut link, &mut there);
            hand_over(now, &mut there, &mut receiver);
            hand_over(now, &mut receiver, &mut back);
            hand_over(now, &mut back, &mut sender);
        }
        let goodput = receiver.stats().goodput - received;
        received += goodput;
        let mbps = goodput as f64 * 8.0 / 1e6;
        let window = sender.plan().cwnd as f64 / 1e3;
        let rtt = sender.rtt().smoothed().as_secs_f64() * 1e3;
        let lost = sender.stats().lost;
        text += &format!("{second:8}{mbps:9.2}{window:12.0}{rtt:9.0}{lost:7}\n");
    }
    std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes())?;
    Ok(())
}
