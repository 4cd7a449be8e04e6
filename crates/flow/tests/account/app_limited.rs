//! Flows that do not fill their window (RFC 7661, and the delivery-rate draft's section 3.4).

use super::script::{datagrams, stream};

/// A bulk flow fills its window all the time.
#[test]
fn a_full_window_is_the_limit() {
    stream().run(
        "  0  send 0-9
           0  full
         100  ack 0-1 -> cwnd-limited yes, sample 2 in 100
         100  send 10-11
         100  full
         100  ack 0-9 -> cwnd-limited yes
         200  ack 0-11 -> cwnd-limited yes",
    );
}

/// Requests and answers, far below the window: the window never limits them, not even after
/// everything has been acknowledged.
#[test]
fn requests_do_not_fill_the_window() {
    stream().run(
        "  0  send 0-1
           0  open
         100  ack 0   -> cwnd-limited no, largest-flight 2
         101  ack 0-1 -> cwnd-limited no, largest-flight 2, in-flight 0
         500  send 2-4
         500  open
         600  ack 0-4 -> cwnd-limited no, largest-flight 3, in-flight 0
         700  send 5
         700  open
         800  ack 0-5 -> cwnd-limited no, largest-flight 1",
    );
}

/// A full window counts as limiting until its packets are acknowledged and others are sent (Linux
/// `tcp_cwnd_validate`).
#[test]
fn the_limit_holds_for_one_window() {
    stream().run(
        "  0  send 0-3
           0  full
           1  open
         100  ack 0-1 -> cwnd-limited yes
         100  send 4
         100  open
         101  ack 0-3 -> cwnd-limited yes
         200  ack 0-4 -> cwnd-limited yes
         200  send 5
         200  open
         300  ack 0-5 -> cwnd-limited no, largest-flight 1",
    );
}

/// The largest flight is that of a window of data, not of the moment: acknowledgements that find
/// little in flight do not change it, a larger flight raises it, and the next window starts anew.
#[test]
fn the_largest_flight_is_that_of_a_window() {
    stream().run(
        "  0  send 0-3
           0  open
         100  ack 0-1 -> largest-flight 4, in-flight 2
         100  send 4-8
         100  open
         110  ack 0-3 -> largest-flight 7
         110  send 9
         110  open
         200  ack 0-8 -> largest-flight 7, in-flight 1
         200  send 10
         200  open
         300  ack 0-10 -> largest-flight 2",
    );
}

/// Packets beyond a gap do not open the window, unless reordering has been seen (Linux
/// `tcp_may_raise_cwnd`); datagrams have no gaps.
#[test]
fn packets_beyond_a_gap_do_not_raise_the_window() {
    stream().rfc9002().run(
        "  0  send 0-5
         100  ack 1   -> may-raise no
         101  ack 0-1 -> may-raise yes
         102  ack 3-4 0-1 -> may-raise no
         103  ack 0-4 -> may-raise yes
         103  send 6-12
         110  ack 9 0-4 -> lost 5-6, congestion loss, may-raise no
         111  ack 9 0-6 -> acked 5-6, late 2, congestion undo, may-raise yes
         112  ack 11 9 0-6 -> acked 11, may-raise yes",
    );
    datagrams().run(
        "  0  send 0-5
         100  ack 1 -> may-raise yes",
    );
}

/// Samples are application-limited until more is delivered than was in flight when the application
/// had no data. Samples of packets sent later are not (Linux `tcp_rate_gen`: `after(delivered,
/// app_limited)`).
#[test]
fn rate_samples_of_an_idle_application() {
    stream().run(
        "  0  send 0
           0  idle
         100  ack 0   -> sample 1 in 100
         100  send 1
         100  idle
         110  send 2
         200  ack 0-1 -> sample 1 in 100 app-limited
         210  ack 0-2 -> sample 2 in 110 app-limited
         210  send 3
         310  ack 0-3 -> sample 1 in 100",
    );
}

/// Twenty packets after a pause, all before the first acknowledgement: each of their samples is
/// application-limited (quiche `bandwidth_sampler_test` AppLimited). Those of the next flight are
/// not.
#[test]
fn samples_of_the_first_flight_after_a_pause() {
    stream().run(
        "   0  send 0
            0  idle
          100  ack 0
          100  idle
         5000  send 1-20
         5100  ack 0-1  -> sample 1 in 100 app-limited
         5100  send 21
         5101  ack 0-10 -> sample 10 in 101 app-limited
         5102  ack 0-20 -> sample 20 in 102 app-limited
         5102  send 22
         5200  ack 0-21 -> sample 20 in 100
         5202  ack 0-22 -> sample 2 in 102",
    );
}

/// Packets sent while the application limits sending give limited samples even if nothing was in
/// flight.
#[test]
fn idle_with_nothing_in_flight() {
    stream().run(
        "  0  idle
           5  send 0-1
         105  ack 0   -> sample 1 in 100 app-limited
         105  send 2
         106  ack 0-1 -> sample 2 in 101 app-limited
         205  ack 0-2 -> sample 2 in 100",
    );
}

/// After a pause the interval begins with the first packet, not with the pause.
#[test]
fn a_pause_is_no_part_of_a_sample() {
    stream().run(
        "   0  send 0
          100  ack 0   -> sample 1 in 100
         5000  send 1-2
         5100  ack 0-2 -> sample 2 in 100",
    );
}
