//! Tail loss probes (RFC 8985, section 7).

use super::script::{datagrams, stream};

/// Section 7.2: the probe is due after two round-trip times without progress. Its acknowledgement
/// reveals which packets of the tail were lost.
#[test]
fn a_probe_reveals_a_lost_tail() {
    stream().run(
        "  0  send 0
         100  ack 0    -> srtt 100
         100  send 1-5 -> deadline 300
         200  ack 0-2  -> acked 1-2, deadline 400
         400  probe    -> probes 1, in-flight 3, total-lost 0
         400  send 6   # new data
         500  ack 6 0-2 -> acked 6, lost 3-5, congestion loss, recovery on, timeouts 0
         500  again 3-5 as 7-9
         600  ack 6-9 0-2 -> acked 7-9, recovery off",
    );
}

/// Section 7.2: a lone packet's acknowledgement may be delayed, so the probe waits for that, too.
#[test]
fn a_lone_packet_waits_for_a_delayed_acknowledgement() {
    stream().run(
        "  0  send 0
         100  ack 0  -> srtt 100
         100  send 1 -> deadline 340
         340  probe
         340  repeat 1 as 2
         440  ack 2 0-1 -> acked 1-2, total-lost 0, recovery off",
    );
}

/// Section 7.3: one probe, then the retransmission timer, which starts anew with the probe.
#[test]
fn one_probe_and_then_the_timer() {
    stream().run(
        "  0  send 0
         100  ack 0    -> rto 300
         100  send 1-2 -> deadline 300
         300  probe    -> deadline 600
         300  repeat 2 as 3 -> deadline 600
         600  timeout  -> lost 1-3, in-flight 0, timeouts 1, probes 1",
    );
}

/// Section 7.3: progress allows the next probe.
#[test]
fn each_acknowledgement_allows_a_further_probe() {
    stream().run(
        "  0  send 0
         100  ack 0    -> rtt 100
         100  send 1-4
         300  probe    -> probes 1
         300  send 5
         320  ack 0-1  -> acked 1, rtt 220, srtt 115, deadline 550
         550  probe    -> probes 2",
    );
}

/// Section 7.4: the probe repeated the only packet that was lost. That it was repaired at once
/// must not hide the loss from congestion control.
#[test]
fn a_loss_that_the_probe_repaired_is_congestion() {
    stream().run(
        "  0  send 0
         100  ack 0     -> srtt 100
         100  send 1-4
         200  ack 0-3   -> acked 1-3, deadline 440
         440  probe
         440  repeat 4 as 5
         540  ack 5 0-3 -> acked 5, lost 4, congestion loss, cumulative 5",
    );
}

/// Section 7.4: original and probe both came, so nothing was lost.
#[test]
fn a_needless_probe_is_no_loss() {
    stream().run(
        "  0  send 0
         100  ack 0     -> srtt 100
         100  send 1-4
         200  ack 0-3   -> acked 1-3
         440  probe
         440  repeat 4 as 5
         450  ack 0-4   -> acked 4, rtt 350
         540  ack 0-5   -> acked 5, total-lost 0, recovery off, retransmits 1",
    );
}

/// Section 7.2: there is no probe without a round-trip time, during repair, after a timeout's
/// losses that wait to be sent again, and where the driver wants none.
#[test]
fn when_there_is_no_probe() {
    stream().run("0 send 0 -> deadline 1000"); // the retransmission timer
    stream().run(
        "  0  send 0
         100  ack 0 -> rto 300
         100  send 1-5
         200  ack 2-4 0 -> acked 2-4, lost 1, congestion loss, deadline 500
         200  again 1 as 6 -> deadline 500",
    );
    stream().without_probes().run(
        "  0  send 0
         100  ack 0  -> rto 300
         100  send 1 -> deadline 400
         400  timeout -> lost 1, probes 0",
    );
}

/// Section 7.2 excludes loss recovery only: the tail of a window that a mark has reduced is probed, as
/// Linux does in its state CWR.
#[test]
fn a_tail_is_probed_after_a_mark() {
    stream().run(
        "  0  send 0
         100  ack 0         -> srtt 100
         100  send 1-5
         200  ack 0-3 ce=1  -> acked 1-3, congestion ecn, recovery on, deadline 400
         400  probe         -> probes 1
         400  send 6
         500  ack 6 0-3 ce=1 -> acked 6, lost 4-5, congestion loss, timeouts 0",
    );
}

/// RFC 6298 §5.2: the timer is off while all data is acknowledged. A needless probe that is lost is
/// noted as lost when the timer would have expired; it is no timeout, and calls for no reaction.
#[test]
fn no_timeout_when_all_data_is_acknowledged() {
    stream().run(
        "  0  send 0
         100  ack 0      -> srtt 100, rto 300
         100  send 1-4
         200  ack 0-3    -> acked 1-3
         440  probe
         440  repeat 4 as 5
         440  ack 0-4    -> acked 4, rtt 340, srtt 130, rto 482.5, in-flight 1, deadline 922.5
         922.5 loss-timer -> lost 5, in-flight 0, timeouts 0, rto 482.5, recovery off, deadline never",
    );
}

/// The same with data that is sent before: it has a timer of its own, which starts when it leaves.
#[test]
fn new_data_starts_the_timer_that_a_needless_probe_had() {
    stream().without_probes().run(
        "  0  send 0
         100  ack 0      -> srtt 100, rto 300
         100  send 1-4
         200  ack 0-3    -> acked 1-3
         300  repeat 4 as 5
         340  ack 0-4    -> acked 4, in-flight 1, rto 370, deadline 710
         690  send 6     -> deadline 1060
         790  ack 6 0-4  -> acked 6, lost 5, congestion loss, in-flight 0",
    );
}

/// A segment whose probe is out when the retransmission timer expires is repaired once.
#[test]
fn a_probed_segment_is_repaired_once() {
    stream().run(
        "  0  send 0
         100  ack 0     -> rto 300
         100  send 1-2
         300  probe
         300  repeat 2 as 3
         600  timeout   -> lost 1-3
         600  again 1 3 as 4 5 -> repair none
         700  ack 5 4 0 -> acked 4-5, recovery off, drained yes",
    );
}

/// The same when one of the two copies comes late: the other loss needs no repair either.
#[test]
fn a_probed_segment_that_came_late_is_not_repaired() {
    for late in [3, 4] {
        stream().run(&format!(
            "  0  send 0
             100  ack 0     -> srtt 100
             100  send 1-3
             300  probe
             300  repeat 3 as 4
             300  send 5-7
             400  ack 5-7 0 -> acked 5-7, lost 1-4, congestion loss
             401  ack 5-7 {late} 0 -> acked {late}, late 1, recovery on
             401  again 1 2 as 8 9 -> repair none"
        ));
    }
}

/// Datagrams are probed as streams are, with what the application sends next.
#[test]
fn datagrams_are_probed() {
    datagrams().run(
        "  0  send 0
         100  ack 0   -> srtt 100
         100  send 1-2 -> deadline 300
         300  probe
         300  send 3
         400  ack 3 0 -> acked 3, lost 1-2, congestion loss",
    );
}
