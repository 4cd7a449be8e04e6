//! Packets of a tunnel's device and messages of the Saturator: no panic; queues know their
//! contents; answers to packets that are too long, and openings of TCP connections, are still
//! packets; and messages that were read and written again are read as equal messages.
#![no_main]

use libfuzzer_sys::fuzz_target;
use paceline_cc::Time;
use paceline_ip::{icmp, mss, packet};
use paceline_transfer::tunnel::queues::FlowQueues;
use paceline_wire::saturator::Message;

fuzz_target!(|bytes: &[u8]| {
    if let Ok((message, length)) = Message::read(bytes) {
        let mut again = vec![0; length];
        assert_eq!(message.write(&mut again), Ok(length));
        assert_eq!(again, bytes[..length], "{message:?}");
    }
    // Packets, each after its length in two bytes, and a third byte that decides whether one leaves
    // the queues.
    let (mut queues, mut rest) = (FlowQueues::new(1400), bytes);
    while let Some((&[high, low, pop], behind)) = rest.split_first_chunk() {
        let length = usize::from(u16::from_be_bytes([high, low])).min(behind.len());
        let (one, behind) = behind.split_at(length);
        rest = behind;
        let parsed = packet::parse(one);
        assert_eq!(queues.push(Time::ZERO, one, 14_400), parsed.is_ok());
        assert!(parsed.is_err() || parsed.is_ok_and(|parsed| parsed.length <= one.len()));
        assert!(queues.bytes() <= 14_400 || queues.len() == 1);
        let mtu = usize::from(pop) * 8;
        let _ = icmp::may_refuse(one);
        if let Some(answer) = icmp::too_big(one, mtu) {
            let whole = packet::parse(&answer).map(|answer| answer.length);
            assert_eq!(whole, Ok(answer.len()));
            assert_eq!(icmp::too_big(&answer, mtu), None, "an error is not answered");
        }
        if let Some(at) = mss::opening(one) {
            let mut clamped = one.to_vec();
            mss::clamp(&mut clamped, at, mtu);
            assert_eq!(packet::parse(&clamped).map(|it| it.length), parsed.map(|it| it.length));
            assert!(!mss::clamp(&mut clamped, at, mtu), "once is enough");
        }
        if pop & 1 == 1 {
            let _ = queues.pop(Time::ZERO);
        }
    }
    let mut bytes = queues.bytes();
    while let Some(packet) = queues.pop(Time::ZERO) {
        bytes -= packet.len() as u64;
    }
    assert!(bytes == 0 && queues.is_empty());
});
