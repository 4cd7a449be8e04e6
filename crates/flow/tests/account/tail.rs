//! Tail loss probes (RFC 8985, section 7).

use paceline_cc::Span;
use paceline_flow::RtoBounds;

use super::script::{datagrams, stream};

/// Section 7.2: the probe is due two round-trip times after the last progress, plus 2 ms (Linux
/// `TCP_TIMEOUT_MIN_US`). Its acknowledgement reveals which packets of the tail were lost.
#[test]
fn a_probe_reveals_a_lost_tail() {
    stream().run(
        "  0  send 0
         100  ack 0    -> srtt 100
         100  send 1-5 -> deadline 302
         200  ack 0-2  -> acked 1-2, deadline 402
         402  probe    -> probes 1, in-flight 3, total-lost 0
         402  send 6   # new data
         502  ack 6 0-2 -> acked 6, lost 3-5, congestion loss, recovery on, timeouts 0
         502  again 3-5 as 7-9
         602  ack 6-9 0-2 -> acked 7-9, recovery off",
    );
}

/// Section 7.2: a lone packet's acknowledgement may be delayed. The probe waits 200 ms for that,
/// but no longer than the retransmission timer (Linux; packetdrill tlp-of-one-packet).
#[test]
fn a_lone_packet_waits_for_a_delayed_acknowledgement() {
    stream().run(
        "  0  send 0
         100  ack 0  -> srtt 100, rto 300
         100  send 1 -> deadline 400
         400  probe  -> timeouts 0
         400  repeat 1 as 2 -> deadline 700
         500  ack 2 0-1 -> acked 1-2, total-lost 0, recovery off",
    );
    // Four times the variation, 800 ms, exceeds an RTT and 200 ms.
    let bounds = RtoBounds { min_variation: Span::from_millis(800), ..RtoBounds::LINUX };
    stream().rto(bounds).run(
        "  0  send 0
         100  ack 0  -> srtt 100, rto 900
         100  send 1 -> deadline 500
         500  probe",
    );
}

/// Two RTTs are longer than the timer at 400 ms: the probe is sent when the timer would have
/// expired, and the timer expires a timeout later (Linux, recording tlp-rtt400-5pkt). The second
/// timeout is twice as long: no probe is sent before the losses of a timeout are repaired
/// (recording tlp-rtt400-1pkt).
#[test]
fn a_probe_comes_instead_of_the_first_timeout() {
    let steady: String =
        (0..80).map(|k| format!("{} send {k}\n{} ack 0-{k}\n", 400 * k, 400 * (k + 1))).collect();
    let bounds = RtoBounds { keep_variation: false, ..RtoBounds::LINUX };
    for newest in [80, 84] {
        stream().rto(bounds).run(&steady).run(&format!(
            "32000  send 80-{newest} -> srtt 400, rto 600, deadline 32600
             32600  probe   -> timeouts 0
             32600  repeat {newest} as {next} -> deadline 33200
             33200  timeout -> lost 80-{next}, rto 1200
             33200  again {first} as {after} -> deadline 34400
             34400  timeout -> lost {after}, rto 2400, probes 1",
            next = newest + 1,
            after = newest + 2,
            first = if newest == 80 { 81 } else { 80 },
        ));
    }
}

/// A packet sent later postpones the probe, but not beyond the retransmission timer (Linux
/// `tcp_schedule_loss_probe` after each transmission).
#[test]
fn a_further_packet_puts_the_probe_off() {
    stream().run(
        "  0  send 0
         100  ack 0    -> srtt 100, rto 300
         100  send 1-2 -> deadline 302
         150  send 3   -> deadline 352
         290  send 4   -> deadline 400
         400  probe    -> timeouts 0",
    );
}

/// Section 7.3: one probe, then the retransmission timer, which starts anew with the probe.
#[test]
fn one_probe_and_then_the_timer() {
    stream().run(
        "  0  send 0
         100  ack 0    -> rto 300
         100  send 1-2 -> deadline 302
         302  probe    -> deadline 602
         302  repeat 2 as 3 -> deadline 602
         602  timeout  -> lost 1-3, in-flight 0, timeouts 1, probes 1",
    );
}

/// While a probe is in flight, Linux sends no further one: a timeout comes instead, when the probe
/// would have been due, or when the oldest packet has been in flight for the timeout's time
/// (`tcp_send_loss_probe`, `tcp_rearm_rto`).
#[test]
fn a_timeout_takes_the_place_of_a_second_probe() {
    stream().run(
        "  0  send 0
         100  ack 0    -> srtt 100, rto 300
         100  send 1-4
         302  probe    -> probes 1, deadline 602
         302  send 5   -> deadline 602
         320  ack 0-1  -> acked 1, rtt 220, srtt 115, rto 385, deadline 552
         552  timeout  -> lost 2-5, probes 1",
    );
    // A packet sent meanwhile sets the timer for the next probe, but no later than the timeout of
    // packet 1.
    stream().run(
        "  0  send 0
         100  ack 0    -> srtt 100, rto 300
         100  send 1-4
         302  probe
         302  send 5   -> deadline 602
         310  send 6   -> deadline 400
         400  timeout  -> lost 1-6, probes 1",
    );
    // The probe has arrived: the next tail is probed.
    stream().run(
        "  0  send 0
         100  ack 0    -> srtt 100
         100  send 1-2
         302  probe
         302  send 3
         402  ack 0-3  -> acked 1-3, rto 300
         402  send 4-5
         604  probe    -> probes 2",
    );
}

/// An acknowledgement postpones Linux' probe by two RTTs, but not beyond its timeout; a packet
/// postpones it, but not beyond the timeout of the oldest packet in flight, unless that has passed
/// (`tcp_schedule_loss_probe`).
#[test]
fn the_oldest_packet_hastens_the_probe() {
    stream().run(
        "  0  send 0
         100  ack 0    -> srtt 100, rto 300
         100  send 1-2
         290  send 3   -> deadline 400
         295  ack 0-1  -> acked 1, rtt 195, srtt 111.875, deadline 520.75
         520.75 probe",
    );
}

/// The timeout is postponed only by acknowledgements that advance the cumulative point, or of
/// packets sent before the oldest missing one was retransmitted (Linux `tcp_clean_rtx_queue`).
#[test]
fn packets_beyond_a_gap_do_not_put_the_timeout_off() {
    stream().run(
        "  0  send 0
         100  ack 0     -> srtt 100, rto 300
         100  send 1-9
         200  ack 2-4 0 -> acked 2-4, lost 1, congestion loss, deadline 400
         210  again 1 as 10 -> deadline 510
         220  ack 2-5 0 -> acked 5, rto 302.5, deadline 522.5
         230  send 11   -> deadline 522.5
         330  ack 11 2-5 0 -> acked 11, lost 6-10
         331  again 10 6-9 as 12-16 -> rto 302.1875, deadline 633.1875",
    );
}

/// Section 7.3: progress allows the next probe (RFC 9002: after each progress).
#[test]
fn each_acknowledgement_allows_a_further_probe() {
    stream().rfc9002().run(
        "  0  send 0
         100  ack 0    -> rtt 100
         100  send 1-4
         302  probe    -> probes 1
         302  send 5
         320  ack 0-1  -> acked 1, rtt 220, srtt 115, deadline 552
         552  probe    -> probes 2",
    );
}

/// The newest packet, 4, is lost, and the probe 5 repeats its data.
const REPAIRED_BY_PROBE: &str = "
           0  send 0
         100  ack 0     -> srtt 100
         100  send 1-4
         200  ack 0-3   -> acked 1-3, rto 300, deadline 500
         500  probe
         500  repeat 4 as 5";

/// Section 7.4: the probe repeated the only lost packet. The immediate repair must not hide the
/// loss from congestion control. As in Linux (`tcp_process_tlp_ack`), the first acknowledgement
/// beyond the probe reduces the window, and ends the reduction at once, since nothing is left to
/// repair.
#[test]
fn a_loss_that_the_probe_repaired_is_congestion() {
    stream().run(REPAIRED_BY_PROBE).run(
        "600  ack 5 0-3   -> acked 5, lost 4, recovery off, cumulative 5
         900  send 6-9
        1000  ack 5-6 0-3 -> acked 6, congestion loss, recovery off
        1001  ack 5-9 0-3 -> acked 7-9, recovery off",
    );
    // New data left before the probe was acknowledged.
    stream().run(REPAIRED_BY_PROBE).run(
        "510  send 6-7
         600  ack 5 0-3   -> acked 5, lost 4, recovery off
         610  ack 5-7 0-3 -> acked 6-7, congestion loss, recovery off",
    );
    // One acknowledgement of the probe and of a packet beyond.
    stream().run(REPAIRED_BY_PROBE).run(
        "510  send 6
         610  ack 5-6 0-3 -> acked 5-6, lost 4, congestion loss, recovery off",
    );
}

/// If the packet that the probe repeated arrives, too, nothing was lost.
#[test]
fn a_packet_that_arrives_after_its_probe_is_no_loss() {
    stream().run(REPAIRED_BY_PROBE).run(
        "600  ack 5 0-3 -> acked 5, lost 4, recovery off
         610  ack 0-5   -> acked 4, late 1, recovery off
         900  send 6-7
        1000  ack 0-7   -> acked 6-7, recovery off",
    );
}

/// Until something beyond the probe has arrived, Linux sends no second probe (`tlp_high_seq`).
#[test]
fn no_second_probe_before_an_acknowledgement_beyond_the_first() {
    stream().run(REPAIRED_BY_PROBE).run(
        "600  ack 5 0-3 -> acked 5, lost 4, recovery off
         900  send 6-7
        1200  timeout   -> lost 6-7, probes 1",
    );
}

/// A reaction to other losses takes the place of the reaction to the repaired one.
#[test]
fn losses_beyond_a_repaired_tail_are_one_reaction() {
    stream().run(REPAIRED_BY_PROBE).run(
        "600  ack 5 0-3        -> acked 5, lost 4, recovery off
         900  send 6-9
        1000  ack 7-9 5 0-3    -> acked 7-9, lost 6, congestion loss, recovery on
        1000  again 6 as 10
        1100  ack 7-10 5 0-3   -> acked 10, recovery off",
    );
}

/// Section 7.4: original and probe have both arrived, so nothing was lost.
#[test]
fn a_needless_probe_is_no_loss() {
    stream().run(
        "  0  send 0
         100  ack 0     -> srtt 100
         100  send 1-4
         200  ack 0-3   -> acked 1-3
         500  probe
         500  repeat 4 as 5
         510  ack 0-4   -> acked 4, rtt 410
         600  ack 0-5   -> acked 5, total-lost 0, recovery off, retransmits 1",
    );
}

/// Section 7.2: there is no probe without an RTT sample, during repair, while losses of a timeout
/// wait to be retransmitted, and where the driver turns probes off.
#[test]
fn when_there_is_no_probe() {
    stream().run("0 send 0 -> deadline 1000"); // the retransmission timer
    stream().run(
        "  0  send 0
         100  ack 0 -> rto 300
         100  send 1-5
         200  ack 2-4 0 -> acked 2-4, lost 1, congestion loss, deadline 400
         200  again 1 as 6 -> deadline 500",
    );
    stream().without_probes().run(
        "  0  send 0
         100  ack 0  -> rto 300
         100  send 1 -> deadline 400
         400  timeout -> lost 1, probes 0",
    );
}

/// Section 7.2 excludes only loss recovery: the tail of a window that a mark has reduced is probed,
/// as in Linux' state CWR.
#[test]
fn a_tail_is_probed_after_a_mark() {
    stream().run(
        "  0  send 0
         100  ack 0         -> srtt 100
         100  send 1-5
         200  ack 0-3 ce=1  -> acked 1-3, congestion ecn, recovery on, deadline 402
         402  probe         -> probes 1
         402  send 6
         502  ack 6 0-3 ce=1 -> acked 6, lost 4-5, congestion loss-after-mark, timeouts 0",
    );
}

/// RFC 6298 §5.2: the timer is off while all data is acknowledged. A needless probe that is lost is
/// declared lost when the timer would have expired; this is no timeout, and causes no reaction.
#[test]
fn no_timeout_when_all_data_is_acknowledged() {
    stream().run(
        "  0  send 0
         100  ack 0      -> srtt 100, rto 300
         100  send 1-4
         200  ack 0-3    -> acked 1-3
         500  probe
         500  repeat 4 as 5
         500  ack 0-4    -> acked 4, rtt 400, srtt 137.5, rto 550, in-flight 1, deadline 1050
        1050  loss-timer -> lost 5, in-flight 0, timeouts 0, rto 550, recovery off, deadline never",
    );
}

/// If new data is sent before that, it has a timer of its own, which starts when the data leaves.
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

/// A segment whose probe is in flight when the retransmission timer expires is repaired once.
#[test]
fn a_probed_segment_is_repaired_once() {
    stream().run(
        "  0  send 0
         100  ack 0     -> rto 300
         100  send 1-2
         302  probe
         302  repeat 2 as 3
         602  timeout   -> lost 1-3
         602  again 1 3 as 4 5 -> repair none
         702  ack 5 4 0 -> acked 4-5, recovery off, drained yes",
    );
}

/// The data that the probe repeated is not repaired when the loss of the original is detected,
/// since the probe has arrived or is in flight. If the probe is lost, the data is repaired.
#[test]
fn data_that_the_probe_repeated_is_not_repaired_again() {
    let probed = "
           0  send 0
         100  ack 0     -> rto 300
         100  send 1-5
         200  ack 0-2
         402  probe
         402  repeat 5 as 6";
    stream().run(probed).run(
        "502  ack 6 0-2 -> acked 6, lost 3-5, congestion loss
         502  again 3-4 as 7-8 -> repair none
         602  ack 6-8 0-2 -> acked 7-8, recovery off, drained yes, retransmits 3",
    );
    stream().run(probed).run(
        "403  send 7
         503  ack 7 0-2 -> acked 7, lost 3-5, congestion loss
         503  again 3-4 as 8-9 -> repair none
         505  ack 6-7 0-2 -> acked 6
         603  ack 6-9 0-2 -> acked 8-9, recovery off, drained yes",
    );
    stream().rfc9002().run(probed).run(
        "403  send 7-9
         503  ack 9 0-2 -> acked 9, lost 3-6, congestion loss
         503  again 3-4 6 as 10-12 -> repair none",
    );
}

/// When one of the two copies arrives late, the loss of the other needs no repair either.
#[test]
fn a_probed_segment_that_came_late_is_not_repaired() {
    for late in [3, 4] {
        stream().rfc9002().run(&format!(
            "  0  send 0
             100  ack 0     -> srtt 100
             100  send 1-3
             302  probe
             302  repeat 3 as 4
             302  send 5-7
             402  ack 5-7 0 -> acked 5-7, lost 1-4, congestion loss
             403  ack 5-7 {late} 0 -> acked {late}, late 1, recovery on
             403  again 1 2 as 8 9 -> repair none"
        ));
    }
}

/// Datagrams are probed like streams, with the application's next data.
#[test]
fn datagrams_are_probed() {
    datagrams().run(
        "  0  send 0
         100  ack 0   -> srtt 100
         100  send 1-2 -> deadline 302
         302  probe
         302  send 3
         402  ack 3 0 -> acked 3, lost 1-2, congestion loss",
    );
}
