use paceline_cc::{Header, Packet, Router, Time, XcpHeader, xcp_feedback::MOST};

use super::*;
use crate::testing::{RouterLink, asking, feedback, packet};

const MS: Span = Span::from_millis(1);

fn road(params: XcpwParams) -> RouterLink<XcpwRouter> {
    RouterLink::new(XcpwRouter::new(&params), 12.0)
}

/// Sends a packet every 2 ms into a link that carries one per ms.
fn half_used(road: &mut RouterLink<XcpwRouter>, until_ms: u64) -> Packet {
    let mut last = asking(100, 50, MOST);
    for ms in (2..=until_ms).step_by(2) {
        last = asking(100, 50, MOST);
        road.pass(Time::from_millis(ms), &mut last);
    }
    last
}

#[test]
fn half_a_link_is_shared_out_among_the_last_rtt() {
    // C = 1, y = 0.5 packets per ms over 100 ms: 27.5 packets among the 51 of the window.
    let mut road = road(XcpwParams::default());
    let last = half_used(&mut road, 1000);
    assert!((road.inspect("aggregate_packets") - 27.5).abs() < 1e-9);
    assert!((feedback(&last) / 1500.0 - 27.5 / 51.0).abs() < 1e-9);
    assert!((27.5 / 51.0 - 0.539f64).abs() < 1e-3);
}

#[test]
fn a_queue_takes_back() {
    // C = y = 1, 10 packets wait: -4 packets.
    let mut road = road(XcpwParams::default());
    (road.queue_bytes, road.queue_packets) = (15_000, 10);
    for ms in 1..=1000 {
        road.pass(Time::from_millis(ms), &mut asking(100, 100, MOST));
    }
    assert!((road.inspect("aggregate_packets") + 4.0).abs() < 1e-9);
}

#[test]
fn a_change_takes_effect_with_the_next_packet_or_the_next_rtt() {
    for (update, at_once) in [(Update::Packet, true), (Update::RoundTrip, false)] {
        let mut road = road(XcpwParams { update, ..XcpwParams::default() });
        let before = feedback(&half_used(&mut road, 1000));
        road.link.0 = paceline_cc::Rate::from_mbps(1.2);
        let mut packet = asking(100, 50, MOST);
        road.pass(Time::from_millis(1002), &mut packet);
        assert_eq!(feedback(&packet) < 0.0, at_once, "{} before {before}", feedback(&packet));
        half_used(&mut road, 0);
        for ms in (1004..=1204).step_by(2) {
            packet = asking(100, 50, MOST);
            road.pass(Time::from_millis(ms), &mut packet);
        }
        assert!(feedback(&packet) < 0.0);
    }
}

#[test]
fn sojourns_lengthen_the_rtt_or_headers_tell_it() {
    let rtt_ms = |rtt: Span| {
        let mut road = road(XcpwParams { rtt, ..XcpwParams::default() });
        for ms in 1..=1000 {
            let mut packet = asking(40, 100, MOST);
            let now = Time::from_millis(ms);
            road.arrive(now, &mut packet);
            road.depart(now, &mut packet, MS * 20);
        }
        road.inspect("rtt_ms")
    };
    assert!((rtt_ms(MS * 100) - 120.0).abs() < 1e-9);
    assert!((rtt_ms(Span::ZERO) - 40.0).abs() < 1e-9);
}

#[test]
fn other_traffic_counts_but_has_no_share() {
    let mut road = road(XcpwParams::default());
    let mut last = asking(100, 50, MOST);
    for ms in 1..=1000 {
        let now = Time::from_millis(ms);
        if ms % 2 == 0 {
            last = asking(100, 50, MOST);
            road.pass(now, &mut last);
        } else {
            road.pass(now, &mut Packet::opaque(1500));
        }
    }
    // The link is fully used.
    assert!(feedback(&last).abs() < 1e-9, "{}", feedback(&last));
    let mut fourth = packet(Header::None);
    road.pass(Time::from_millis(1001), &mut fourth);
    let paceline_cc::Body::Data(data) = fourth.body else { panic!("data") };
    assert_eq!(data.header, Header::None);
}

#[test]
fn the_smaller_grant_stays() {
    let mut road = road(XcpwParams::default());
    half_used(&mut road, 1000);
    let mut modest = asking(100, 50, 100.0);
    road.pass(Time::from_millis(1002), &mut modest);
    assert_eq!(feedback(&modest), 100.0);
    let mut first = packet(Header::Xcp(XcpHeader::default()));
    road.pass(Time::from_millis(1004), &mut first);
    assert_eq!(feedback(&first), 0.0);
}

#[test]
fn an_outage_leaves_one_packet_in_the_window() {
    let mut road = road(XcpwParams::default());
    half_used(&mut road, 1000);
    let mut packet = asking(100, 50, MOST);
    road.arrive(Time::from_millis(1001), &mut packet);
    road.depart(Time::from_millis(4001), &mut packet, MS * 3000);
    // The mean of the last packet's RTT and the next one's.
    assert!((road.inspect("rtt_ms") - 0.5 * (100.0 + 3100.0)).abs() < 1e-9);
    road.router.on_unused(Time::from_millis(4001), 1500);
    assert!(feedback(&packet).is_finite());
}
