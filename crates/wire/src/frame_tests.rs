use paceline_cc::{Rate, Stream};

use super::*;

fn written(frame: &Frame<'_>) -> Vec<u8> {
    let mut bytes = [0xAA; 2048];
    let length = write(frame, &mut bytes).expect("room");
    assert!(bytes[length..].iter().all(|&byte| byte == 0xAA), "wrote beyond its end");
    for short in 0..length {
        assert!(write(frame, &mut bytes[..short]).is_err(), "{short} of {length} bytes");
    }
    bytes[..length].to_vec()
}

fn any(random: &mut Stream) -> Vec<u8> {
    let bits = |random: &mut Stream| random.next_u64() >> random.below(64);
    let length = random.below(300) as usize;
    let bytes: Vec<u8> = (0..length).map(|_| random.next_u64() as u8).collect();
    let mut place = [0; OLDER_RANGES];
    let frame = match random.below(16) {
        0 => Frame::Data(Data {
            kind: match random.below(4) {
                0 => Kind::Stream,
                1 => Kind::Filler,
                2 => Kind::Datagram,
                _ => {
                    let count = 2 + random.below(u64::from(MOST_DATAGRAM_PARTS) - 1) as u8;
                    Kind::DatagramPart { index: random.below(u64::from(count)) as u8, count }
                }
            },
            number: bits(random) % NUMBER_LIMIT,
            segment: match random.below(4) {
                0 => NO_SEGMENT,
                _ => bits(random) % (SEGMENT_LIMIT - 1),
            },
            cwr: random.chance(0.5),
            sent: bits(random) % (1 << 48),
            bytes: &bytes,
        }),
        1 => {
            let count = random.below(1 + ACK_RANGES as u64) as usize;
            let blocks = count.min(ACK_BLOCKS);
            let mut ack = Ack {
                largest: bits(random) % NUMBER_LIMIT,
                cumulative: bits(random) % SEGMENT_LIMIT,
                received: Time::from_nanos(bits(random)),
                ce_packets: bits(random) as u32,
                explicit: bits(random) as u32,
                echo: [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][random.below(4) as usize],
                ece: random.chance(0.5),
                ..Ack::default()
            };
            ack.lengths[..blocks].fill_with(|| (bits(random) as u32).max(1));
            ack.gaps[..blocks.saturating_sub(1)].fill_with(|| bits(random) as u32);
            let mut below = ack.blocks().last().map_or(0, |(first, _)| first);
            let ranges: Vec<(u64, u64)> = (blocks..count)
                .map_while(|_| {
                    let last = below.checked_sub(2 + bits(random) % (1 << 20))?;
                    below = last.saturating_sub(bits(random) % (1 << 31));
                    Some((below, last))
                })
                .collect();
            let older = OlderRanges::new(&ack, ranges.iter().copied(), &mut place);
            assert!(older.eq(ranges));
            Frame::Ack(ack, older)
        }
        2 => Frame::Report(Report::Rate(Rate::from_bps(bits(random)))),
        3 => Frame::Message { number: bits(random) as u32, bytes: &bytes },
        4 => Frame::MessageAck(bits(random) as u32),
        5 => Frame::Ping(bits(random) as u32),
        6 => Frame::Pong(bits(random) as u32),
        7 => Frame::Challenge(random.next_u64().to_be_bytes()),
        8 => Frame::Answer(random.next_u64().to_be_bytes()),
        9 => Frame::Part(Part {
            data: Data {
                kind: Kind::Stream,
                number: bits(random) % NUMBER_LIMIT,
                segment: bits(random) % (SEGMENT_LIMIT - 1),
                cwr: random.chance(0.5),
                sent: bits(random) % (1 << 48),
                bytes: &bytes,
            },
            offset: bits(random) as u16,
            total: bits(random) as u16,
        }),
        10 => Frame::Credit(bits(random)),
        11 => Frame::CreditSpent(bits(random)),
        12 => Frame::NewKeys { epoch: bits(random) as u8, public: [bits(random) as u8; 32] },
        13 => Frame::NewKeysAnswer { epoch: bits(random) as u8, public: [bits(random) as u8; 32] },
        _ => Frame::Close { code: bits(random) as u16, reason: "the disk is full: ü" },
    };
    written(&frame)
}

#[test]
fn frames_come_back_as_the_same_bytes() {
    let mut random = Stream::new(1, "frames");
    for _ in 0..3_000 {
        let bytes = any(&mut random);
        let mut frames = Frames::new(&bytes);
        let frame = frames.next().expect("a frame").expect("a good one");
        assert!(frames.next().is_none());
        assert_eq!(written(&frame), bytes, "{frame:?}");
    }
}

#[test]
fn frames_follow_each_other_with_padding_between() {
    let mut bytes = vec![0; 9];
    bytes.extend(written(&Frame::Ping(1)));
    bytes.extend([0; 3]);
    bytes.extend(written(&Frame::MessageAck(2)));
    bytes.extend([0; 2]);
    let frames: Result<Vec<_>, _> = Frames::new(&bytes).collect();
    assert!(matches!(frames.expect("good frames")[..], [Frame::Ping(1), Frame::MessageAck(2)]));
}

#[test]
fn hostile_payloads_end_in_an_error_or_are_written_again() {
    let mut random = Stream::new(2, "hostile frames");
    let (mut good, mut bad) = (0, 0);
    for _ in 0..100_000 {
        let mut bytes = any(&mut random);
        for _ in 0..random.below(4) {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] = random.next_u64() as u8;
        }
        bytes.truncate(random.below(bytes.len() as u64 * 2) as usize);
        for frame in Frames::new(&bytes) {
            match frame {
                Ok(frame) => {
                    let mut again = [0; 4096];
                    write(&frame, &mut again).expect("what was read can be written");
                    good += 1;
                }
                Err(_) => bad += 1,
            }
        }
    }
    assert!(good > 1000 && bad > 1000, "{good} {bad}");
}
