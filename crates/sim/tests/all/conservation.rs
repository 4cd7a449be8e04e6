//! Properties of runs of random scenarios: every packet is accounted for, no link carries more than
//! it can, reliable data arrives exactly once, and runs can be repeated and interrupted.

use paceline_cc::{Rate, Span, Stream, Time};
use paceline_flow::{Amount, On, Workload};
use paceline_path::{BufferSize, Jitter, JitterShape, Loss, Reorder};
use paceline_schemes::SCHEMES;
use paceline_sim::scenario::{
    Capacity, FlowSpec, LinkSpec, QueueChoice, Record, RouterChoice, Scenario, check_scheme,
};
use paceline_sim::{Census, Outcome, Simulation, run};

use crate::random::{Dice, SECONDS, random, settle};

fn simulate(scenario: &Scenario) -> (Outcome, Census) {
    let mut simulation = Simulation::new(scenario).expect("builds");
    simulation.advance(Time::ZERO + scenario.duration);
    (simulation.outcome().expect("measured"), simulation.world().census())
}

/// Returns all results of a run as text.
fn everything(outcome: &Outcome) -> String {
    format!("{outcome:?}")
}

#[test]
fn packets_are_conserved_and_links_carry_what_they_can() {
    let mut total = Census::default();
    for seed in 0..120 {
        let scenario = random(seed);
        let mut simulation = Simulation::new(&scenario).expect("builds");
        for step in 1..=SECONDS {
            simulation.advance(Time::from_millis(1000 * step));
            let census = simulation.world().census();
            assert!(census.is_balanced(), "seed {seed} after {step} s: {census:?}");
            total = census;
        }
        let outcome = simulation.outcome().expect("measured");
        assert_eq!(outcome.packets, total.received, "seed {seed}");
        let bytes = |mbps: f64| mbps * 1e6 / 8.0 * SECONDS as f64;
        for (spec, link) in scenario.links.iter().zip(&outcome.links) {
            let (carried, offered) = (bytes(link.throughput_mbps), bytes(link.capacity_mbps));
            // Wi-Fi's offered capacity is a mean over backlogged stations.
            let wifi = matches!(spec.capacity, Capacity::Wifi(_));
            assert!(wifi || carried <= offered + 0.5, "seed {seed}: {carried} of {offered}");
            let over = |path: &[String]| path.contains(&spec.name);
            let mut flows = outcome.flows.iter();
            let mut goodput = 0.0;
            for flow in &scenario.flows {
                let alike = flows.by_ref().take(flow.count as usize);
                let sum: f64 = alike.map(|flow| flow.goodput_mbps).sum();
                goodput += if over(&flow.path) { sum } else { 0.0 };
            }
            assert!(bytes(goodput) <= carried + 0.5, "seed {seed}: {} {carried}", bytes(goodput));
        }
        for flow in &outcome.flows {
            let sender = flow.since_start;
            assert!(sender.retransmits <= sender.sent && sender.late <= sender.lost, "{flow:?}");
            assert!(bytes(flow.goodput_mbps) <= (sender.sent * 9000) as f64);
        }
    }
    assert!(total.sent > 0);
}

#[test]
fn runs_repeat_and_seeds_matter() {
    for seed in 0..40 {
        let scenario = random(seed);
        let (first, _) = simulate(&scenario);
        let (again, _) = simulate(&scenario.clone());
        assert_eq!(everything(&first), everything(&again), "seed {seed}");
    }
    let mut scenario = Scenario::new("loss");
    scenario.duration = Span::from_secs(5);
    scenario.links.push(LinkSpec::new("link", Capacity::Constant(Rate::from_mbps(12.0))));
    let mut flow = FlowSpec::bulk(check_scheme("cubic").expect("cubic"), &["link"]);
    flow.data.impairments.loss = Loss::Bernoulli(0.01);
    scenario.flows.push(flow);
    let mut digests: Vec<String> = (0..20)
        .map(|seed| simulate(&scenario.clone().with(|scenario| scenario.seed = seed)).0.digest)
        .collect();
    digests.sort();
    digests.dedup();
    assert_eq!(digests.len(), 20);
}

#[test]
fn runs_can_be_cut_into_pieces() {
    for seed in 0..40 {
        let mut scenario = random(seed);
        let mut dice = Dice(Stream::new(seed, "pieces"));
        scenario.warmup = [Span::ZERO, Span::from_secs(2)][dice.below(2) as usize];
        scenario.record =
            [Record::Metrics, Record::Series(Span::from_millis(70))][dice.below(2) as usize];
        let (whole, census) = simulate(&scenario);
        let mut simulation = Simulation::new(&scenario).expect("builds");
        let mut now = Time::ZERO;
        while now < Time::ZERO + scenario.duration {
            now = (now + dice.span(0, 600)).min(Time::ZERO + scenario.duration);
            simulation.advance(now);
        }
        assert_eq!(simulation.world().census(), census, "seed {seed}");
        let pieces = simulation.outcome().expect("measured");
        assert_eq!(pieces.digest, whole.digest, "seed {seed}");
        assert_eq!(everything(&pieces), everything(&whole), "seed {seed}");
    }
}

#[test]
fn recording_changes_nothing() {
    for seed in 0..20 {
        let digest = |record| {
            let (outcome, census) =
                simulate(&random(seed).with(|scenario| scenario.record = record));
            (outcome.digest, census)
        };
        let plain = digest(Record::Counters);
        assert_eq!(digest(Record::Metrics), plain);
        assert_eq!(digest(Record::Series(Span::from_millis(50))), plain);
    }
}

/// Every byte of a finite transfer arrives exactly once, with any impairments on the way, and then
/// no more packets are sent.
#[test]
fn transfers_complete() {
    for seed in 0..60 {
        let mut dice = Dice(Stream::new(seed, "transfers"));
        let mut scenario = random(seed);
        scenario.arrivals.clear();
        scenario.flows.clear();
        for link in &mut scenario.links {
            // Schedules may end with an outage, or repeat one.
            if let Capacity::Schedule { steps, period } = &mut link.capacity {
                *period = None;
                steps.push((Span::from_secs(60), Rate::from_mbps(2.0)));
            }
            // A packet that is larger than its buffer never arrives.
            if !matches!(link.buffer, BufferSize::Packets(_)) {
                link.buffer = BufferSize::Packets(20);
            }
        }
        let mut sizes = Vec::new();
        for _ in 0..1 + dice.below(4) {
            let mut flow = dice.flow(&scenario.links, 0.1);
            let most = [10, 3000, 400_000][dice.below(3) as usize];
            sizes.push(1 + dice.below(most));
            flow.workload = Workload::Bytes(sizes[sizes.len() - 1]);
            scenario.flows.push(flow);
        }
        for link in &mut scenario.links {
            link.queue = QueueChoice::Auto;
            link.router = RouterChoice::Auto;
        }
        settle(&mut scenario);
        scenario.duration = Span::from_secs(1200);
        let (outcome, census) = simulate(&scenario);
        for (flow, size) in outcome.flows.iter().zip(sizes) {
            assert_eq!(flow.transfers, 1, "seed {seed}: {size} bytes, {flow:?}");
            let arrived = (flow.goodput_mbps * 1e6 / 8.0 * outcome.duration_s).round() as u64;
            if is_reliable(&flow.scheme) {
                assert_eq!(arrived, size, "seed {seed}");
            } else {
                assert!(arrived <= size, "seed {seed}: {arrived} of {size}");
            }
        }
        assert_eq!(census.under_way, 0, "seed {seed}: {census:?}");
        assert!(census.is_balanced(), "seed {seed}: {census:?}");
    }
}

/// Returns true if a scheme retransmits lost data.
fn is_reliable(scheme: &str) -> bool {
    let spec = check_scheme(scheme).expect("a scheme").sender;
    paceline_schemes::registry::build(&spec).expect("a scheme").reliable
}

/// One flow of each scheme over 12 Mbit/s with 40 ms.
fn single(scheme: &str) -> Scenario {
    let mut scenario = Scenario::new(scheme);
    scenario.duration = Span::from_secs(20);
    scenario.links.push(LinkSpec::new("link", Capacity::Constant(Rate::from_mbps(12.0))));
    let mut flow = FlowSpec::bulk(check_scheme(scheme).expect(scheme), &["link"]);
    flow.rtt = Span::from_millis(40);
    scenario.flows.push(flow);
    scenario
}

fn goodput(scenario: &Scenario) -> f64 {
    run(scenario).expect("runs").goodput_mbps()
}

#[test]
fn lost_acknowledgements_do_not_stall() {
    for scheme in SCHEMES {
        // With one packet in flight, every lost acknowledgement causes a wait: VCP starts like
        // this, and stays there for 45 round trips.
        // GCC probes at the start alone, which comes to nothing if these acknowledgements are lost.
        let name = match scheme.name {
            "vcp" => "vcp[initial_window=10]",
            "gcc" => "gcc[probes=false,initial_rate=6Mbps]",
            name => name,
        };
        let mut scenario = single(name);
        let clean = goodput(&scenario);
        scenario.flows[0].acks.impairments.loss = Loss::Bernoulli(0.3);
        // Each lost SYN-ACK would take seconds.
        scenario.flows[0].handshake = false;
        let lossy = goodput(&scenario);
        assert!(lossy > 0.85 * clean, "{name}: {lossy} after {clean}");
    }
}

#[test]
fn reordering_and_duplicates_do_not_collapse() {
    for scheme in ["abc", "cubic", "newreno"] {
        let clean = goodput(&single(scheme));
        let mut scenario = single(scheme);
        scenario.flows[0].data.impairments.reorder =
            Some(Reorder { probability: 0.05, extra: Some(Span::from_millis(8)) });
        scenario.flows[0].acks.impairments.reorder =
            Some(Reorder { probability: 0.05, extra: Some(Span::from_millis(8)) });
        let reordered = goodput(&scenario);
        assert!(reordered > 0.75 * clean, "{scheme}: {reordered} after {clean}");
        let mut scenario = single(scheme);
        scenario.flows[0].data.impairments.duplicate = 0.05;
        scenario.flows[0].acks.impairments.duplicate = 0.05;
        let twice = goodput(&scenario);
        assert!(twice > 0.9 * clean, "{scheme}: {twice} after {clean}");
    }
}

#[test]
fn flows_stop_when_told() {
    for scheme in SCHEMES {
        let mut scenario = single(scheme.name);
        scenario.flows[0].stop = Some(Span::from_secs(3));
        let mut simulation = Simulation::new(&scenario).expect("builds");
        simulation.advance(Time::from_secs(3));
        let before = simulation.world().census();
        // GCC starts at 300 kbit/s.
        assert!(before.under_way > 0 && before.sent > 50, "{}: {before:?}", scheme.name);
        simulation.advance(Time::from_secs(6));
        let after = simulation.world().census();
        assert_eq!(after.under_way, 0, "{}: {after:?}", scheme.name);
        simulation.advance(Time::from_secs(20));
        assert_eq!(simulation.world().census(), after, "{}", scheme.name);
        // After the stop only retransmissions are sent.
        let repairs = before.under_way + after.dropped;
        assert!(after.sent - before.sent <= repairs, "{}: {before:?} {after:?}", scheme.name);
    }
}

/// A timeout that turns out to be spurious undoes only the losses that it declared wrongly.
#[test]
fn late_packets_do_not_hide_lost_ones() {
    for seed in 0..150 {
        let mut scenario = single("cubic");
        scenario.seed = seed;
        scenario.duration = Span::from_secs(3600);
        let flow = &mut scenario.flows[0];
        flow.workload = Workload::Bytes(200_000);
        let jitter = |ms| {
            let mean = Span::from_millis(ms);
            Some(Jitter { shape: JitterShape::Exponential, mean, sd: mean })
        };
        for way in [&mut flow.data.impairments, &mut flow.acks.impairments] {
            way.loss = Loss::Bernoulli(0.2);
            way.jitter = jitter(40);
            way.reorder_jitter = true;
        }
        let outcome = run(&scenario).expect("runs");
        assert_eq!(outcome.flows[0].transfers, 1, "seed {seed}: {:?}", outcome.flows[0]);
    }
}

/// The offset of a receiver's clock depends only on its flow's name.
#[test]
fn clocks_do_not_matter() {
    for scheme in SCHEMES {
        let digest = |name: &str| {
            let mut scenario = single(scheme.name);
            scenario.flows[0].name = name.into();
            run(&scenario).expect("runs").digest
        };
        assert_eq!(digest("one clock"), digest("another clock"), "{}", scheme.name);
    }
}

/// A new connection does not wait for packets that the previous one lost: its receiver returns to
/// delayed acknowledgements, and its sender leaves recovery. Changed: a bound of 0.7 alone, until the receive window grew by
/// data that a gap had kept (0.76 with losses, 0.66 without).
#[test]
fn new_connections_begin_anew() {
    let acks_per_packet = |loss| {
        let mut scenario = single("cubic");
        scenario.flows[0].data.impairments.loss = loss;
        scenario.flows[0].workload = Workload::OnOff {
            on: On::Time(Amount::Exponential(0.3)),
            off: Amount::Fixed(0.001),
            starts_off: false,
            fresh: true,
        };
        scenario.links[0].capacity = Capacity::Constant(Rate::from_mbps(100.0));
        let (_, census) = simulate(&scenario);
        census.acks_sent as f64 / census.received as f64
    };
    let (with, without) = (acks_per_packet(Loss::Bernoulli(0.002)), acks_per_packet(Loss::None));
    assert!(with < without + 0.1, "{with} acknowledgements per packet, {without} without losses");
}

/// Links with equal delays after them have separate pipes.
#[test]
fn equal_delays_behind_links_do_not_mix() {
    let mut scenario = single("cubic");
    scenario.links.push(LinkSpec::new("second", Capacity::Constant(Rate::from_mbps(6.0))));
    for link in &mut scenario.links {
        link.after.delay = Span::from_millis(20);
    }
    scenario.flows[0].path.push("second".into());
    let outcome = run(&scenario).expect("runs");
    assert!(outcome.links[1].utilization > 0.95, "{}", outcome.links[1].utilization);
    assert!(outcome.flows[0].one_way_delay_ms.p50 > 60.0);
    scenario.flows[0].path.push("link".into());
    let error = run(&scenario).expect_err("a loop").to_string();
    assert_eq!(error, "flow `cubic` passes link `link` twice");
}

/// Packets that circulate without any delay neither overflow the stack nor stop the clock.
#[test]
fn no_delay_at_all_is_endured() {
    let trace = paceline_trace::Trace::new("bursts", vec![100]).expect("valid");
    let mut scenario = single("newreno");
    scenario.duration = Span::from_secs(3);
    scenario.flows[0].rtt = Span::ZERO;
    scenario.links[0].buffer = BufferSize::Unlimited;
    scenario.links[0].capacity =
        Capacity::Trace { trace, opportunity: 30_000_000, overhead: 4, repeat: true };
    let (_, census) = simulate(&scenario);
    assert!(census.is_balanced() && census.received > 10_000, "{census:?}");
}
