//! CWR, which answers the classic echo of a mark, stands on new data only (RFC 3168 §6.1.2).

use std::collections::VecDeque;

use paceline_cc::{Body, Packet, Setup, Span, Spec, Stage, Time};
use paceline_flow::{Receiver, ReceiverConfig, SENDER_SIGNALS, Sender, SenderConfig};
use paceline_schemes::registry;

#[test]
fn a_repair_after_a_timeout_has_no_cwr_and_the_next_new_packet_has_it() {
    let newreno = registry::build(&Spec::parse("newreno").expect("a scheme")).expect("newreno");
    let config = SenderConfig::of(&newreno, Setup::new(1, 0));
    let mut sender =
        Sender::new(config, newreno.controller.clone(), SENDER_SIGNALS).expect("its signals");
    let mut receiver = Receiver::new(ReceiverConfig::of(&newreno, Setup::new(1, 0)));
    let mut wire: VecDeque<(Time, Packet)> = VecDeque::new();
    let (mut place, mut now) = (Packet::opaque(0), Time::ZERO);
    let outage = Time::from_millis(300)..Time::from_millis(1500);
    // Segments, one more than the largest so far, and which packets had CWR.
    let (mut end, mut answers, mut repairs) = (0, Vec::new(), 0);
    while now < Time::from_secs(3) {
        let arrival = wire.front().map_or(Time::NEVER, |(at, _)| *at);
        now = now.max(arrival.min(sender.wake()).min(receiver.wake()));
        if arrival <= now
            && let Some((_, packet)) = wire.pop_front()
        {
            match packet.body {
                Body::Data(_) => receiver.push(now, &packet),
                _ => sender.push(now, &packet),
            }
        }
        while sender.pop_into(now, &mut place) || receiver.pop_into(now, &mut place) {
            if let Body::Data(data) = &place.body {
                let is_new = data.segment >= end;
                end = end.max(data.segment + 1);
                repairs += u32::from(!is_new);
                if data.cwr {
                    answers.push((now, is_new));
                }
            }
            if !outage.contains(&now) {
                wire.push_back((now + Span::from_millis(50), place));
            }
        }
    }
    assert!(sender.stats().timeouts > 0 && repairs > 0);
    assert!(answers.iter().all(|(_, is_new)| *is_new), "{answers:?}");
    assert!(answers.iter().any(|(at, _)| *at > outage.end), "{answers:?}");
}
