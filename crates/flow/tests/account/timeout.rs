//! The retransmission timer (RFC 6298, section 5) and outages.

use paceline_flow::RtoBounds;

use super::script::stream;

/// Rules 5.1 to 5.3: the timer starts with the first packet, continues when others follow, restarts
/// with each acknowledgement of new data, and stops when all data is acknowledged.
#[test]
fn the_timer_starts_and_stops() {
    stream().without_probes().run(
        "  0  send 0   -> deadline 1000
         500  send 1   -> deadline 1000
         600  ack 0    -> rtt 600, rto 1800, deadline 2400
         700  ack 0    -> deadline 2400      # nothing new
         900  ack 0-1  -> rtt 400, deadline never
        5000  send 2   -> srtt 575, rto 1775, deadline 6775",
    );
}

/// Rules 5.4 to 5.6: the timeout doubles with every expiry during an outage, and the first
/// round-trip time after it ends the back-off.
#[test]
fn back_off_over_an_outage() {
    stream().without_probes().run(
        "   0  send 0
          100  ack 0     -> srtt 100, rto 300
          100  send 1    -> deadline 400
          400  timeout   -> lost 1, congestion timeout, recovery on, in-flight 0, rto 600
          400  again 1 as 2 -> deadline 1000
         1000  timeout   -> lost 2, rto 1200
         1000  again 2 as 3 -> deadline 2200
         2200  timeout   -> lost 3, rto 2400
         2200  again 3 as 4 -> deadline 4600
         4600  timeout   -> lost 4, rto 4800, timeouts 4
         4600  again 4 as 5 -> deadline 9400
         4700  ack 5 0   -> rtt 100, rto 300, recovery off, total-lost 4, retransmits 4",
    );
}

/// Rule 2.5 and 5.5: the back-off ends at the largest timeout: 60 s with the RFC's bounds, 120 s
/// with Linux'.
#[test]
fn the_back_off_is_bounded() {
    for (bounds, first, most) in [(RtoBounds::RFC6298, 1, 60), (RtoBounds::LINUX, 1, 120)] {
        let mut script = stream().rto(bounds).run("0 send 0");
        let (mut now, mut rto) = (0u64, first * 1000u64);
        for number in 0..12 {
            now += rto;
            rto = (rto * 2).min(most * 1000);
            script = script.run(&format!(
                "{now} timeout -> lost {number}, rto {rto}
                 {now} again {number} as {}",
                number + 1
            ));
        }
        assert_eq!(rto, most * 1000);
    }
}

/// An acknowledgement without an RTT sample does not end the back-off; a sample does, as in Linux.
#[test]
fn an_old_acknowledgement_does_not_end_the_back_off() {
    stream().without_probes().run(
        "  0  send 0
         100  ack 0 -> rto 300
         100  send 1
         400  timeout -> lost 1, rto 600
         400  again 1 as 2
         410  ack 0 -> acked none, rto 600, deadline 1000, recovery on",
    );
}

/// After a timeout the lost packets are repaired in the order of sending, and recovery ends when
/// all of them have arrived; there is no second reaction to them.
#[test]
fn repair_after_a_timeout() {
    stream().without_probes().run(
        "   0  send 0
          100  ack 0     -> rto 300
          100  send 1-4
          400  timeout   -> lost 1-4, congestion timeout
          400  again 1 as 5
          500  ack 5 0   -> acked 5, recovery on
          500  again 2-3 as 6-7
          600  ack 5-7 0 -> acked 6-7, recovery on, cumulative 4
          600  again 4 as 8
          601  send 9-10
          700  ack 5-8 0 -> acked 8, recovery off, cumulative 5
          701  ack 5-10 0 -> acked 9-10, total-lost 4",
    );
}
