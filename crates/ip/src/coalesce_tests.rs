use paceline_cc::{Ecn, Stream};

use super::*;
use crate::marks::Marks;
use crate::offload::Layout;
use crate::packet::parse;
use paceline_testing::packets::PacketSpec;

/// A packet of a flow: TCP with ACK alone unless `flags` says otherwise.
const TCP4: PacketSpec = PacketSpec { protocol: TCP, flags: ACK, ..PacketSpec::UDP4 };

/// What the coalescer has written after these packets: pieces with their device headers.
fn pieces<'a>(
    datagrams: bool,
    packets: impl IntoIterator<Item = &'a Vec<u8>>,
) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut coalescer = Coalescer::new(datagrams);
    let mut written = Vec::new();
    let mut write = |device: &[u8], packet: &[u8]| written.push((device.to_vec(), packet.to_vec()));
    packets.into_iter().for_each(|packet| coalescer.push(packet, &mut write));
    coalescer.flush(&mut write);
    assert_eq!(coalescer.active, 0);
    written
}

/// The packets on the wire that the kernel makes of pieces.
fn cut(pieces: &[(Vec<u8>, Vec<u8>)]) -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    for (device, packet) in pieces {
        let layout = Layout::new(device, packet, &parse(packet).expect("a packet"));
        let layout = layout.expect("the device's header and the packet agree");
        assert_eq!(layout.length(), packet.len());
        for segment in 0..layout.segments() {
            let mut out = Vec::new();
            layout.complete(packet, segment, &Marks::ecn(layout.ecn()), &mut out);
            packets.push(out);
        }
    }
    packets
}

/// Packets of one flow as a sender sends them: `lengths` of payload, sequence numbers in order.
fn flow(first: PacketSpec, lengths: &[usize]) -> Vec<Vec<u8>> {
    let (mut at, mut id) = (first.sequence, first.id);
    let packet = |length: &usize| {
        let payload: Vec<u8> = (0..*length).map(|i| (i * 7 + at as usize) as u8).collect();
        let spec = PacketSpec { sequence: at, id, ..first };
        at = at.wrapping_add(*length as u32);
        id = id.wrapping_add(1);
        spec.build(&payload, false)
    };
    lengths.iter().map(packet).collect()
}

#[test]
fn a_piece_is_cut_into_the_packets_that_it_was_made_of() {
    let mut stream = Stream::new(5, "coalesce");
    for round in 0..300 {
        // Up to ten flows, one more than have pieces at the same time, in any order.
        let flows = 1 + stream.below(10) as usize;
        let mut waiting: Vec<Vec<Vec<u8>>> = (0..flows)
            .map(|index| {
                let like = PacketSpec {
                    ipv4: stream.chance(0.5),
                    protocol: if stream.chance(0.7) { TCP } else { UDP },
                    ecn: if stream.chance(0.5) { Ecn::Ect0 } else { Ecn::NotEct },
                    id: 65_500 + stream.below(36) as u16,
                    sequence: u32::MAX - stream.below(50_000) as u32,
                    flags: if stream.chance(0.3) { ACK | ECE } else { ACK },
                    port: 1000 + index as u16,
                };
                let step = 1 + stream.below(1460) as usize;
                let lengths: Vec<usize> = (0..stream.below(100))
                    .map(|_| match stream.chance(0.9) {
                        true => step,
                        // Also none, and longer than those before.
                        false => stream.below(1460) as usize,
                    })
                    .collect();
                let mut packets = flow(like, &lengths);
                packets.reverse();
                packets
            })
            .collect();
        let mut order = Vec::new();
        while waiting.iter().any(|packets| !packets.is_empty()) {
            let index = stream.below(flows as u64) as usize;
            (0..1 + stream.below(20)).for_each(|_| order.extend(waiting[index].pop()));
        }
        let cut = cut(&pieces(round % 2 == 0, &order));
        assert_eq!(cut.len(), order.len());
        // Nothing is changed, and each flow has its order.
        let key = |packet: &Vec<u8>| parse(packet).map(|parsed| parsed.flow).expect("a packet");
        for flow in order.iter().map(key).collect::<std::collections::BTreeSet<_>>() {
            let of = |all: &[Vec<u8>]| -> Vec<Vec<u8>> {
                all.iter().filter(|packet| key(packet) == flow).cloned().collect()
            };
            assert_eq!(of(&cut), of(&order), "round {round}");
        }
    }
}

#[test]
fn segments_in_order_become_one_piece() {
    for ipv4 in [true, false] {
        let like = PacketSpec { ipv4, ..TCP4 };
        let written = pieces(false, &flow(like, &[1369; 47]));
        // 65,535 bytes are the most.
        let lengths: Vec<usize> = written.iter().map(|(_, packet)| packet.len()).collect();
        assert_eq!(lengths, [like.headers() + 47 * 1369]);
        let written = pieces(false, &flow(like, &[1369; 48]));
        assert_eq!(written.len(), 2);
        // UDP only where the device takes it; 64 datagrams at most.
        let like = PacketSpec { ipv4, protocol: UDP, flags: 0, ..TCP4 };
        let packets = flow(like, &[100; 70]);
        assert_eq!((pieces(true, &packets).len(), pieces(false, &packets).len()), (2, 70));
    }
}

#[test]
fn what_does_not_continue_a_piece_is_written_after_it() {
    let [first, next] = [&flow(TCP4, &[100, 100])[0], &flow(TCP4, &[100, 100])[1]];
    let spec = PacketSpec { sequence: 100, id: 8, ..TCP4 };
    let payload = &next[52..];
    let joined = |packet: &Vec<u8>| {
        let written = pieces(true, [first, packet]);
        assert_eq!(cut(&written), [first.clone(), packet.clone()]);
        written.len() == 1
    };
    assert!(joined(next));
    for (name, other) in [
        ("a gap", PacketSpec { sequence: 101, ..spec }),
        ("sent again", PacketSpec { sequence: 0, ..spec }),
        ("marked", PacketSpec { ecn: Ecn::Ce, ..spec }),
        ("another identification", PacketSpec { id: 9, ..spec }),
        ("CWR", PacketSpec { flags: ACK | 0x80, ..spec }),
        ("ECE", PacketSpec { flags: ACK | ECE, ..spec }),
        ("FIN", PacketSpec { flags: ACK | 1, ..spec }),
        ("URG", PacketSpec { flags: ACK | 0x20, ..spec }),
        ("RST", PacketSpec { flags: ACK | 4, ..spec }),
        ("SYN", PacketSpec { flags: 2, ..spec }),
        ("another port", PacketSpec { port: 999, ..spec }),
    ] {
        assert!(!joined(&other.build(payload, false)), "{name}");
    }
    // No payload, and more than the first one's.
    assert!(!joined(&spec.build(&[], false)));
    assert!(!joined(&spec.build(&[1; 101], false)));
    // Hop limit, window, and options (timestamps).
    for at in [8, 20 + 14, 20 + 24] {
        let mut packet = next.clone();
        packet[at] ^= 1;
        mend_checksums(&mut packet);
        assert!(!joined(&packet), "byte {at}");
    }
    // With "don't fragment" the identification does not matter, but it changes by being joined.
    let atomic = |id| {
        let mut packet = PacketSpec { id, ..spec }.build(payload, false);
        packet[6] = 0x40;
        mend_checksums(&mut packet);
        packet
    };
    let begin = PacketSpec { sequence: 0, ..spec }.build(&first[52..], false);
    let begin = {
        let mut packet = begin;
        packet[6] = 0x40;
        mend_checksums(&mut packet);
        packet
    };
    assert_eq!(pieces(false, [&begin, &atomic(0)]).len(), 1);
    // PSH and a shorter segment end a piece, which carries PSH then.
    let pushed = PacketSpec { flags: ACK | PSH, ..spec }.build(payload, false);
    let third = PacketSpec { sequence: 200, id: 9, ..TCP4 }.build(&[1; 100], false);
    let short = PacketSpec { ..spec }.build(&[1; 50], false);
    let after = PacketSpec { sequence: 150, id: 9, ..TCP4 }.build(&[1; 50], false);
    for packets in [[first, &pushed, &third], [first, &short, &after]] {
        let written = pieces(false, packets);
        assert_eq!((written.len(), cut(&written)), (2, packets.map(Clone::clone).to_vec()));
    }
}

/// Computes both checksums of a TCP packet anew.
fn mend_checksums(packet: &mut [u8]) {
    packet[10..12].fill(0);
    packet[36..38].fill(0);
    let checksum = !fold(sum(&packet[..20]));
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    let length = packet.len() - 20;
    let checksum = !fold(pseudo(packet, true, TCP, length) + sum(&packet[20..]));
    packet[36..38].copy_from_slice(&checksum.to_be_bytes());
}

#[test]
fn wrong_checksums_stay_wrong() {
    for protocol in [TCP, UDP] {
        for ipv4 in [true, false] {
            let like = PacketSpec { ipv4, protocol, ..TCP4 };
            let good = flow(like, &[100; 4]);
            assert_eq!(pieces(true, &good).len(), 1);
            // A byte of payload; in IPv4 the time to live, too.
            for at in [like.headers() + 50, 8].into_iter().take(if ipv4 { 2 } else { 1 }) {
                let mut packets = good.clone();
                packets[1][at] ^= 4;
                let written = pieces(true, &packets);
                assert_eq!((written.len(), cut(&written)), (3, packets));
            }
        }
    }
}

#[test]
fn nothing_panics() {
    let mut stream = Stream::new(3, "coalesce anything");
    let mut coalescer = Coalescer::new(true);
    let mut bytes = 0;
    let mut write = |device: &[u8], packet: &[u8]| {
        assert_eq!(device.len(), HEADER);
        bytes += packet.len();
    };
    for round in 0..20_000 {
        let like = PacketSpec {
            ipv4: stream.chance(0.5),
            protocol: if stream.chance(0.7) { TCP } else { UDP },
            sequence: 100 * (round % 4),
            ..TCP4
        };
        let mut packet = like.build(&[round as u8; 100], false);
        for _ in 0..stream.below(4) {
            let at = stream.below(80) as usize;
            packet[at] = stream.below(256) as u8;
        }
        packet.truncate(stream.below(packet.len() as u64 + 40) as usize);
        coalescer.push(&packet, &mut write);
    }
    coalescer.flush(&mut write);
    assert!(bytes > 0);
}
