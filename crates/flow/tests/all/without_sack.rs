//! Flows with cumulative acknowledgements only: Reno and NewReno.

use std::collections::VecDeque;

use paceline_cc::{Ack, Body, Congestion, Packet, Setup, Signals, Span, Spec, Stage, Stream, Time};
use paceline_flow::{
    Account, AccountConfig, Expired, LossRecovery, Receiver, ReceiverConfig, RtoBounds, RttSamples,
    SENDER_SIGNALS, Sender, SenderConfig, Sent, Workload,
};
use paceline_schemes::registry;

const MSS: u32 = 1500;
const NEWRENO: LossRecovery = LossRecovery::NewReno(RttSamples::One);
const RENO: LossRecovery = LossRecovery::Reno(RttSamples::One);

fn at(millis: u64) -> Time {
    Time::from_millis(millis)
}

/// Returns an account with packets 0 to 9 in flight.
fn with_ten(recovery: LossRecovery) -> Account {
    let mut config = AccountConfig::stream(MSS);
    (config.recovery, config.rto, config.probes) = (recovery, RtoBounds::SHORT, false);
    let mut account = Account::new(config);
    for segment in 0..10 {
        account.on_sent(at(segment), Sent::segment(segment, MSS));
    }
    account
}

/// Acknowledges all segments below `cumulative`. Returns the segments acknowledged, the packets
/// lost, the congestion signal, and whether losses are being repaired.
fn ack(
    account: &mut Account,
    millis: u64,
    cumulative: u64,
) -> (u32, u32, Option<Congestion>, bool) {
    let ack = Ack { cumulative, ..Ack::default() };
    let told = account.on_ack(at(millis), &ack);
    (told.acked_packets, told.lost_packets, told.congestion, told.in_recovery)
}

fn repairs(account: &mut Account) -> Vec<u64> {
    std::iter::from_fn(|| account.take_repair()).map(|repair| repair.segment).collect()
}

/// RFC 5681 §3.2: the third duplicate reveals a loss, and each duplicate allows a packet beyond the
/// window, including the first two (RFC 3042).
#[test]
fn three_duplicates_tell_of_one_loss() {
    for recovery in [RENO, NEWRENO] {
        let mut account = with_ten(recovery);
        assert_eq!(ack(&mut account, 100, 2), (2, 0, None, false));
        for duplicate in 1..=2 {
            assert_eq!(ack(&mut account, 110 + duplicate, 2), (0, 0, None, false));
            assert_eq!(account.window(15_000, true), 15_000 + 1500 * duplicate);
        }
        assert_eq!(ack(&mut account, 113, 2), (0, 1, Some(Congestion::Loss), true));
        assert_eq!(repairs(&mut account), [2]);
        assert_eq!(account.window(7_500, true), 7_500 + 3 * 1500);
        assert_eq!(ack(&mut account, 114, 2), (0, 0, None, true));
        assert_eq!(account.window(7_500, true), 7_500 + 4 * 1500);
        // Seven packets are in flight, and the repair has not been sent.
        assert_eq!(account.in_flight(), 7 * 1500);
    }
}

/// RFC 5681 §2: only an acknowledgement of the largest number so far is a duplicate. Those that were overtaken are not.
#[test]
fn acknowledgements_that_were_overtaken_tell_of_no_loss() {
    let mut account = with_ten(NEWRENO);
    assert_eq!(ack(&mut account, 100, 6), (6, 0, None, false));
    for old in [2, 3, 4, 5] {
        assert_eq!(ack(&mut account, 101, old), (0, 0, None, false));
    }
    assert_eq!(account.window(15_000, true), 15_000);
    for _ in 0..2 {
        assert_eq!(ack(&mut account, 102, 6).1, 0);
    }
    assert_eq!(ack(&mut account, 102, 6), (0, 1, Some(Congestion::Loss), true));
}

/// Returns an account that has lost segments 2 and 6 of ten, has retransmitted segment 2, and gets
/// its acknowledgement.
fn after_the_first_repair(
    recovery: LossRecovery,
) -> (Account, (u32, u32, Option<Congestion>, bool)) {
    let mut account = with_ten(recovery);
    ack(&mut account, 100, 2);
    for millis in 101..=106 {
        ack(&mut account, millis, 2);
    }
    let repair = account.take_repair().expect("segment 2");
    account.on_sent(at(106), Sent::retransmission(repair));
    let told = ack(&mut account, 206, 6);
    (account, told)
}

/// RFC 6582 §3.2: a partial acknowledgement reveals that the next packet is lost as well, and the
/// repair continues until all packets sent before it began are acknowledged.
#[test]
fn newreno_repairs_a_loss_with_each_partial_acknowledgement() {
    let (mut account, told) = after_the_first_repair(NEWRENO);
    assert_eq!(told, (4, 1, None, true));
    let repair = account.take_repair().expect("segment 6");
    assert_eq!(repair.segment, 6);
    account.on_sent(at(206), Sent::retransmission(repair));
    assert_eq!(ack(&mut account, 306, 10), (4, 0, None, false));
    assert_eq!((account.in_flight(), account.window(7_500, true)), (0, 7_500));
}

/// RFC 5681 §3.2: Reno leaves fast recovery, does not enter it a second time for one window, and
/// waits for its timer. Then it retransmits everything from there on (RFC 6298 §5.4).
#[test]
fn reno_waits_for_its_timer_to_repair_a_second_loss() {
    let (mut account, told) = after_the_first_repair(RENO);
    assert_eq!(told, (4, 0, None, false));
    for millis in 207..=209 {
        assert_eq!(ack(&mut account, millis, 6), (0, 0, None, false));
    }
    assert_eq!(repairs(&mut account), []);
    let deadline = account.deadline();
    // The only sample, 100 ms, gives a timeout of 100 + 4 * 50 ms.
    assert_eq!(deadline, at(206 + 300));
    let told = match account.on_deadline(deadline) {
        paceline_flow::Expired::Timeout(told) => told.congestion,
        other => panic!("{other:?}"),
    };
    assert_eq!(told, Some(Congestion::Timeout));
    assert_eq!(repairs(&mut account), [6, 7, 8, 9]);
}

/// Karn's rule and RFC 6298 §3: one packet is timed at a time; with timestamps all packets are.
#[test]
fn one_packet_is_timed_at_a_time() {
    let rtts = |recovery| {
        let mut account = with_ten(recovery);
        let mut rtts = Vec::new();
        for segment in 1..=4 {
            let ack = Ack { cumulative: segment, ..Ack::default() };
            let told = account.on_ack(at(100 + 3 * segment), &ack);
            rtts.push(told.rtt.map(|rtt| rtt.as_millis_f64()));
        }
        rtts
    };
    assert_eq!(rtts(NEWRENO), [Some(103.0), None, None, None]);
    let each = rtts(LossRecovery::NewReno(RttSamples::Each));
    assert_eq!(each, [Some(103.0), Some(105.0), Some(107.0), Some(109.0)]);
}

/// Transfers 3000 packets over a wire that loses every twentieth packet in both directions. Returns
/// when it ended, and the timeouts.
fn transfer(recovery: LossRecovery, seed: u64) -> (Time, u64) {
    let newreno = registry::build(&Spec::parse("newreno").expect("a scheme")).expect("newreno");
    let config = SenderConfig::of(&newreno, Setup::new(1, 0)).with(|config| {
        config.workload = Workload::Bytes(3000 * u64::from(MSS));
        (config.recovery, config.rto) = (recovery, RtoBounds::SHORT);
    });
    let mut sender =
        Sender::new(config, newreno.controller.clone(), SENDER_SIGNALS).expect("its signals");
    let mut receiver = Receiver::new(ReceiverConfig::of(&newreno, Setup::new(1, 0)));
    let mut random = Stream::new(seed, "wire");
    let mut wire: VecDeque<(Time, Packet)> = VecDeque::new();
    let (mut place, mut now) = (Packet::opaque(0), Time::ZERO);
    while sender.transfers().is_empty() {
        let arrival = wire.front().map_or(Time::NEVER, |(at, _)| *at);
        now = now.max(arrival.min(sender.wake()).min(receiver.wake()));
        assert!(now < Time::from_secs(3600), "{:?}", sender.stats());
        if arrival <= now
            && let Some((_, packet)) = wire.pop_front()
        {
            match packet.body {
                Body::Data(_) => receiver.push(now, &packet),
                _ => sender.push(now, &packet),
            }
        }
        while sender.pop_into(now, &mut place) || receiver.pop_into(now, &mut place) {
            if !random.chance(0.05) {
                wire.push_back((now + Span::from_millis(20), place));
            }
        }
    }
    assert_eq!(receiver.stats().goodput, 3000 * u64::from(MSS));
    let stats = sender.stats();
    (sender.transfers()[0].end, stats.timeouts)
}

/// All data arrives. The more a sender knows about losses, the less it waits for its timer. Both bounds were changed: they
/// compared one draw, and the transfer with SACK ended before that with NewReno. Since a fast retransmission leaves at once,
/// ten transfers with NewReno take 251 s in all, and with SACK 267 s.
#[test]
fn all_data_arrives_despite_losses() {
    let [sack, newreno, reno] = [LossRecovery::Sack, NEWRENO, RENO].map(|recovery| {
        let transfers = (1..=10).map(|seed| transfer(recovery, seed));
        transfers.fold((0, 0), |sums, (end, timeouts)| {
            (sums.0 + end.as_nanos() / 1_000_000, sums.1 + timeouts)
        })
    });
    assert!(sack.0.max(newreno.0) < reno.0, "{sack:?} {newreno:?} {reno:?}");
    assert!(sack.1 < newreno.1 && newreno.1 < reno.1, "{sack:?} {newreno:?} {reno:?}");
}

/// RFC 6582 §3.2: duplicates after a partial acknowledgement inflate the window as those before it do.
#[test]
fn duplicates_after_a_partial_acknowledgement_inflate_the_window() {
    let mut account = with_ten(NEWRENO);
    let inflation = |account: &Account| (account.window(0, true) / u64::from(MSS)) as u32;
    // Packets 0 and 5 are lost; the others give eight duplicates.
    for number in 0..8 {
        let (_, lost, ..) = ack(&mut account, 100 + number, 0);
        assert_eq!(lost, u32::from(number == 2), "duplicate {number}");
    }
    assert_eq!(inflation(&account), 8);
    let repair = account.take_repair().expect("a repair");
    account.on_sent(at(108), Sent::retransmission(repair));
    // The repair of 0 arrives: packets 0 to 4 are acknowledged, and 5 is lost.
    assert_eq!(ack(&mut account, 140, 5), (5, 1, None, true));
    assert_eq!(inflation(&account), 4);
    assert_eq!(repairs(&mut account), [5]);
    for number in 1..=3 {
        assert_eq!(ack(&mut account, 150, 5), (0, 0, None, true));
        assert_eq!(inflation(&account), 4 + number);
    }
}

/// Packets that cumulative acknowledgements settle have fates, as those of selective ones have.
#[test]
fn cumulative_acknowledgements_tell_the_fates() {
    let mut config = AccountConfig::stream(MSS);
    (config.recovery, config.rto, config.probes) = (NEWRENO, RtoBounds::SHORT, false);
    config.signals = Signals::FATES;
    let mut account = Account::new(config);
    for segment in 0..5 {
        account.on_sent(at(segment), Sent::segment(segment, MSS));
    }
    let fates = |account: &mut Account, ms: u64, cumulative: u64| -> Vec<(u64, bool, bool)> {
        let told = account.on_ack(at(ms), &Ack { cumulative, ..Ack::default() });
        told.fates.iter().map(|fate| (fate.number, fate.lost, fate.late)).collect()
    };
    assert_eq!(fates(&mut account, 100, 1), [(0, false, false)]);
    assert!(fates(&mut account, 101, 1).is_empty() && fates(&mut account, 102, 1).is_empty());
    assert_eq!(fates(&mut account, 103, 1), [(1, true, false)]);
    // It arrives after all, before its repair has left.
    let partial = [(1, false, true), (2, false, false), (3, true, false)];
    assert_eq!(fates(&mut account, 104, 3), partial);
    let expired = account.on_deadline(at(10_000));
    let Expired::Timeout(told) = expired else { panic!("{expired:?}") };
    assert!(told.in_recovery);
    assert_eq!(told.fates.len(), 1);
    let repair = account.take_repair().expect("a repair");
    account.on_sent(at(10_000), Sent::retransmission(repair));
    // Of a segment that was sent twice the packet in flight, and no lost one, counts as arrived.
    assert_eq!(fates(&mut account, 10_100, 4), [(5, false, false)]);
}

/// A partial acknowledgement settles the repair, too: its RTT is the sample, and it is not in flight any more.
#[test]
fn a_partial_acknowledgement_settles_the_repair() {
    let mut account = with_ten(LossRecovery::NewReno(RttSamples::Each));
    for number in 0..5 {
        ack(&mut account, 100 + number, 0);
    }
    let repair = account.take_repair().expect("a repair");
    account.on_sent(at(500), Sent::retransmission(repair));
    assert_eq!(account.in_flight(), 10 * u64::from(MSS));
    let told = account.on_ack(at(600), &Ack { cumulative: 5, ..Ack::default() });
    assert_eq!(told.rtt, Some(Span::from_millis(100)));
    // Packets 5 to 9, of which 5 counts as lost.
    assert_eq!(account.in_flight(), 4 * u64::from(MSS));
}

/// Returns an account with every packet timed, after packets 0 and 2 to 4 of ten have arrived, so that segment 1 counts as
/// lost, and its repair, number 10, has left at 104 ms. The receiver's blocks are known.
fn with_a_repair_in_flight(signals: Signals) -> Account {
    let mut config = AccountConfig::stream(MSS);
    config.recovery = LossRecovery::NewReno(RttSamples::Each);
    (config.rto, config.probes, config.signals) = (RtoBounds::SHORT, false, signals);
    let mut account = Account::new(config);
    for segment in 0..10 {
        account.on_sent(at(segment), Sent::segment(segment, MSS));
    }
    account.on_ack(at(100), &Ack { cumulative: 1, lengths: [1, 0, 0], ..Ack::default() });
    for largest in 2..=4 {
        let lengths = [largest as u32 - 1, 1, 0];
        let ack = Ack { cumulative: 1, largest, lengths, gaps: [1, 0], ..Ack::default() };
        account.on_ack(at(100 + largest), &ack);
    }
    let repair = account.take_repair().expect("a repair");
    account.on_sent(at(104), Sent::retransmission(repair));
    account
}

/// A repair that has just left has not arrived, so its departure gives no RTT. As with timestamps (RFC 7323 §4.3), the sample
/// is that of a packet that the receiver has.
#[test]
fn a_repair_that_has_not_arrived_gives_no_rtt() {
    let mut account = with_a_repair_in_flight(Signals::NONE);
    // The partial acknowledgement declares packet 5 lost. The original of segment 1 was overtaken by packets 2 to 4, of which the last left at 4 ms.
    let ack = Ack { cumulative: 5, largest: 4, lengths: [5, 0, 0], ..Ack::default() };
    assert_eq!(account.on_ack(at(106), &ack).rtt, Some(Span::from_millis(102)));
    assert_eq!((account.rtt().min(), account.in_flight()), (Span::from_millis(100), 4 * 1500));
}

/// If the repair has arrived, the sample is its own.
#[test]
fn a_repair_that_has_arrived_gives_its_rtt() {
    let mut account = with_a_repair_in_flight(Signals::NONE);
    let ack =
        Ack { cumulative: 10, largest: 10, lengths: [9, 1, 0], gaps: [1, 0], ..Ack::default() };
    assert_eq!(account.on_ack(at(204), &ack).rtt, Some(Span::from_millis(100)));
}

/// The delivery rate of an acknowledgement is counted from the departure of a packet that has arrived.
#[test]
fn a_repair_that_has_not_arrived_gives_no_rate() {
    let mut account = with_a_repair_in_flight(Signals::DELIVERY_RATE);
    let ack = Ack { cumulative: 5, largest: 4, lengths: [5, 0, 0], ..Ack::default() };
    let sample = account.on_ack(at(106), &ack).sample.expect("a sample");
    // All five packets were delivered since packet 4 left.
    assert_eq!((sample.delivered, sample.interval), (5 * 1500, Span::from_millis(106)));
}

/// The original is late, and the repair has a fate of its own when it arrives.
#[test]
fn the_repair_of_a_late_packet_has_its_own_fate() {
    let mut account = with_a_repair_in_flight(Signals::FATES);
    let mut fates = |ms: u64, ack: Ack| -> Vec<(u64, bool, bool)> {
        let told = account.on_ack(at(ms), &ack);
        told.fates.iter().map(|fate| (fate.number, fate.lost, fate.late)).collect()
    };
    let late = fates(106, Ack { cumulative: 5, largest: 4, lengths: [5, 0, 0], ..Ack::default() });
    let arrived = |number| (number, false, false);
    assert_eq!(late, [(1, false, true), arrived(2), arrived(3), arrived(4), (5, true, false)]);
    let rest =
        fates(204, Ack { cumulative: 10, largest: 10, lengths: [11, 0, 0], ..Ack::default() });
    let others = [6, 7, 8, 9, 10].map(arrived);
    assert_eq!(rest, [&[(5, false, true)], &others[..]].concat());
    assert_eq!(account.in_flight(), 0);
}
