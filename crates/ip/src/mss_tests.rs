use paceline_cc::Stream;

use super::super::packet::{fold, sum};
use super::*;
use paceline_testing::packets::PacketSpec;

/// A packet that opens a connection, with these twelve bytes of options.
fn syn(ipv4: bool, options: [u8; 12], flags: u8) -> Vec<u8> {
    let mut packet =
        PacketSpec { ipv4, protocol: TCP, flags, ..PacketSpec::UDP4 }.build(&[], false);
    let at = if ipv4 { 20 } else { 40 };
    packet[at + 20..at + 32].copy_from_slice(&options);
    packet[at + 16..at + 18].fill(0);
    let checksum = !fold(covered(&packet));
    packet[at + 16..at + 18].copy_from_slice(&checksum.to_be_bytes());
    packet
}

/// The sum that TCP's checksum is made of.
fn covered(packet: &[u8]) -> u64 {
    let (at, addresses) = if packet[0] >> 4 == 4 { (20, 12..20) } else { (40, 8..40) };
    sum(&packet[addresses]) + 6 + (packet.len() - at) as u64 + sum(&packet[at..])
}

const PLAIN: [u8; 12] = [2, 4, 5, 0xb4, 1, 3, 3, 7, 4, 2, 0, 0];

#[test]
fn the_largest_segment_is_lowered_to_what_fits() {
    for (ipv4, most) in [(true, 1281_u16), (false, 1261)] {
        // At the beginning, at an odd place, and behind an option of a length.
        let odd = [1, 2, 4, 5, 0xb4, 1, 1, 1, 1, 1, 1, 0];
        let behind = [3, 3, 7, 8, 3, 0, 2, 4, 5, 0xb4, 0, 0];
        for (options, place) in [(PLAIN, 2), (odd, 3), (behind, 8)] {
            for flags in [SYN, SYN | 0x10] {
                let before = syn(ipv4, options, flags);
                let (mut packet, at) = (before.clone(), opening(&before).expect("it opens"));
                assert!(clamp(&mut packet, at, 1321));
                let value = &packet[at + 20 + place..at + 22 + place];
                assert_eq!(value, most.to_be_bytes());
                assert_eq!(fold(covered(&packet)), 0xffff, "the checksum");
                // Nothing else has changed.
                packet[at + 20 + place..at + 22 + place].copy_from_slice(&[5, 0xb4]);
                packet[at + 16..at + 18].copy_from_slice(&before[at + 16..at + 18]);
                assert_eq!(packet, before);
            }
        }
    }
}

#[test]
fn what_fits_and_what_opens_nothing_stays() {
    let small = [2, 4, 5, 1, 1, 3, 3, 7, 4, 2, 0, 0];
    let none = [1, 3, 3, 7, 4, 2, 0, 2, 4, 5, 0xb4, 0];
    let cut = [1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 5];
    let endless = [2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0];
    for options in [small, none, cut, endless] {
        let before = syn(true, options, SYN);
        let (mut packet, at) = (before.clone(), opening(&before).expect("it opens"));
        assert!(!clamp(&mut packet, at, 1321));
        assert_eq!(packet, before);
    }
    assert_eq!(opening(&syn(true, PLAIN, 0x10)), None);
    assert_eq!(opening(&PacketSpec::UDP4.build(&[2; 40], false)), None);
    let mut later = syn(true, PLAIN, SYN);
    later[7] = 9;
    assert_eq!(opening(&later), None, "a fragment without TCP's header");
}

#[test]
fn nothing_panics() {
    let mut random = Stream::new(6, "mss");
    let mut clamped = 0;
    for _ in 0..100_000 {
        let mut packet = syn(random.below(2) == 0, PLAIN, SYN);
        for _ in 0..random.below(4) {
            let at = random.below(packet.len() as u64) as usize;
            packet[at] = random.below(256) as u8;
        }
        if random.below(8) == 0 {
            packet.truncate(random.below(packet.len() as u64) as usize);
        }
        if let Some(at) = opening(&packet) {
            clamped += u32::from(clamp(&mut packet, at, random.below(3000) as usize));
        }
    }
    assert!(clamped > 10_000, "{clamped}");
}
