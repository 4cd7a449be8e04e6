//! Proportional rate reduction (RFC 6937 and its successor RFC 9937).
//!
//! The examples are those of RFC 6937, section 4: twenty packets in flight, and a window that is
//! halved to ten. Losses are detected by numbers here, so limited transmit, the first two `N` of
//! the RFC's figures, is within a window of twenty anyway. Bytes are counted, and a packet leaves
//! when a whole one is allowed.

use super::script::{Script, stream};

/// The first figure of section 4: packet 0 is lost, and acknowledgements of 1 to 19 arrive one by
/// one. New packets leave for the first two, the repair for the third, and then one packet for
/// every second acknowledgement, until ten are in flight.
#[test]
fn a_single_loss() {
    let script = stream().rfc9002();
    one_for_two(script, |k| matches!(k, 6 | 8 | 10 | 12 | 14 | 16 | 19), 30);
}

/// Linux counts whole packets, rounded up, so that the repair is the first acknowledgement's share,
/// and new packets leave one acknowledgement earlier (`tcp_cwnd_reduction`).
#[test]
fn a_single_loss_in_whole_packets() {
    one_for_two(stream(), |k| matches!(k, 5 | 7 | 9 | 11 | 13 | 15 | 17), 30);
}

/// Runs the first figure. A new packet leaves if `leaves` is true for the acknowledged packet;
/// `last` is the first packet that leaves once the window is reached.
fn one_for_two(script: Script, leaves: impl Fn(u64) -> bool, last: u64) {
    let mut script = script.run(
        "  0  window 20
           0  fill          -> sent 0-19
         101  ack 1
         101  fill          -> sent 20
         102  ack 1-2
         102  fill          -> sent 21
         102  window 10     # what the controller makes of the loss
         103  ack 1-3       -> lost 0, congestion loss, in-flight 18
         103  fill          -> sent 22, resent 0",
    );
    let mut next = 23;
    for k in 4..20 {
        let now = 100 + k;
        // Above the window one packet per two acknowledgements, then one per acknowledgement.
        let leaves = leaves(k);
        let sent = if leaves { next.to_string() } else { "none".to_string() };
        script = script.run(&format!(
            "{now} ack 1-{k}
             {now} fill -> sent {sent}"
        ));
        next += u64::from(leaves);
    }
    assert_eq!(next, last);
    script.run(
        "201  ack 1-20  -> in-flight 9, recovery on
         201  fill      -> sent 30
         202  ack 1-21  -> in-flight 9, recovery on
         202  fill      -> sent 31
         203  ack 1-22  -> recovery off, in-flight 9
         203  fill      -> sent 32, in-flight 10",
    );
}

/// The second figure of section 4: the first fifteen of twenty packets are lost, more than the
/// window is reduced by. Packets are conserved (PRR-CRB): one leaves for each that has arrived.
#[test]
fn a_bank_of_losses_conserves_packets() {
    stream().rfc9002().run(
        "  0  window 20
           0  fill            -> sent 0-19
         100  window 10
         115  ack 15          -> lost 0-12, congestion loss, in-flight 6
         115  fill            -> sent 20, resent 0
         115  ack 15-16       -> lost 13, in-flight 5
         115  fill            -> sent 21, resent 1
         115  ack 15-17       -> lost 14, in-flight 4
         115  fill            -> sent 22, resent 2
         116  ack 15-18       -> in-flight 4
         116  fill            -> sent 23, resent 3
         117  ack 15-19       -> in-flight 4
         117  fill            -> sent 24, resent 4",
    );
}

/// Section 3 of RFC 6937, and RFC 9937: once repairs arrive (the cumulative acknowledgement
/// advances and no further packet is lost), two packets leave for each, until the new window is
/// full (PRR-SSRB).
#[test]
fn arriving_repairs_speed_the_reduction_up() {
    stream().run(
        "  0  window 20
           0  fill            -> sent 0-19
         100  window 10
         119  ack 15-19       -> lost 0-14, congestion loss, in-flight 0
         119  fill            -> sent 20-24, resent 0-4
         219  ack 15-20       -> acked 20, cumulative 1, in-flight 4
         219  fill            -> sent 25-26, resent 5-6
         220  ack 15-21       -> acked 21, cumulative 2
         220  fill            -> sent 27-28, resent 7-8
         221  ack 15-22       -> acked 22
         221  fill            -> sent 29-30, resent 9-10
         222  ack 15-23       -> acked 23
         222  fill            -> sent 31-32, resent 11-12
         223  ack 15-24       -> acked 24, in-flight 8, allowed 10
         223  fill            -> sent 33-34, resent 13-14
         319  ack 15-26       -> acked 25-26, in-flight 8
         319  fill            -> sent 35-36, resent none",
    );
}

/// An acknowledgement that advances the cumulative point but reveals a further loss does not speed
/// sending up.
#[test]
fn a_repair_with_a_further_loss_is_not_safe() {
    stream().run(
        "  0  window 20
           0  fill            -> sent 0-19
         100  window 10
         119  ack 15-19       -> acked 15-19, lost 0-14, congestion loss, in-flight 0
         119  fill            -> sent 20-24, resent 0-4
         238  ack 22-24 20 15-19 -> acked 20 22-24, lost 21, cumulative 1, in-flight 0
         238  fill            -> sent 25-28, resent 5-7 21",
    );
}

/// The flight approaches the window from above and never falls below it: at the end of recovery the
/// new window is in flight.
#[test]
fn the_new_window_is_reached() {
    stream().run(
        "  0  window 10
           0  fill         -> sent 0-9
         100  window 7
         100  ack 1-3      -> lost 0, congestion loss, in-flight 6
         100  fill         -> sent 10, resent 0
         101  ack 1-6      -> in-flight 4
         101  fill         -> sent 11-13
         102  ack 1-9      -> in-flight 4
         102  fill         -> sent 14-16, in-flight 7
         200  ack 1-10     -> recovery off, in-flight 6
         200  fill         -> sent 17, in-flight 7",
    );
}

/// After a mark nothing is repaired, and the window is reached in the same proportional way.
#[test]
fn a_mark_reduces_in_proportion() {
    let mut script = stream().rfc9002().run(
        "  0  window 10
           0  fill         -> sent 0-9
         100  window 5
         100  ack 0 ce=1   -> congestion ecn, in-flight 9
         100  fill         -> sent 10",
    );
    let sent = ["none", "none", "11", "none", "12", "none", "none", "13", "14"];
    for (k, sent) in (1..).zip(sent) {
        script = script.run(&format!(
            "100 ack 0-{k} ce=1 -> recovery on
             100 fill           -> sent {sent}"
        ));
    }
    script.run("200 ack 0-10 ce=1 -> recovery off, in-flight 4");
}

/// A controller that does without PRR has its window at once.
#[test]
fn the_window_itself_is_untouched_outside_recovery() {
    stream().run(
        "  0  window 10
           0  fill     -> sent 0-9, allowed 10
         100  window 4
         100  ack 0-4  -> allowed 4, in-flight 5
         100  fill     -> sent none",
    );
}

/// Losses that the timer detects during a repair leave the window as the last acknowledgement has
/// set it, so that repairs take the place of the lost packets at once (Linux
/// `tcp_rack_reo_timeout`).
#[test]
fn losses_by_the_timer_leave_the_window_of_a_repair() {
    stream().run(
        "  0  window 10
           0  send 0
         100  ack 0       -> srtt 100
         100  send 1-2
         125  send 3-9
         126  send 10
         226  window 5
         226  ack 10 0    -> acked 10, lost 1-2, congestion loss, in-flight 7
         226  fill        -> resent 1, in-flight 8
         252  loss-timer  -> lost 3-9, in-flight 1
         252  fill        -> resent 2-8, in-flight 8",
    );
}
