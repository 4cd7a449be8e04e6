//! Linux' rule of loss detection: RACK (RFC 8985 §6, `tcp_recovery.c`).

use super::script::stream;

/// Once three packets have been acknowledged beyond the oldest missing one, all packets sent before
/// the newest acknowledged packet are lost, however shortly before; two are not enough
/// (`tcp_rack_reo_wnd`).
#[test]
fn three_packets_beyond_a_gap_make_losses() {
    stream().run(
        "  0  send 0
         100  ack 0       -> srtt 100
         100  send 1-6
         200  ack 2 0     -> acked 2, lost none
         200  ack 4 2 0   -> acked 4, lost none
         200  ack 6 4 2 0 -> acked 6, lost 1 3 5, congestion loss",
    );
}

/// While losses are repaired, one packet is enough; but not for the acknowledgement that ends the
/// repair, since Linux ends it before it looks for losses (`tcp_fastretrans_alert`).
#[test]
fn the_end_of_a_repair_is_judged_with_the_reordering_window() {
    let repair = "
           0  send 0-4
         100  ack 1-4      -> acked 1-4, lost 0, congestion loss
         100  again 0 as 5
         100  send 6-8";
    stream().run(repair).run(
        "200  ack 7 5 1-4  -> acked 5 7, lost none, recovery off
         205  ack 5-7 1-4  -> acked 6",
    );
    stream().run(repair).run("200 ack 7 1-4 -> acked 7, lost 5-6, recovery on");
}

/// With fewer, a packet is lost an RTT and a reordering window after it was sent; the window is a
/// quarter of the smallest RTT, at most the smoothed one. The timer is set for the last of them,
/// plus 2 ms.
#[test]
fn fewer_wait_for_the_reordering_window() {
    stream().run(
        "  0  send 0
         100  ack 0    -> srtt 100
         100  send 1
         104  send 2
         105  send 3
         205  ack 3 0  -> acked 3, lost none, rtt 100, deadline 231
         231  loss-timer -> lost 1-2, congestion loss",
    );
    // The previous packet is lost with the next acknowledgement, if that arrives after the window.
    stream().run(
        "  0  send 0
         100  ack 0    -> srtt 100
         100  send 1
         104  send 2
         105  send 3
         205  ack 3 0  -> deadline 231
         226  ack 3 0  -> lost 1, congestion loss",
    );
}

/// While losses are repaired, all packets sent earlier are lost at once, including repairs.
#[test]
fn there_is_no_window_during_a_repair() {
    stream().run(
        "  0  send 0
         100  ack 0        -> srtt 100
         100  send 1-6
         200  ack 2-4 0    -> acked 2-4, lost 1, congestion loss
         200  again 1 as 7
         201  send 8
         202  ack 6 2-4 0  -> acked 6, lost 5
         301  ack 8 6 2-4 0 -> acked 8, lost 7",
    );
}

/// Once reordering has been seen, the window always applies (`tcp_check_sack_reordering`).
#[test]
fn seen_reordering_is_waited_for() {
    stream().run(
        "  0  send 0
         100  ack 0      -> srtt 100
         100  send 1-9
         200  ack 2-3 0  -> acked 2-3
         201  ack 0-3    -> acked 1, lost none
         201  ack 5-9 0-3 -> acked 5-9, lost none, deadline 228
         228  loss-timer -> lost 4, congestion loss",
    );
}

/// A retransmitted packet that then arrives does not count as reordering.
#[test]
fn late_repairs_are_no_reordering() {
    stream().run(
        "  0  send 0
         100  ack 0      -> srtt 100
         100  send 1-9
         200  ack 2-4 0  -> acked 2-4, lost 1, congestion loss
         200  again 1 as 10
         201  ack 0-4    -> acked 1, late 1, congestion undo
         202  ack 6-8 0-4 -> acked 6-8, lost 5, congestion loss",
    );
}
