use paceline_cc::Stream;

use super::super::packet::parse;
use super::*;
use paceline_testing::packets::{PacketSpec, header_is_right};

const UDP: u8 = 17;
const FROM: [u8; 4] = [10, 77, 0, 2];
const TO: [u8; 4] = [192, 0, 2, 9];

/// Returns a packet of `length` bytes; in IPv4 it must not be fragmented.
fn packet(ipv4: bool, length: usize) -> Vec<u8> {
    let like = PacketSpec { ipv4, ..PacketSpec::UDP4 };
    let mut packet = like.build(&vec![7; length - like.headers()], false);
    if ipv4 {
        packet[6] = DONT_FRAGMENT;
        packet[12..16].copy_from_slice(&FROM);
        packet[16..20].copy_from_slice(&TO);
    } else {
        packet[8..40].fill(0);
        packet[8..10].copy_from_slice(&[0xfd, 0x77]);
        packet[24..26].copy_from_slice(&[0x20, 0x01]);
        (packet[23], packet[39]) = (2, 9);
    }
    packet
}

/// An ICMP message of this type instead of UDP.
fn icmp(ipv4: bool, kind: u8) -> Vec<u8> {
    let mut packet = packet(ipv4, 1400);
    let (at, protocol, place) = if ipv4 { (20, ICMP, 9) } else { (40, ICMPV6, 6) };
    packet[place] = protocol;
    packet[at] = kind;
    packet
}

/// The sum over an ICMPv6 message with what else its checksum covers (RFC 8200, section 8.1), byte by byte.
fn sum_of_icmpv6(answer: &[u8]) -> u64 {
    let length = (answer.len() - 40) as u16;
    let pseudo = [&answer[8..40], &u32::from(length).to_be_bytes(), &[0, 0, 0, 58]].concat();
    let whole = [&pseudo, &answer[40..]].concat();
    whole.chunks(2).map(|two| u64::from(two[0]) << 8 | two.get(1).map_or(0, |&b| b.into())).sum()
}

#[test]
fn a_packet_of_ipv4_that_must_not_be_fragmented_is_answered() {
    let refused = packet(true, 1400);
    let answer = too_big(&refused, 1321).expect("an answer");
    // 20 bytes of IP, 8 of ICMP, and what of the packet fits into 576.
    assert_eq!(answer.len(), 576);
    let expected = [0x45, 0xc0, 2, 64, 0, 0, 0x40, 0, 64, 1];
    assert_eq!(answer[..10], expected);
    assert!(header_is_right(&answer));
    assert_eq!((&answer[12..16], &answer[16..20]), (&TO[..], &FROM[..]));
    // Type, code, [checksum,] 16 bits that are zero, the MTU: RFC 1191, section 4.
    assert_eq!((&answer[20..22], &answer[24..28]), (&[3, 4][..], &[0, 0, 5, 0x29][..]));
    assert_eq!(fold(sum(&answer[20..])), 0xffff, "the checksum");
    assert_eq!(answer[28..], refused[..548]);
    let parsed = parse(&answer).expect("a packet");
    assert_eq!((parsed.protocol, parsed.length, parsed.fragment), (ICMP, 576, false));
    // A short packet is quoted whole, also if its length is odd.
    let short = packet(true, 301);
    let answer = too_big(&short, 296).expect("an answer");
    assert_eq!((answer.len(), &answer[28..]), (329, &short[..]));
    assert_eq!(fold(sum(&answer[20..])), 0xffff);
}

#[test]
fn a_packet_of_ipv6_is_answered() {
    for (length, quoted) in [(1400, 1232), (1281, 1232)] {
        let refused = packet(false, length);
        let answer = too_big(&refused, 1321).expect("an answer");
        assert_eq!(answer.len(), 1280, "the least MTU of IPv6");
        assert_eq!(answer[..8], [0x60, 0, 0, 0, 4, 0xd8, 58, 64]);
        assert_eq!((&answer[8..24], &answer[24..40]), (&refused[24..40], &refused[8..24]));
        assert_eq!((&answer[40..42], &answer[44..48]), (&[2, 0][..], &[0, 0, 5, 0x29][..]));
        assert_eq!(fold(sum_of_icmpv6(&answer)), 0xffff, "the checksum");
        assert_eq!(answer[48..], refused[..quoted]);
        assert!(parse(&answer).is_ok());
    }
    let mtu = |mtu| too_big(&packet(false, 1400), mtu).expect("an answer")[44..48].to_vec();
    assert_eq!(
        (mtu(1181), mtu(1280), mtu(8901)),
        (vec![0, 0, 5, 0], vec![0, 0, 5, 0], vec![0, 0, 0x22, 0xc5])
    );
}

#[test]
fn only_packets_that_are_not_to_be_fragmented_may_be_refused() {
    assert!(may_refuse(&packet(true, 300)));
    assert!(may_refuse(&packet(false, 1281)));
    assert!(!may_refuse(&packet(false, 1280)), "every link carries that");
    let mut four = packet(true, 1400);
    four[6] = 0x20;
    assert!(!may_refuse(&four));
    assert!(!may_refuse(&[]) && !may_refuse(&[0x45; 5]) && !may_refuse(&[0x15; 1400]));
}

#[test]
fn errors_of_icmp_are_not_answered_and_its_questions_are() {
    for kind in 0..=255 {
        let query = matches!(kind, 0 | 8 | 9 | 10 | 13..=18 | 42 | 43);
        assert_eq!(too_big(&icmp(true, kind), 1321).is_some(), query, "IPv4, type {kind}");
        let informational = kind >= 128 && kind != 137;
        assert_eq!(too_big(&icmp(false, kind), 1321).is_some(), informational, "IPv6, type {kind}");
    }
    // An error behind extension headers.
    let mut behind = icmp(false, 1);
    (behind[6], behind[40], behind[41], behind[56]) = (60, ICMPV6, 1, 1);
    assert_eq!(too_big(&behind, 1321), None);
    behind[56] = 128;
    assert!(too_big(&behind, 1321).is_some());
    // A chain that cannot be followed may end in an error.
    behind[41] = 255;
    assert_eq!(too_big(&behind, 1321), None);
    // ICMP's number is that of another protocol in the other family.
    let mut other = packet(true, 1400);
    (other[9], other[20]) = (ICMPV6, 1);
    assert!(too_big(&other, 1321).is_some());
}

#[test]
fn only_first_fragments_are_answered() {
    let mut four = packet(true, 1400);
    four[6] = DONT_FRAGMENT | 0x20;
    assert!(too_big(&four, 1321).is_some());
    four[7] = 1;
    assert_eq!(too_big(&four, 1321), None);
    let mut six = packet(false, 1400);
    six[6] = 44;
    six[40..48].copy_from_slice(&[UDP, 0, 0, 1, 0, 0, 0, 9]);
    assert!(too_big(&six, 1321).is_some());
    six[43] = 9;
    assert_eq!(too_big(&six, 1321), None);
    // The first fragment of an error, and of a question.
    six[40..49].copy_from_slice(&[ICMPV6, 0, 0, 1, 0, 0, 0, 9, 1]);
    assert_eq!(too_big(&six, 1321), None);
    six[48] = 128;
    assert!(too_big(&six, 1321).is_some());
}

#[test]
fn nobody_and_many_are_not_answered() {
    for (address, answered) in [
        ([0, 0, 0, 0], false),
        ([0, 1, 2, 3], false),
        ([127, 0, 0, 1], false),
        ([224, 0, 0, 1], false),
        ([239, 255, 255, 255], false),
        ([240, 0, 0, 1], false),
        ([255, 255, 255, 255], false),
        ([1, 1, 1, 1], true),
        ([223, 255, 255, 254], true),
    ] {
        for at in [12, 16] {
            let mut four = packet(true, 1400);
            four[at..at + 4].copy_from_slice(&address);
            assert_eq!(too_big(&four, 1321).is_some(), answered, "{address:?} at {at}");
        }
    }
    for (address, answered) in
        [("::", false), ("::1", false), ("ff02::1", false), ("fe80::1", true), ("2001:db8::", true)]
    {
        let octets = address.parse::<std::net::Ipv6Addr>().expect("an address").octets();
        for at in [8, 24] {
            let mut six = packet(false, 1400);
            six[at..at + 16].copy_from_slice(&octets);
            assert_eq!(too_big(&six, 1321).is_some(), answered, "{address} at {at}");
        }
    }
}

/// Whatever comes: no panic, and each answer is a packet with right checksums to where the first came from.
#[test]
fn nothing_panics_and_all_answers_are_packets() {
    let mut random = Stream::new(5, "icmp");
    let (mut answers, mut silent) = (0, 0);
    for round in 0..100_000_u64 {
        let ipv4 = random.below(2) == 0;
        let kinds =
            [packet(ipv4, 100 + random.below(1400) as usize), icmp(ipv4, random.below(256) as u8)];
        let mut one = kinds[random.below(2) as usize].clone();
        for _ in 0..random.below(4) {
            let at = random.below(80.min(one.len() as u64)) as usize;
            one[at] = random.below(256) as u8;
        }
        if round.is_multiple_of(4) {
            one.truncate(random.below(one.len() as u64 + 1) as usize);
        }
        let _ = may_refuse(&one);
        let mtu = random.below(70_000) as usize;
        let answer = too_big(&one, mtu);
        let Some(answer) = answer.filter(|_| parse(&one).is_ok()) else {
            silent += 1;
            continue;
        };
        answers += 1;
        let parsed = parse(&answer).expect("a packet");
        assert_eq!(parsed.length, answer.len());
        let (from, to) = ends(&one).expect("addresses");
        assert_eq!(ends(&answer), Some((to, from)));
        if parsed.ipv4 {
            assert!(header_is_right(&answer) && answer.len() <= 576);
            assert_eq!(fold(sum(&answer[20..])), 0xffff);
        } else {
            assert!(answer.len() <= 1280);
            assert_eq!(fold(sum_of_icmpv6(&answer)), 0xffff);
        }
        assert_eq!(too_big(&answer, mtu), None, "an error is not answered");
    }
    assert!(answers > 10_000 && silent > 10_000, "{answers} answers, {silent} without");
}
