//! The fates of packets, for controllers that need them.

use paceline_cc::{Ack, Fate, Feedback, Signals, Time};
use paceline_flow::{Account, AccountConfig, Sent};

/// Returns an account that has sent packets 0 to 4 at 0 to 4 ms, with tags from 100.
fn account(signals: Signals) -> Account {
    let mut config = AccountConfig::stream(1500);
    config.signals = signals;
    let mut account = Account::new(config);
    for number in 0..5 {
        let sent = Sent::segment(number, 1500).tagged(100 + number);
        account.on_sent(Time::from_millis(number), sent);
    }
    account
}

/// The receiver's clock at the start: one hour.
const CLOCK: Time = Time::from_secs(3600);

fn ack(first: u64, last: u64) -> Ack {
    let length = (last - first + 1) as u32;
    Ack { largest: last, lengths: [length, 0, 0], received: CLOCK, ..Ack::default() }
}

/// Returns the numbers, and whether they were lost.
fn fates(feedback: &Feedback<'_>) -> Vec<(u64, bool)> {
    feedback.fates.iter().map(|fate| (fate.number, fate.lost)).collect()
}

/// Each fate has the packet's tag and sending time; the newest has its arrival time on the
/// receiver's clock, too.
#[test]
fn a_fate_has_tag_and_times() {
    let mut account = account(Signals::FATES);
    let feedback = account.on_ack(Time::from_millis(100), &ack(1, 2));
    let [one, two] = feedback.fates else { panic!("{:?}", feedback.fates) };
    let plain = |fate: &Fate| (fate.number, fate.size, fate.lost, fate.tag, fate.sent);
    assert_eq!(plain(one), (1, 1500, false, 101, Time::from_millis(1)));
    assert_eq!(plain(two), (2, 1500, false, 102, Time::from_millis(2)));
    assert_eq!((one.received, two.received), (Time::NEVER, CLOCK));
}

/// A packet can have two fates: lost, and acknowledged after all.
#[test]
fn a_lost_packet_may_be_acknowledged_later() {
    let mut account = account(Signals::FATES);
    let feedback = account.on_ack(Time::from_millis(100), &ack(1, 3));
    assert_eq!(fates(&feedback), [(1, false), (2, false), (3, false), (0, true)]);
    let feedback = account.on_ack(Time::from_millis(101), &ack(0, 3));
    assert_eq!(fates(&feedback), [(0, false)]);
    assert_eq!(feedback.fates[0].tag, 100);
    let feedback = account.on_ack(Time::from_millis(102), &ack(0, 3));
    assert_eq!(fates(&feedback), []);
}

/// Fates belong to one event: the next one starts without any.
#[test]
fn fates_belong_to_one_event() {
    let mut account = account(Signals::FATES);
    account.on_ack(Time::from_millis(100), &ack(0, 4));
    let feedback = account.on_ack(Time::from_millis(101), &ack(0, 4));
    assert_eq!(fates(&feedback), []);
}

/// A controller that needs no signals gets neither fates nor rate samples.
#[test]
fn without_signals_there_are_no_fates_and_samples() {
    let mut account = account(Signals::NONE);
    let feedback = account.on_ack(Time::from_millis(100), &ack(1, 4));
    assert_eq!((feedback.acked_packets, feedback.lost_packets), (4, 1));
    assert!(feedback.fates.is_empty() && feedback.sample.is_none());
}
