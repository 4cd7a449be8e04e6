//! Reordered packets.

use super::script::stream;

/// Reordering by two packets is no loss.
#[test]
fn two_packets_may_overtake() {
    stream().run(
        "  0  send 0-3
         100  ack 1-2 -> acked 1-2
         101  ack 0-2 -> acked 0, rtt none
         102  ack 0-3 -> acked 3, rtt 102, total-lost 0, recovery off",
    );
}

/// A packet declared lost that arrives after all raises the packet threshold (Linux:
/// `tcp_reordering`): equal reordering is no loss a second time.
#[test]
fn reordering_is_learned() {
    stream().run(
        "  0  send 0-9
         100  ack 1-5   -> acked 1-5, lost 0, congestion loss
         101  ack 0-5   -> acked 0, congestion undo, recovery off, late 1, repair none
         102  ack 7-9 0-5  -> acked 7-9, total-lost 1    # 6 waits: three later ones have come
         103  ack 0-9   -> acked 6, in-flight 0
         200  send 10-16
         300  ack 11-15 0-9 -> acked 11-15
         301  ack 0-15  -> acked 10, total-lost 1
         301  ack 0-16  -> acked 16",
    );
}

/// Exactly the reordering seen is tolerated: number 0 arrived after number 5, so a packet is lost
/// when one six numbers later has arrived.
#[test]
fn more_reordering_than_was_seen_is_a_loss() {
    stream().rfc9002().run(
        "  0  send 0-5
         100  ack 1-5   -> acked 1-5, lost 0, congestion loss
         101  ack 0-5   -> acked 0, congestion undo
         200  send 6-13
         300  ack 7-11 0-5 -> acked 7-11
         301  ack 7-12 0-5 -> acked 12, lost 6, congestion loss",
    );
}

/// Reordering learned in packets does not delay the loss by time.
#[test]
fn learned_reordering_leaves_the_time_threshold_alone() {
    stream().rfc9002().run(
        "  0  send 0-9
          80  ack 1-9   -> acked 1-9, lost 0, congestion loss
          81  ack 0-9   -> acked 0, congestion undo, srtt 80
         100  send 10-15
         180  ack 11-15 0-9 -> acked 11-15, deadline 190
         190  loss-timer -> lost 10, congestion loss",
    );
}

/// A queued repair is dropped when the packet arrives after all.
#[test]
fn a_late_packet_is_not_repeated() {
    stream().run(
        "  0  send 0-9
         100  ack 2-5    -> acked 2-5, lost 0-1, congestion loss, repair 0
         101  ack 2-5 0  -> acked 0, repair 1, recovery on, late 1
         102  again 1 as 10
         103  ack 2-9 0  -> acked 6-9
         203  ack 2-10 0 -> acked 10, recovery off, retransmits 1",
    );
}

/// The largest reordering that is learned is 300 packets, as in Linux (`tcp_max_reordering`).
#[test]
fn the_threshold_has_a_bound() {
    stream().rfc9002().run(
        "  0  send 0-399
         100  ack 1-399   -> acked 1-399, lost 0, congestion loss
         101  ack 0-399   -> acked 0, congestion undo
         200  send 400-799
         300  ack 401-699 0-399 -> acked 401-699
         301  ack 401-700 0-399 -> acked 700, lost 400, congestion loss",
    );
}
