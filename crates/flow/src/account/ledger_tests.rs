use paceline_cc::Span;

use super::*;

fn send(ledger: &mut Ledger, millis: u64) -> u64 {
    ledger.on_send(Entry::new(Time::from_millis(millis), 0, 1500, 0), Detail::default)
}

fn take(ledger: &mut Ledger, ack: &Ack) -> Vec<u64> {
    let mut acked = Vec::new();
    let mut each = |number: u64, _: &Entry, _: Option<&Detail>| acked.push(number);
    if let Some(number) = ledger.single(ack) {
        ledger.on_single(number, &mut each);
    } else if let Some(end) = ledger.run_end(ack) {
        ledger.on_run(end, &mut each);
    } else {
        ledger.on_blocks(ack.blocks(), &mut each);
    }
    acked
}

fn ack(ledger: &mut Ledger, first: u64, last: u64) -> Vec<u64> {
    let length = (last - first + 1) as u32;
    take(ledger, &Ack { largest: last, lengths: [length, 0, 0], ..Ack::default() })
}

fn lost(ledger: &mut Ledger, millis: u64) -> (Vec<u64>, Time) {
    let mut lost = Vec::new();
    ledger.forget(|_| false);
    let distance = ledger.packet_threshold();
    let rule = LossRule { distance, age: Span::from_millis(90), together: None };
    let timer = ledger.detect_losses(Time::from_millis(millis), rule, |n, _, _| lost.push(n));
    (lost, timer)
}

#[test]
fn packet_threshold_is_three() {
    let mut ledger = Ledger::new(false);
    (0..6).for_each(|i| assert_eq!(send(&mut ledger, i), i));
    assert_eq!(ack(&mut ledger, 1, 2), [1, 2]);
    // Two packets acknowledged beyond the gap are not enough; the time threshold is 9/8 of the RTT
    // after sending.
    assert_eq!(lost(&mut ledger, 50), (vec![], Time::from_millis(90)));
    assert_eq!(ack(&mut ledger, 1, 3), [3]);
    assert_eq!(lost(&mut ledger, 50), (vec![0], Time::NEVER));
    assert_eq!(ledger.in_flight(), 2 * 1500);
}

#[test]
fn time_threshold_catches_the_tail() {
    let mut ledger = Ledger::new(false);
    (0..3).for_each(|i| _ = send(&mut ledger, i));
    assert_eq!(ack(&mut ledger, 2, 2), [2]);
    assert_eq!(lost(&mut ledger, 89), (vec![], Time::from_millis(90)));
    assert_eq!(lost(&mut ledger, 90), (vec![0], Time::from_millis(91)));
    assert_eq!(lost(&mut ledger, 91), (vec![1], Time::NEVER));
}

#[test]
fn late_acknowledgements_raise_the_threshold() {
    let mut ledger = Ledger::new(false);
    (0..10).for_each(|i| _ = send(&mut ledger, i));
    ack(&mut ledger, 1, 5);
    assert_eq!(lost(&mut ledger, 20).0, [0]);
    assert_eq!(ack(&mut ledger, 0, 5), [0]);
    // Number 0 came after number 5: six packets of reordering are tolerated now.
    ack(&mut ledger, 7, 9);
    assert_eq!(lost(&mut ledger, 20).0, []);
}

#[test]
fn hostile_acknowledgements_change_nothing() {
    let mut ledger = Ledger::new(false);
    (0..3).for_each(|i| _ = send(&mut ledger, i));
    let ack = Ack { largest: u64::MAX - 1, lengths: [u32::MAX; 3], ..Ack::default() };
    assert_eq!(take(&mut ledger, &ack), []);
    assert_eq!(ledger.in_flight(), 4500);
}

#[test]
fn one_more_packet_above_the_same_gaps() {
    let mut ledger = Ledger::new(false);
    (0..20).for_each(|i| _ = send(&mut ledger, i));
    let mut acked = |largest: u64, lengths: [u32; 3], gaps: [u32; 2]| {
        take(&mut ledger, &Ack { largest, lengths, gaps, ..Ack::default() })
    };
    assert_eq!(acked(4, [1, 2, 0], [1, 0]), [4, 1, 2]);
    assert_eq!(acked(5, [2, 2, 0], [1, 0]), [5]);
    // The acknowledgement of number 6 was lost.
    assert_eq!(acked(7, [4, 2, 0], [1, 0]), [6, 7]);
    // A duplicate of the acknowledgement, and an older one.
    assert_eq!(acked(7, [4, 2, 0], [1, 0]), []);
    assert_eq!(acked(6, [3, 2, 0], [1, 0]), []);
    assert_eq!(acked(7, [4, 2, 0], [1, 0]), []);
    // Another gap, and number 0 arrives after all.
    assert_eq!(acked(9, [1, 4, 2], [1, 1]), [9]);
    assert_eq!(acked(10, [2, 4, 3], [1, 1]), [10, 0]);
    assert_eq!(acked(11, [3, 4, 3], [1, 1]), [11]);
    // Ranges that reach beyond the newest number sent.
    assert_eq!(acked(30, [1, 0, 0], [0, 0]), []);
    assert_eq!(acked(31, [2, 0, 0], [0, 0]), []);
    // A block that would begin before number 0.
    assert_eq!(acked(12, [99, 0, 0], [0, 0]), []);
    assert_eq!(acked(13, [100, 0, 0], [0, 0]), []);
}

/// Compares the ledger with a plain vector of states under random sends, acknowledgements and
/// losses.
#[test]
fn matches_a_plain_model() {
    let mut random = paceline_cc::Stream::new(5, "ledger");
    for _ in 0..50 {
        let mut ledger = Ledger::new(false);
        let mut states: Vec<State> = Vec::new();
        for step in 0..2000u64 {
            match random.below(4) {
                0 | 1 => {
                    send(&mut ledger, step);
                    states.push(State::InFlight);
                }
                2 if !states.is_empty() => {
                    let last =
                        states.len() as u64 - 1 - random.below(5).min(states.len() as u64 - 1);
                    let first = last.saturating_sub(random.below(8));
                    for number in ack(&mut ledger, first, last) {
                        assert_ne!(states[number as usize], State::Acked);
                        states[number as usize] = State::Acked;
                    }
                    for state in &states[first as usize..=last as usize] {
                        assert_ne!(*state, State::InFlight);
                    }
                }
                _ => {
                    for number in lost(&mut ledger, step).0 {
                        assert_eq!(states[number as usize], State::InFlight);
                        states[number as usize] = State::Lost;
                    }
                }
            }
            let in_flight = states.iter().filter(|s| **s == State::InFlight).count();
            assert_eq!(ledger.in_flight(), 1500 * in_flight as u64);
        }
    }
}

/// A copy that is forgotten because its segment has arrived is not counted again when its own
/// number is acknowledged, and a new connection can begin.
#[test]
fn a_forgotten_copy_is_acknowledged_once() {
    let mut ledger = Ledger::new(false);
    (0..4).for_each(|i| _ = send(&mut ledger, i));
    let copy = Entry::new(Time::from_millis(4), 0, 1500, 0).repeating(true);
    let copy = ledger.on_send(copy, Detail::default);
    ack(&mut ledger, 1, 2);
    ledger.forget_copy(0, 0);
    assert_eq!(ack(&mut ledger, 1, 3), [3]);
    // The blocks of the last acknowledgement and one more number.
    assert_eq!(ack(&mut ledger, 1, copy), [0; 0]);
    assert_eq!(ledger.in_flight(), 1500);
    ledger.abandon();
    assert_eq!(ledger.in_flight(), 0);
}

/// After an undo of many losses, each acknowledgement of one more segment looks at that segment's
/// packets only, and not at all packets that are off RACK's list.
#[test]
fn packets_off_the_list_are_looked_at_once() {
    const PACKETS: u64 = 1000;
    let mut ledger = Ledger::new(false);
    let send = |ledger: &mut Ledger, segment, repeats| {
        let entry = Entry::new(Time::ZERO, segment, 1500, 0).repeating(repeats);
        ledger.on_send(entry, Detail::default)
    };
    (0..PACKETS).for_each(|segment| _ = send(&mut ledger, segment, false));
    ledger.lose_all(|_, _, _| ());
    // The retransmissions leave in the reverse order.
    (0..PACKETS).rev().for_each(|segment| _ = send(&mut ledger, segment, true));
    let mut copies = 0;
    assert_eq!(ledger.find_all(true, u64::MAX, |_| copies += 1), PACKETS);
    assert_eq!((copies, ledger.in_flight()), (PACKETS, 2 * PACKETS * 1500));
    let looks = (0..PACKETS).map(|segment| ledger.forget_unwatched(segment + 1));
    assert_eq!(looks.sum::<usize>(), PACKETS as usize);
    // The originals are forgotten, the retransmissions in flight.
    assert_eq!((ledger.in_flight(), ledger.first_in_flight()), (PACKETS * 1500, Some(PACKETS)));
}

#[test]
fn runs_are_acknowledged_as_their_blocks_are() {
    let mut random = paceline_cc::Stream::new(1, "runs");
    let (mut quick, mut searched) = (Ledger::new(false), Ledger::new(false));
    let mut runs = 0;
    for step in 0..20_000 {
        for ledger in [&mut quick, &mut searched] {
            if ledger.next() - ledger.front < 40 {
                send(ledger, step);
            }
        }
        let Some(largest) = quick.next().checked_sub(1 + random.below(4)) else { continue };
        // Mostly everything since the start; seldom a part, or nothing.
        let length = match random.below(20) {
            0 => random.below(5).min(largest + 1),
            _ => largest + 1,
        };
        // A block that begins below number 0 is invalid.
        let invalid = Ack { largest, lengths: [largest as u32 + 2, 0, 0], ..Ack::default() };
        assert_eq!(quick.run_end(&invalid), None);
        let ack = Ack { largest, lengths: [length as u32, 0, 0], ..Ack::default() };
        let mut found = Vec::new();
        searched.on_blocks(ack.blocks(), |number, _, _| found.push(number));
        let front = quick.front;
        match quick.run_end(&ack).filter(|_| random.chance(0.5)) {
            // All segments are 0.
            Some(end) => {
                let run = quick.on_plain_run(end, 1).expect("plain");
                let sent = found.iter().map(|_| 1500u64).sum::<u64>();
                assert_eq!((run.bytes, run.packets as usize), (sent, found.len()));
                assert!(found.iter().copied().eq(front..end));
                runs += 1;
            }
            None => assert_eq!(take(&mut quick, &ack), found, "{ack:?}"),
        }
        let state =
            |ledger: &Ledger| (ledger.front, ledger.undecided, ledger.acked_end, ledger.in_flight);
        assert_eq!(state(&quick), state(&searched));
    }
    assert!(runs > 2000, "{runs}");
}

/// Acknowledges segments of a ledger in which data is lost, sent again and lost again, and compares
/// the numbers with those that a look at every number finds.
#[test]
fn segments_are_acknowledged_with_all_their_repeats() {
    let mut random = paceline_cc::Stream::new(4, "segments");
    let (mut ledger, mut returns) = (Ledger::new(false), Returns::default());
    // The number and the segment of each transmission without a final fate.
    let mut open: Vec<(u64, u64)> = Vec::new();
    let (mut end, mut next, mut repeated) = (0, 0, 0);
    for step in 0..4000 {
        let now = Time::from_millis(step);
        let lost_segment = open.iter().map(|(_, segment)| *segment).find(|_| random.chance(0.05));
        match random.below(8) {
            0 if end < next => ledger.lose_segment(end, |_, _, _| ()),
            1 if random.chance(0.05) => ledger.lose_all(|_, _, _| ()),
            2 | 3 if lost_segment.is_some() => {
                let segment = lost_segment.expect("checked");
                ledger.lose_segment(segment, |_, _, _| ());
                let entry = Entry::new(now, segment, 1500, 0).repeating(true);
                let number = ledger.on_send(entry, Detail::default);
                if ledger.returns() {
                    returns.note(number);
                }
                open.push((number, segment));
            }
            4 if end < next => {
                end += 1 + random.below((next - end).min(3));
                let kept = random.below(3);
                let keeps = |number: u64| number % 3 == kept;
                let due = |&(number, segment): &(u64, u64)| segment < end && !keeps(number);
                let expected: Vec<u64> =
                    open.iter().filter(|one| due(one)).map(|one| one.0).collect();
                let mut acked = Vec::new();
                let each = |number: u64, _: &Entry, _: Option<&Detail>| acked.push(number);
                ledger.on_segments_below(end, &mut returns, |number, _| keeps(number), each);
                // Without a lost packet, what was kept is looked for up to the first later segment.
                repeated += acked.len().saturating_sub(3);
                let found = |one: &(u64, u64)| acked.contains(&one.0);
                if ledger.remembered > 0 {
                    assert_eq!(acked, expected);
                }
                open.retain(|one| !found(one));
                ledger.forget(|_| false);
                open.retain(|one| ledger.is_open(one.0));
            }
            _ => {
                let number = ledger.on_send(Entry::new(now, next, 1500, 0), Detail::default);
                open.push((number, next));
                next += 1;
            }
        }
    }
    assert!(repeated > 20, "{repeated}");
}
