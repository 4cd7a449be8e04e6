//! A new connection after an old one.

use super::script::{datagrams, stream};

/// Acknowledgements of packets of the old connection are ignored; estimates start anew; numbers
/// continue.
#[test]
fn old_acknowledgements_are_ignored() {
    stream().run(
        "   0  send 0
           50  ack 0         -> rtt 50, rto 250
           50  send 1-5
           60  reconnect 100 -> in-flight 0, rto 1000, srtt 0, deadline never, cumulative 100
           60  send 6        -> deadline 1060
           90  ack 0-5       -> acked none, rtt none, recovery off, in-flight 1, deadline 1060
          160  ack 0-6       -> acked 6, rtt 100, srtt 100, min-rtt 100, cumulative 101",
    );
}

/// Queued repairs, and the recovery itself, end with the connection.
#[test]
fn repairs_end_with_the_connection() {
    stream().run(
        "  0  send 0-5
         100  ack 2-5      -> lost 0-1, congestion loss, repair 0
         100  reconnect 50 -> repair none, drained yes
         100  send 6-9
         200  ack 6        -> acked 6, recovery off
         201  ack 8-9 6    -> acked 8-9, recovery off   # two later ones only: the old count is over
         202  ack 6-9      -> acked 7, drained yes",
    );
}

/// The reordering learned was that of the old connection's path.
#[test]
fn reordering_is_forgotten() {
    stream().run(
        "  0  send 0-9
         100  ack 1-9      -> lost 0, congestion loss
         101  ack 0-9      -> congestion undo
         101  reconnect 50
         101  send 10-13
         201  ack 11-13    -> acked 11-13, lost 10, congestion loss",
    );
}

/// The back-off and the recovery of the old connection end.
#[test]
fn back_off_and_recovery_end() {
    stream().without_probes().run(
        "   0  send 0
         1000  timeout      -> lost 0, rto 2000, recovery on
         1000  reconnect 10 -> rto 1000, repair none
         1000  send 1       -> deadline 2000
         1100  ack 1        -> acked 1, recovery off, rto 300
         1100  ack 0        -> acked none, late 0",
    );
}

/// A reaction that waits for the end of the old connection's repair is dropped.
#[test]
fn a_pending_reaction_ends() {
    stream().run(
        "  0  send 0-3
         100  ack 1-3      -> lost 0, congestion loss
         100  send 4-7
         200  ack 5-7 1-3  -> acked 5-7, lost 4, recovery on
         200  reconnect 50
         200  send 8
         300  ack 5-8 1-3  -> acked 8, recovery off",
    );
}

/// The same rules apply to datagrams.
#[test]
fn datagrams_reconnect() {
    datagrams().run(
        "  0  send 0-3
          10  reconnect 40 -> in-flight 0, drained yes
          10  send 4
         100  ack 0-3      -> acked none
         110  ack 0-4      -> acked 4, rtt 100",
    );
}
