//! Round-trip times and the retransmission timeout (RFC 6298).

use paceline_cc::Span;
use paceline_flow::{RtoBounds, RttEstimator};

use super::script::stream;

/// Section 2: (2.1) RTO is a second before the first sample; (2.2) SRTT is the first sample R,
/// RTTVAR half of it, RTO is SRTT + 4 RTTVAR; (2.3) gains of 1/4 and 1/8 for later samples, RTTVAR
/// first.
#[test]
fn section_2_by_hand() {
    stream().rto(RtoBounds::RFC6298).run(
        "   0  send 0     -> rto 1000
          800  ack 0     -> srtt 800, rto 2400
          800  send 1
         1200  ack 0-1   -> rtt 400, srtt 750, rto 2350
         1200  send 2
         2000  ack 0-2   -> rtt 800, srtt 756.25, rto 2006.25",
    );
}

/// Rule 2.4: a computed timeout below a second becomes a second; Linux has a lower bound for the
/// variation instead.
#[test]
fn the_least_timeout() {
    let script = "0 send 0\n 20 ack 0 -> srtt 20";
    stream().rto(RtoBounds::RFC6298).run(script).run("20 send 1 -> rto 1000");
    stream().rto(RtoBounds::LINUX).run(script).run("20 send 1 -> rto 220");
}

/// Section 3, Karn's algorithm: samples must not be ambiguous. Numbers never are, so a repair gives
/// a sample, as with TCP's timestamps.
#[test]
fn a_repair_gives_an_unambiguous_sample() {
    stream().without_probes().run(
        "   0  send 0
         1000  timeout -> lost 0
         1000  again 0 as 1
         1080  ack 1   -> rtt 80, srtt 80",
    );
}

/// Only an acknowledgement whose largest number is new gives a sample: others are late.
#[test]
fn only_the_newest_packet_is_measured() {
    stream().run(
        "  0  send 0-3
         100  ack 1-2 -> rtt 100
         110  ack 0-2 -> acked 0, rtt none, srtt 100",
    );
}

/// Linux' variation (`tcp_rtt_estimator`), times four: the first sample gives twice itself; a fall
/// of the RTT by less than the mean deviation lowers that; a rise takes effect at once; and the
/// timeout falls by a quarter of the difference after each quieter round trip, not with each
/// sample.
#[test]
fn linux_keeps_the_largest_variation_of_a_round_trip() {
    let mut rtt = RttEstimator::new(RtoBounds::LINUX);
    let mut sample = |millis: u64, round_over: bool| {
        rtt.sample(Span::from_millis(millis), round_over);
        (rtt.rto() - rtt.smoothed()).as_millis_f64()
    };
    assert_eq!(sample(400, true), 800.0);
    // Deviation 800 - 200, 600 - 150; the variation stays within the round trip.
    assert_eq!(sample(400, false), 800.0);
    assert_eq!(sample(400, false), 800.0);
    // The round trip is over; its largest deviation was the first one. A new one begins.
    assert_eq!(sample(400, true), 800.0);
    // Deviation 337.5 to 253.125, the largest since; a quarter of the difference from 800.
    assert_eq!(sample(400, true), 800.0 - (800.0 - 253.125) / 4.0);
    // The RTT rises by 600: deviation 253.125 - 63.28125 + 600, at once.
    assert_eq!(sample(1000, false), 789.84375);
}

/// The smoothed RTT approaches the new RTT, the variation decreases; the smallest RTT stays.
#[test]
fn a_longer_path() {
    let mut rtt = RttEstimator::new(RtoBounds::LINUX);
    (0..20).for_each(|_| rtt.sample(Span::from_millis(100), true));
    (0..200).for_each(|_| rtt.sample(Span::from_millis(300), true));
    assert_eq!(rtt.min(), Span::from_millis(100));
    assert_eq!(rtt.latest(), Span::from_millis(300));
    assert!(rtt.smoothed().as_millis_f64() > 299.9, "{:?}", rtt.smoothed());
    assert!((rtt.rto().as_millis_f64() - 500.0).abs() < 0.1, "{:?}", rtt.rto());
}

/// Back-off, and samples of zero or of enormous length, do not overflow.
#[test]
fn extreme_samples() {
    let mut rtt = RttEstimator::new(RtoBounds::LINUX);
    rtt.sample(Span::ZERO, true);
    assert!(rtt.smoothed() > Span::ZERO && rtt.rto() >= Span::from_millis(200));
    rtt.sample(Span::MAX, true);
    rtt.sample(Span::ZERO, true);
    (0..1000).for_each(|_| rtt.back_off());
    assert_eq!(rtt.rto(), Span::from_secs(120));
}

/// Retransmitted data gives an RTT sample only where it closes the first gap, since its timestamp
/// is echoed then (Linux `tcp_sacktag_one`, `tcp_ack_update_rtt`).
#[test]
fn a_repair_beyond_the_first_gap_gives_no_sample() {
    stream().run(
        "  0  send 0
         100  ack 0         -> srtt 100
         100  send 1-6
         200  ack 3-5 0     -> acked 3-5, lost 1-2, congestion loss, rtt 100
         200  again 1-2 as 7-8
         350  ack 8 3-5 0   -> acked 8, lost 6-7, rtt none",
    );
}
