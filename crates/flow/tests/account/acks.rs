//! Acknowledgements that are delayed, stretched, compressed, lost or duplicated.

use super::script::stream;

/// Every second packet is acknowledged (RFC 5681, section 4.2): the round-trip time is that of the
/// newest packet.
#[test]
fn delayed_acknowledgements() {
    stream().run(
        "  0  send 0
          10  send 1
          20  send 2
          30  send 3
         110  ack 0-1 -> acked 0-1, rtt 100, in-flight 2, recovery off
         130  ack 0-3 -> acked 2-3, rtt 100, sample 4 in 130",
    );
}

/// A single packet's acknowledgement is delayed by 40 ms, which is part of its round-trip time.
#[test]
fn the_delay_is_part_of_the_rtt() {
    stream().run(
        "  0  send 0
         100  ack 0 -> rtt 100
         100  send 1
         240  ack 0-1 -> rtt 140, srtt 105, min-rtt 100, probes 0",
    );
}

/// One acknowledgement for 40 packets.
#[test]
fn a_stretched_acknowledgement() {
    stream().run(
        "  0  send 0-39
         100  ack 0-39 -> acked 0-39, rtt 100, in-flight 0, delivered 40, sample 40 in 100, acks 1
         100  send 40-79
         200  ack 0-79 -> acked 40-79, rtt 100, round 2, recovery off",
    );
}

/// A stretched acknowledgement with a hole reveals the loss at once.
#[test]
fn a_stretched_acknowledgement_with_a_hole() {
    stream().run(
        "  0  send 0-39
         100  ack 20-39 0-17 -> acked 0-17 20-39, lost 18-19, congestion loss, in-flight 0, rtt 100
         100  again 18-19 as 40-41
         200  ack 20-41 0-17 -> acked 40-41, recovery off, cumulative 40",
    );
}

/// Acknowledgements that a link releases all at once, as after an outage of the way back: nothing
/// is lost, and the delivery rate covers the whole interval.
#[test]
fn compressed_acknowledgements() {
    stream().run(
        "   0  send 0
          100  ack 0   -> sample 1 in 100
          100  send 1
          110  send 2
          120  send 3
          250  ack 0-1 -> acked 1, rtt 150, sample 1 in 150
          250  ack 0-2 -> acked 2, rtt 140, sample 2 in 150
          250  ack 0-3 -> acked 3, rtt 130, sample 3 in 150, total-lost 0",
    );
}

/// Lost acknowledgements: the next one carries all their information.
#[test]
fn lost_acknowledgements() {
    stream().run(
        "  0  send 0-5
         103  ack 0-3 -> acked 0-3    # those of 0, 1 and 2 were lost
         105  ack 0-5 -> acked 4-5, in-flight 0",
    );
}

/// An acknowledgement that was overtaken carries no news, and reverts nothing.
#[test]
fn an_overtaken_acknowledgement() {
    stream().run(
        "  0  send 0-5
         103  ack 0-3              -> acked 0-3, cumulative 4
         104  ack 0-1 cumulative=2 -> acked none, rtt none, cumulative 4, in-flight 2
         105  ack 0-5              -> acked 4-5",
    );
}

/// Round trips are counted by acknowledgements of packets sent after the end of the last round
/// trip.
#[test]
fn rounds() {
    stream().run(
        "  0  send 0-1
         100  ack 0   -> round 1, round-start yes
         100  send 2
         101  ack 0-1 -> round 1, round-start no
         101  send 3
         200  ack 0-2 -> round 2, round-start yes
         200  send 4
         201  ack 0-3 -> round 2, round-start no
         300  ack 0-4 -> round 3, round-start yes",
    );
}

/// Acknowledgements are lost together with data: the next one lists all ranges.
#[test]
fn an_acknowledgement_tells_of_many_gaps() {
    stream().rfc9002().run(
        "  0  send 0-19
         100  ack 19 17 15 13 11 9 7 5 3 0-1 -> acked 0-1 3 5 7 9 11 13 15 17 19, lost 2 4 6 8 10 12 14 16, congestion loss
         100  again 2 4 6 8 10 12 14 16 as 20-27
         112.5 loss-timer -> lost 18",
    );
}

/// The cumulative point acknowledges packets in flight whose ranges the receiver has forgotten:
/// nothing else shows that they have arrived.
#[test]
fn the_cumulative_point_acknowledges_packets_outside_all_blocks() {
    stream().rfc9002().run(
        "  0  send 0-9
         100  ack 9 7 5 cumulative=5 -> acked 0-5 7 9, lost 6, congestion loss, in-flight 1, late 0",
    );
}

/// A queued repair below the cumulative point shows that its packet was declared lost too early.
#[test]
fn the_cumulative_point_tells_of_late_packets() {
    stream().rfc9002().run(
        "  0  send 0-9
         100  ack 9 7 5 cumulative=0 -> acked 5 7 9, lost 0-4 6, congestion loss
         100  again 0 as 10
         101  ack 9 7 5 cumulative=4 -> acked 1-3, late 3, repair 4, in-flight 2",
    );
}
