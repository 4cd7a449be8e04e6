use paceline_cc::Stream;

use super::*;
use crate::emulator::packet::parse;
use crate::emulator::testing::Like;

fn layout(piece: &[u8]) -> Result<Layout, Malformed> {
    let (header, packet) = piece.split_at(HEADER);
    Layout::new(header, packet, &parse(packet)?)
}

fn complete(piece: &[u8], ecn: Ecn) -> Vec<Vec<u8>> {
    let layout = layout(piece).expect("a layout");
    let packet = |segment| {
        let mut out = Vec::new();
        layout.complete(&piece[HEADER..], segment, ecn, &mut out);
        assert_eq!(out.len(), layout.size(segment) as usize);
        out
    };
    (0..layout.segments()).map(packet).collect()
}

/// What a sender without offload would have sent.
fn segments(like: Like, payload: &[u8], step: usize, ecn: Ecn) -> Vec<Vec<u8>> {
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
        let mut packet = Like { id, sequence, flags, ecn, ..like }.build(part, false);
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
fn pieces(mut test: impl FnMut(Like, &[u8], u16, &mut Stream)) {
    let mut stream = Stream::new(9, "pieces");
    for round in 0..400 {
        let protocol = if stream.chance(0.7) { TCP } else { UDP };
        let like = Like {
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
        let (from, to) = layout.head(&piece[HEADER..], first, taken, Ecn::Ect1, &mut head);
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
            let like = Like { ipv4, protocol, ..Like::UDP4 };
            let piece = like.piece(&[7; 99], 0);
            let whole = layout(&piece).expect("a layout");
            assert!(whole.is_whole(Ecn::NotEct) && !whole.is_plain(Ecn::NotEct));
            let marked = Like { ecn: Ecn::Ce, ..like };
            assert_eq!(complete(&piece, Ecn::Ce), [marked.build(&[7; 99], false)]);
            // The same with the checksum still missing.
            let mut head = Head::new();
            let (from, to) = whole.head(&piece[HEADER..], 0, 1, Ecn::Ce, &mut head);
            let written = [head.bytes(), &piece[HEADER..][from..to]].concat();
            assert_eq!(written[HEADER..], marked.build(&[7; 99], true));
            assert_eq!(complete(&written, Ecn::Ce), [marked.build(&[7; 99], false)]);
        }
    }
}

#[test]
fn contradictions_are_refused() {
    let like = Like { protocol: TCP, ..Like::UDP4 };
    let good = like.piece(&[0; 3000], 1000);
    let with = |at: usize, value: u8| {
        let mut piece = good.clone();
        piece[at] = value;
        layout(&piece)
    };
    assert_eq!(layout(&good).map(|layout| layout.segments()), Ok(3));
    // No checksum to be made; a kind nobody asked for; UDP segments of TCP; the checksum
    // elsewhere, or outside.
    for (at, value) in [(0, 0), (1, 3), (1, 5), (1, 6), (6, 24), (8, 6), (7, 0xff)] {
        assert_eq!(with(at, value), Err(Malformed::Offload), "{at}");
    }
    let mut empty = good.clone();
    empty[4..6].copy_from_slice(&[0, 0]);
    assert_eq!(layout(&empty), Err(Malformed::Offload));
    // A TCP header that is longer than the packet, or shorter than a TCP header.
    let mut short = like.piece(&[0; 3], 1);
    for length in [0xf0, 0x40] {
        short[HEADER + 32] = length;
        assert_eq!(layout(&short), Err(Malformed::Offload));
    }
}

#[test]
fn nothing_panics() {
    let mut stream = Stream::new(11, "offload");
    let mut head = Head::new();
    let mut out = Vec::new();
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
                layout.head(&piece[HEADER..], first, count, Ecn::Ce, &mut head);
                out.clear();
                layout.complete(&piece[HEADER..], first, Ecn::Ce, &mut out);
            }
        }
    });
}
