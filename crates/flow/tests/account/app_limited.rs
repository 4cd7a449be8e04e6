//! Flows that do not fill their window (RFC 7661, and the delivery-rate draft's section 3.4).

use super::script::stream;

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

/// Requests and answers, far below the window: the window never limits them, least of all when
/// everything has been acknowledged.
#[test]
fn requests_do_not_fill_the_window() {
    stream().run(
        "  0  send 0-1
           0  idle
         100  ack 0   -> cwnd-limited no
         101  ack 0-1 -> cwnd-limited no, in-flight 0
         500  send 2-3
         500  idle
         600  ack 0-3 -> cwnd-limited no, in-flight 0
         700  send 4
         700  idle
         800  ack 0-4 -> cwnd-limited no",
    );
}

/// A window that was full is known as such until what it kept back is acknowledged, and not for what
/// is sent later.
#[test]
fn the_limit_holds_for_one_round_trip() {
    stream().run(
        "  0  send 0-3
           0  full
           1  idle
         100  ack 0-3 -> cwnd-limited yes
         200  send 4
         200  idle
         300  ack 0-4 -> cwnd-limited yes
         400  send 5
         400  idle
         500  ack 0-5 -> cwnd-limited no",
    );
}

/// Samples are limited by the application until more is delivered than was in flight then, and those of
/// packets sent later are not (Linux `tcp_rate_gen`: `after(delivered, app_limited)`).
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

/// Twenty packets after a pause, all before the first acknowledgement: each of their samples is limited
/// by the application (quiche `bandwidth_sampler_test` AppLimited). The next flight is not.
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

/// What was sent while the application held data back gives limited samples also when nothing was
/// in flight.
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
