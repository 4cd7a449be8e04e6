//! Connections that retransmit nothing.

use super::script::datagrams;

/// Nothing is repaired, and the receiver does not wait for lost data.
#[test]
fn nothing_is_sent_again() {
    datagrams().run(
        "  0  send 0-4
         100  ack 1-4 -> lost 0, congestion loss, repair none, in-flight 0, drained yes",
    );
}

/// Recovery ends when a packet sent after the reaction is acknowledged (RFC 9002, section 7.3.2),
/// so that the next loss is congestion again.
#[test]
fn the_next_loss_is_congestion_again() {
    datagrams().run(
        "  0  send 0-4
         100  ack 1-3     -> lost 0, congestion loss, recovery on
         100  send 5-9
         101  ack 1-4     -> recovery on
         201  ack 6 1-4   -> acked 6, recovery off
         202  ack 6-8 1-4 -> acked 7-8, lost 5, congestion loss, recovery on",
    );
}

/// Losses in a window that was reacted to are one event, even if they are detected after its end.
#[test]
fn one_reaction_for_one_window() {
    datagrams().run(
        "  0  send 0-9
         100  ack 1-3      -> lost 0, congestion loss
         100  send 10-12
         105  ack 5-8 1-3  -> acked 5-8, lost 4, recovery on
         200  ack 10 5-8   -> acked 10, lost 9, recovery off, in-flight 2
         201  ack 10-12 5-8 -> acked 11-12, recovery off",
    );
}

/// The acknowledgement that ends recovery may reveal losses of packets sent after the reaction.
#[test]
fn the_end_and_a_new_loss_at_once() {
    datagrams().run(
        "  0  send 0-3
         100  ack 1-3     -> lost 0, congestion loss
         100  send 4-8
         200  ack 5-8 1-3 -> acked 5-8, lost 4, congestion loss, recovery on",
    );
}

/// A connection is drained when none of its data is in flight; packets without data do not count.
#[test]
fn when_all_data_is_gone() {
    datagrams().run(
        "  0  send 0-3
           0  beat 4
          50  beat 5
         100  ack 0-2 -> drained no
         101  ack 0-4 -> drained yes, in-flight 64 bytes
         200  send 6  -> drained no",
    );
}

/// A timeout declares everything lost, retransmits nothing, and ends with the next packet that
/// arrives.
#[test]
fn a_timeout() {
    datagrams().without_probes().run(
        "  0  send 0
         100  ack 0   -> rto 300
         100  send 1-3
         400  timeout -> lost 1-3, recovery on, repair none, drained yes, rto 600
         400  send 4
         500  ack 4 0 -> acked 4, recovery off, rto 300",
    );
}
