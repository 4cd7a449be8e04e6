use paceline_cc::Stream;

use super::*;
use paceline_testing::packets::{PacketSpec, header_is_right};

const ALL: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];

#[test]
fn packets_are_understood() {
    for ipv4 in [true, false] {
        for (protocol, ecn) in [TCP, UDP].into_iter().zip([Ecn::Ect0, Ecn::Ce]) {
            let like = PacketSpec { ipv4, protocol, ecn, ..PacketSpec::UDP4 };
            let packet = like.build(&[1, 2, 3], false);
            let parsed = parse(&packet).expect("a packet");
            let transport = if ipv4 { 20 } else { 40 };
            assert_eq!(parsed.length, packet.len());
            assert_eq!((parsed.ipv4, parsed.ecn, parsed.protocol), (ipv4, ecn, protocol));
            assert_eq!(parsed.transport, Some(transport));
            // Bytes beyond the packet are not its own.
            let longer = [&packet[..], &[9; 40]].concat();
            assert_eq!(parse(&longer), Ok(parsed));
        }
    }
}

#[test]
fn flows_differ_by_ports_and_fragments_do_not() {
    let packet = |port| PacketSpec { port, ..PacketSpec::UDP4 }.build(&[0; 8], false);
    let flow = |packet: &[u8]| parse(packet).expect("a packet").flow;
    assert_eq!(flow(&packet(1)), flow(&packet(1)));
    let mut flows: Vec<_> = (0..20_000).map(|port| flow(&packet(port))).collect();
    flows.sort_unstable();
    flows.dedup();
    assert!(flows.len() > 19_990, "{}", flows.len());
    let fragment = |port| {
        let mut packet = packet(port);
        packet[6] = 0x20;
        packet
    };
    assert_eq!(flow(&fragment(1)), flow(&fragment(2)));
    assert_eq!(parse(&fragment(1)).map(|parsed| parsed.transport), Ok(None));
    // Pinned: logs and results of fair queues depend on it.
    assert_eq!(flow(&packet(1000)), 883_856_983);
}

#[test]
fn extension_headers_are_walked_over() {
    let inner = PacketSpec { ipv4: false, ..PacketSpec::UDP4 }.build(&[5; 20], false);
    let with = |kind: u8, extension: &[u8]| {
        let mut packet = inner[..40].to_vec();
        packet[6] = kind;
        packet.extend_from_slice(extension);
        packet.extend_from_slice(&inner[40..]);
        let length = (packet.len() - 40) as u16;
        packet[4..6].copy_from_slice(&length.to_be_bytes());
        packet
    };
    let options = with(HOP_BY_HOP, &[UDP, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let parsed = parse(&options).expect("a packet");
    assert_eq!((parsed.protocol, parsed.transport), (UDP, Some(56)));
    assert_eq!(parsed.flow, parse(&inner).expect("a packet").flow);
    let fragment = parse(&with(FRAGMENT, &[UDP, 0, 0, 1, 0, 0, 0, 1])).expect("a packet");
    assert_eq!((fragment.protocol, fragment.transport), (UDP, None));
    // A chain without an end, and one that ends beyond the packet.
    let endless = with(OPTIONS, &[OPTIONS, 0, 0, 0, 0, 0, 0, 0].repeat(20));
    assert_eq!(parse(&endless).map(|parsed| parsed.transport), Ok(None));
    assert_eq!(parse(&with(ROUTING, &[UDP, 200])).map(|parsed| parsed.transport), Ok(None));
}

#[test]
fn what_is_no_packet_is_refused() {
    let good = PacketSpec::UDP4.build(&[0; 100], false);
    let six = PacketSpec { ipv4: false, ..PacketSpec::UDP4 }.build(&[0; 100], false);
    let changed = |at: usize, value: u8| {
        let mut packet = good.clone();
        packet[at] = value;
        packet
    };
    for (packet, reason) in [
        (vec![], PacketError::Version),
        (vec![0x15; 40], PacketError::Version),
        (good[..19].to_vec(), PacketError::Headers),
        (changed(0, 0x44), PacketError::Headers),
        (changed(3, 19), PacketError::Headers),
        (good[..good.len() - 1].to_vec(), PacketError::Truncated),
        (six[..39].to_vec(), PacketError::Headers),
        (six[..six.len() - 1].to_vec(), PacketError::Truncated),
    ] {
        assert_eq!(parse(&packet), Err(reason), "{packet:?}");
    }
}

#[test]
fn nothing_panics() {
    let mut stream = Stream::new(3, "packets");
    let models = [true, false].map(|ipv4| PacketSpec { ipv4, protocol: TCP, ..PacketSpec::UDP4 });
    for _ in 0..200_000 {
        let mut packet = models[stream.below(2) as usize].build(&[0; 40], false);
        for _ in 0..stream.below(6) {
            let at = stream.below(packet.len() as u64) as usize;
            packet[at] = stream.below(256) as u8;
        }
        packet.truncate(stream.below(packet.len() as u64 + 1) as usize);
        let _ = parse(&packet);
        set_ecn(&mut packet, Ecn::Ce);
    }
}

#[test]
fn marks_keep_the_checksum_right() {
    let mut stream = Stream::new(4, "marks");
    for id in 0..=u16::MAX {
        let before = ALL[stream.below(4) as usize];
        let mut packet = PacketSpec { id, ecn: before, ..PacketSpec::UDP4 }.build(&[], false);
        let wrong = id.is_multiple_of(5);
        packet[11] ^= u8::from(wrong);
        for after in ALL {
            set_ecn(&mut packet, after);
            assert_eq!(header_is_right(&packet), !wrong);
            assert_eq!(packet[1], 0xb8 | after as u8);
            assert_eq!(parse(&packet).map(|parsed| parsed.ecn), Ok(after));
        }
    }
}

#[test]
fn marks_of_ipv6_change_two_bits() {
    for before in ALL {
        let mut packet =
            PacketSpec { ipv4: false, ecn: before, ..PacketSpec::UDP4 }.build(&[1], false);
        for after in ALL {
            set_ecn(&mut packet, after);
            assert_eq!(
                packet,
                PacketSpec { ipv4: false, ecn: after, ..PacketSpec::UDP4 }.build(&[1], false)
            );
        }
    }
}

#[test]
fn sums_are_those_of_words() {
    let bytes: Vec<u8> = (0..=255).collect();
    for length in 0..bytes.len() {
        let words = bytes[..length].chunks(2);
        let plain =
            words.map(|word| u64::from(word[0]) << 8 | word.get(1).map_or(0, |&b| b.into()));
        assert_eq!(fold(sum(&bytes[..length])), fold(plain.sum()));
    }
}
