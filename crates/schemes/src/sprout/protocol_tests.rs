//! Ticks, announced pauses, counts of lost and queued bytes: the two halves without a network.

use paceline_cc::{
    Controller, Forecast, Header, Outgoing, Report, Reporter, Setup, Spec, SproutHeader, Stream,
    Time,
};

use super::receiver::SproutReceiver;
use super::*;

/// Records the model's inputs from a receiver.
#[derive(Default)]
struct Notes(Vec<Option<f64>>);

impl Model for Notes {
    fn evolve(&mut self) {
        self.0.push(None);
    }
    fn observe(&mut self, packets: f64) {
        *self.0.last_mut().expect("a tick") = Some(packets);
    }
    fn forecast(&self) -> Counts {
        [1, 2, 3, 4, 5, 6, 7, 8]
    }
    fn restart(&mut self) {
        self.0.clear();
    }
}

const RULES: ReceiverRules = ReceiverRules {
    feedback: FeedbackTiming::Tick,
    packet: 1400,
    heartbeat: Span::from_millis(50),
};

fn ms(millis: u64) -> Time {
    Time::from_millis(millis)
}

fn header(offset: u64, throwaway: u32, time_to_next: u32) -> SproutHeader {
    SproutHeader { connection: 0, offset, throwaway, time_to_next }
}

fn inference() -> Inference {
    let params = SproutParams::default();
    Inference::new(&params, Arc::new(params.tables()))
}

/// A packet of 1400 bytes of payload.
const WHOLE: u32 = 1400 + HEADERS;

#[test]
fn announced_pauses_are_not_observed() {
    let mut receiver = SproutReceiver::new(Notes::default(), RULES);
    receiver.take(ms(1000), &header(1, 0, 50), WHOLE);
    // A tick is over when its time has passed, strictly.
    receiver.advance(ms(1020));
    assert_eq!(receiver.model().0, []);
    receiver.advance(ms(1021));
    assert_eq!(receiver.model().0, [Some(1.0)]);
    receiver.advance(ms(1081));
    assert_eq!(receiver.model().0, [Some(1.0), None, None, Some(0.0)]);
}

#[test]
fn packets_end_a_pause() {
    let mut receiver = SproutReceiver::new(Notes::default(), RULES);
    receiver.take(ms(1000), &header(1, 0, 50), WHOLE);
    receiver.take(ms(1030), &header(1451, 0, 0), WHOLE / 2);
    receiver.advance(ms(1041));
    let half = payload(WHOLE / 2) as f64 / 1400.0;
    assert_eq!(receiver.model().0, [Some(1.0), Some(half)]);
    // The first packet's announcement still covers the tick that begins at 1040 ms.
    receiver.advance(ms(1081));
    assert_eq!(receiver.model().0[2..], [None, Some(0.0)]);
}

#[test]
fn ticks_begin_with_the_first_packet() {
    let mut receiver = SproutReceiver::new(Notes::default(), RULES);
    assert_eq!(receiver.wake(), Time::NEVER);
    receiver.take(ms(777_000), &header(1, 0, 0), WHOLE);
    assert_eq!(receiver.model().0, []);
    // The first forecast is sent at once, the next at the end of the tick.
    assert_eq!(receiver.wake(), ms(777_000));
    let clock = ms(1_000_777_000);
    let Some(Report::Forecast(forecast)) = receiver.report(ms(777_000), clock) else {
        panic!("no forecast")
    };
    assert_eq!((forecast.from, forecast.total), (clock, 1401));
    assert_eq!(receiver.report(ms(777_010), clock + Span::from_millis(10)), None);
    assert_eq!(receiver.wake(), ms(777_020) + Span::from_nanos(1));
}

#[test]
fn a_long_silence_ends_forecasts_and_costs_little() {
    let mut receiver = SproutReceiver::new(inference(), RULES);
    receiver.take(ms(0), &header(0, 0, 0), WHOLE);
    let mut reports = 0;
    for _ in 0..5000 {
        let now = receiver.wake();
        if now == Time::NEVER {
            break;
        }
        reports += usize::from(receiver.report(now, now).is_some());
    }
    assert_eq!(receiver.wake(), Time::NEVER);
    assert_eq!(reports, 101);
    // A year later.
    receiver.take(Time::from_secs(31_557_600), &header(1450, 0, 0), WHOLE);
    let now = receiver.wake();
    assert!(now <= Time::from_secs(31_557_600));
    assert!(receiver.report(Time::from_secs(31_557_600), now).is_some());
}

#[test]
fn a_new_connection_starts_anew() {
    let mut receiver = SproutReceiver::new(Notes::default(), RULES);
    receiver.take(ms(0), &header(0, 0, 0), WHOLE);
    receiver.take(ms(100), &header(100_000, 0, 0), WHOLE);
    let next = SproutHeader { connection: 1, ..header(0, 0, 0) };
    receiver.take(ms(5000), &next, WHOLE);
    assert_eq!(receiver.model().0, []);
    let total = |report| match report {
        Some(Report::Forecast(Forecast { total, .. })) => total,
        other => panic!("no forecast: {other:?}"),
    };
    assert_eq!(total(receiver.report(ms(5000), ms(5000))), 1400);
    // A late packet of the earlier connection does not count.
    receiver.take(ms(5030), &header(200_000, 0, 0), WHOLE);
    assert_eq!(total(receiver.report(ms(5030), ms(5030))), 1400);
}

#[test]
fn a_duplicate_of_the_first_packet_is_no_new_connection() {
    let mut receiver = SproutReceiver::new(Notes::default(), RULES);
    receiver.take(ms(0), &header(0, 0, 0), WHOLE);
    receiver.take(ms(10), &header(1450, 0, 0), WHOLE);
    receiver.take(ms(50), &header(2900, 0, 0), WHOLE);
    let ticks = receiver.model().0.len();
    receiver.take(ms(51), &header(0, 0, 0), WHOLE);
    assert_eq!(receiver.model().0.len(), ticks, "the model goes on");
    let report = receiver.report(ms(51), ms(51));
    assert!(matches!(report, Some(Report::Forecast(Forecast { total: 4300, .. }))), "{report:?}");
}

/// Checks that senders number their connections upwards, with wrap-around.
#[test]
fn senders_number_their_connections() {
    let setup = Setup::default().with(|setup| setup.connection = 7);
    let mut sender = SproutSender::new(&SproutParams::default(), &setup);
    assert_eq!(send(&mut sender, ms(0), 1500).connection, 7);
    let mut receiver = SproutReceiver::new(Notes::default(), RULES);
    receiver.take(ms(0), &SproutHeader { connection: u32::MAX, ..header(0, 0, 0) }, WHOLE);
    receiver.take(ms(100), &SproutHeader { connection: 0, ..header(0, 0, 0) }, WHOLE);
    assert_eq!(receiver.model().0, [], "0 comes after the largest number");
}

/// Takes each packet's sending time in ms, and whether it arrives. Returns the totals after the
/// last one that does.
fn total(packets: &[(u64, bool)]) -> (u64, u64) {
    let (mut total, mut recent, mut offset) =
        (total::ReceivedTotal::default(), recent::RecentlySent::default(), 0);
    for &(at, arrives) in packets {
        let throwaway = recent.on_send(ms(at), offset);
        if arrives {
            total.on_arrival(&header(offset, throwaway, 0), 1000);
        }
        offset += 1050;
    }
    (total.bytes(), offset)
}

#[test]
fn lost_packets_are_written_off_after_10_ms() {
    // All were sent in the last 10 ms: their headers are not counted yet.
    assert_eq!(total(&[(0, true), (5, true), (10, true)]), (3000, 3150));
    // A packet sent 10 ms ago may still arrive, one sent 11 ms ago may not.
    assert_eq!(total(&[(0, false), (10, true)]).0, 1000);
    assert_eq!(total(&[(0, false), (11, true)]).0, 1050 + 1000);
    assert_eq!(total(&[(0, false), (1, false), (11, true)]).0, 1050 + 1000);
}

#[test]
fn reordered_and_repeated_packets_count_once() {
    let mut total = total::ReceivedTotal::default();
    total.on_arrival(&header(1050, 1050, 0), 1000);
    total.on_arrival(&header(0, 0, 0), 1000);
    total.on_arrival(&header(0, 0, 0), 1000);
    assert_eq!(total.bytes(), 2000);
    // Too late: this packet counts it as lost.
    total.on_arrival(&header(3150, 0, 0), 1000);
    total.on_arrival(&header(2100, 0, 0), 1000);
    assert_eq!(total.bytes(), 4150);
}

#[test]
fn throwaway_numbers_have_16_bits() {
    let mut recent = recent::RecentlySent::default();
    let sent: Vec<u32> = (0..60).map(|i| recent.on_send(ms(0), 1450 * i)).collect();
    assert_eq!(sent[45], 45 * 1450);
    assert_eq!(sent[46], 65_535);
    assert_eq!(sent[59], 65_535);
    assert_eq!(recent.on_send(ms(11), 1450 * 60), 0);
}

const STEADY: Counts = [5, 12, 20, 27, 35, 43, 51, 59];

fn sender(text: &str) -> SproutSender {
    let spec = Spec::parse(&format!("sprout[{text}]")).expect("a spec");
    SproutSender::new(&spec.params().expect("parameters"), &Setup::default())
}

/// Sends a packet of `size` bytes.
fn send(sender: &mut SproutSender, now: Time, size: u32) -> SproutHeader {
    let mut packet = Outgoing::new(0, size, 0);
    packet.empty = sender.plan().sends_empty_packet;
    sender.on_send(now, &mut packet);
    match packet.header {
        Header::Sprout(header) => header,
        other => panic!("{other:?}"),
    }
}

/// Returns a sender with a forecast of `counts` at 1 s, when all its packets had arrived.
fn told(text: &str, counts: Counts) -> SproutSender {
    let mut sender = sender(text);
    send(&mut sender, ms(900), 64);
    let forecast = Forecast { total: 54, from: ms(5), counts };
    sender.on_report(ms(1000), &Report::Forecast(forecast));
    sender
}

#[test]
fn it_waits_for_the_first_forecast() {
    let mut sender = sender("");
    assert!(sender.plan().sends_empty_packet && sender.plan().cwnd == 0);
    let beat = send(&mut sender, ms(0), 64);
    assert_eq!(beat, header(0, 0, 50));
    // The window is the bytes in flight, and no more.
    assert!(!sender.plan().sends_empty_packet && sender.plan().cwnd == 64);
    assert_eq!(sender.plan().timer, ms(50));
    sender.on_timer(ms(50));
    assert!(sender.plan().sends_empty_packet);
}

#[test]
fn the_window_drains_within_100_ms() {
    let mut sender = told("", STEADY);
    assert_eq!((sender.window(), sender.queue()), (54_720, 0));
    // 38 packets of 1440 bytes of payload.
    assert_eq!(sender.plan().cwnd, 64 + 38 * 1500);
    // Within a flight no pause is announced; its last packet announces one.
    for _ in 0..37 {
        assert_eq!(send(&mut sender, ms(1000), 1500).time_to_next, 0);
    }
    assert_eq!(send(&mut sender, ms(1000), 1500).time_to_next, 50);
    assert_eq!((sender.window(), sender.queue()), (0, 54_720));
    // Only the bytes in flight, which in this test are one packet.
    assert_eq!(sender.plan().cwnd, 1500);
}

#[test]
fn the_last_packet_is_as_short_as_the_window() {
    let mut sender = told("", [0, 0, 0, 0, 0, 1, 1, 1]);
    assert_eq!(send(&mut sender, ms(1000), 1000 + HEADERS).time_to_next, 0);
    assert_eq!(sender.window(), 440);
    assert_eq!(sender.plan().cwnd, 1060 + 440 + HEADERS as u64);
}

/// Returns the window and the queue at the end of each tick.
fn course(text: &str, sent: u32) -> Vec<(u64, u64)> {
    let mut sender = told(text, STEADY);
    (0..sent).for_each(|_| _ = send(&mut sender, ms(1000), 1500));
    let step = |tick: u64| {
        sender.on_timer(ms(1000 + 20 * tick));
        (sender.window() / 1440, sender.queue() / 1440)
    };
    (1..=8u64).map(step).collect()
}

#[test]
fn queues_drain_tick_by_tick() {
    // Each tick removes the cumulative count, as in the authors' code.
    assert_eq!(course("", 38)[..4], [(6, 33), (18, 21), (31, 1), (24, 0)],);
    // Each tick removes its own packets: after five ticks all but three packets of the flight are
    // gone.
    assert_eq!(
        course("drain=incremental", 38)[..5],
        [(6, 33), (13, 26), (14, 18), (13, 11), (13, 3)],
    );
    // 140 ms after the last report nothing may leave.
    assert_eq!(course("", 38)[6].0, 0);
    assert_eq!(
        course("", 0),
        [(39, 0), (39, 0), (32, 0), (24, 0), (16, 0), (8, 0), (0, 0), (0, 0)]
    );
}

#[test]
fn stale_and_impossible_forecasts_are_ignored() {
    let mut sender = told("", STEADY);
    let mut report = |total, from, counts| {
        sender.on_report(ms(1000), &Report::Forecast(Forecast { total, from, counts }));
        sender.window()
    };
    assert_eq!(report(54, ms(5), [0; 8]), 54_720);
    assert_eq!(report(54, ms(4), [0; 8]), 54_720);
    assert_eq!(report(55, ms(6), [0; 8]), 54_720);
    assert_eq!(report(54, ms(6), [0; 8]), 0);
}

#[test]
fn heartbeats_come_when_nothing_else_does() {
    let mut sender = told("", STEADY);
    // The window is open: data has a moment to leave before the heartbeat.
    send(&mut sender, ms(1000), 1500);
    sender.on_timer(ms(1050));
    assert!(!sender.plan().sends_empty_packet);
    sender.on_timer(sender.plan().timer.max(ms(1051)));
    assert!(sender.plan().sends_empty_packet);
    send(&mut sender, ms(1051), 64);
    assert!(!sender.plan().sends_empty_packet);
    assert!(sender.plan().timer > ms(1051));
}

/// Checks arbitrary input in any order: sums stay correct, and windows below the largest count.
#[test]
fn fuzz_of_hostile_headers_and_reports() {
    let params = SproutParams::default();
    let tables = Arc::new(params.tables());
    for seed in 0..30 {
        let mut random = Stream::new(seed, "sprout");
        let any = |random: &mut Stream| {
            let bits = random.below(65);
            if bits == 0 { 0 } else { random.below(u64::MAX) >> (64 - bits) }
        };
        let model = Inference::new(&params, tables.clone());
        let mut receiver = SproutReceiver::new(model, RULES);
        let mut sender = sender("");
        let mut now = ms(random.below(1000));
        for _ in 0..300 {
            now += Span::from_micros(any(&mut random) % 1_000_000);
            let header = header(any(&mut random), any(&mut random) as u32, any(&mut random) as u32);
            let header = SproutHeader { connection: random.below(20) as u32 / 19, ..header };
            receiver.take(now, &header, any(&mut random) as u32);
            if let Some(report) = receiver.report(now, Time::from_nanos(any(&mut random))) {
                assert!(receiver.wake() > now);
                sender.on_report(now, &report);
            }
            let sum: f64 = receiver.model().belief().p().iter().sum();
            assert!((sum - 1.0).abs() < 1e-9, "seed {seed}: {sum}");
            send(&mut sender, now, 64 + random.below(1437) as u32);
            let counts = std::array::from_fn(|_| any(&mut random) as u16);
            let total = any(&mut random) % (1 << random.below(25));
            let from = Time::from_nanos(any(&mut random));
            sender.on_report(now, &Report::Forecast(Forecast { total, from, counts }));
            sender.on_timer(now);
            let plan = sender.plan();
            assert!(sender.window() <= 65_535 * 1440 && plan.timer > now, "seed {seed}: {plan:?}");
        }
    }
}

/// Checks the pauses between forecasts, with flights of the other direction and with ticks.
#[test]
fn forecasts_ride_on_flights() {
    let pauses = |feedback| {
        let mut receiver = SproutReceiver::new(inference(), ReceiverRules { feedback, ..RULES });
        receiver.take(ms(1000), &header(1, 0, 0), WHOLE);
        let mut times = Vec::new();
        for _ in 0..9 {
            let now = receiver.wake();
            assert!(receiver.report(now, now).is_some());
            times.push(now);
        }
        let pauses: Vec<u64> =
            times.windows(2).map(|two| two[1].since(two[0]).as_nanos() / 1_000_000).collect();
        pauses
    };
    assert_eq!(pauses(FeedbackTiming::Tick), [20; 8]);
    let flights = pauses(FeedbackTiming::Flights);
    assert_eq!(flights.iter().sum::<u64>(), 2 * 140, "{flights:?}");
    assert!(flights.iter().all(|pause| (20..=50).contains(pause)), "{flights:?}");
}

/// A forecast arrives at 1,003 ms, its first tick is over at 1,023 ms: a loop that sleeps for 8 ms
/// at a time notices that at 1,027 ms, and acknowledgements do not wake it up.
#[test]
fn a_loop_that_sleeps_notices_the_end_of_a_tick_late() {
    let timer = |poll: u64| {
        let params = SproutParams { poll: Span::from_millis(poll), ..Default::default() };
        let mut sender = SproutSender::new(&params, &Setup::new(1, 1));
        let forecast = Forecast { total: 0, from: ms(900), counts: [1, 2, 3, 4, 5, 6, 7, 8] };
        sender.on_report(ms(1003), &Report::Forecast(forecast));
        sender.on_send(ms(1003), &mut Outgoing::new(0, 1500, 0));
        let queue = sender.queue();
        sender.on_feedback(&paceline_cc::Feedback::new(ms(1024), 1500));
        (sender.plan().timer, sender.queue() < queue)
    };
    assert_eq!(timer(8), (ms(1027), false));
    // The first tick's packets have left, and the second tick ends next.
    assert_eq!(timer(0), (ms(1043), true));
}

/// While the application rests, only three heartbeats leave, which announce the rest; afterwards a
/// packet without data asks for a forecast.
#[test]
fn a_rest_is_announced_and_ends_with_a_heartbeat() {
    let mut sender = told("", STEADY);
    sender.on_rest(ms(4000), true);
    let mut announced = 0;
    for millis in 4000..10_000 {
        sender.on_timer(ms(millis));
        if sender.plan().sends_empty_packet {
            assert_eq!(send(&mut sender, ms(millis), 64).time_to_next, REST);
            announced += 1;
        }
    }
    assert_eq!((announced, sender.plan().timer), (3, Time::NEVER));
    sender.on_rest(ms(10_000), false);
    assert!(sender.plan().sends_empty_packet);
    assert_eq!(send(&mut sender, ms(10_000), 64).time_to_next, 50);
    assert!(sender.plan().timer < ms(10_100));
}

/// A rest does not change the model, however long it is. The receiver answers each packet that
/// announces it with one forecast, and the packet that ends it, too, at once.
#[test]
fn a_rest_is_not_observed() {
    let mut receiver = SproutReceiver::new(Notes::default(), RULES);
    receiver.take(ms(1000), &header(1, 0, REST), WHOLE);
    assert!(receiver.report(receiver.wake(), ms(1000)).is_some());
    assert_eq!(receiver.wake(), Time::NEVER);
    receiver.take(ms(301_000), &header(2, 0, 50), 64);
    let observed = receiver.model().0.iter().flatten().count();
    assert_eq!(observed, 1, "the packet before the rest");
    assert!(receiver.wake() <= ms(301_000));
    assert!(receiver.report(ms(301_000), ms(301_000)).is_some());
    // From then on, silence counts again.
    receiver.advance(ms(301_200));
    assert!(receiver.model().0.iter().flatten().count() > 5);
}
