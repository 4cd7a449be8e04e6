use paceline_cc::wire::congestion_header;
use paceline_cc::{Rate, RcpHeader, Span, Stream};

use super::*;

fn no_code(_: &[u8]) -> [u8; MAC] {
    [7; MAC]
}

#[test]
fn handshake_packets_come_back() {
    let mut bytes = [0xAA; 1500];
    let cookie = [3; COOKIE];
    for cookie in [None, Some(&cookie)] {
        let length = Initiation::write(9, cookie, &[1, 2, 3], no_code, 1400, &mut bytes);
        assert_eq!(length, Ok(1400));
        let Ok(Packet::Initiation(read)) = Packet::read(&bytes[..1400]) else {
            panic!("no initiation")
        };
        assert_eq!((read.sender, read.cookie, read.noise), (9, cookie, &[1, 2, 3][..]));
        assert_eq!((read.mac, read.covered), (&[7; MAC], &bytes[..read.covered.len()]));
    }
    let length = Retry::write(9, &cookie, no_code, &mut bytes).expect("room");
    let Ok(Packet::Retry(read)) = Packet::read(&bytes[..length]) else { panic!("no retry") };
    assert_eq!((read.receiver, read.cookie), (9, &cookie));
    assert!(length < LEAST_INITIATION, "an answer is never longer than what it answers");
    let response = Response { receiver: 1, sender: 2, noise: &[5; LONGEST_NOISE] };
    let length = response.write(&mut bytes).expect("room");
    assert_eq!(Packet::read(&bytes[..length]), Ok(Packet::Response(response)));
    assert!(length < LEAST_INITIATION);
}

#[test]
fn routers_find_the_congestion_header_of_transport_packets_alone() {
    let header = Header::Rcp(RcpHeader { rtt: Span::from_millis(20), rate: Rate::from_mbps(3.0) });
    let mut bytes = [0; 64];
    Transport::write(5, 6, &header, &mut bytes).expect("room");
    assert_eq!(congestion_header(&bytes), Some(header));
    assert_eq!(congestion_header(&bytes[..HEADER_AT + 8]), None);
    bytes[0] ^= 1;
    assert_eq!(congestion_header(&bytes), None);
    assert_eq!(congestion_header(&[]), None);
}

#[test]
fn transport_headers_come_back() {
    let header = Header::Rcp(RcpHeader { rtt: Span::from_millis(20), rate: Rate::from_mbps(3.0) });
    let mut bytes = [0; 64];
    let at = Transport::write(0x01020304, 99, &header, &mut bytes).expect("room");
    assert_eq!(bytes[..HEADER_AT], [0x41, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 99]);
    let Ok(Packet::Transport(read)) = Packet::read(&bytes) else { panic!("no packet") };
    assert_eq!((read.receiver, read.number, read.payload_at), (0x01020304, 99, at));
    assert_eq!((read.header, read.covered), (header, &bytes[..SHORT]));
}

#[test]
fn hostile_datagrams_are_errors() {
    let mut random = Stream::new(1, "packets");
    let mut bytes = [0; 1500];
    for round in 0..200_000 {
        let length = random.below(1500) as usize;
        let places = if round % 100 == 0 { length } else { length.min(64) };
        bytes[..places].fill_with(|| random.next_u64() as u8);
        if length > 1 {
            bytes[0] = [INITIATION, RESPONSE, RETRY, TRANSPORT][random.below(4) as usize];
            bytes[1] = random.below(3) as u8;
        }
        if let Ok(Packet::Transport(read)) = Packet::read(&bytes[..length]) {
            assert!(read.payload_at <= length);
        }
    }
    let mut bytes = vec![0; 1500];
    let length = Initiation::write(9, None, &[1; 90], no_code, 1200, &mut bytes).expect("room");
    for short in 0..length {
        assert!(Packet::read(&bytes[..short]).is_err(), "{short} bytes");
    }
    bytes[1] = VERSION - 1;
    assert_eq!(Packet::read(&bytes[..length]), Err(FormatError::Version(VERSION - 1)));
}
