//! Corner cases in which an earlier version of the account was wrong.

use paceline_cc::EcnFeedback::Off;

use super::script::{datagrams, stream};

/// RFC 6298, rule 5.4, and RFC 6675's NextSeg: the earliest data is retransmitted first, even if
/// its repair was lost with the timer's second expiry.
#[test]
fn the_earliest_data_is_repeated_first() {
    stream().without_probes().run(
        "   0  send 0
          100  ack 0     -> rto 300
          100  send 1-3
          400  timeout   -> lost 1-3, repair 1
          400  again 1 as 4
         1000  timeout   -> lost 4, repair 4
         1000  again 4 2-3 as 5-7",
    );
}

/// Data that a timeout retransmitted and that is lost again is new congestion (RFC 5681, section
/// 4.3): the window is reduced again, and the repair continues as after any loss (Linux goes from
/// the state Loss to Recovery). An earlier version reacted only at the repair's end: a repair that
/// never got through let the window grow, and a flow over a buffer of one packet sent 300 packets
/// for each that arrived.
#[test]
fn a_lost_repair_after_the_timeout_is_new_congestion() {
    stream().without_probes().run(
        "   0  send 0
          100  ack 0    -> rto 300
          100  send 1-2
          400  timeout  -> lost 1-2
          400  again 1 as 3
          500  ack 3 0  -> acked 3
          500  again 2 as 4
          500  send 5-9
          600  ack 6-8 3 0 -> acked 6-8, lost 4-5, congestion loss, recovery on
          600  again 4-5 as 10-11
          700  ack 6-10 3 0 -> acked 9-10, congestion none, recovery on, cumulative 3
          701  ack 6-11 3 0 -> acked 11, recovery off",
    );
}

/// RFC 8985, section 7.4: the probe repaired the only lost packet, whose data has arrived, as the
/// cumulative acknowledgement shows.
#[test]
fn data_that_has_arrived_is_not_retransmitted() {
    stream().run(
        "  0  send 0
         100  ack 0     -> srtt 100
         100  send 1-4
         200  ack 0-3   -> acked 1-3, deadline 500
         500  probe
         500  repeat 4 as 5
         600  ack 5 0-3 -> acked 5, lost 4, cumulative 5, repair none",
    );
}

/// The window never limited this flow.
#[test]
fn nothing_limits_before_the_window_was_full() {
    stream().run(
        "  0  send 0-4
           0  idle
         100  ack 1-2 -> cwnd-limited no",
    );
}

/// A full window of an earlier flight does not count for the present one.
#[test]
fn an_old_limit_is_over_even_if_the_next_packet_is_missing() {
    stream().run(
        "  0  send 0-3
           0  full
         100  ack 0-3     -> cwnd-limited yes
         500  send 4-8
         500  open
         600  ack 5-6 0-3 -> cwnd-limited no, largest-flight 5",
    );
}

/// A connection without ECN ignores marks.
#[test]
fn without_ecn_there_are_no_marks() {
    stream().ecn(Off).run(
        "  0  send 0-1
         100  ack 0-1 ce=1 ece -> marked 0",
    );
}

/// An acknowledgement of numbers never sent does not end an episode.
#[test]
fn impossible_numbers_end_nothing() {
    datagrams().run(
        "  0  send 0-5
         100  ack 1-3     -> lost 0, congestion loss, recovery on
         101  ack 1000    -> acked none, recovery on",
    );
    stream().run(
        "  0  send 0-5
         100  ack 0 ce=1     -> congestion ecn, recovery on
         101  ack 1000 ce=1  -> acked none, recovery on",
    );
}

/// After an undo, packets in flight before an acknowledged one are lost by time like others: 9/8 of
/// 300 ms after they were sent.
#[test]
fn time_tells_after_an_undo() {
    stream().rfc9002().without_probes().run(
        "  0  send 0
         100  ack 0       -> rto 300
         190  send 1
         200  send 2-4
         490  timeout     -> lost 1-4
         490  again 1 as 5
         500  ack 2 0     -> acked 2, rtt 300, congestion undo, in-flight 4, deadline 527.5
         527.5 loss-timer -> lost 1, congestion loss",
    );
}

/// All datagrams are acknowledged or lost. Lost ones that might still arrive, and a packet without
/// data in flight, do not count.
#[test]
fn lost_datagrams_are_not_waited_for() {
    datagrams().run(
        "  0  send 0-3
           0  beat 4
          50  beat 5
         100  ack 0-2     -> drained no
         101  ack 4 0-2   -> drained no, deadline 113.625
         113.625 loss-timer -> lost 3, congestion loss, drained yes, in-flight 64 bytes",
    );
}
