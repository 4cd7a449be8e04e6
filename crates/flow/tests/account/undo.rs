//! Reactions that turn out to be mistakes (RFC 4015, RFC 5682).

use super::script::{datagrams, stream};

/// A delay longer than the timer: the acknowledgement of an original after the timeout shows that
/// the timer was wrong (RFC 5682; numbers distinguish originals from repairs, as timestamps do in
/// RFC 4015). No further packet is retransmitted, and the others are in flight again.
#[test]
fn a_late_original_undoes_a_timeout() {
    stream().without_probes().run(
        "  0  send 0
         100  ack 0     -> rto 300
         100  send 1-5
         400  timeout   -> lost 1-5, in-flight 0, repair 1
         400  again 1 as 6
         450  ack 0-1   -> acked 1, rtt 350, congestion undo, recovery off, repair none, in-flight 5
         451  ack 0-5   -> acked 2-5, in-flight 1, late 5
         500  ack 0-6   -> acked 6, in-flight 0, retransmits 1, total-lost 5, cumulative 6",
    );
}

/// A correct timeout: the repair is acknowledged, the originals are not, and nothing is undone.
#[test]
fn an_acknowledged_repair_undoes_nothing() {
    stream().without_probes().run(
        "  0  send 0
         100  ack 0     -> rto 300
         100  send 1-3
         400  timeout   -> lost 1-3
         400  again 1 as 4
         500  ack 4 0   -> acked 4, recovery on, repair 2
         500  again 2-3 as 5-6
         600  ack 4-6 0 -> acked 5-6, recovery off, late 0",
    );
}

/// After an undo, later acknowledgements reveal that the missing packets are lost, which is
/// congestion of its own.
#[test]
fn missing_packets_are_lost_again_after_an_undo() {
    stream().without_probes().run(
        "  0  send 0
         100  ack 0       -> rto 300
         100  send 1-5
         400  timeout     -> lost 1-5
         400  again 1 as 6
         450  ack 0-1     -> acked 1, congestion undo, in-flight 5
         451  ack 3-5 0-1 -> acked 3-5, lost 2, congestion loss, recovery on, repair 2
         451  again 2 as 7
         500  ack 3-6 0-1 -> acked 6, recovery on
         551  ack 3-7 0-1 -> acked 7, recovery off, retransmits 2",
    );
}

/// A second timeout in a row is undone by an original, too.
#[test]
fn a_late_original_undoes_two_timeouts() {
    stream().without_probes().run(
        "   0  send 0
          100  ack 0     -> rto 300
          100  send 1
          400  timeout   -> lost 1
          400  again 1 as 2
         1000  timeout   -> lost 2, rto 1200
         1000  again 2 as 3
         1010  ack 0-1   -> acked 1, rtt 910, congestion undo, in-flight 2, repair none",
    );
}

/// A timeout while losses are being repaired is correct although an original arrives late: some
/// packets are known to be lost (Linux: no F-RTO in recovery). All are repaired in slow start.
#[test]
fn a_timeout_during_repair_is_not_undone_by_one_original() {
    stream().without_probes().run(
        "  0  send 0
         100  ack 0      -> rto 300
         100  send 1-9
         200  ack 5-7 0  -> acked 5-7, lost 1-4, congestion loss, recovery on
         200  again 1 as 10
         500  timeout    -> lost 8-10, in-flight 0
         500  again 10 as 11
         600  ack 5-8 0  -> acked 8, congestion none, recovery on",
    );
}

/// A second timeout in a row is undone by one original, which shows that the path was only late.
#[test]
fn a_second_timeout_during_repair_is_undone_by_an_original() {
    stream().without_probes().run(
        "   0  send 0
          100  ack 0      -> rto 300
          100  send 1-9
          200  ack 5-7 0  -> acked 5-7, lost 1-4, congestion loss, recovery on
          200  again 1 as 10
          500  timeout    -> lost 8-10, in-flight 0
          500  again 10 as 11
         1100  timeout    -> lost 11
         1100  again 11 as 12
         1200  ack 5-8 0  -> acked 8, congestion undo, recovery off",
    );
}

/// A fast retransmit is undone when all packets declared lost arrive late.
#[test]
fn reordering_undoes_a_fast_retransmit() {
    stream().run(
        "  0  send 0-9
         100  ack 2-5     -> acked 2-5, lost 0-1, congestion loss, recovery on
         101  ack 2-5 0   -> acked 0, recovery on    # one of two
         102  ack 0-5     -> acked 1, congestion undo, recovery off, late 2, repair none
         103  ack 0-9     -> acked 6-9, retransmits 0",
    );
}

/// It is undone even if the repair has left already, as with DSACK (RFC 3708).
#[test]
fn an_undo_after_the_repair_has_left() {
    stream().run(
        "  0  send 0-9
         100  ack 1-5     -> acked 1-5, lost 0, congestion loss
         100  again 0 as 10
         120  ack 0-5     -> acked 0, congestion undo, recovery off
         130  ack 0-9     -> acked 6-9
         200  ack 0-10    -> acked 10, rtt none, in-flight 0",
    );
}

/// One of two lost packets arrives late, the other is repaired: the reaction was right.
#[test]
fn one_real_loss_keeps_the_reaction() {
    stream().run(
        "  0  send 0-9
         100  ack 2-5       -> acked 2-5, lost 0-1, congestion loss
         100  again 0-1 as 10-11
         101  ack 2-5 0     -> acked 0
         110  ack 2-9 0     -> acked 6-9, recovery on
         200  ack 2-11 0    -> acked 10-11, recovery off, late 1",
    );
}

/// On a path that keeps the order, a packet will not arrive any more once a packet sent after the
/// declaration of its loss has arrived. Its number is forgotten, and its late acknowledgement
/// ignored.
#[test]
fn an_acknowledgement_may_be_too_late() {
    stream().run(
        "  0  send 0-5
         100  ack 1-5     -> acked 1-5, lost 0, congestion loss
         101  again 0 as 6
         101  send 7
         201  ack 6-7 1-5 -> acked 6-7, recovery off
         202  ack 0-7     -> acked none, late 0, delivered 7",
    );
}

/// A rate sample after an undo has its send phase: number 2 left 390 ms after number 0, which was
/// the newest acknowledged then. The time of the declared loss has no effect.
#[test]
fn rate_samples_after_an_undo() {
    stream().without_probes().run(
        "  0  send 0
          90  send 1
         100  ack 0     -> rto 300
         390  send 2
         400  timeout   -> lost 1-2
         400  again 1 as 3
         410  ack 0-1   -> acked 1, congestion undo, sample none
         460  ack 0-2   -> acked 2, rtt 70, sample 2 in 390, delivered 3",
    );
}

/// Datagrams: a spurious loss is undone, too.
#[test]
fn datagrams_are_undone() {
    datagrams().run(
        "  0  send 0-9
         100  ack 1-5   -> acked 1-5, lost 0, congestion loss, recovery on
         101  ack 0-5   -> acked 0, congestion undo, recovery off",
    );
}

/// In an outage of acknowledgements the timer declares all packets in flight lost, and later each
/// repair. The first acknowledgement after the outage undoes this: `lost` minus `late` is then the
/// number of packets that were really lost.
#[test]
fn an_outage_of_acknowledgements_loses_nothing() {
    stream().without_probes().run(
        "   0  send 0
          100  ack 0       -> rto 300
          100  send 1-8
          400  timeout     -> lost 1-8
          400  again 1 as 9
         1000  timeout     -> lost 9
         1000  again 9 as 10
         1100  ack 3-10 0-1 -> late 9, congestion undo, in-flight 1, repair none
         1102  loss-timer   -> lost 2, congestion loss
         1102  again 2 as 11
         1200  ack 3-11 0-1 -> acked 11, retransmits 3, late 9, total-lost 10",
    );
}

/// Linux (`tcp_rack_detect_loss`, `tcp_undo_cwnd_reduction`): packets that RACK had declared lost
/// before an undo are off its list, and only the timer detects that they are really lost.
#[test]
fn packets_off_racks_list_wait_for_the_timer_after_an_undo() {
    stream().without_probes().run(
        "   0  send 0
          100  ack 0      -> rto 300
          100  send 1-9
          200  ack 5-7 0  -> acked 5-7, lost 1-4, congestion loss, recovery on
          200  again 1 as 10
          500  timeout    -> lost 8-10, in-flight 0
          500  again 10 as 11
         1100  timeout    -> lost 11
         1100  again 11 as 12
         1200  ack 5-8 0  -> acked 8, congestion undo, recovery off, repair none
         1210  send 13
         1310  ack 13 5-8 0 -> acked 13, lost 9 12, congestion loss, repair 9
         1310  again 9 as 14
         1410  ack 13-14 5-8 0 -> acked 14, lost none, repair none
         5000  timeout    -> lost 1-4 10-11, repair 11",
    );
}

/// Linux: a copy that was in flight when a timeout was undone still counts as retransmitted when
/// the timer retransmits its data once more (`tcp_mark_skb_lost`, `tcp_retransmit_skb`), so that
/// `retrans_out` stays too large by one. From then on the last of the lost packets is retransmitted
/// only by the timer (`tcp_xmit_retransmit_queue`: `retrans_out >= lost_out`).
#[test]
fn a_timeout_after_an_undo_leaves_the_last_repair_to_the_timer() {
    stream().without_probes().run(
        "   0  send 0
          100  ack 0      -> rto 300
          100  send 1-3
          400  timeout    -> lost 1-3
          400  again 1 as 4
          450  ack 2 0    -> acked 2, congestion undo, in-flight 3, repair none
         1500  timeout    -> lost 1 3-4, repair 4
         1500  again 4 as 5
         1600  ack 5 2 0  -> acked 5, recovery on, repair none
         5000  timeout    -> repair 3
         5000  again 3 as 6
         5100  ack 5-6 2 0 -> acked 6, recovery off
         5100  send 7-16
         5200  ack 12-16 8-10 5-6 -> lost 7 11, congestion loss, repair 7
         5200  again 7 as 17
         5300  ack 17 12-16 8-10 -> acked 17, repair none",
    );
}
