//! Compares the specialised world with the general one, bit by bit.

use std::sync::Arc;

use paceline_cc::{Rate, Span, Stream};
use paceline_flow::{Amount, On};
use paceline_path::BufferSize;
use paceline_schemes::remy::{
    Action, Domain, RemyParams, RemyTables, Rule, RuleObserver, RuleTable, RuleTree, Signal, halves,
};
use paceline_sim::scenario::{Capacity, CustomScheme, QueueChoice, RouterChoice, SchemeChoice};
use paceline_trace::Trace;

use super::{FastRun, TableSenders};
use crate::network::{DelayMeasure, Network, Others};
use crate::score::{self, BoundedRun, SenderFigures};
use crate::usage::{RuleUse, Usage, UsageCounts};

/// A run in either world.
type Ran = (BoundedRun, Vec<RuleUse>);

/// The bits of a sender's results.
type FigureBits = (bool, [u64; 8]);

/// Returns every bit of the results.
fn bits(run: &BoundedRun) -> (Option<Vec<FigureBits>>, Span) {
    let sender = |sender: &SenderFigures| {
        let SenderFigures { packets, on_s, share_s, delay_ms, flows, log2_slowdown, .. } = *sender;
        let (quantile, repeats) = (sender.delay_quantile_ms, sender.repeats);
        let figures = [packets, on_s, share_s, delay_ms, flows, log2_slowdown, quantile, repeats];
        (sender.other, figures.map(f64::to_bits))
    };
    (run.senders.as_ref().map(|senders| senders.iter().map(sender).collect()), run.simulated)
}

fn published(resolution: Span) -> RemyParams {
    RemyParams { as_published: true, resolution, ..RemyParams::default() }
}

/// Runs a table, with other senders that follow `others`, in the specialised world.
fn fast(
    network: &Network,
    (table, others): (&Arc<RuleTable>, Option<&Arc<RuleTable>>),
    params: &RemyParams,
    (duration, seed): (Span, u64),
) -> Option<Ran> {
    let senders = TableSenders { table, others, params };
    let run = FastRun::new(network, senders, duration, seed)?;
    let mut uses = UsageCounts::new(table.rules().len());
    let carried = network.packets_per_ms(duration).expect("a link");
    let run = run.run_within_reason(carried, Some(&mut uses));
    Some((run, uses.into_rules()))
}

/// Runs the same in the general world.
fn general(
    network: &Network,
    (table, others): (&Arc<RuleTable>, Option<&Arc<RuleTable>>),
    params: &RemyParams,
    (duration, seed): (Span, u64),
) -> Ran {
    let scheme = |table: &Arc<RuleTable>, observer| -> SchemeChoice {
        CustomScheme::new("remy", halves(params.clone(), Arc::clone(table), observer)).into()
    };
    let mut network = network.clone();
    if let (Some(own), Some(table)) = (&mut network.others, others) {
        own.scheme = Some(scheme(table, None));
    }
    let usage = Arc::new(Usage::new(table.rules().len()));
    let observer: Arc<dyn RuleObserver> = usage.clone();
    let scheme = scheme(table, Some(observer));
    let run = score::run_within_reason(&network, &scheme, duration, seed).expect("runs");
    (run, usage.rules())
}

/// Returns the published program's first rule.
fn first_rule() -> RuleTable {
    RuleTable::new(RuleTree::single(Action::new(1.0, 1, 3.0))).expect("a table")
}

/// Returns a table with random boxes and actions, some of which are extreme.
fn random_table(random: &mut Stream) -> RuleTable {
    let on_rate = random.chance(0.4);
    let action = |random: &mut Stream| {
        if on_rate {
            let increment = random.below(30) as i32 - 3;
            let gain = if random.chance(0.2) { 0.0 } else { 0.5 + 3.0 * random.uniform() };
            let queue_ms = 80.0 * random.uniform() - 20.0;
            return Action::of_rate(2.0 * random.uniform(), increment, gain, queue_ms);
        }
        let increment = random.below(60) as i32 - 20;
        let intersend = match random.below(4) {
            0 => 0.0,
            1 => 0.05 + random.uniform(),
            _ => 10.0 * random.uniform(),
        };
        Action::new(1.3 * random.uniform(), increment, intersend)
    };
    let mut rules = Vec::new();
    for _ in 0..random.below(12) {
        let signal = Signal::ALL[random.below(Signal::ALL.len() as u64) as usize];
        // Without a router there are no marks.
        let signal = if signal == Signal::AccelShare { Signal::QueueEwma } else { signal };
        let is_ratio = signal.unit().is_empty();
        let lower = if is_ratio { 1.0 } else { 0.0 };
        let width = if is_ratio { 0.3 } else { 30.0 };
        let lower = lower + width * random.uniform();
        let domain = Domain::WHOLE.between(signal, lower, lower + width * random.uniform());
        rules.push(Rule { domain, action: action(random) });
    }
    // Sometimes no rule covers some memories.
    if random.chance(0.9) {
        rules.push(Rule { domain: Domain::WHOLE, action: action(random) });
    } else if rules.is_empty() {
        return first_rule();
    }
    let timer = match random.chance(0.5) {
        true => Span::from_nanos(1_000_000 + random.below(60_000_000)),
        false => Span::ZERO,
    };
    RuleTable::flat(rules).expect("a table").with_timer(timer)
}

/// Returns a built-in table, the first rule, or a random table.
fn some_table(random: &mut Stream) -> Arc<RuleTable> {
    let built_in: Vec<Arc<RuleTable>> = RemyTables::builtin()
        .iter()
        .filter_map(|named| named.table().ok())
        .filter(|table| !table.hears_marks())
        .collect();
    match random.below(4) {
        0 => Arc::new(first_rule()),
        1 => Arc::new(random_table(random)),
        _ => Arc::clone(&built_in[random.below(built_in.len() as u64) as usize]),
    }
}

fn some_trace(random: &mut Stream) -> Trace {
    // Bursts, gaps, and several opportunities per millisecond.
    let mut at = random.below(5) as u32;
    let pace = 1 + random.below(12);
    let entries = (0..400).map(|_| {
        at += match random.below(20) {
            0 => random.below(400) as u32,
            1..8 => 0,
            _ => random.below(pace) as u32,
        };
        at + 1
    });
    Trace::new("random", entries.collect()).expect("a trace")
}

fn some_link(random: &mut Stream) -> Capacity {
    match random.below(6) {
        0 => Capacity::trace(some_trace(random)),
        1 => Capacity::Trace {
            trace: some_trace(random),
            opportunity: 1 + random.below(4000) as u32,
            overhead: random.below(60) as u32,
            repeat: true,
        },
        // Rates with whole nanoseconds per transmission, so that events coincide.
        2 => Capacity::Constant(Rate::from_mbps((1 + random.below(20)) as f64)),
        _ => Capacity::Constant(Rate::from_bps(500_000 + random.below(40_000_000))),
    }
}

fn some_network(random: &mut Stream) -> Network {
    let link = some_link(random);
    let rtt = match random.below(3) {
        0 => Span::from_millis(1 + random.below(250)),
        _ => Span::from_nanos(1000 + random.below(300_000_000)),
    };
    let amount = |random: &mut Stream| match random.below(5) {
        0 => Amount::Fixed(0.001 * random.below(4000) as f64),
        1 => Amount::Exponential(0.05),
        _ => Amount::Exponential(0.1 + 4.0 * random.uniform()),
    };
    Network::new(Rate::from_mbps(1.0), rtt).with(|network| {
        network.link = link;
        let most = if random.chance(0.1) { 40 } else { 10 };
        network.senders = 1 + random.below(most) as u32;
        let on = amount(random);
        network.on = On::Time(on);
        network.off = amount(random);
        if matches!((on, network.off), (Amount::Fixed(on), Amount::Fixed(off)) if on + off < 0.05) {
            network.off = Amount::Exponential(1.0);
        }
        network.buffer = match random.below(6) {
            0 => BufferSize::Packets(1 + random.below(60)),
            1 => BufferSize::Bytes(1250 + random.below(40_000)),
            2 => BufferSize::Bdp(0.1 + 2.0 * random.uniform()),
            3 => BufferSize::Time(Span::from_millis(1 + random.below(80))),
            _ => BufferSize::Unlimited,
        };
        network.loss = if random.chance(0.2) { 0.05 * random.uniform() } else { 0.0 };
        if random.chance(0.4) {
            network.jitter = match random.below(3) {
                0 => Span::ZERO,
                _ => Span::from_nanos(1 + random.below(5_000_000)),
            };
            network.ack_slot = match random.below(3) {
                0 => Span::from_nanos(random.below(20_000_000)),
                _ => Span::ZERO,
            };
            network.starts = match random.below(3) {
                0 => Span::from_millis(random.below(2000)),
                _ => Span::ZERO,
            };
        }
        network.router = if random.chance(0.2) { RouterChoice::None } else { RouterChoice::Auto };
    })
}

/// Changes a network.
type Change<'a> = &'a dyn Fn(&mut Network);

/// Networks that the specialised world must leave to the general one.
#[test]
fn what_does_not_fit_is_left_to_the_general_world() {
    let table = Arc::new(first_rule());
    let fits = |change: Change<'_>, repairs: bool, others: Option<&Arc<RuleTable>>| {
        let network = Network::new(Rate::from_mbps(10.0), Span::from_millis(100)).with(change);
        let params = RemyParams { as_published: !repairs, ..RemyParams::default() };
        let senders = TableSenders { table: &table, others, params: &params };
        FastRun::new(&network, senders, Span::from_secs(1), 1).is_some()
    };
    assert!(fits(&|_| {}, false, None));
    assert!(!fits(&|_| {}, true, None), "senders that repair");
    let beside = |network: &mut Network| {
        let scheme = Some("cubic".parse().expect("built in"));
        network.others = Some(Others { scheme, senders: 1 });
    };
    assert!(!fits(&beside, false, None), "another scheme beside");
    assert!(fits(&beside, false, Some(&table)), "the others' table is known");
    let marked = Domain::WHOLE.between(Signal::AccelShare, 0.0, 2.0);
    let rule = Rule { domain: marked, action: Action::new(1.0, 1, 3.0) };
    let hears = Arc::new(RuleTable::flat([rule]).expect("a table"));
    assert!(!fits(&beside, false, Some(&hears)), "a table that hears marks");
    let changes: [(&str, Change); 11] = [
        ("delayed acknowledgements", &|network| network.acked_packets = 2),
        ("a quantile", &|network| network.measures.delay = DelayMeasure::P95),
        ("another queue", &|network| {
            network.queue = QueueChoice::Named(paceline_cc::Spec::parse("codel").expect("legal"));
        }),
        ("by bytes", &|network| network.on = On::Bytes(Amount::Fixed(1e5))),
        ("two links", &|network| network.second = Some(network.link.clone())),
        ("a router", &|network| {
            network.router = RouterChoice::Scheme(paceline_cc::Spec::parse("abc").expect("legal"));
        }),
        ("no delay", &|network| network.rtt = Span::ZERO),
        ("rate zero", &|network| network.link = Capacity::Constant(Rate::ZERO)),
        ("a schedule", &|network| {
            let steps = vec![(Span::ZERO, Rate::from_mbps(5.0))];
            network.link = Capacity::Schedule { steps, period: None };
        }),
        ("waiting times", &|network| {
            network.buffer = BufferSize::Sojourn(Span::from_millis(50));
        }),
        ("no room for a packet", &|network| network.buffer = BufferSize::Bytes(1249)),
    ];
    for (what, change) in changes {
        assert!(!fits(change, false, None), "{what}");
    }
}

#[test]
fn random_networks_give_the_figures_of_the_general_world_to_the_bit() {
    let mut random = Stream::new(1, "networks of both worlds");
    let (mut taken, mut fell_back, mut given_up, mut dropped, mut held) = (0, 0, 0, 0, 0);
    let mut timed = 0;
    for draw in 0..600 {
        let mut network = some_network(&mut random);
        let table = some_table(&mut random);
        let mut others = None;
        if random.chance(0.3) {
            network.others = Some(Others {
                scheme: None,
                senders: random.below(4).min(network.senders.into()) as u32,
            });
            others = random.chance(0.7).then(|| some_table(&mut random));
        }
        let duration = Span::from_millis(2000 + random.below(9000));
        let seed = random.next_u64();
        let resolution = if random.chance(0.7) { 10 } else { random.below(2_000_000) };
        let params = published(Span::from_nanos(resolution));
        let tables = (&table, others.as_ref());
        let run = (duration, seed);
        let Some(fast) = fast(&network, tables, &params, run) else {
            fell_back += 1;
            continue;
        };
        let general = general(&network, tables, &params, run);
        let about = format!("draw {draw}: {network}, {table:?}");
        assert_eq!(bits(&fast.0), bits(&general.0), "{about}");
        assert_eq!(fast.1, general.1, "{about}");
        taken += 1;
        given_up += u32::from(fast.0.senders.is_none());
        timed += u32::from(table.timer() > Span::ZERO);
        held += u32::from(network.jitter + network.ack_slot > Span::ZERO);
        dropped += u32::from(network.buffer != BufferSize::Unlimited);
    }
    assert!(taken >= 580, "only {taken} of 600 networks were run by the specialised world");
    let counts = (given_up, dropped, held);
    assert!(given_up >= 5 && dropped >= 100 && held >= 100, "given up, limited, held: {counts:?}");
    assert!(timed >= 40, "only {timed} of the tables had rules on a timer");
    assert_eq!(taken + fell_back, 600);
}

/// A link that carries a packet each millisecond, and from 2 s to 4 s nothing.
fn interrupted() -> Capacity {
    let entries = (1..=6000).filter(|at| !(2001..=4000).contains(at)).collect();
    Capacity::trace(Trace::new("interrupted", entries).expect("a trace"))
}

/// Without a timer a sender fills its window during an outage; a rule on a timer stops it.
#[test]
fn a_rule_on_a_timer_acts_during_an_outage() {
    let silent = Domain::WHOLE.between(Signal::AckGap, 50.0, 1e6);
    let rules = [
        Rule { domain: silent, action: Action::of_rate(0.0, 1, 1.0, 0.0) },
        Rule { domain: Domain::WHOLE, action: Action::of_rate(10.0, 4, 1.05, 0.0) },
    ];
    let always = RuleTable::flat(rules).expect("a table");
    let timed = Arc::new(always.clone().with_timer(Span::from_millis(20)));
    let network = Network::new(Rate::from_mbps(1.0), Span::from_millis(100)).with(|network| {
        network.link = interrupted();
        network.senders = 1;
        (network.on, network.off) = (On::Time(Amount::Fixed(1e6)), Amount::Fixed(0.0));
    });
    let run = |table: &Arc<RuleTable>| {
        let params = published(Span::ZERO);
        let run = (Span::from_secs(6), 1);
        let fast = fast(&network, (table, None), &params, run).expect("it fits");
        let general = general(&network, (table, None), &params, run);
        assert_eq!((bits(&fast.0), &fast.1), (bits(&general.0), &general.1));
        let senders = fast.0.senders.expect("a whole run");
        (senders[0].delay_ms, fast.1[0].count)
    };
    let (without, with) = (run(&Arc::new(always)), run(&timed));
    // Without a timer hundreds of packets more enter the queue of a link that stands still for 2 s, up
    // to ten round trips of them, and wait there. On a timer those of the round trip that was under
    // way do, and of the first 60 ms of silence.
    assert!(with.0 < 0.6 * without.0, "{with:?} {without:?}");
    // It is looked up in the silence: about 2000 ms / 20 ms times.
    assert!((80..=110).contains(&with.1) && without.1 <= 2, "{with:?} {without:?}");
}
