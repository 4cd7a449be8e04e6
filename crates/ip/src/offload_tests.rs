use paceline_cc::{Header, Load, Rate, RcpHeader, Span, Stream, XcpHeader};

use super::*;
use crate::packet::parse;
use paceline_testing::packets::PacketSpec;

fn layout(piece: &[u8]) -> Result<Layout, PacketError> {
    let (header, packet) = piece.split_at(HEADER);
    Layout::new(header, packet, &parse(packet)?)
}

fn complete(piece: &[u8], ecn: Ecn) -> Vec<Vec<u8>> {
    let layout = layout(piece).expect("a layout");
    let packet = |segment| {
        let mut out = Vec::new();
        layout.complete(&piece[HEADER..], segment, &Marks::ecn(ecn), &mut out);
        assert_eq!(out.len(), layout.size(segment) as usize);
        out
    };
    (0..layout.segments()).map(packet).collect()
}

/// What a sender without offload would have sent.
fn segments(like: PacketSpec, payload: &[u8], step: usize, ecn: Ecn) -> Vec<Vec<u8>> {
    let count = payload.len().div_ceil(step);
    let segment = |(index, part): (usize, &[u8])| {
        let mut flags = like.flags;
        if index > 0 {
            flags &= !0x80;
        }
        if index + 1 < count {
            flags &= !0x09;
        }
        let id = like.id.wrapping_add(index as u16);
        let sequence = like.sequence.wrapping_add((index * step) as u32);
        let mut packet = PacketSpec { id, sequence, flags, ecn, ..like }.build(part, false);
        let place = packet.len() - part.len() - 2;
        // A UDP checksum of zero is sent as all ones.
        if like.protocol == UDP && packet[place..place + 2] == [0, 0] {
            packet[place..place + 2].copy_from_slice(&[0xff, 0xff]);
        }
        packet
    };
    payload.chunks(step).enumerate().map(segment).collect()
}

/// Pieces of all kinds, with their payloads and steps.
fn pieces(mut test: impl FnMut(PacketSpec, &[u8], u16, &mut Stream)) {
    let mut stream = Stream::new(9, "pieces");
    for round in 0..400 {
        let protocol = if stream.chance(0.7) { TCP } else { UDP };
        let like = PacketSpec {
            ipv4: stream.chance(0.5),
            protocol,
            ecn: Ecn::Ect0,
            id: 65_530 + stream.below(6) as u16,
            sequence: u32::MAX - stream.below(50_000) as u32,
            flags: if stream.chance(0.3) { 0x99 } else { 0x18 },
            port: round,
        };
        let step = 1 + stream.below(1460) as u16;
        let most = (u64::from(step) * 45).min(65_000);
        let payload: Vec<u8> =
            (0..1 + stream.below(most)).map(|_| stream.below(256) as u8).collect();
        test(like, &payload, step, &mut stream);
    }
}

#[test]
fn a_piece_stands_for_the_packets_that_a_sender_would_have_sent() {
    pieces(|like, payload, step, _| {
        let piece = like.piece(payload, step);
        for ecn in [Ecn::Ect0, Ecn::Ce] {
            let wire = segments(like, payload, step.into(), ecn);
            assert_eq!(complete(&piece, ecn), wire);
        }
    });
}

#[test]
fn a_part_of_a_piece_is_a_piece() {
    pieces(|like, payload, step, stream| {
        let piece = like.piece(payload, step);
        let layout = layout(&piece).expect("a layout");
        let wire = segments(like, payload, step.into(), Ecn::Ect1);
        let count = layout.segments();
        let first = stream.below(count.into()) as u16;
        let taken = 1 + stream.below(u64::from(count - first)) as u16;
        let mut head = Head::new();
        let (from, to) =
            layout.head(&piece[HEADER..], first, taken, &Marks::ecn(Ecn::Ect1), &mut head);
        let part = [head.bytes(), &piece[HEADER..][from..to]].concat();
        // What the kernel would make of it.
        assert_eq!(complete(&part, Ecn::Ect1), wire[first.into()..][..taken.into()]);
        // The kernel wants to be told of a CWR flag that the first segment alone shall have.
        let cwr = like.protocol == TCP && like.flags & CWR != 0 && first == 0 && taken > 1;
        assert_eq!(part[1] & GSO_ECN != 0, cwr);
    });
}

#[test]
fn packets_with_missing_checksums_pass() {
    for ipv4 in [true, false] {
        for protocol in [TCP, UDP] {
            let like = PacketSpec { ipv4, protocol, ..PacketSpec::UDP4 };
            let piece = like.piece(&[7; 99], 0);
            let whole = layout(&piece).expect("a layout");
            let same = Marks::ecn(Ecn::NotEct);
            assert!(whole.is_whole(&piece[HEADER..], &same) && !whole.has_checksum());
            let marked = PacketSpec { ecn: Ecn::Ce, ..like };
            assert_eq!(complete(&piece, Ecn::Ce), [marked.build(&[7; 99], false)]);
            // The same with the checksum still missing.
            let mut head = Head::new();
            let (from, to) = whole.head(&piece[HEADER..], 0, 1, &Marks::ecn(Ecn::Ce), &mut head);
            let written = [head.bytes(), &piece[HEADER..][from..to]].concat();
            assert_eq!(written[HEADER..], marked.build(&[7; 99], true));
            assert_eq!(complete(&written, Ecn::Ce), [marked.build(&[7; 99], false)]);
        }
    }
}

#[test]
fn contradictions_are_refused() {
    let like = PacketSpec { protocol: TCP, ..PacketSpec::UDP4 };
    let good = like.piece(&[0; 3000], 1000);
    let with = |at: usize, value: u8| {
        let mut piece = good.clone();
        piece[at] = value;
        layout(&piece)
    };
    assert_eq!(layout(&good).map(|layout| layout.segments()), Ok(3));
    // No checksum to be made; a kind that was not enabled; UDP segments of TCP; the checksum
    // elsewhere, or outside.
    for (at, value) in [(0, 0), (1, 3), (1, 5), (1, 6), (6, 24), (8, 6), (7, 0xff)] {
        assert_eq!(with(at, value), Err(PacketError::Offload), "{at}");
    }
    // A whole packet whose checksum would be written into its IP header.
    let mut inside = good.clone();
    (inside[1], inside[6]) = (0, 4);
    assert_eq!(layout(&inside), Err(PacketError::Offload));
    let mut empty = good.clone();
    empty[4..6].copy_from_slice(&[0, 0]);
    assert_eq!(layout(&empty), Err(PacketError::Offload));
    // A TCP header that is longer than the packet, or shorter than a TCP header.
    let mut short = like.piece(&[0; 3], 1);
    for length in [0xf0, 0x40] {
        short[HEADER + 32] = length;
        assert_eq!(layout(&short), Err(PacketError::Offload));
    }
}

#[test]
fn nothing_panics() {
    let mut stream = Stream::new(11, "offload");
    let mut head = Head::new();
    let mut out = Vec::new();
    let header = Header::Vcp(Load::Overload);
    let marks = Marks { ecn: Ecn::Ce, header };
    pieces(|like, payload, step, _| {
        let good = like.piece(payload, step);
        for _ in 0..100 {
            let mut piece = good.clone();
            for _ in 0..1 + stream.below(4) {
                // Headers matter more than payload.
                let at = stream.below(80.min(piece.len() as u64)) as usize;
                piece[at] = stream.below(256) as u8;
            }
            let Ok(layout) = layout(&piece) else { continue };
            let (first, count) = (stream.below(50) as u16, 1 + stream.below(50) as u16);
            if first + count <= layout.segments() {
                layout.head(&piece[HEADER..], first, count, &marks, &mut head);
                out.clear();
                layout.complete(&piece[HEADER..], first, &marks, &mut out);
            }
        }
    });
}

/// Returns a datagram of `length` bytes that begins like one of ours.
fn datagram(header: &Header, length: usize, fill: u8) -> Vec<u8> {
    let mut bytes = vec![fill; length];
    paceline_wire::packet::Transport::write(7, 9, header, &mut bytes).expect("room");
    bytes
}

fn headers() -> [(Header, Header); 3] {
    let span = Span::from_millis(100);
    let xcp = |feedback| Header::Xcp(XcpHeader { rtt: span, interval: span / 50, feedback });
    let rcp = |mbps| Header::Rcp(RcpHeader { rtt: span, rate: Rate::from_mbps(mbps) });
    [
        (xcp(8000.0), xcp(-123.5)),
        (rcp(100.0), rcp(1.5)),
        (Header::Vcp(Load::Unknown), Header::Vcp(Load::High)),
    ]
}

#[test]
fn congestion_headers_are_rewritten_and_checksums_stay_right() {
    for ipv4 in [true, false] {
        let like = PacketSpec { ipv4, ..PacketSpec::UDP4 };
        for ((old, new), length) in headers().into_iter().zip([1400, 1401, 64]) {
            let (came, goes) = (datagram(&old, length, 3), datagram(&new, length, 3));
            let marks = Marks { ecn: Ecn::NotEct, header: new };
            // With a checksum in place, on a device without headers.
            let packet = like.build(&came, false);
            let layout = Layout::new(&[], &packet, &parse(&packet).expect("a packet"));
            let layout = layout.expect("a layout");
            assert_eq!(layout.datagram(&packet, 0), came);
            assert!(!layout.is_whole(&packet, &marks));
            assert!(layout.is_whole(&packet, &Marks { header: old, ..marks }));
            let mut out = Vec::new();
            layout.complete(&packet, 0, &marks, &mut out);
            assert_eq!(out, like.build(&goes, false), "{new:?}");
            // With a checksum that the kernel is to make.
            let piece = like.piece(&came, 0);
            let packet = &piece[HEADER..];
            let layout = self::layout(&piece).expect("a layout");
            let mut head = Head::new();
            let (from, to) = layout.head(packet, 0, 1, &marks, &mut head);
            let written = [head.bytes(), &packet[from..to]].concat();
            assert_eq!(written[HEADER..], like.build(&goes, true));
            assert_eq!(complete(&written, Ecn::NotEct), [like.build(&goes, false)]);
            // One of several in a piece.
            let piece = like.piece(&[&came[..], &came[..], &came[..40]].concat(), length as u16);
            let packet = &piece[HEADER..];
            let layout = self::layout(&piece).expect("a layout");
            assert!(layout.is_rewritten(packet, 1, &marks));
            let (from, to) = layout.head(packet, 1, 1, &marks, &mut head);
            let one = PacketSpec { id: if ipv4 { 8 } else { 7 }, ..like };
            let written = [head.bytes(), &packet[from..to]].concat();
            assert_eq!(written[HEADER..], one.build(&goes, true));
            assert_eq!(complete(&written, Ecn::NotEct), [one.build(&goes, false)]);
        }
    }
}

#[test]
fn a_missing_udp_checksum_stays_missing() {
    let [(old, new), ..] = headers();
    let mut packet = PacketSpec::UDP4.build(&datagram(&old, 500, 1), false);
    packet[26..28].fill(0);
    let layout = Layout::new(&[], &packet, &parse(&packet).expect("a packet")).expect("a layout");
    let mut out = Vec::new();
    layout.complete(&packet, 0, &Marks { ecn: Ecn::NotEct, header: new }, &mut out);
    let mut wanted = PacketSpec::UDP4.build(&datagram(&new, 500, 1), false);
    wanted[26..28].fill(0);
    assert_eq!(out, wanted);
}

#[test]
fn a_header_of_another_kind_is_never_written() {
    let [(xcp, _), (_, rcp), _] = headers();
    let packet = PacketSpec::UDP4.build(&datagram(&xcp, 500, 1), false);
    let layout = Layout::new(&[], &packet, &parse(&packet).expect("a packet")).expect("a layout");
    assert!(layout.is_whole(&packet, &Marks { ecn: Ecn::NotEct, header: rcp }));
    // Nor into anything that is too short, or that is not UDP.
    let short = PacketSpec::UDP4.build(&datagram(&xcp, 26, 1)[..20], false);
    let tcp =
        PacketSpec { protocol: TCP, ..PacketSpec::UDP4 }.build(&datagram(&xcp, 500, 1), false);
    for packet in [short, tcp] {
        let parsed = parse(&packet).expect("a packet");
        let layout = Layout::new(&[], &packet, &parsed).expect("a layout");
        assert!(layout.is_whole(&packet, &Marks { ecn: Ecn::NotEct, header: xcp }));
    }
}
