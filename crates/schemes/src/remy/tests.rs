use std::sync::{Arc, Mutex};

use paceline_cc::{
    Congestion, Controller, Ecn, Fate, Feedback, Outgoing, Setup, Signals, Spec, Stream, Time,
};

use super::*;
use crate::abc::{ACCELERATE, BRAKE};

const MSS: u32 = 1250;

fn at(micros: u64) -> Time {
    Time::from_nanos(micros * 1000)
}

/// A sender, with the state that its driver would have.
struct Desk {
    sender: RemySender,
    next: u64,
    in_flight: u64,
}

impl Desk {
    fn new(params: &RemyParams, table: RuleTable) -> Desk {
        let setup = Setup::default().with(|setup| setup.mss = MSS);
        let sender = RemySender::new(params, Arc::new(table), &setup);
        Desk { sender, next: 100, in_flight: 0 }
    }

    fn send(&mut self, packets: u64) {
        for _ in 0..packets {
            let mut packet = Outgoing::new(self.next, MSS, self.in_flight);
            self.sender.on_send(at(0), &mut packet);
            self.next += 1;
            self.in_flight += u64::from(MSS);
        }
    }

    /// Acknowledges packets by number and sending time. Those that count as lost are not in flight.
    fn ack(&mut self, now: Time, packets: &[(u64, Time)]) {
        let fates: Vec<Fate> =
            packets.iter().map(|&(number, sent)| Fate::new(number, MSS, sent, 0, false)).collect();
        let mut feedback = Feedback::new(now, MSS);
        feedback.acked_packets = fates.len() as u32;
        self.in_flight = self.in_flight.saturating_sub(fates.len() as u64 * u64::from(MSS));
        feedback.in_flight = self.in_flight;
        feedback.fates = &fates;
        self.sender.on_feedback(&feedback);
    }

    /// Returns the number of packets that may be sent.
    fn room(&self) -> u64 {
        (self.sender.plan().cwnd - self.in_flight) / u64::from(MSS)
    }
}

fn published() -> RemyParams {
    RemyParams { as_published: true, ..RemyParams::default() }
}

fn one_rule(multiple: f64, increment: i32, intersend_ms: f64) -> RuleTable {
    RuleTable::new(RuleTree::single(Action::new(multiple, increment, intersend_ms))).expect("sane")
}

#[test]
fn actions_round_towards_zero_and_stay_in_bounds() {
    assert_eq!(Action::new(0.5, 1, 1.0).apply(5), 3);
    assert_eq!(Action::new(1.0, -10, 1.0).apply(4), 0);
    assert_eq!(Action::new(2.0, 0, 1.0).apply(900_000), MAX_WINDOW);
    assert!(!Action::new(f64::NAN, 0, 1.0).is_sane() && !Action::new(1.0, 0, -1.0).is_sane());
}

#[test]
fn the_memory_follows_the_published_averages() {
    let mut tracker = Tracker::new(Span::from_nanos(10));
    tracker.on_ack(at(0), at(150_000), 1);
    assert_eq!(*tracker.memory(), Memory::default(), "the first acknowledgement only sets marks");
    tracker.on_ack(at(8_000), at(160_000), 3);
    let [send, received, ratio, slow, diff, queueing, ..] = tracker.memory().values;
    assert_eq!((send, received, slow), (1.0, 1.25, 10.0 / 256.0));
    assert_eq!((ratio, diff), (152.0 / 150.0, 2.0));
    assert_eq!(queueing, 3.75);
    tracker.on_ack(at(10_000), at(158_000), 1);
    // The averages continue from there, and the smallest RTT is the present one.
    let [send, _, ratio, ..] = tracker.memory().values;
    assert_eq!((send, ratio), (0.875 + 0.25, 1.0));
}

#[test]
fn rounding_of_the_clock_is_no_queue() {
    for (late, ratio) in [(10, 1.0), (11, (150e6 + 11.0) / 150e6)] {
        let mut tracker = Tracker::new(Span::from_nanos(10));
        tracker.on_ack(at(0), at(150_000), 1);
        tracker.on_ack(at(10), at(150_010) + Span::from_nanos(late), 1);
        assert_eq!(tracker.memory().get(Signal::RttRatio), ratio);
    }
}

#[test]
fn a_connection_begins_with_the_rule_for_an_empty_memory() {
    let desk = Desk::new(&published(), one_rule(0.5, 10, 2.0));
    assert_eq!((desk.sender.window(), desk.room()), (10, 10));
    assert_eq!(desk.sender.plan().gap, Span::from_millis(2));
    assert_eq!(Desk::new(&published(), one_rule(1.0, 1, 0.0)).sender.plan().gap, Span::ZERO);
    // A window of zero lets one packet leave while none is outstanding.
    let mut desk = Desk::new(&published(), one_rule(1.0, 0, 1.0));
    assert_eq!(desk.room(), 1);
    desk.send(1);
    desk.ack(at(150_000), &[(100, at(1))]);
    assert_eq!(desk.room(), 1);
}

#[test]
fn a_rule_is_applied_per_batch_or_per_packet() {
    for (per, windows) in [(Per::Batch, [20, 20, 30]), (Per::Packet, [30, 40, 50])] {
        let params = RemyParams { per, ..RemyParams::default() };
        let mut desk = Desk::new(&params, one_rule(1.0, 10, 1.0));
        desk.send(10);
        desk.ack(at(150_000), &[(100, at(1)), (101, at(2))]);
        assert_eq!(desk.sender.window(), windows[0]);
        // At the same instant, so in the same batch.
        desk.ack(at(150_000), &[(102, at(3))]);
        assert_eq!(desk.sender.window(), windows[1]);
        desk.ack(at(151_000), &[(103, at(4))]);
        assert_eq!(desk.sender.window(), windows[2]);
    }
}

#[test]
fn packets_older_than_the_newest_acknowledged_are_not_waited_for() {
    let mut desk = Desk::new(
        &published(),
        one_rule(1.0, 0, 1.0).with_action(0, Action::new(0.0, 10, 1.0)).expect("sane"),
    );
    desk.send(10);
    assert_eq!(desk.room(), 0);
    desk.ack(at(150_000), &[(105, at(1))]);
    // Ten packets minus the four newer ones; the driver still counts nine in flight.
    assert_eq!(desk.room(), 6);
}

#[test]
fn oddities_of_the_published_simulator_are_a_choice() {
    for (params, window, room) in [(published(), 20, 10), (RemyParams::default(), 10, 0)] {
        let mut desk = Desk::new(&params, one_rule(1.0, 10, 1.0));
        desk.send(10);
        // An acknowledgement of a packet of an earlier connection.
        desk.ack(at(150_000), &[]);
        assert_eq!((desk.sender.window(), desk.room()), (window, room));
        // Everything is lost.
        let mut feedback = Feedback::new(at(900_000), MSS);
        (feedback.lost_packets, feedback.lost) = (10, 10 * u64::from(MSS));
        feedback.congestion = Some(Congestion::Timeout);
        desk.in_flight = 0;
        desk.sender.on_feedback(&feedback);
        assert_eq!(desk.sender.window(), window);
        let room = if params.as_published { room } else { 1 };
        assert_eq!(desk.room(), room);
    }
}

#[test]
fn observers_hear_each_use() {
    #[derive(Default)]
    struct Uses(Mutex<Vec<(usize, f64)>>);
    impl RuleObserver for Uses {
        fn on_use(&self, rule: usize, memory: &Memory) {
            let ratio = memory.get(Signal::RttRatio);
            self.0.lock().expect("whole").push((rule, ratio));
        }
    }
    let uses = Arc::new(Uses::default());
    let mut desk = Desk::new(&published(), one_rule(1.0, 1, 1.0));
    desk.sender = desk.sender.observed(uses.clone());
    desk.send(2);
    desk.ack(at(150_000), &[(100, at(0))]);
    desk.ack(at(151_000), &[(101, at(1000))]);
    assert_eq!(*uses.0.lock().expect("whole"), [(0, 0.0), (0, 1.0)]);
}

/// Returns a random box inside another, sometimes empty or partly outside.
fn random_box(random: &mut Stream, whole: &Domain) -> Domain {
    let mut domain = *whole;
    for axis in 0..SIGNALS {
        if random.chance(0.4) {
            let end = |random: &mut Stream| random.below(12) as f64 - 1.0;
            (domain.lower[axis], domain.upper[axis]) = (end(random), end(random) + 3.0);
        }
        domain.active[axis] ^= random.chance(0.1);
    }
    domain
}

fn random_tree(random: &mut Stream, whole: &Domain, depth: u32) -> RuleTree {
    let domain = if depth == 0 { *whole } else { random_box(random, whole) };
    if depth == 3 || random.chance(0.2) {
        return RuleTree::Leaf(Rule { domain, action: Action::new(1.0, 1, 1.0) });
    }
    let children = (0..1 + random.below(4)).map(|_| random_tree(random, &domain, depth + 1));
    RuleTree::Inner { domain, children: children.collect() }
}

#[test]
fn the_grid_finds_the_rule_that_the_tree_finds() {
    let mut random = Stream::new(1, "trees");
    let (mut found, mut grids, mut gaps) = (0, 0, 0);
    for _ in 0..300 {
        let whole = Domain { upper: [10.0; SIGNALS], ..Domain::WHOLE };
        let tree = random_tree(&mut random, &whole, 0);
        let table = RuleTable::new(tree.clone()).expect("sane");
        if let Some(gap) = table.gap() {
            assert_eq!(tree.find(&gap), None, "{gap:?} in {tree:?}");
        }
        grids += u32::from(table.has_grid());
        let mut place = Place::default();
        for _ in 0..300 {
            // Ends of boxes and values between them, inside the whole domain.
            let mut memory = Memory::default();
            for value in &mut memory.values {
                *value = random.below(20) as f64 / 2.0;
            }
            let wanted = tree.find(&memory);
            assert!(wanted.is_some() || table.gap().is_some() || !table.has_grid());
            assert_eq!(table.find(&memory, &mut place), wanted, "{memory:?} in {tree:?}");
            assert_eq!(walk::Walk::new(&tree).find(&memory), wanted, "{memory:?} in {tree:?}");
            (found, gaps) =
                (found + u32::from(wanted.is_some()), gaps + u32::from(wanted.is_none()));
        }
    }
    assert!(found > 10_000 && gaps > 1000 && grids > 290, "{found} {gaps} {grids}");
}

#[test]
fn memories_beyond_the_table_count_as_the_nearest_inside() {
    let mut memory = Memory::default();
    let tree = |last: f64| {
        let ratio = |lower, upper| Domain::WHOLE.between(Signal::RttRatio, lower, upper);
        let leaf = |domain| RuleTree::Leaf(Rule { domain, action: Action::new(1.0, 1, 1.0) });
        let domain = ratio(0.0, last);
        RuleTree::Inner { domain, children: vec![leaf(ratio(0.0, 2.0)), leaf(ratio(2.0, last))] }
    };
    let table = RuleTable::new(tree(16_384.0)).expect("sane");
    for (value, rule) in [(-1.0, 0), (0.0, 0), (2.0, 1), (20_000.0, 1), (f64::NAN, 1)] {
        memory.values[Signal::RttRatio.index()] = value;
        assert_eq!(table.rule_for(&memory), Some(rule), "{value}");
    }
}

#[test]
fn tables_that_make_no_sense_are_refused_with_the_rule() {
    let error = |tree| RuleTable::new(tree).expect_err("refused").to_string();
    let nested = |leaf: RuleTree| RuleTree::Inner {
        domain: Domain::WHOLE,
        children: vec![RuleTree::single(Action::new(1.0, 1, 1.0)), leaf],
    };
    let told = error(nested(RuleTree::single(Action::new(1.0, 1, -1.0))));
    assert!(told.contains("rule 1") && told.contains("r=-1"), "{told}");
    let domain = Domain::WHOLE.between(Signal::RttDiff, f64::NAN, 1.0);
    let action = Action::new(1.0, 1, 1.0);
    assert!(error(nested(RuleTree::Leaf(Rule { domain, action }))).contains("rule 1"));
    assert_eq!(
        RuleTable::new(RuleTree::Inner { domain: Domain::WHOLE, children: Vec::new() }),
        Err(TableError::Empty)
    );
    let mut deep = RuleTree::single(action);
    for _ in 0..MAX_DEPTH + 1 {
        deep = RuleTree::Inner { domain: Domain::WHOLE, children: vec![deep] };
    }
    assert!(error(deep).contains("divisions deep"));
}

#[test]
fn trees_are_changed_by_the_number_of_a_rule() {
    let builtin = RemyTables::builtin();
    let starter = builtin.find("starter").expect("built in").table().expect("sane");
    let mut tree = starter.tree();
    assert_eq!((tree.rules(), tree.splits(), tree.depth()), (6, 2, 2));
    let action = Action::new(0.5, 3, 7.0);
    let Some(RuleTree::Leaf(rule)) = tree.leaf_mut(2) else { panic!("a rule") };
    rule.action = action;
    let changed = starter.with_action(2, action).expect("sane");
    assert_eq!(changed.rules()[2].action, action);
    assert_eq!(changed, RuleTable::new(tree.clone()).expect("sane"));
    assert_ne!(changed, *starter);
    let leaf = tree.leaf_mut(2).expect("a leaf");
    *leaf = RuleTree::Inner { domain: *leaf.domain(), children: vec![leaf.clone(), leaf.clone()] };
    assert_eq!((tree.rules(), tree.depth()), (7, 3));
    assert!(tree.leaf_mut(7).is_none() && starter.with_action(6, action).is_err());
}

#[test]
fn tables_come_by_name_or_from_a_reader_of_files() {
    let error = |tables: &RemyTables, text: &str| {
        let spec = Spec::parse(text).expect("legal");
        tables.build(&spec).err().map(|error| error.to_string()).unwrap_or_default()
    };
    let builtin = RemyTables::builtin();
    assert!(error(&builtin, "remy[table=stater]").contains("did you mean `starter`"));
    assert!(error(&builtin, "remy[file=a.dna]").contains("not read here"));
    let reading = builtin.reading(|path| match path {
        "good" => Ok(one_rule(1.0, 1, 1.0)),
        _ => Err("no such file".into()),
    });
    assert_eq!(error(&reading, "remy[file=good]"), "");
    assert!(error(&reading, "remy[file=bad]").contains("remy[file=bad]`: no such file"));
}

#[test]
fn built_in_tables_have_a_rule_for_each_memory() {
    let tables = RemyTables::builtin();
    for named in tables.iter() {
        let table = named.table().expect("sane");
        assert_eq!(table.gap(), None, "{}", named.name);
        assert!(table.has_grid() && table.rule_for(&Memory::default()).is_some());
        let spec = Spec::parse(&format!("remy[table={}]", named.name)).expect("legal");
        assert!(tables.build(&spec).is_ok(), "{spec}");
    }
    let trained = tables.find("general-delta1").expect("built in").table().expect("sane");
    assert_eq!(
        (trained.rules().len(), trained.tree().splits(), trained.tree().depth()),
        (14, 13, 5)
    );
    let memory = |ratio| {
        let mut memory = Memory::default();
        memory.values[..4].copy_from_slice(&[9.0, 9.0, ratio, 9.0]);
        memory
    };
    let rule = |ratio| trained.rule_for(&memory(ratio));
    let action = |ratio| trained.rules()[rule(ratio).expect("a rule")].action;
    assert_eq!(action(1.0), Action::new(1.025, 1, 1.1576));
    assert_eq!(action(2.0), Action::new(0.985, 1, 1.8286));
}

#[test]
fn tables_without_marks_neither_send_nor_need_them() {
    let (plain, marked) = (one_rule(1.0, 1, 1.0), marked_table());
    assert!(!plain.hears_marks() && marked.hears_marks());
    let halves = |table| halves(RemyParams::default(), Arc::new(table), None);
    let (plain, marked) = (halves(plain), halves(marked));
    assert!(plain.router.is_none() && plain.reporter.is_none());
    assert!(marked.router.is_some() && marked.reporter.is_some());
    assert_eq!((plain.class, marked.class), (TrafficClass::DEFAULT, TrafficClass::EXPLICIT));
    let make = |halves: &Halves| (halves.controller)(&Setup::default());
    assert_eq!(make(&plain).plan().ecn, Ecn::NotEct);
    assert_eq!(make(&marked).plan().ecn, ACCELERATE);
    assert!(!make(&plain).needs().contains(Signals::ECHO));
    assert!(make(&marked).needs().contains(Signals::ECHO));
    let names = |halves: &Halves| {
        let mut names = Vec::new();
        make(halves).inspect(&mut |name, _| names.push(name));
        names
    };
    assert!(!names(&plain).contains(&"accel_share") && names(&marked).contains(&"accel_share"));
}

/// Returns a table that adds ten packets if at least half of the packets accelerate, and else
/// removes one.
fn marked_table() -> RuleTable {
    let share = |lower, upper| Domain::WHOLE.between(Signal::AccelShare, lower, upper);
    let rule = |domain, increment| Rule { domain, action: Action::new(1.0, increment, 1.0) };
    RuleTable::flat([rule(share(0.0, 0.5), -1), rule(share(0.5, 2.0), 10)]).expect("sane")
}

#[test]
fn marks_are_averaged_and_choose_the_rule() {
    let share = |marks: &[(Ecn, u32)]| {
        let mut tracker = Tracker::new(Span::ZERO);
        marks.iter().for_each(|&(echo, packets)| tracker.on_mark(echo, packets));
        tracker.memory().get(Signal::AccelShare)
    };
    assert_eq!(share(&[(ACCELERATE, 1)]), 0.125);
    assert_eq!(share(&[(ACCELERATE, 2)]), 0.125 + 0.875 * 0.125);
    assert_eq!(share(&[(ACCELERATE, 1), (BRAKE, 1)]), 0.875 * 0.125);
    assert_eq!(share(&[(ACCELERATE, 1), (Ecn::Ce, 1)]), 0.875 * 0.125);
    // Packets without a mark do not change the share.
    assert_eq!(share(&[(ACCELERATE, 1), (Ecn::NotEct, 9)]), 0.125);
    assert!((share(&[(ACCELERATE, u32::MAX)]) - 1.0).abs() < 1e-9);

    let setup = Setup::default().with(|setup| setup.mss = MSS);
    let sender = RemySender::new(&published(), Arc::new(marked_table()), &setup);
    let mut sender = MarkedRemySender::new(sender);
    let mut window = |echo, now| {
        let fates: Vec<Fate> = (0..8).map(|n| Fate::new(n, MSS, at(now), 0, false)).collect();
        let mut feedback = Feedback::new(at(now + 100_000), MSS);
        (feedback.acked_packets, feedback.echo, feedback.fates) = (8, echo, &fates);
        sender.on_feedback(&feedback);
        let mut window = 0.0;
        sender.inspect(&mut |name, value| window = if name == "cwnd" { value } else { window });
        window
    };
    // 1 - (7/8)^8 is 0.66 after eight accelerates; after eight brakes more it is 0.23.
    assert_eq!([window(ACCELERATE, 1000), window(BRAKE, 2000)], [10.0, 9.0]);
}

/// Returns a table of one rule that acts on the delivery rate.
fn on_rate(multiple: f64, increment: i32, gain: f64, queue_ms: f64) -> RuleTable {
    RuleTable::new(RuleTree::single(Action::of_rate(multiple, increment, gain, queue_ms)))
        .expect("sane")
}

#[test]
fn the_delivery_rate_is_exact_for_regular_acknowledgements() {
    let mut tracker = Tracker::new(Span::from_nanos(10)).with_rate(true);
    assert_eq!(tracker.rate_and_min_rtt(), (0.0, 0.0));
    // An RTT of 50 ms, and an acknowledgement every 4 ms.
    for number in 0..2_000 {
        tracker.on_ack(at(4_000 * number), at(50_000 + 4_000 * number), 1);
    }
    let (rate, min_rtt) = tracker.rate_and_min_rtt();
    assert!((rate - 0.25).abs() < 1e-6 && min_rtt == 50.0, "{rate}");
    let value = |tracker: &Tracker, signal| tracker.memory().get(signal);
    assert_eq!(value(&tracker, Signal::MinRtt), 50.0);
    assert_eq!((value(&tracker, Signal::QueueEwma), value(&tracker, Signal::RttTrend)), (0.0, 1.0));
    assert!((value(&tracker, Signal::RateTrend) - 1.0).abs() < 1e-3);
    assert_eq!(value(&tracker, Signal::AckGap), 4.0);

    // An outage of 300 ms in the network: the rate falls, RTT and pause show it.
    tracker.on_ack(at(8_000_000), at(8_000_000 + 350_000), 1);
    let (fallen, _) = tracker.rate_and_min_rtt();
    assert!(fallen < 0.4 * rate, "{fallen}");
    assert_eq!(value(&tracker, Signal::AckGap), 304.0);
    assert!(value(&tracker, Signal::RateTrend) < 0.7 && value(&tracker, Signal::RttTrend) > 1.1);
    assert!(value(&tracker, Signal::QueueEwma) > 100.0);
}

#[test]
fn tables_without_the_rate_do_not_measure_it() {
    let mut tracker = Tracker::new(Span::from_nanos(10));
    for number in 0..9 {
        tracker.on_ack(at(4_000 * number), at(50_000 + 4_000 * number), 1);
    }
    assert_eq!(tracker.rate_and_min_rtt().0, 0.0);
    let own = Signal::ALL.into_iter().filter(|signal| signal.follows_rate());
    assert!(own.map(|signal| tracker.memory().get(signal)).all(|value| value == 0.0));
    assert!(!one_rule(1.0, 1, 1.0).follows_rate() && on_rate(1.0, 1, 1.0, 0.0).follows_rate());
    // A rule on the window may look at a signal that needs the rate.
    let domain = Domain::WHOLE.between(Signal::QueueEwma, 0.0, 9.0);
    let action = Action::new(1.0, 1, 1.0);
    let rules = [Rule { domain, action }, Rule { domain: Domain::WHOLE, action }];
    assert!(RuleTable::flat(rules).expect("sane").follows_rate());
}

#[test]
fn actions_on_the_rate_follow_rate_and_rtt() {
    // 2 packets per millisecond over 30 ms, and 10 ms of queue.
    let action = Action::of_rate(1.5, 4, 2.0, 10.0);
    assert_eq!(action.apply_to_rate(2.0, 30.0), (2 * (45 + 10) + 4, 234_375));
    // Before the first acknowledgement the window has its added packets, without pacing.
    assert_eq!(action.apply_to_rate(0.0, 0.0), (4, 0));
    assert_eq!(Action::of_rate(1.0, -9, 0.0, 0.0).apply_to_rate(0.1, 10.0), (0, 0));
    assert_eq!(Action::of_rate(1e9, 0, 1e-9, 0.0).apply_to_rate(9.0, 9.0).0, MAX_WINDOW);
    assert_eq!(Action::of_rate(1.0, 0, 1e-9, 0.0).apply_to_rate(1e-9, 9.0).1, 1_000_000_000);
    assert_eq!(Action::of_rate(1.0, 1, 1.0, 0.0).apply_to_rate(f64::NAN, f64::NAN), (0, 0));
    assert!(!Action::of_rate(1.0, 1, 1.0, f64::INFINITY).is_sane());
    assert!(ActionBasis::ALL.iter().all(|&one| ActionBasis::of_name(one.name()) == Some(one)));
}

#[test]
fn senders_follow_the_rate() {
    let mut desk = Desk::new(&published(), on_rate(2.0, 4, 1.5, 0.0));
    assert_eq!((desk.room(), desk.sender.plan().gap), (4, Span::ZERO));
    desk.send(4);
    // The first four packets are acknowledged at 50 ms, 1 ms apart: the window grows.
    for number in 0..4 {
        desk.ack(at(50_000 + 1_000 * number), &[(100 + number, at(0))]);
    }
    let window = desk.sender.window();
    assert!((6..=16).contains(&window), "{window}");
    let mut seen = Vec::new();
    desk.sender.inspect(&mut |name, _| seen.push(name));
    assert!(seen.contains(&"delivery_rate") && seen.contains(&"queue_ewma"), "{seen:?}");
    assert!(desk.sender.intersend_ms() > 0.0);
}

#[test]
fn tables_have_actions_of_one_kind() {
    let (whole, window) = (Domain::WHOLE, Action::new(1.0, 1, 1.0));
    let rate = Action::of_rate(1.0, 1, 1.0, 0.0);
    let below = whole.between(Signal::RttRatio, 0.0, 1.5);
    let mixed = [Rule { domain: below, action: window }, Rule { domain: whole, action: rate }];
    let error = RuleTable::flat(mixed).expect_err("two kinds").to_string();
    assert!(error.contains("rule 1 acts on the rate"), "{error}");
    assert!(one_rule(1.0, 1, 1.0).with_action(0, rate).is_err());
    assert!(on_rate(1.0, 1, 1.0, 0.0).with_action(0, rate).is_ok());
}

#[test]
fn a_spurious_timeout_does_not_stop_the_sender() {
    let mut desk = Desk::new(&RemyParams::default(), one_rule(0.0, 4, 0.0));
    desk.send(4);
    let mut timeout = Feedback::new(at(900_000), MSS);
    timeout.congestion = Some(Congestion::Timeout);
    desk.in_flight = 0;
    desk.sender.on_feedback(&timeout);
    assert_eq!(desk.room(), 1);
    // One packet is sent again, and only the first transmissions of all four are acknowledged.
    desk.send(1);
    desk.in_flight = u64::from(MSS);
    desk.ack(at(950_000), &[(100, at(0))]);
    assert_eq!((desk.in_flight, desk.room()), (0, 4));
    for number in 1..4 {
        desk.ack(at(950_000 + number), &[(100 + number, at(0))]);
    }
    assert_eq!((desk.in_flight, desk.room()), (0, 4));
}

#[test]
fn each_timeout_of_an_outage_sends_one_packet() {
    let mut desk = Desk::new(&RemyParams::default(), one_rule(0.0, 10, 0.0));
    desk.send(10);
    for (number, ms) in [(1, 300_000), (2, 900_000), (3, 2_100_000)] {
        let mut timeout = Feedback::new(at(ms), MSS);
        timeout.congestion = Some(Congestion::Timeout);
        desk.in_flight = 0;
        desk.sender.on_feedback(&timeout);
        assert_eq!(desk.room(), 1, "timeout {number}");
        desk.send(1);
        assert_eq!(desk.room(), 0, "timeout {number}");
    }
    // The first acknowledgement opens the window again.
    desk.ack(at(2_300_000), &[(112, at(2_100_000))]);
    assert_eq!(desk.room(), 10);
}
