//! Tests of the receiver: what its acknowledgements say, and when they leave.

use paceline_cc::{Ack, AckPolicy, Body, Data, Ecn, Packet, Reporter, Span, Stage, Time, Verdict};
use paceline_flow::{Receiver, ReceiverConfig};

/// Adds up the bytes that have arrived since the last acknowledgement, and lets acknowledgements
/// that wait leave when the mark changes, as DCTCP's receiver does.
#[derive(Default)]
struct ByteCountReporter {
    bytes: u32,
    mark: Ecn,
}

impl Reporter for ByteCountReporter {
    fn flushes(&self, packet: &Packet) -> bool {
        packet.ecn != self.mark
    }
    fn on_arrival(&mut self, _now: Time, packet: &Packet) -> Verdict {
        self.bytes += packet.size;
        self.mark = packet.ecn;
        Verdict::default()
    }
    fn echo(&self) -> Ecn {
        self.mark
    }
    fn explicit(&mut self) -> u32 {
        std::mem::take(&mut self.bytes)
    }
}

fn data(number: u64, size: u32, ecn: Ecn) -> Packet {
    let data = Data { number, segment: number, ..Data::default() };
    Packet { ecn, body: Body::Data(data), ..Packet::opaque(size) }
}

/// The acknowledgements that leave at `now`.
fn pop(receiver: &mut Receiver, now: Time) -> Vec<Ack> {
    let mut place = Packet::opaque(0);
    let mut acks = Vec::new();
    while receiver.pop_into(now, &mut place) {
        let Body::Ack(ack) = place.body else { panic!("{place:?}") };
        acks.push(ack);
    }
    acks
}

/// RFC 8257 §3.2: an acknowledgement that a change of the mark sends off is for the packets before
/// it. Neither its echo nor what the reporter adds up knows of the packet that changed the mark.
#[test]
fn a_flushed_acknowledgement_knows_nothing_of_the_packet_that_flushes_it() {
    let config = ReceiverConfig::new(0).with(|config| {
        config.ack = AckPolicy { every: 4, delay: Span::from_millis(40) };
        config.reporter = Some(Box::new(ByteCountReporter { bytes: 0, mark: Ecn::Ect0 }));
    });
    let mut receiver = Receiver::new(config);
    receiver.push(Time::from_millis(1), &data(0, 1000, Ecn::Ect0));
    receiver.push(Time::from_millis(2), &data(1, 1200, Ecn::Ect0));
    assert!(pop(&mut receiver, Time::from_millis(2)).is_empty());
    receiver.push(Time::from_millis(3), &data(2, 1500, Ecn::Ce));
    let acks = pop(&mut receiver, Time::from_millis(3));
    let said = |ack: &Ack| (ack.largest, ack.cumulative, ack.ce_packets, ack.echo, ack.explicit);
    let said: Vec<_> = acks.iter().map(said).collect();
    assert_eq!(said, [(1, 2, 0, Ecn::Ect0, 2200)]);
    // The packet that changed the mark waits for its own acknowledgement, which counts it.
    assert!(pop(&mut receiver, Time::from_millis(42)).is_empty());
    let acks = pop(&mut receiver, Time::from_millis(43));
    assert_eq!(acks.len(), 1);
    assert_eq!((acks[0].largest, acks[0].ce_packets), (2, 1));
    assert_eq!((acks[0].echo, acks[0].explicit), (Ecn::Ce, 1500));
}
