use super::blocks::{
    COMMENT, EPB_FLAGS, IF_NAME, IF_TSRESOL, INTERFACE, LINKTYPE_ETHERNET, PACKET, SECTION,
};
use super::*;
use crate::output::testing;
use paceline_cc::{Span, Time};

/// A block read back: an interface's name, or a packet.
#[derive(Debug, PartialEq)]
enum ParsedBlock {
    Section,
    Interface {
        linktype: u16,
        name: String,
        snaplen: u32,
    },
    Packet {
        interface: u32,
        nanos: u64,
        bytes: Vec<u8>,
        original: u32,
        comment: String,
        flags: u32,
    },
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn options(mut bytes: &[u8]) -> Vec<(u16, Vec<u8>)> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let head = u32_at(bytes, 0);
        let (code, length) = (head as u16, (head >> 16) as usize);
        found.push((code, bytes[4..4 + length].to_vec()));
        bytes = &bytes[4 + length.next_multiple_of(4)..];
    }
    assert_eq!(found.pop(), Some((0, vec![])), "options end with an end");
    found
}

fn text(options: &[(u16, Vec<u8>)], code: u16) -> String {
    let value = options.iter().find(|(known, _)| *known == code);
    value.map_or(String::new(), |(_, value)| String::from_utf8_lossy(value).into())
}

fn read(mut bytes: &[u8]) -> Vec<ParsedBlock> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let (kind, length) = (u32_at(bytes, 0), u32_at(bytes, 4) as usize);
        assert_eq!(length % 4, 0);
        assert_eq!(u32_at(bytes, length - 4) as usize, length);
        let body = &bytes[8..length - 4];
        found.push(match kind {
            SECTION => {
                assert_eq!(u32_at(body, 0), 0x1a2b_3c4d);
                ParsedBlock::Section
            }
            INTERFACE => {
                let options = options(&body[8..]);
                assert!(options.contains(&(IF_TSRESOL, vec![9])));
                let linktype = u32_at(body, 0) as u16;
                let name = text(&options, IF_NAME);
                ParsedBlock::Interface { linktype, name, snaplen: u32_at(body, 4) }
            }
            PACKET => {
                let captured = u32_at(body, 12) as usize;
                let options = options(&body[20 + captured.next_multiple_of(4)..]);
                let flags =
                    options.iter().find(|(code, value)| *code == EPB_FLAGS && value.len() == 4);
                ParsedBlock::Packet {
                    interface: u32_at(body, 0),
                    nanos: (u64::from(u32_at(body, 4)) << 32) | u64::from(u32_at(body, 8)),
                    bytes: body[20..20 + captured].to_vec(),
                    original: u32_at(body, 16),
                    comment: text(&options, COMMENT),
                    flags: flags.map_or(0, |(_, value)| u32_at(value, 0)),
                }
            }
            other => panic!("block of kind {other}"),
        });
        bytes = &bytes[length..];
    }
    found
}

#[test]
fn packets_come_back() {
    let path = testing::file("pcapng");
    let mut capture =
        Pcapng::create(&path, vec![testing::watched()], Some(6)).expect("can be made");
    testing::start(&mut capture);
    let sojourn = Span::from_millis(3);
    let events = [
        (EventKind::Arrival, Ecn::Ect0, Ecn::Ect0, false),
        (EventKind::Departure { sojourn }, Ecn::Ect0, Ecn::Ect0, false),
        (EventKind::Departure { sojourn }, Ecn::Ce, Ecn::Ce, true),
        (EventKind::Departure { sojourn }, Ecn::Ect0, Ecn::Ce, true),
        (EventKind::Departure { sojourn }, Ecn::Ect1, Ecn::Ect0, true),
        (EventKind::Drop { reason: DropReason::Full }, Ecn::Ect0, Ecn::Ect0, false),
        (EventKind::Drop { reason: DropReason::Aqm }, Ecn::Ect0, Ecn::Ect0, false),
    ];
    for (at, (kind, before, after, marked)) in events.into_iter().enumerate() {
        let time = Time::from_nanos(5_000_000_001 + at as u64);
        let mut event = testing::event(time, kind, 7);
        (event.before, event.after, event.marked) = (before, after, marked);
        let bytes = [0x45, 0, 0, 7, 5, 6, 7];
        capture.on_event(&testing::live(event, &bytes)).expect("room");
    }
    capture.finish(&testing::summary(Span::from_secs(9))).expect("room");
    let file = std::fs::read(&path).expect("readable");
    std::fs::remove_file(&path).expect("removable");

    let mut blocks = read(&file).into_iter();
    assert_eq!(blocks.next(), Some(ParsedBlock::Section));
    for name in ["up.0.in", "up.0.out", "up.0.drop"] {
        let name = name.to_string();
        let wanted = ParsedBlock::Interface { linktype: LINKTYPE_NULL, name, snaplen: 10 };
        assert_eq!(blocks.next(), Some(wanted));
    }
    let wanted = [
        (0, "", 1),
        (1, "", 2),
        (1, "marked CE by the queue", 2),
        (1, "marked CE by the router", 2),
        (1, "accelerate turned to brake by the router", 2),
        (2, "dropped: the buffer was full; queue 100 bytes", 0),
        (2, "dropped: active queue management; queue 100 bytes", 0),
    ];
    for (at, (interface, comment, flags)) in wanted.into_iter().enumerate() {
        let wanted = ParsedBlock::Packet {
            interface,
            nanos: testing::STARTED * 1_000_000_000 + 5_000_000_001 + at as u64,
            bytes: vec![2, 0, 0, 0, 0x45, 0, 0, 7, 5, 6],
            original: 11,
            comment: comment.into(),
            flags,
        };
        assert_eq!(blocks.next(), Some(wanted));
    }
    assert_eq!(blocks.next(), None);
}

#[test]
fn frames_of_hosts_come_back() {
    let path = testing::file("hosts.pcapng");
    let mut capture = HostCapture::create(&path, Some(5)).expect("can be made");
    capture.frame("a.sender", false, 7, &[1, 2, 3, 4, 5, 6, 7]).expect("room");
    capture.frame("a.receiver", true, 5_000_000_000, &[1, 2]).expect("room");
    capture.frame("a.sender", true, 5_000_000_001, &[]).expect("room");
    capture.finish().expect("room");
    let file = std::fs::read(&path).expect("readable");
    std::fs::remove_file(&path).expect("removable");
    let interface = |name: &str| ParsedBlock::Interface {
        linktype: LINKTYPE_ETHERNET,
        name: name.into(),
        snaplen: 5,
    };
    let packet = |interface, nanos, bytes: &[u8], original, flags| ParsedBlock::Packet {
        interface,
        nanos,
        bytes: bytes.into(),
        original,
        comment: String::new(),
        flags,
    };
    let wanted = [
        ParsedBlock::Section,
        interface("a.sender"),
        packet(0, 7, &[1, 2, 3, 4, 5], 7, OUTBOUND),
        interface("a.receiver"),
        packet(1, 5_000_000_000, &[1, 2], 2, INBOUND),
        packet(0, 5_000_000_001, &[], 0, INBOUND),
    ];
    assert_eq!(read(&file), wanted);
}
