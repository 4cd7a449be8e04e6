//! Episodes: which losses are one event, when the next one begins, and when recovery ends.

use super::script::stream;

/// Losses of packets sent before the reaction belong to it (RFC 6582 section 3, RFC 9002 section
/// 7.3.2): the window is reduced once for all losses of a window.
#[test]
fn one_reaction_for_one_window() {
    stream().run(
        "  0  send 0-9
         100  ack 1-3         -> acked 1-3, lost 0, congestion loss
         100  again 0 as 10
         102  ack 5-9 1-3     -> acked 5-9, lost 4, recovery on
         102  again 4 as 11
         202  ack 5-11 1-3    -> acked 10-11, recovery off, cumulative 10",
    );
}

/// A loss among the packets sent after the reaction is a second event, which begins when the repair
/// of the first one ends.
#[test]
fn a_later_packet_makes_a_second_reaction() {
    stream().run(
        "  0  send 0-9
         100  ack 1-3            -> acked 1-3, lost 0, congestion loss
         100  send 10-14
         101  again 0 as 15
         110  ack 4-9 1-3        -> acked 4-9
         200  ack 11-13 4-9 1-3  -> acked 11-13, lost 10, recovery on
         200  again 10 as 16
         201  ack 11-15 4-9 1-3  -> acked 14-15, congestion loss, recovery on, cumulative 10
         300  ack 11-16 1-9      -> acked 16, recovery off, cumulative 15",
    );
}

/// After the end of an episode the next loss is a new one.
#[test]
fn a_second_episode() {
    stream().run(
        "  0  send 0-4
         100  ack 1-4      -> acked 1-4, lost 0, congestion loss
         100  again 0 as 5
         200  ack 1-5      -> acked 5, recovery off
         200  send 6-9
         300  ack 7-9 1-5  -> acked 7-9, lost 6, congestion loss, recovery on",
    );
}

/// Recovery ends when all packets sent before the reaction have arrived, not earlier (RFC 6675,
/// section 5: RecoveryPoint).
#[test]
fn recovery_ends_at_the_recovery_point() {
    stream().rfc9002().run(
        "  0  send 0-8
          90  send 9
         100  ack 1-5      -> acked 1-5, lost 0, congestion loss
         100  again 0 as 10
         105  ack 1-8      -> acked 6-8, recovery on
         200  ack 10 1-8   -> acked 10, recovery on, cumulative 9
         201  ack 1-10     -> acked 9, recovery off, cumulative 10",
    );
}

/// A lost repair does not begin a new episode, since its data belongs to the present one.
#[test]
fn a_lost_repair_stays_in_the_episode() {
    stream().run(
        "  0  send 0-5
         100  ack 1-5      -> acked 1-5, lost 0, congestion loss
         100  again 0 as 6
         100  send 7-9
         200  ack 7-9 1-5  -> acked 7-9, lost 6, recovery on
         200  again 6 as 10
         300  ack 7-10 1-5 -> acked 10, recovery off",
    );
}

/// A timeout within an episode is congestion of its own, and ends when the packets that it declared
/// lost are repaired.
#[test]
fn a_timeout_within_an_episode() {
    stream().run(
        "  0  send 0-5
         100  ack 1-5    -> acked 1-5, lost 0, congestion loss, rto 300
         100  again 0 as 6
         400  timeout    -> lost 6, recovery on, repair 6
         400  again 6 as 7
         500  ack 7 1-5  -> acked 7, recovery off",
    );
}
