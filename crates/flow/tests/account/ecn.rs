//! Congestion marks in their three forms.

use paceline_cc::EcnFeedback::{Accurate, Classic, Off};

use super::script::{datagrams, stream};

/// Without ECN nothing is marked.
#[test]
fn without_ecn() {
    stream().ecn(Off).run(
        "  0  send 0-1
         100  ack 0-1 -> marked 0, recovery off",
    );
}

/// Classic ECN (RFC 3168, section 6.1.2): every acknowledgement carries the flag until the sender's
/// CWR has arrived, and the flag counts once per window. The first packet after the reaction
/// carries CWR here, so its acknowledgement no longer has the flag.
#[test]
fn the_classic_echo_counts_once_per_window() {
    stream().ecn(Classic).run(
        "  0  send 0-4
         100  ack 0 ece    -> marked 1, congestion ecn, recovery on
         100  send 5       # with CWR
         101  ack 0-2 ece  -> marked 1, recovery on
         103  ack 0-4 ece  -> marked 1, recovery on
         200  ack 0-5      -> marked 0, recovery off",
    );
}

/// A mark on the packet with CWR is a new one.
#[test]
fn a_mark_after_cwr_is_a_new_reaction() {
    stream().ecn(Classic).run(
        "  0  send 0-4
         100  ack 0 ece    -> congestion ecn
         100  send 5-6
         104  ack 0-4 ece  -> recovery on
         200  ack 0-5 ece  -> congestion ecn, recovery on
         200  send 7
         201  ack 0-6      -> recovery on
         300  ack 0-7      -> recovery off",
    );
}

/// AccECN (RFC 9768): the counter gives the number of marked packets even if acknowledgements are
/// lost.
#[test]
fn the_counter_tells_how_many() {
    stream().ecn(Accurate).run(
        "  0  send 0-9
         100  ack 0 ce=1   -> marked 1, congestion ecn, recovery on
         101  ack 0-5 ce=4 -> marked 3, recovery on
         102  ack 0-9 ce=4 -> marked 0, recovery on
         102  send 10
         202  ack 0-10 ce=4 -> marked 0, recovery off
         202  send 11
         302  ack 0-11 ce=5 -> marked 1, congestion ecn",
    );
}

/// An acknowledgement that was overtaken carries an older count, which is ignored.
#[test]
fn an_overtaken_counter_says_nothing() {
    stream().ecn(Accurate).run(
        "  0  send 0-9
         100  ack 0-5 ce=3 -> marked 3, congestion ecn
         101  ack 0-3 ce=2 -> marked 0, acked none
         102  ack 0-9 ce=4 -> marked 1",
    );
}

/// The counter wraps around.
#[test]
fn the_counter_wraps_around() {
    stream().ecn(Accurate).run(
        "  0  send 0-4
         100  ack 0 ce=2147483647   -> marked 2147483647, congestion ecn
         101  ack 0-1 ce=4294967294 -> marked 2147483647
         102  ack 0-2 ce=4294967295 -> marked 1
         103  ack 0-3 ce=3          -> marked 4
         104  ack 0-2 ce=4294967295 -> marked 0
         105  ack 0-4 ce=4          -> marked 1",
    );
}

/// AccECN ignores the flag of classic ECN, and classic ECN ignores the counter.
#[test]
fn each_form_reads_its_own() {
    stream().ecn(Accurate).run("0 send 0-1\n 100 ack 0 ece -> marked 0");
    stream().ecn(Classic).run("0 send 0-1\n 100 ack 0 ce=1 -> marked 0");
}

/// A loss within a round trip of a mark is `LossAfterMark`: it halves windows that the mark has
/// reduced by less (RFC 8257 §3.5).
#[test]
fn a_loss_after_a_mark_in_one_window() {
    stream().run(
        "  0  send 0-9
         100  ack 0 ce=1        -> congestion ecn, recovery on
         101  ack 2-4 0 ce=1    -> lost 1, congestion loss-after-mark, recovery on, repair 1
         101  again 1 as 10
         110  ack 2-9 0 ce=1    -> recovery on
         201  ack 2-10 0 ce=1   -> recovery off",
    );
}

/// Linux' reaction to a mark ends with an acknowledgement of data sent after it, as long as which CWR
/// may be on its way: a loss among the data before belongs to the reaction, also if packets sent
/// after it have arrived (`tcp_fastretrans_alert`).
#[test]
fn a_loss_of_data_sent_before_the_reaction_to_a_mark() {
    let marked = "
           0  send 0-4
         100  ack 0 ce=1       -> congestion ecn, recovery on
         100  send 5-9
         105  ack 0-3 ce=1     -> acked 1-3, recovery on";
    stream()
        .run(marked)
        .run("200  ack 6 0-3 ce=1   -> acked 6, lost 4, congestion loss-after-mark, recovery on");
    stream()
        .rfc9002()
        .run(marked)
        .run("200  ack 6 0-3 ce=1   -> acked 6, lost 4, congestion loss, recovery on");
}

/// A repair that begins during the reaction to a mark ends where that reaction would have ended. A
/// loss of data sent since is a second reaction (`high_seq` stays as `tcp_init_cwnd_reduction` set
/// it).
#[test]
fn a_loss_of_data_sent_after_the_reaction_to_a_mark() {
    stream().run(
        "  0  send 0-4
         100  ack 0 ce=1           -> congestion ecn, recovery on
         101  ack 2-4 0 ce=1       -> acked 2-4, lost 1, congestion loss-after-mark
         101  again 1 as 5
         101  send 6-10
         201  ack 5 2-4 0 ce=1     -> acked 5, recovery off
         202  ack 7-8 2-5 0 ce=1   -> acked 7-8
         202  ack 7-9 2-5 0 ce=1   -> acked 9, lost 6, congestion loss, recovery on",
    );
    let both = "
           0  send 0-4
         100  ack 0 ce=1           -> congestion ecn, recovery on
         101  ack 2-4 0 ce=1       -> acked 2-4, lost 1, congestion loss-after-mark
         101  again 1 as 5
         101  send 6-10
         202  ack 7-10 2-4 0 ce=1  -> acked 7-10, lost 5-6
         202  again 5 6 as 11 12";
    stream().run(both).run("302 ack 7-11 2-4 0 ce=1 -> acked 11, congestion loss, recovery on");
    // With the end of the repair, nothing is missing any more (`lost_out`).
    stream().run(both).run("302 ack 7-12 2-4 0 ce=1 -> acked 11-12, recovery off");
}

/// Classic ECN's flag on the acknowledgement that ends a repair is a new mark, whichever packets it
/// acknowledges (`tcp_try_to_open`): here the original of the lost one, which was late.
#[test]
fn a_mark_on_the_acknowledgement_that_ends_a_repair() {
    stream().ecn(Classic).run(
        "  0  send 0-4
         100  ack 0 ece     -> congestion ecn, recovery on
         101  ack 2-4 0     -> acked 2-4, lost 1, congestion loss-after-mark, recovery on
         101  again 1 as 5
         102  ack 0-4 ece   -> acked 1, late 1, congestion ecn, recovery on",
    );
    stream().ecn(Accurate).run(
        "  0  send 0-4
         100  ack 0 ce=1    -> congestion ecn, recovery on
         101  ack 2-4 0 ce=1 -> acked 2-4, lost 1, congestion loss-after-mark, recovery on
         101  again 1 as 5
         102  ack 0-4 ce=2  -> acked 1, late 1, marked 1, recovery off",
    );
}

/// A mark while losses are repaired causes no further reduction.
#[test]
fn a_mark_within_an_episode() {
    stream().run(
        "  0  send 0-9
         100  ack 1-4        -> lost 0, congestion loss
         100  again 0 as 10
         101  ack 1-5 ce=1   -> marked 1, recovery on
         110  ack 1-9 ce=1   -> recovery on
         200  ack 1-10 ce=1  -> recovery off",
    );
}

/// Marks of packets of an earlier connection are not reported to the controller of a new one.
#[test]
fn marks_of_an_earlier_connection_say_nothing() {
    stream().ecn(Accurate).run(
        "  0  send 0-9
          50  reconnect 20
          50  send 10-12
         100  ack 0-5 ce=4  -> acked none, marked 0
         150  ack 0-10 ce=9 -> acked 10, marked 1, congestion ecn
         151  ack 0-11 ce=9 -> marked 0
         152  ack 0-12 ce=10 -> marked 1",
    );
    stream().ecn(Classic).run(
        "  0  send 0-9
          50  reconnect 20
          50  send 10
         100  ack 0-9 ece -> acked none, marked 0
         150  ack 0-10    -> acked 10, marked 0",
    );
}

/// Marks of datagrams count as those of streams.
#[test]
fn datagrams_are_marked() {
    datagrams().run(
        "  0  send 0-4
         100  ack 0 ce=1   -> marked 1, congestion ecn, recovery on
         100  send 5
         104  ack 0-4 ce=2 -> marked 1, recovery on
         200  ack 0-5 ce=2 -> recovery off",
    );
}
