use paceline_cc::{Congestion, Controller, Fate, Outgoing, Stream, Time};

use super::*;
use crate::testing::{Acks, MSS};

/// A media flow at the target over a link of a rate that the test sets, without limit to its
/// queue. The receiver's clock is ahead.
struct Path {
    gcc: GccSender,
    acks: Acks,
    now: Time,
    free: Time,
    number: u64,
}

const OFFSET: Span = Span::from_secs(777);
const HALF: Span = Span::from_millis(25);

impl Path {
    fn new(params: &GccParams) -> Path {
        let start = Time::from_secs(1);
        let acks = Acks::new(HALF * 2);
        Path { gcc: GccSender::new(params, MSS), acks, now: start, free: start, number: 0 }
    }

    /// Sends at the target for `time` over `link`; returns the delay in the queue at the end.
    /// Acknowledgements come at once, which only shortens the loop.
    fn run(&mut self, time: Span, link: Rate) -> Span {
        let end = self.now + time;
        let mut queue = Span::ZERO;
        while self.now < end {
            let tag = self.gcc.on_send(self.now, &mut Outgoing::new(self.number, MSS, 0));
            self.free = self.free.max(self.now) + link.time_for(MSS.into());
            queue = self.free.since(self.now);
            let received = self.free + HALF + OFFSET;
            let fate = Fate::new(self.number, MSS, self.now, tag, false)
                .with(|fate| fate.received = received);
            self.number += 1;
            self.acks.now = self.now;
            self.acks.rtt = HALF * 2 + queue;
            let fates = [fate];
            self.gcc.on_feedback(&self.acks.ack(1).with(|feedback| feedback.fates = &fates));
            self.now += self.rate().time_for(MSS.into());
        }
        queue
    }

    fn rate(&self) -> Rate {
        self.gcc.target().expect("has a target")
    }
}

/// Without probes, as these packets leave at the target.
fn params(filter: Filter) -> GccParams {
    let variant = match filter {
        Filter::Kalman => "mmsys2016",
        Filter::Trendline => "libwebrtc",
    };
    let params = GccParams::variant(variant).expect("a variant");
    let initial_rate = Rate::from_mbps(2.0);
    // The tests are about the share that over-use leaves; the step beside it has its own test.
    let backoff_step = Rate::ZERO;
    GccParams { initial_rate, backoff_step, probes: false, ..params }
}

const FILTERS: [Filter; 2] = [Filter::Kalman, Filter::Trendline];

#[test]
fn a_constant_delay_is_no_over_use() {
    for filter in FILTERS {
        let mut path = Path::new(&params(filter));
        path.run(Span::from_secs(10), Rate::from_mbps(100.0));
        // 8 % a second.
        let grown = path.rate().as_mbps() / 2.0;
        let expected = 1.08f64.powf(9.9);
        assert!((grown / expected - 1.0).abs() < 0.03, "{filter:?}: {grown}");
    }
}

#[test]
fn a_queue_that_builds_up_is_over_use() {
    for filter in FILTERS {
        let mut path = Path::new(&params(filter));
        path.run(Span::from_secs(3), Rate::from_mbps(100.0));
        let before = path.rate().as_mbps();
        // The link becomes slower than the media by a third; each second a third of it waits.
        let link = Rate::from_mbps(before * 2.0 / 3.0);
        let mut waited = Span::ZERO;
        while path.rate().as_mbps() >= before && waited < Span::from_secs(5) {
            path.run(Span::from_millis(10), link);
            waited += Span::from_millis(10);
        }
        assert!(waited <= Span::from_millis(400), "{filter:?}: {waited}");
        // 85 % of what arrives, which still counts some of what came before: less than the link.
        path.run(Span::from_millis(700), link);
        let share = path.rate().as_mbps() / link.as_mbps();
        assert!((0.7..1.0).contains(&share), "{filter:?}: {share}");
        // The queue drains, and later the link is used again.
        assert!(path.run(Span::from_secs(10), link) < Span::from_millis(60), "{filter:?}");
        let share = path.rate().as_mbps() / link.as_mbps();
        assert!((0.75..1.1).contains(&share), "{filter:?}: {share}");
    }
}

#[test]
fn the_drafts_own_comparison_misses_it() {
    let mut path = Path::new(&GccParams { deltas: 1, ..params(Filter::Kalman) });
    path.run(Span::from_secs(3), Rate::from_mbps(100.0));
    let before = path.rate();
    path.run(Span::from_secs(1), Rate::from_mbps(before.as_mbps() * 2.0 / 3.0));
    assert!(path.rate() >= before);
}

#[test]
fn one_that_is_ahead_is_paced_at_the_target() {
    let mut gcc = GccSender::new(&params(Filter::Kalman), MSS);
    let pacing = |gcc: &GccSender| gcc.plan().pacing.map_or(0.0, |rate| rate.as_mbps());
    let start = Time::from_secs(1);
    gcc.on_send(start, &mut Outgoing::new(0, MSS, 0));
    assert_eq!(pacing(&gcc), 5.0);
    // 250 ms at 2 Mbit/s are 62 500 bytes.
    for number in 1..45 {
        gcc.on_send(start, &mut Outgoing::new(number, MSS, 0));
    }
    assert_eq!(pacing(&gcc), 2.0);
    gcc.on_send(start + Span::from_millis(100), &mut Outgoing::new(45, MSS, 0));
    assert_eq!(pacing(&gcc), 5.0);
}

/// The last packets that were out arrive at unknown times, as those that were sent twice do. No report tells of them.
#[test]
fn a_full_window_opens_without_a_report() {
    let mut path = Path::new(&params(Filter::Trendline));
    path.run(Span::from_secs(2), Rate::from_mbps(100.0));
    let first = path.number;
    for number in first..first + 500 {
        path.gcc.on_send(path.now, &mut Outgoing::new(number, MSS, 0));
    }
    assert!(path.gcc.left_out_share() > 0.9, "{}", path.gcc.left_out_share());
    path.acks.now = path.now + Span::from_millis(200);
    path.acks.in_flight = 0;
    let fates: Vec<Fate> =
        (first..first + 500).map(|number| Fate::new(number, MSS, path.now, 0, false)).collect();
    path.gcc.on_feedback(&path.acks.ack(500).with(|feedback| feedback.fates = &fates));
    assert_eq!(path.gcc.left_out_share(), 0.0);
}

#[test]
fn losses_lower_the_target() {
    let mut path = Path::new(&params(Filter::Kalman));
    path.run(Span::from_secs(1), Rate::from_mbps(100.0));
    let before = path.rate().as_mbps();
    let fates = [Fate::new(0, MSS, path.now, 0, true); 100];
    path.acks.now = path.now + Span::from_millis(200);
    path.gcc.on_feedback(&path.acks.ack(0).with(|feedback| feedback.fates = &fates));
    // Some that arrived before are judged together with them.
    let share = path.rate().as_mbps() / before;
    assert!((0.5..0.7).contains(&share), "{share}");
}

/// libwebrtc's pacer may exceed a burst by the packet that passes 40 ms, not by a packet of the largest size.
#[test]
fn a_burst_of_small_packets_ends_with_a_small_one() {
    let initial_rate = Rate::from_bps(30_000);
    let mut gcc = GccSender::new(&GccParams { initial_rate, ..params(Filter::Trendline) }, MSS);
    let paced = gcc.plan().pacing.expect("is paced").bytes_in(Span::from_millis(40)) as u32;
    assert_eq!(gcc.plan().burst, paced + MSS);
    gcc.on_send(Time::from_secs(1), &mut Outgoing::new(0, 200, 0));
    assert_eq!(gcc.plan().burst, paced + 200);
}

/// The sender's timer declares packets lost that may still arrive. They count when a later packet is reported.
#[test]
fn a_timeout_is_no_loss_before_a_later_packet_is_reported() {
    for arrives in [true, false] {
        let mut path = Path::new(&params(Filter::Kalman));
        path.run(Span::from_secs(1), Rate::from_mbps(100.0));
        let (before, first) = (path.rate().as_mbps(), path.number);
        let lost: Vec<Fate> =
            (first..first + 100).map(|number| Fate::new(number, MSS, path.now, 0, true)).collect();
        path.acks.now = path.now + Span::from_millis(200);
        path.gcc.on_feedback(&path.acks.ack(0).with(|feedback| {
            feedback.fates = &lost;
            feedback.congestion = Some(Congestion::Timeout);
        }));
        assert_eq!(path.rate().as_mbps(), before);
        path.now = path.acks.now;
        if arrives {
            let late: Vec<Fate> = lost
                .iter()
                .map(|fate| fate.with(|fate| (fate.lost, fate.late) = (false, true)))
                .collect();
            path.gcc.on_feedback(&path.acks.ack(100).with(|feedback| feedback.fates = &late));
        }
        path.number = first + 100;
        path.run(Span::from_millis(300), Rate::from_mbps(100.0));
        let share = path.rate().as_mbps() / before;
        assert_eq!(share < 0.8, !arrives, "{share}");
    }
}

/// A window of packets that no report tells of makes the encoder leave out frames, and after 3 s the
/// target falls.
#[test]
fn an_outage_stops_the_encoder_and_then_lowers_the_target() {
    let mut path = Path::new(&params(Filter::Trendline));
    path.run(Span::from_secs(3), Rate::from_mbps(100.0));
    let (before, start) = (path.rate(), path.now);
    let send = |path: &mut Path, ms: u64| {
        while path.now.since(start) < Span::from_millis(ms) {
            path.gcc.on_send(path.now, &mut Outgoing::new(path.number, MSS, 0));
            path.number += 1;
            path.now += path.rate().time_for(MSS.into());
        }
    };
    send(&mut path, 200);
    assert_eq!((path.rate(), path.gcc.left_out_share()), (before, 0.0));
    send(&mut path, 2500);
    assert_eq!(path.rate(), before);
    assert!(path.gcc.left_out_share() > 0.95, "{}", path.gcc.left_out_share());
    send(&mut path, 30_000);
    assert_eq!(path.rate(), Rate::from_bps(30_000));
    // The link is back.
    path.free = path.now;
    path.run(Span::from_secs(2), Rate::from_mbps(100.0));
    assert!(path.rate().as_mbps() > 0.5 * before.as_mbps(), "{} of {before}", path.rate());
    assert_eq!(path.gcc.left_out_share(), 0.0);
}

/// A receiver that sends no media reports as often at a low rate as at a high one: each report lets the target grow by
/// 1 kbit/s at least, so that a call is at 150 kbit/s again some seconds after an outage.
#[test]
fn low_targets_grow_by_a_kilobit_per_report() {
    let initial_rate = Rate::from_bps(60_000);
    let mut path = Path::new(&GccParams { initial_rate, ..params(Filter::Trendline) });
    let end = path.now + Span::from_secs(6);
    while path.now < end {
        // 30 frames a second, each a small packet.
        let size = (path.rate().bytes_per_sec() / 30.0) as u32;
        path.gcc.on_send(path.now, &mut Outgoing::new(path.number, size, 0));
        let fate = Fate::new(path.number, size, path.now, 0, false)
            .with(|fate| fate.received = path.now + HALF + OFFSET);
        path.number += 1;
        path.acks.now = path.now;
        let fates = [fate];
        path.gcc.on_feedback(&path.acks.ack(1).with(|feedback| feedback.fates = &fates));
        path.now += Span::from_micros(33_333);
    }
    // A report after every third frame; with a report per 5 % of the target there are half as many.
    assert!(path.rate() > Rate::from_bps(110_000), "{}", path.rate());
}

/// Sends as the plan says for `time`, data of `media` Mbit/s and padding where the plan asks for it.
/// Returns the largest target in Mbit/s.
fn run_as_planned(path: &mut Path, time: Span, media: f64, link: Rate) -> f64 {
    let end = path.now + time;
    let (mut waiting, mut next_send, mut largest) = (0.0, path.now, 0.0f64);
    let mut arrivals: std::collections::VecDeque<Fate> = Default::default();
    while path.now < end {
        waiting += media * 1e6 / 8.0 * 0.0005;
        while arrivals.front().is_some_and(|fate| fate.received + HALF <= path.now + OFFSET) {
            let fates: Vec<Fate> = arrivals.pop_front().into_iter().collect();
            path.acks.now = path.now;
            path.acks.rtt = path.now.since(fates[0].sent);
            path.gcc.on_feedback(&path.acks.ack(1).with(|feedback| feedback.fates = &fates));
        }
        if path.gcc.plan().timer <= path.now {
            path.gcc.on_timer(path.now);
        }
        while next_send <= path.now {
            let empty = waiting < f64::from(MSS);
            let plan = path.gcc.plan();
            if empty && plan.padding == 0 {
                break;
            }
            let mut packet = Outgoing::new(path.number, MSS, 0);
            packet.empty = empty;
            let tag = path.gcc.on_send(path.now, &mut packet);
            waiting -= if empty { 0.0 } else { f64::from(MSS) };
            path.free = path.free.max(path.now) + link.time_for(MSS.into());
            let received = path.free + HALF + OFFSET;
            arrivals.push_back(
                Fate::new(path.number, MSS, path.now, tag, false)
                    .with(|fate| fate.received = received),
            );
            path.number += 1;
            let pacing = path.gcc.plan().pacing.expect("paced");
            next_send = path.now.max(next_send) + pacing.time_for(MSS.into());
        }
        largest = largest.max(path.rate().as_mbps());
        path.now += Span::from_micros(500);
    }
    largest
}

/// Probes at 0.9, 1.8, 3.6 Mbit/s and so on find the link within half a second, though there is only
/// 0.3 Mbit/s of data.
#[test]
fn probes_find_the_link() {
    for (link, least, most) in
        [(0.5, 0.4, 0.56), (2.0, 1.7, 2.1), (4.0, 3.4, 4.2), (90.0, 4.5, 5.5)]
    {
        let mut path = Path::new(&GccParams::default());
        let found = run_as_planned(&mut path, Span::from_millis(600), 0.3, Rate::from_mbps(link));
        assert!((least..most).contains(&found), "{link} Mbit/s: {found}");
    }
}

/// Random events, receive times that mean nothing included.
#[test]
fn fuzz_keeps_targets_sane() {
    for filter in FILTERS {
        for seed in 0..10 {
            let mut random = Stream::new(seed, "gcc fuzz");
            let params = GccParams { probes: true, ..params(filter) };
            let mut gcc = GccSender::new(&params, MSS);
            let mut acks = Acks::new(Span::from_millis(100));
            for number in 0..5_000 {
                let feedback = acks.any(&mut random);
                let tag = gcc.on_send(acks.now, &mut Outgoing::new(number, MSS, 0));
                let fates: Vec<Fate> = (0..random.below(4))
                    .map(|_| {
                        let lost = random.chance(0.1);
                        let sent = Time::from_nanos(random.below(1 + acks.now.as_nanos()));
                        let received = match random.below(3) {
                            0 => Time::NEVER,
                            1 => acks.now + Span::from_secs(777),
                            _ => Time::from_nanos(random.next_u64() / 2),
                        };
                        Fate::new(number, MSS, sent, tag, lost)
                            .with(|fate| fate.received = received)
                    })
                    .collect();
                gcc.on_feedback(&feedback.with(|feedback| feedback.fates = &fates));
                let target = gcc.target().expect("has a target");
                let bounds = params.min_rate..=params.max_rate;
                assert!(bounds.contains(&target), "{filter:?} {seed} {number}: {target}");
                gcc.inspect(&mut |name, value| assert!(value.is_finite(), "{filter:?}: {name}"));
            }
        }
    }
}
