//! Corner cases in which an earlier version of the account undid reactions wrongly.

use super::script::{datagrams, stream};

/// Number 0 was lost and its repair has arrived. When a later timeout is undone, number 0 is not in
/// flight again, and so it is not lost a second time.
#[test]
fn a_repaired_loss_does_not_come_back() {
    stream().without_probes().run(
        "  0  send 0-5
         100  ack 1-5     -> acked 1-5, lost 0, congestion loss, rto 300
         100  again 0 as 6
         100  send 7-9
         200  ack 1-6     -> acked 6, recovery off
         500  timeout     -> lost 7-9
         500  again 7 as 10
         550  ack 1-7     -> acked 7, congestion undo, in-flight 3
         551  ack 1-8     -> acked 8, recovery off
         552  ack 1-9     -> acked 9, in-flight 1, total-lost 4",
    );
}

/// Two episodes: a spurious loss of the first one does not undo the second one.
#[test]
fn a_late_packet_of_an_earlier_episode_undoes_nothing() {
    stream().run(
        "  0  send 0-5
         100  ack 1-5         -> acked 1-5, lost 0, congestion loss
         100  again 0 as 6
         100  send 7-11
         200  ack 1-6         -> acked 6, recovery off
         201  ack 8-11 1-6    -> acked 8-11, lost 7, congestion loss
         202  ack 8-11 0-6    -> acked none, recovery on
         203  again 7 as 12
         303  ack 8-12 0-6    -> acked 12, recovery off",
    );
}

/// The window was reduced for a mark. A packet declared lost afterwards that arrives late does not
/// undo the reaction to the mark.
#[test]
fn a_late_packet_does_not_undo_a_mark() {
    stream().run(
        "  0  send 0-9
         100  ack 0 ce=1      -> congestion ecn, recovery on
         101  ack 2-4 0 ce=1  -> lost 1, congestion loss-after-mark, recovery on
         102  ack 0-4 ce=1    -> acked 1",
    );
}

/// After an undo there was no reaction, so the loss of a packet of the undone window is signalled,
/// for datagrams as for streams.
#[test]
fn a_loss_of_datagrams_after_an_undo_is_signalled() {
    datagrams().run(
        "  0  send 0-9
         100  ack 1-5     -> acked 1-5, lost 0, congestion loss
         101  ack 0-5     -> acked 0, congestion undo
         113  ack 7-9 0-5 -> acked 7-9, deadline 127.125
         127.125 loss-timer -> lost 6, congestion loss, recovery on",
    );
}

/// After an undo, a mark is signalled, too.
#[test]
fn a_mark_after_an_undo_is_signalled() {
    stream().run(
        "  0  send 0-9
         100  ack 1-5      -> acked 1-5, lost 0, congestion loss
         101  ack 0-5      -> acked 0, congestion undo
         102  ack 0-6 ce=1 -> acked 6, congestion ecn",
    );
}
