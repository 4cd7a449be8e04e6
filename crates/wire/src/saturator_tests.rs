//! Messages of the Saturator: whole, changed, truncated, repeated, and of other measurements.

use super::*;
use crate::key::Identity;

fn all() -> Vec<Body> {
    let mut arrivals = Arrivals::default();
    (0..20).for_each(|i| arrivals.push(i, 1000 + u64::from(i)));
    let channel = Channel::Feedback;
    let cookie = [7; COOKIE];
    vec![
        Body::Hello {
            channel,
            up: true,
            down: false,
            size: 1472,
            window: 1500,
            thesis: true,
            nonce: [3; NONCE],
            cookie,
        },
        Body::Retry { channel: Channel::Link, cookie },
        Body::Ready { channel, nonce: [4; NONCE] },
        Body::Data { number: 9, sent: 1 << 40, steady: true },
        Body::Ack { echo: 77, arrivals },
        Body::End,
        Body::Stats(SentStats { sent: 1, in_band: 950_000, rtt: [1, 2, 3, 4] }),
        Body::Begin,
    ]
}

#[test]
fn messages_come_back_and_only_from_the_other_end() {
    let key = Identity::generate().expect("random numbers").key().clone();
    let other = Identity::generate().expect("random numbers").key().clone();
    let (client, server) = (Codec::new(&key, true), Codec::new(&key, false));
    for body in all().into_iter().filter(|body| body.channel().is_none()) {
        let message = Message { session: 5, counter: 0, body };
        let mut bytes = vec![1; 1472];
        let length = client.write(5, body, HELLO, &mut bytes).expect("room");
        assert_eq!((length, server.read(&bytes[..length])), (HELLO, Ok(message)));
        assert!(client.read(&bytes[..length]).is_err(), "a reflected message");
        assert!(Codec::new(&other, false).read(&bytes[..length]).is_err());
        (0..length).for_each(|short| assert!(server.read(&bytes[..short]).is_err()));
        (0..length).for_each(|at| {
            bytes[at] ^= 1;
            assert!(server.read(&bytes[..length]).is_err(), "{message:?}, byte {at}");
            bytes[at] ^= 1;
        });
    }
}

#[test]
fn messages_of_a_measurement_are_good_once_whole_and_in_it() {
    let key = Identity::generate().expect("random numbers").key().clone();
    let (client, server) = (Codec::new(&key, true), Codec::new(&key, false));
    let (mine, its) = ([1; NONCE], [2; NONCE]);
    let mut here = client.session(5, &mine, &its);
    let mut there = server.session(5, &mine, &its);
    for body in all().into_iter().filter(|body| body.channel().is_some()) {
        let mut bytes = vec![1; 1472];
        let length = here.write(body, 700, &mut bytes).expect("room");
        assert_eq!(length, 700);
        (0..length).for_each(|short| assert!(there.read(&bytes[..short]).is_err()));
        (0..length).for_each(|at| {
            bytes[at] ^= 1;
            assert!(there.read(&bytes[..length]).is_err(), "{body:?}, byte {at}");
            bytes[at] ^= 1;
        });
        let read = |codec: &mut SessionCodec| codec.read(&bytes[..length]);
        // Codecs of other measurements: with another number, and after a restart of either end.
        assert!(read(&mut server.session(6, &mine, &its)).is_err());
        assert!(read(&mut server.session(5, &mine, &[3; NONCE])).is_err());
        assert!(read(&mut server.session(5, &[3; NONCE], &its)).is_err());
        assert!(read(&mut here).is_err(), "a reflected message");
        assert!(client.read(&bytes[..length]).is_err() && server.read(&bytes[..length]).is_err());
        assert_eq!(read(&mut there), Ok(body));
        assert!(read(&mut there).is_err(), "a repetition");
    }
}

#[test]
fn answers_are_shorter_than_questions() {
    let key = Identity::generate().expect("random numbers").key().clone();
    let server = Codec::new(&key, false);
    for body in [all()[1], all()[2]] {
        let length = server.write(5, body, 0, &mut [0; 600]);
        assert!(length.is_ok_and(|length| length < HELLO));
    }
}

#[test]
fn arrivals_are_the_newest() {
    let Body::Ack { arrivals, .. } = all()[4] else { panic!("an acknowledgement") };
    let numbers: Vec<u32> = arrivals.iter().map(|(number, _)| number).collect();
    assert_eq!(numbers, (4..20).rev().collect::<Vec<_>>());
}

#[test]
fn cookies_are_for_one_address_and_some_seconds() {
    let cookies = Cookies::new().expect("random numbers");
    let from = SocketAddr::from(([192, 0, 2, 1], 4000));
    let now = Time::from_secs(100);
    let cookie = cookies.issue(now, from, 5, Channel::Link);
    let good = |now, from, session, channel| cookies.is_good(now, from, session, channel, &cookie);
    assert!(good(Time::from_secs(110), from, 5, Channel::Link));
    assert!(!good(Time::from_secs(111), from, 5, Channel::Link));
    assert!(!good(Time::from_secs(99), from, 5, Channel::Link));
    assert!(!good(now, SocketAddr::from(([192, 0, 2, 1], 4001)), 5, Channel::Link));
    assert!(!good(now, from, 6, Channel::Link) && !good(now, from, 5, Channel::Feedback));
}
