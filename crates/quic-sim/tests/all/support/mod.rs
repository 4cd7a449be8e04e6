//! Tests that every QUIC stack passes over the simulator's links.

use paceline_cc::{AckPolicy, Controller, Feedback, Halves, Plan, Rate, Signals, Span};
use paceline_flow::{Amount, Workload};
use paceline_noq::SchemeError;
use paceline_path::{BufferSize, Loss};
use paceline_sim::scenario::{Arrivals, Capacity, FlowSpec, LinkSpec, Scenario, SchemeChoice};
use paceline_sim::{CustomTransport, Outcome, run};

/// One flow over 12 Mbit/s with an RTT of 100 ms and a buffer of 250 packets.
pub(crate) fn over_12_mbps(scheme: impl Into<SchemeChoice>, seconds: u64) -> Scenario {
    let mut scenario = Scenario::new("one flow");
    let mut link = LinkSpec::new("link", Capacity::Constant(Rate::from_mbps(12.0)));
    link.buffer = BufferSize::Packets(250);
    scenario.links.push(link);
    let mut flow = FlowSpec::bulk(scheme, &["link"]);
    flow.rtt = Span::from_millis(100);
    scenario.flows.push(flow);
    scenario.duration = Span::from_secs(seconds);
    scenario
}

fn outcome(scenario: &Scenario) -> Outcome {
    run(scenario).expect("a run")
}

/// Asserts that two runs have equal digests.
pub(crate) fn repeats(stack: CustomTransport) {
    let scenario = over_12_mbps(stack, 5);
    let (one, other) = (outcome(&scenario), outcome(&scenario));
    assert_eq!(one.digest, other.digest);
    assert!(one.packets > 3000, "{} packets", one.packets);
}

/// Asserts that a megabyte arrives over a link that loses packets.
pub(crate) fn arrives_whole(stack: CustomTransport) {
    let mut scenario = over_12_mbps(stack, 10);
    scenario.flows[0].workload = Workload::Bytes(1_000_000);
    scenario.flows[0].data.impairments.loss = Loss::Bernoulli(0.01);
    let outcome = outcome(&scenario);
    // 1 MB over 10 s is 0.8 Mbit/s.
    assert!((outcome.flows[0].goodput_mbps - 0.8).abs() < 1e-9, "{outcome:?}");
    assert!(outcome.flows[0].sender.lost > 0);
}

/// Asserts that transfers of a given size finish when their last bytes are acknowledged, and that
/// fairness does not count a flow after its end.
pub(crate) fn finishes(stack: &CustomTransport) {
    let mut scenario = over_12_mbps(stack.clone(), 10);
    let mut flow = scenario.flows.remove(0);
    flow.rtt = Span::from_millis(40);
    // The last flow has half a second, and needs less.
    flow.stop = Some(Span::from_millis(9500));
    scenario.arrivals.push(Arrivals { flow, per_second: 2.0, bytes: Amount::Fixed(50_000.0) });
    let arrivals = outcome(&scenario).arrivals.expect("arrivals");
    assert!(arrivals.arrived > 5 && arrivals.finished == arrivals.arrived, "{arrivals:?}");
    // A handshake of one RTT, and 50 kB from a window of about 12 kB: two RTTs and more.
    let times = arrivals.completion_ms.expect("finished flows");
    assert!(times.p50 > 100.0 && times.max < 500.0, "{times:?}");

    let jain = |scheme: SchemeChoice| {
        let mut scenario = over_12_mbps("vegas".parse::<SchemeChoice>().expect("a scheme"), 20);
        scenario.flows.push(scenario.flows[0].clone());
        let mut short = FlowSpec::bulk(scheme, &["link"]);
        short.workload = Workload::Bytes(300_000);
        scenario.flows.push(short);
        let outcome = outcome(&scenario);
        assert_eq!(outcome.flows[2].transfers, 1);
        outcome.jain_1s.expect("windows")
    };
    let (quic, own) = (jain(stack.clone().into()), jain("cubic".parse().expect("a scheme")));
    // A flow that counts after its end has a share of zero: the index is two thirds at most.
    assert!(quic > own - 0.02, "{quic}, {own}");
}

/// Asserts that the utilisation of a stack with a scheme is within 5 points, and its mean delay
/// within a fifth, of the simulator's own sender with the scheme, after the first 5 s. `ack` is the
/// policy of the simulator's receiver.
pub(crate) fn does_as_the_simulator(spec: &str, stack: CustomTransport, ack: Option<AckPolicy>) {
    let measured = |scheme: SchemeChoice| {
        let mut scenario = over_12_mbps(scheme, 25);
        scenario.warmup = Span::from_secs(5);
        scenario.flows[0].ack = ack;
        let outcome = outcome(&scenario);
        (outcome.links[0].utilization, outcome.flows[0].one_way_delay_ms.mean)
    };
    let (there, delay) = measured(stack.into());
    let (own, own_delay) = measured(spec.parse().expect("a scheme"));
    assert!((there - own).abs() < 0.05, "{spec}: utilisation {there}, {own}");
    assert!((delay / own_delay - 1.0).abs() < 0.2, "{spec}: delay {delay}, {own_delay} ms");
}

/// Asserts that schemes are refused for the signals that they lack.
pub(crate) fn refuses_what_it_cannot_feed<S>(parse: impl Fn(&str) -> Result<S, SchemeError>) {
    for (spec, lacks) in [("abc", "echo"), ("prague", "ecn"), ("xcp", "headers")] {
        match parse(spec) {
            Err(SchemeError::MissingSignals { missing, .. }) => {
                assert!(missing.contains(&lacks), "{spec}: {missing:?}");
            }
            Err(other) => panic!("{spec}: {other}"),
            Ok(_) => panic!("{spec} was taken"),
        }
    }
}

/// Asserts that a flow that stops after 2 s sends no more, although the stack has taken far more by
/// then than it has sent.
pub(crate) fn stops(stack: impl Fn() -> CustomTransport) {
    let packets = |seconds| {
        let mut scenario = over_12_mbps(stack(), seconds);
        scenario.flows[0].stop = Some(Span::from_secs(2));
        outcome(&scenario).packets
    };
    let (soon, late) = (packets(3), packets(6));
    assert!(soon > 1000 && late < soon + 10, "{soon} packets after 3 s, {late} after 6 s");
}

/// Asserts that a run whose link is down for 5 s fails with the stack's reason if the stack waits
/// 2 s for packets, and that silence after all data has arrived is no failure.
pub(crate) fn tells_why_a_connection_ended(impatient: CustomTransport) {
    let mut scenario = over_12_mbps(impatient, 8);
    let steps = [(0, 12.0), (1, 0.0), (6, 12.0)];
    let steps = steps.map(|(at, mbps)| (Span::from_secs(at), Rate::from_mbps(mbps)));
    let capacity = Capacity::Schedule { steps: steps.to_vec(), period: None };
    scenario.links[0].capacity = capacity.clone();
    let error = run(&scenario).expect_err("a lost connection").to_string();
    assert!(error.contains("client ended: timed out"), "{error}");
    scenario.links[0].capacity = Capacity::Constant(Rate::from_mbps(12.0));
    scenario.flows[0].workload = Workload::Bytes(100_000);
    // 0.1 MB over 8 s is 0.1 Mbit/s.
    assert!((outcome(&scenario).flows[0].goodput_mbps - 0.1).abs() < 1e-9);
}

/// Asserts that thousands of packets lost from a flight end the connection of a receiver that reads
/// in order, and of no other: a stream may have 1024 gaps. Every second packet of a flight of 8000
/// is lost.
pub(crate) fn gaps_end_a_connection_that_reads_in_order(
    stack: impl Fn(Halves, bool) -> CustomTransport,
) {
    let lossy = |in_order| {
        let window = Halves::sender(|setup| Window(8000 * u64::from(setup.mss)));
        let mut scenario = over_12_mbps(stack(window, in_order), 5);
        scenario.links[0].capacity = Capacity::Constant(Rate::from_mbps(1000.0));
        scenario.links[0].buffer = BufferSize::Packets(10_000);
        scenario.flows[0].data.impairments.loss = Loss::Bernoulli(0.5);
        run(&scenario)
    };
    let error = lossy(true).expect_err("too many gaps").to_string();
    assert!(error.contains("too many gaps in stream buffer"), "{error}");
    assert!(lossy(false).expect("a run").flows[0].goodput_mbps > 1.0);
}

/// A controller of a program that uses Paceline: a constant window in bytes.
pub(crate) struct Window(pub(crate) u64);

impl Controller for Window {
    fn on_feedback(&mut self, _feedback: &Feedback<'_>) {}

    fn plan(&self) -> Plan {
        Plan::window(self.0)
    }
}

/// Needs a signal that no QUIC stack has.
struct NeedsReports;

impl Controller for NeedsReports {
    fn needs(&self) -> Signals {
        Signals::REPORTS
    }

    fn on_feedback(&mut self, _feedback: &Feedback<'_>) {}

    fn plan(&self) -> Plan {
        Plan::window(1)
    }
}

/// Asserts that a controller of one's own runs under a stack: four packets per round trip of 100 ms
/// are half a megabit per second, and stacks refuse a packet that fills the window exactly.
pub(crate) fn runs_an_own_controller(
    stack: impl Fn(Halves) -> Result<CustomTransport, SchemeError>,
) {
    let own = Halves::sender(|setup| Window(4 * u64::from(setup.mss)));
    let outcome = outcome(&over_12_mbps(stack(own).expect("a stack"), 5));
    let goodput = outcome.flows[0].goodput_mbps;
    assert!((0.1..0.6).contains(&goodput), "{goodput} Mbit/s");
    let refused = stack(Halves::sender(|_| NeedsReports)).map(|_| ()).expect_err("reports");
    assert!(refused.to_string().contains("reports"), "{refused}");
}
