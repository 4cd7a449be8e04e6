//! Which packets are declared lost, and when.

use super::script::{datagrams, stream};

/// RFC 9002, section 6.1.1, and RFC 6675's DupThresh: a packet is lost when three packets sent
/// later have arrived.
#[test]
fn three_later_packets_make_a_loss() {
    stream().run(
        "  0  send 0-4
         100  ack 1-2  -> acked 1-2, rtt 100, in-flight 3, recovery off
         101  ack 1-3  -> acked 3, lost 0, congestion loss, recovery on, in-flight 1, repair 0
         101  again 0 as 5
         102  ack 1-4  -> acked 4, recovery on, cumulative 0
         201  ack 1-5 -> acked 5, rtt 100, recovery off, in-flight 0, total-lost 1, retransmits 1",
    );
}

/// Every packet with three later ones acknowledged is lost, all at one time; the last two of a hole
/// wait for further acknowledgements.
#[test]
fn a_hole_is_lost_up_to_the_threshold() {
    stream().rfc9002().run(
        "  0  send 0-9
         100  ack 0    -> acked 0
         101  ack 6 0  -> acked 6, lost 1-3, congestion loss, in-flight 5, repair 1
         102  ack 6-7 0 -> acked 7, lost 4
         103  ack 6-8 0 -> acked 8, lost 5, total-lost 5
         103  again 1-5 as 10-14 -> repair none, in-flight 6
         200  ack 6-9 0 -> acked 9
         203  ack 6-14 0 -> acked 10-14, recovery off",
    );
}

/// RFC 9002, section 6.1.2: a packet with a later one acknowledged is lost 9/8 of the round-trip
/// time after it was sent.
#[test]
fn nine_eighths_of_an_rtt_make_a_loss() {
    stream().rfc9002().run(
        "  0  send 0
           1  send 1
           2  send 2
          82  ack 2 -> acked 2, rtt 80, deadline 90
          90  loss-timer -> lost 0, congestion loss, recovery on, deadline 91
          91  loss-timer -> lost 1
          91  again 0-1 as 3-4
         171  ack 2-4 -> acked 3-4, recovery off, deadline never",
    );
}

/// RFC 9002, section 6.1.2: the larger of the smoothed and the latest round-trip time counts.
#[test]
fn the_larger_rtt_counts_for_the_time_threshold() {
    stream().rfc9002().run(
        "   0  send 0
           80  ack 0   -> srtt 80
          100  send 1-2
          260  ack 2 0 -> rtt 160, srtt 90, deadline 280
          280  loss-timer -> lost 1, congestion loss",
    );
    stream().rfc9002().run(
        "   0  send 0
          160  ack 0   -> srtt 160
          200  send 1-2
          280  ack 2 0 -> rtt 80, srtt 150, deadline 368.75
          368.75 loss-timer -> lost 1, congestion loss",
    );
}

/// An acknowledgement after the loss timer's time declares the loss itself, since a driver may be
/// late.
#[test]
fn an_acknowledgement_also_looks_at_the_clock() {
    stream().rfc9002().run(
        "  0  send 0-1
          79  send 2
          80  ack 1 -> deadline 90
          90  loss-timer -> lost 0, congestion loss",
    );
    stream().rfc9002().run(
        "  0  send 0-2
          10  send 3
          80  ack 2 -> acked 2, deadline 90
          90  ack 2-3 -> acked 3, lost 0-1, congestion loss",
    );
}

/// Every transmission has its own number, so the loss of a repair is detected like any other (as in
/// RFC 8985; RFC 6675 needs a timeout).
#[test]
fn a_lost_repair_is_lost_again_without_a_timeout() {
    stream().run(
        "  0  send 0-5
         100  ack 1-3 -> acked 1-3, lost 0, congestion loss
         100  again 0 as 6
         101  send 7-9
         102  ack 1-5 -> acked 4-5
         202  ack 7-9 1-5 -> acked 7-9, lost 6, recovery on
         202  again 6 as 10
         302  ack 7-10 1-5 -> acked 10, recovery off, total-lost 2, retransmits 2, cumulative 9",
    );
}

/// One block can acknowledge everything at once. A second acknowledgement of these packets has no
/// effect.
#[test]
fn an_acknowledgement_counts_once() {
    stream().run(
        "  0  send 0-3
         100  ack 0-3 -> acked 0-3, rtt 100, delivered 4
         110  ack 0-3 -> acked none, rtt none, delivered 4, acks 2, srtt 100
         111  ack 2-3 -> acked none, cumulative 4",
    );
}

/// Blocks of one acknowledgement, three at most, are all taken in.
#[test]
fn three_blocks() {
    stream().rfc9002().run(
        "  0  send 0-9
         100  ack 9 6-7 2-3 -> acked 2-3 6-7 9, lost 0-1 4-5, congestion loss, in-flight 1",
    );
}

/// A packet without data can be lost, too, and is not retransmitted.
#[test]
fn nothing_of_a_packet_without_data_is_repeated() {
    stream().run(
        "  0  beat 0
           0  send 1-3
         100  ack 1-3 -> acked 1-3, lost 0, congestion loss, repair none, cumulative 3",
    );
}

/// Datagrams are lost by the same thresholds.
#[test]
fn datagrams_are_lost_by_the_same_thresholds() {
    datagrams().run(
        "  0  send 0-4
          80  ack 1-2 -> acked 1-2, deadline 90
          81  ack 1-3 -> acked 3, lost 0, congestion loss, repair none",
    );
}

/// A log of losses names each packet once, with the rule by which it was lost.
#[test]
fn losses_are_logged_with_the_rule_that_found_them() {
    use paceline_cc::{Ack, Time};
    use paceline_flow::{Account, AccountConfig, Expired, LossRecovery, LossTrigger, Sent};

    let mut config = AccountConfig::stream(1500);
    config.recovery = LossRecovery::Rfc9002;
    let mut account = Account::new(config);
    let send = |account: &mut Account, segment: u64| {
        account.on_sent(Time::from_millis(segment), Sent::segment(segment, 1500));
    };
    (0..3).for_each(|segment| send(&mut account, segment));
    // The log has not been asked for yet.
    account
        .on_ack(Time::from_millis(90), &Ack { largest: 2, lengths: [1, 0, 0], ..Ack::default() });
    assert_eq!(account.drain_losses().count(), 0);
    account.log_losses();
    (3..9).for_each(|segment| send(&mut account, segment));
    let ack = Ack { largest: 7, lengths: [1, 0, 0], ..Ack::default() };
    account.on_ack(Time::from_millis(95), &ack);
    let mut seen: Vec<_> = account.drain_losses().map(|loss| (loss.number, loss.trigger)).collect();
    for ms in 96..2000 {
        let now = Time::from_millis(ms);
        while account.deadline() <= now {
            if matches!(account.on_deadline(now), Expired::Nothing) {
                break;
            }
        }
        seen.extend(account.drain_losses().map(|loss| (loss.number, loss.trigger)));
    }
    let (reordered, late, timeout) =
        (LossTrigger::ReorderingThreshold, LossTrigger::TimeThreshold, LossTrigger::Timeout);
    // The first two were too old when the acknowledgement arrived; 8 is the only one sent before
    // the newest.
    let expected = [
        (0, reordered),
        (1, reordered),
        (3, reordered),
        (4, reordered),
        (5, late),
        (6, late),
        (8, timeout),
    ];
    assert_eq!(seen, expected);
    assert_eq!(account.stats().lost, 7);
    assert_eq!(account.drain_losses().count(), 0);
}
