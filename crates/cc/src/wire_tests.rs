use super::*;
use crate::rng::Stream;

fn bits(random: &mut Stream) -> u64 {
    random.next_u64() >> random.below(64)
}

fn any_header(random: &mut Stream) -> Header {
    let rtt = Span::from_nanos(bits(random));
    match random.below(6) {
        0 => Header::None,
        1 => Header::Xcp(XcpHeader {
            rtt,
            interval: Span::from_nanos(bits(random)),
            // Any bits at all, including infinities and NaN.
            feedback: match random.below(4) {
                0 => f64::from_bits(random.next_u64()),
                1 => [f64::NAN, f64::INFINITY, f64::NEG_INFINITY][random.below(3) as usize],
                _ => (random.uniform() - 0.5) * 3e7,
            },
        }),
        2 => Header::Rcp(RcpHeader { rtt, rate: Rate::from_bps(bits(random)) }),
        3 => Header::Vcp(
            [Load::Unknown, Load::Low, Load::High, Load::Overload][random.below(4) as usize],
        ),
        4 => Header::Open(OpenHeader {
            scheme: bits(random) as u32,
            words: [bits(random), bits(random)],
        }),
        _ => Header::Sprout(SproutHeader {
            connection: bits(random) as u32,
            offset: bits(random),
            throwaway: bits(random) as u32,
            time_to_next: bits(random) as u32,
        }),
    }
}

fn any_report(random: &mut Stream) -> Report {
    match random.below(3) {
        0 => Report::Rate(Rate::from_bps(bits(random))),
        1 => Report::Open(OpenReport {
            scheme: bits(random) as u32,
            words: std::array::from_fn(|_| bits(random)),
        }),
        _ => Report::Forecast(Forecast {
            total: bits(random),
            from: Time::from_nanos(bits(random)),
            counts: std::array::from_fn(|_| bits(random) as u16),
        }),
    }
}

fn written(header: &Header) -> Vec<u8> {
    let mut bytes = [0xAA; LONGEST];
    let length = encode_header(header, &mut bytes).expect("room");
    assert!(bytes[length..].iter().all(|&byte| byte == 0xAA), "wrote beyond its end");
    bytes[..length].to_vec()
}

#[test]
fn the_bytes_are_as_documented() {
    let xcp =
        XcpHeader { rtt: Span::from_millis(100), interval: Span::from_micros(1), feedback: -1.5 };
    let expected = [0x11, 0, 1, 0x86, 0xA0, 0, 0, 3, 0xE8, 0xFF, 0xFF, 0xFE, 0x80];
    assert_eq!(written(&Header::Xcp(xcp)), expected);
    let rcp = RcpHeader { rtt: Span::ZERO, rate: Rate::from_mbps(12.0) };
    assert_eq!(written(&Header::Rcp(rcp)), [0x12, 0, 0, 0, 0, 0, 1, 0xD4, 0xC0]);
    assert_eq!(written(&Header::Vcp(Load::Overload)), [0x13, 3]);
    assert_eq!(written(&Header::None), [0x10]);
    let sprout = SproutHeader { connection: 7, offset: 0x0102, throwaway: 3, time_to_next: 20 };
    let expected = [0x14, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 3, 0, 0, 0, 20];
    assert_eq!(written(&Header::Sprout(sprout)), expected);
    let open = OpenHeader { scheme: 9, words: [0x0102, 3] };
    let expected = [0x15, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 3];
    assert_eq!(written(&Header::Open(open)), expected);
    let mut bytes = [0; LONGEST];
    assert_eq!(encode_report(&Report::Rate(Rate::from_bps(258)), &mut bytes), Ok(9));
    assert_eq!(bytes[..9], [0x19, 0, 0, 0, 0, 0, 0, 1, 2]);
    let forecast =
        Forecast { total: 7, from: Time::from_nanos(9), counts: [1, 2, 3, 4, 5, 6, 7, 0x0809] };
    assert_eq!(encode_report(&Report::Forecast(forecast), &mut bytes), Ok(33));
    let expected = [0x18, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1];
    assert_eq!((&bytes[..19], &bytes[31..]), (&expected[..], &[8, 9][..]));
}

#[test]
fn headers_come_back_within_their_resolution() {
    let mut random = Stream::new(1, "wire headers");
    let near = |a: Span, b: Span, nanos: u64, most: u64| {
        let (a, b) = (a.as_nanos().min(most), b.as_nanos());
        a.abs_diff(b) <= nanos
    };
    for _ in 0..50_000 {
        let header = any_header(&mut random);
        let bytes = written(&header);
        let (back, length) = decode_header(&bytes).expect("what was encoded");
        assert_eq!(length, bytes.len());
        let most = u32::MAX as u64;
        let same = match (header, back) {
            (Header::Xcp(a), Header::Xcp(b)) => {
                let rtt = a.rtt.is_zero() == b.rtt.is_zero();
                let rtt = rtt && near(a.rtt, b.rtt, 1000, most * 1000);
                let rest = near(a.interval, b.interval, 0, most)
                    && match a.feedback {
                        nan if nan.is_nan() => b.feedback == 0.0,
                        any => {
                            let least = f64::from(i32::MIN) / feedback::UNITS_PER_BYTE;
                            (any.clamp(least, feedback::MOST) - b.feedback).abs() <= 1.0 / 512.0
                        }
                    };
                rtt && if a.rtt.is_zero() {
                    b.interval.is_zero() && b.feedback == 0.0
                } else {
                    rest
                }
            }
            (Header::Rcp(a), Header::Rcp(b)) => {
                let (x, y) = (a.rate.as_bps(), b.rate.as_bps());
                near(a.rtt, b.rtt, 1000, most * 1000)
                    && (x.abs_diff(y) < 100 || (x >= most * 100 && y == u64::MAX))
                    && (x == 0) == (y == 0)
            }
            (a, b) => a == b,
        };
        assert!(same, "{header:?} became {back:?}");
        // Once clamped to the format, the value no longer changes.
        assert_eq!(written(&back), bytes);
    }
}

#[test]
fn reports_come_back_exactly() {
    let mut random = Stream::new(2, "wire reports");
    for _ in 0..20_000 {
        let report = any_report(&mut random);
        let mut bytes = [0; LONGEST];
        let length = encode_report(&report, &mut bytes).expect("room");
        assert_eq!(decode_report(&bytes), Ok((report, length)));
        assert!(28 + length <= report.size() as usize, "longer than it is counted");
    }
}

#[test]
fn decoded_messages_encode_to_equal_bytes() {
    let mut random = Stream::new(3, "wire bytes");
    let mut decoded = [0; 2];
    for _ in 0..200_000 {
        let length = random.below(LONGEST as u64 + 3) as usize;
        let mut bytes: Vec<u8> = (0..length).map(|_| random.next_u64() as u8).collect();
        if random.chance(0.9) && length > 0 {
            bytes[0] = VERSION << 4 | bytes[0] & 0xf;
        }
        if random.chance(0.5) && length > 1 {
            bytes[1] &= 3;
        }
        let mut again = [0; LONGEST];
        if let Ok((header, length)) = decode_header(&bytes) {
            assert_eq!(encode_header(&header, &mut again), Ok(length));
            assert_eq!(again[..length], bytes[..length], "{header:?}");
            decoded[0] += 1;
        }
        if let Ok((report, length)) = decode_report(&bytes) {
            assert_eq!(encode_report(&report, &mut again), Ok(length));
            assert_eq!(again[..length], bytes[..length], "{report:?}");
            decoded[1] += 1;
        }
    }
    assert!(decoded.iter().all(|&count| count > 1000), "{decoded:?}");
}

#[test]
fn invalid_messages_give_errors() {
    let truncated = |needed, found| WireError::Truncated { needed, found };
    assert_eq!(decode_header(&[]), Err(truncated(1, 0)));
    assert_eq!(decode_header(&[0x20]), Err(WireError::Version(2)));
    assert_eq!(decode_header(&[0x17]), Err(WireError::Kind(7)));
    // A report is not accepted as a header, nor a header as a report.
    assert_eq!(decode_header(&[0x19; 9]), Err(WireError::Kind(9)));
    assert_eq!(decode_report(&[0x13; 2]).err(), Some(WireError::Kind(3)));
    // Kind 12 is reserved.
    assert_eq!(decode_header(&[0x1C; 5]), Err(WireError::Kind(12)));
    assert_eq!(decode_report(&[0x1C; 5]), Err(WireError::Kind(12)));
    assert_eq!(decode_header(&[0x13, 4]), Err(WireError::Value { field: "load", value: 4 }));
    let mut orphan = [0; 13];
    (orphan[0], orphan[12]) = (0x11, 5);
    let field = "feedback without an RTT";
    assert_eq!(decode_header(&orphan), Err(WireError::Value { field, value: 5 }));
    orphan[8] = 1;
    let field = "interval without an RTT";
    assert_eq!(decode_header(&orphan), Err(WireError::Value { field, value: 1 }));
    let mut random = Stream::new(4, "wire short");
    for _ in 0..1000 {
        let bytes = written(&any_header(&mut random));
        for short in 1..bytes.len() {
            assert_eq!(decode_header(&bytes[..short]), Err(truncated(bytes.len(), short)));
        }
        let header = decode_header(&bytes).expect("whole").0;
        let mut small = vec![0xAA; bytes.len() - 1];
        let refused = Err(truncated(bytes.len(), small.len()));
        assert_eq!(encode_header(&header, &mut small), refused);
        assert!(small.iter().all(|&byte| byte == 0xAA), "nothing is written");
    }
    assert!(WireError::Version(2).to_string().contains("version 2"));
}
