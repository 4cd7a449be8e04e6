//! Datagrams that are sent again because the receiver asks for them (RTCP's NACK).

use super::script::{Script, datagrams};

/// A receiver that asks `most` times for a lost packet.
fn asked(most: u32) -> Script {
    datagrams().without_probes().requests(most)
}

/// The first request comes with the acknowledgement that shows the loss. Each further one comes an RTT after a repair,
/// until the data arrives.
#[test]
fn a_lost_packet_is_asked_for_each_rtt() {
    asked(10).run(
        "  0    send 0-4
         100    ack 1-4 -> lost 0, congestion loss, repair 0, lost-end 0
         100    again 0 as 5
         100    send 6
         200    request -> repair 5
         200    again 5 as 7
         200    ack 6 1-4 -> acked 6
         200    send 8
         212.5  loss-timer -> lost 5, congestion loss, repair none
         300    ack 6-8 1-4 -> acked 7-8, repair none, retransmits 2, in-flight 0, deadline never",
    );
}

/// After the last repair, the receiver waits until 3 s have passed since it noticed the loss. A timeout sends nothing
/// again.
#[test]
fn a_packet_is_given_up() {
    asked(2).run(
        "   0  send 0-4
          100  ack 1-4 -> lost 0, congestion loss, repair 0
          100  again 0 as 5
          200  request -> repair 5
          200  again 5 as 6
          400  timeout -> lost 5-6, repair none, lost-end 0, deadline 3100
         3100  request -> repair none, lost-end 1, retransmits 2, deadline never",
    );
}

/// The receiver does not know of packets behind the last one that it has received: the timer repairs nothing.
#[test]
fn the_last_packets_wait_for_a_later_one() {
    asked(10).run(
        "  0  send 0-1
         100  ack 0-1
         100  send 2-3
         400  timeout -> lost 2-3, repair none, deadline never
         500  send 4
         600  ack 4 0-1 -> acked 4, repair 2
         600  again 2 3 as 5 6
         700  ack 4-6 0-1 -> acked 5-6, repair none, lost-end 0, deadline never",
    );
}

/// A packet that arrives late, before its repair has left, needs none.
#[test]
fn a_late_packet_needs_no_repair() {
    asked(10).run(
        "  0  send 0-4
         100  ack 1-4 -> lost 0, congestion loss, repair 0
         101  ack 0-4 -> acked 0, congestion undo, repair none, deadline never",
    );
}

/// If more than 1000 packets are missing, the receiver asks for a key frame in place of them.
#[test]
fn a_receiver_that_misses_too_much_asks_for_none_of_it() {
    for (last, repair, lost_end) in [(1002, "0", "0"), (1003, "none", "1001")] {
        let lost = last - 3;
        asked(10).run(&format!(
            "  0  send 0-{last}
             100  ack {last} -> lost 0-{lost}, congestion loss, repair {repair}, lost-end {lost_end}",
        ));
    }
}
