use super::*;

const RTT: Span = Span::from_millis(20);
const HEADER: [u8; 13] = [9; 13];

fn pair(plaintext: bool) -> (Keyring, Keyring) {
    let keys = ([1; 32], [2; 32]);
    let made = |is_initiator| Keyring::new(Time::ZERO, &keys, is_initiator, plaintext);
    (made(true).expect("keys"), made(false).expect("keys"))
}

/// Returns a packet from `from`, and its number on the wire.
fn sealed(from: &mut Keyring, number: u64) -> (u64, Vec<u8>) {
    let mut bytes = b"a payload that goes from one end to the other".to_vec();
    let number = from.wire_number(number);
    let tag = from.seal(number, &HEADER, &mut bytes).expect("sealed");
    bytes.extend(tag);
    (number, bytes)
}

fn opens(to: &mut Keyring, now: Time, (number, bytes): &(u64, Vec<u8>)) -> Result<bool, OpenError> {
    let opened = to.open(now, *number, &HEADER, &mut bytes.clone())?.1;
    Ok(opened)
}

/// Returns the frame that `from` sends now.
fn frame(from: &mut Keyring, now: Time) -> Option<(bool, u8, [u8; 32])> {
    match from.pop(now, RTT) {
        Some(KeyFrame::Frame(Frame::NewKeys { epoch, public })) => Some((true, epoch, public)),
        Some(KeyFrame::Frame(Frame::NewKeysAnswer { epoch, public })) => {
            Some((false, epoch, public))
        }
        _ => None,
    }
}

/// Changes the keys of both ends; returns when the new ones are in use.
fn change(starter: &mut Keyring, answerer: &mut Keyring, now: Time) {
    let (_, epoch, public) = frame(starter, now).expect("a start");
    assert!(answerer.on_start(true, epoch, &public));
    let (_, epoch, public) = frame(answerer, now).expect("an answer");
    assert!(starter.on_answer(now, true, epoch, &public));
}

#[test]
fn keys_change_with_packets_of_both_epochs_on_their_way() {
    for plaintext in [false, true] {
        let (mut one, mut two) = pair(plaintext);
        let now = Time::ZERO + REKEY_AFTER_TIME;
        assert_eq!(one.wake(), now);
        let (early, back) = (sealed(&mut one, 1), sealed(&mut two, 1));
        change(&mut one, &mut two, now);
        // The starter sends under the new keys first; the answerer does so once it has seen them.
        let late = sealed(&mut two, 2);
        assert_eq!((late.0 >> 56, opens(&mut one, now, &late)), (0, Ok(false)));
        let new = sealed(&mut one, 3);
        assert_eq!((new.0 >> 56, opens(&mut two, now, &new)), (1, Ok(true)));
        let answer = sealed(&mut two, 4);
        assert_eq!((answer.0 >> 56, opens(&mut one, now, &answer)), (1, Ok(true)));
        // Packets in flight under the old keys are accepted for a while.
        let almost = now + OLD_KEYS - Span::from_nanos(1);
        assert_eq!(opens(&mut two, almost, &early), Ok(false));
        assert_eq!(opens(&mut one, almost, &back), Ok(false));
        for (at, packet) in [(&mut two, &early), (&mut one, &back)] {
            assert_eq!(opens(at, now + OLD_KEYS, packet), Err(OpenError::Epoch));
            assert_eq!(at.changes(), 1);
            // The old keys are deleted, not only refused.
            assert!(at.wake() <= now + OLD_KEYS && at.pop(now + OLD_KEYS, RTT).is_none());
            assert!(at.old.is_none());
        }
    }
}

#[test]
fn the_new_keys_are_shown_until_the_other_end_uses_them() {
    let (mut one, mut two) = pair(false);
    let now = Time::ZERO + REKEY_AFTER_TIME;
    change(&mut one, &mut two, now);
    let mut at = now;
    for wait in [200, 400, 800] {
        assert!(matches!(one.pop(at, RTT), Some(KeyFrame::Ping)));
        assert_eq!(one.wake(), at + Span::from_millis(wait));
        at = one.wake();
    }
    let ping = sealed(&mut one, 9);
    assert_eq!(opens(&mut two, at, &ping), Ok(true));
    let pong = sealed(&mut two, 9);
    assert_eq!(opens(&mut one, at, &pong), Ok(true));
    assert_eq!(one.wake(), at + OLD_KEYS);
}

#[test]
fn a_start_or_answer_that_is_lost_comes_again() {
    let (mut one, mut two) = pair(false);
    let now = Time::ZERO + REKEY_AFTER_TIME;
    let first = frame(&mut one, now).expect("a start");
    assert_eq!(frame(&mut one, now), None);
    let now = one.wake();
    let (_, epoch, public) = frame(&mut one, now).expect("the start again");
    assert_eq!((true, epoch, public), first);
    assert!(two.on_start(true, epoch, &public));
    let answer = frame(&mut two, now).expect("an answer");
    assert_eq!(frame(&mut two, now), None);
    assert!(two.on_start(true, epoch, &public));
    assert_eq!(frame(&mut two, now), Some(answer), "the same answer for the same start");
    // A second key for the epoch does not come from the other end, and is ignored.
    assert!(!two.on_start(true, epoch, &[7; 32]));
    assert_eq!(frame(&mut two, now), None);
    assert!(one.on_answer(now, true, answer.1, &answer.2));
    // Late copies are ignored.
    assert!(!one.on_answer(now, true, answer.1, &answer.2));
    let new = sealed(&mut one, 5);
    assert_eq!(opens(&mut two, now, &new), Ok(true));
    assert!(!two.on_start(true, epoch, &public));
}

#[test]
fn if_both_start_the_initiators_change_goes_on() {
    let (mut one, mut two) = pair(false);
    let now = Time::ZERO + REKEY_AFTER_TIME + RESPONDER_MARGIN;
    let (_, epoch, of_one) = frame(&mut one, now).expect("a start");
    let (_, _, of_two) = frame(&mut two, now).expect("a start");
    assert!(!one.on_start(true, epoch, &of_two));
    assert!(two.on_start(true, epoch, &of_one));
    let (start, _, answer) = frame(&mut two, now).expect("an answer");
    assert!(!start && one.on_answer(now, true, epoch, &answer));
    let new = sealed(&mut one, 5);
    assert_eq!(opens(&mut two, now, &new), Ok(true));
    assert_eq!((one.changes(), two.changes()), (1, 1));
}

#[test]
fn packets_under_old_keys_do_not_change_keys() {
    let (mut one, mut two) = pair(false);
    let now = Time::ZERO + REKEY_AFTER_TIME;
    let (_, epoch, public) = frame(&mut one, now).expect("a start");
    assert!(!two.on_start(false, epoch, &public), "in a packet under old keys");
    for wrong in [0, 2, 255] {
        assert!(!two.on_start(true, wrong, &public), "epoch {wrong}");
        assert!(!one.on_answer(now, true, wrong, &[7; 32]), "epoch {wrong}");
    }
    assert!(!one.on_answer(now, false, epoch, &[7; 32]));
    // With a point of small order, anybody could compute the shared secret.
    assert!(!two.on_start(true, epoch, &[0; 32]));
    assert!(!one.on_answer(now, true, epoch, &[0; 32]));
    // The change is started again with another key.
    let (_, _, again) = frame(&mut one, now).expect("a start");
    assert!(again != public);
    // Packets of future epochs are refused as long as there are no keys for them.
    let mut packet = sealed(&mut one, 1);
    packet.0 |= 1 << 56;
    assert_eq!(opens(&mut two, now, &packet), Err(OpenError::Epoch));
    assert!(two.on_start(true, epoch, &again));
    assert_eq!(opens(&mut two, now, &packet), Err(OpenError::Forged));
}

#[test]
fn packets_change_keys_as_time_does() {
    let (mut one, mut two) = pair(true);
    one.sent = REKEY_AFTER_PACKETS - 1;
    assert!(one.wake() > Time::ZERO);
    let _ = sealed(&mut one, 1);
    assert_eq!(one.wake(), Time::ZERO);
    change(&mut one, &mut two, Time::ZERO);
    assert_eq!((one.epoch, one.sent), (1, 0));
}

#[test]
fn epochs_begin_again_after_256() {
    let (mut one, mut two) = pair(false);
    let mut now = Time::ZERO;
    for round in 1..=600u64 {
        now += REKEY_AFTER_TIME + RESPONDER_MARGIN + OLD_KEYS;
        // Both ends have deleted the old keys.
        if round % 2 == 0 {
            change(&mut one, &mut two, now);
            let (there, back) = (sealed(&mut one, round), ());
            assert_eq!((opens(&mut two, now, &there), back), (Ok(true), ()));
            let back = sealed(&mut two, round);
            assert_eq!(opens(&mut one, now, &back), Ok(true));
        } else {
            change(&mut two, &mut one, now);
            let there = sealed(&mut two, round);
            assert_eq!(opens(&mut one, now, &there), Ok(true));
            let back = sealed(&mut one, round);
            assert_eq!(opens(&mut two, now, &back), Ok(true));
        }
        assert_eq!((one.changes(), u64::from(one.epoch)), (round, round % 256));
        now += OLD_KEYS;
        let _ = (one.pop(now, RTT), two.pop(now, RTT));
    }
}
