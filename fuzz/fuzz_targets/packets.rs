//! IP packets as a device delivers them, marks written into them, and packets joined again: no
//! panic, lengths stay right, and packets stay packets.
#![no_main]

use libfuzzer_sys::fuzz_target;
use paceline_cc::wire::decode_header;
use paceline_cc::{Ecn, Header};
use paceline_ip::marks::Marks;
use paceline_ip::coalesce::Coalescer;
use paceline_ip::offload::{HEADER, Head, Layout};
use paceline_ip::packet::parse;

fuzz_target!(|bytes: &[u8]| {
    // The first bytes are a congestion header to write, the next ones the device's header.
    let Some((wanted, piece)) = bytes.split_at_checked(16) else { return };
    let header = decode_header(wanted).map_or(Header::None, |(header, _)| header);
    let Some((device, packet)) = piece.split_at_checked(HEADER) else { return };
    let Ok(parsed) = parse(packet) else { return };
    let Ok(layout) = Layout::new(device, packet, &parsed) else { return };
    let marks = Marks { ecn: Ecn::Ce, header };
    let mut head = Head::new();
    let mut coalescer = Coalescer::new(true);
    let mut joined = 0;
    let mut write = |device: &[u8], packet: &[u8]| {
        let parsed = parse(packet).expect("a packet");
        joined += Layout::new(device, packet, &parsed).map_or(1, |layout| layout.segments());
    };
    for segment in 0..layout.segments().min(64) {
        let mut out = Vec::new();
        layout.complete(packet, segment, &marks, &mut out);
        assert_eq!(out.len(), layout.size(segment) as usize);
        assert!(parse(&out).is_ok(), "{out:?}");
        coalescer.push(&out, &mut write);
        let left = layout.segments() - segment;
        let (from, to) = layout.head(packet, segment, left, &marks, &mut head);
        assert!(from <= to && to <= packet.len());
    }
    coalescer.flush(&mut write);
    assert_eq!(joined, layout.segments().min(64));
});
