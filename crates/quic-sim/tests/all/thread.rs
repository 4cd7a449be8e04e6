//! Machines that cannot move between threads.

use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use paceline_cc::{Ecn, Rate, Span, Time};
use paceline_flow::Workload;
use paceline_quic_sim::{Machine, MachineStats, Quinn, Transmission, ends_on_a_thread};
use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, Scenario};
use paceline_sim::{BuildError, CustomTransport, Simulation, run};
use quinn_proto::congestion::CubicConfig;

/// A machine that is not `Send`.
struct Local<M>(Rc<()>, M);

impl<M: Machine> Machine for Local<M> {
    fn connect(&mut self, now: Instant) {
        self.1.connect(now);
    }
    fn is_established(&self) -> bool {
        self.1.is_established()
    }
    fn timeout(&mut self) -> Option<Instant> {
        self.1.timeout()
    }
    fn on_timeout(&mut self, now: Instant) {
        self.1.on_timeout(now);
    }
    fn on_datagram(
        &mut self,
        now: Instant,
        ecn: Ecn,
        datagram: &[u8],
        answer: &mut Vec<u8>,
    ) -> Option<Transmission> {
        assert_eq!(Rc::strong_count(&self.0), 2);
        self.1.on_datagram(now, ecn, datagram, answer)
    }
    fn transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Transmission> {
        self.1.transmit(now, buffer)
    }
    fn write(&mut self, bytes: &[u8]) -> usize {
        self.1.write(bytes)
    }
    fn finish(&mut self) {
        self.1.finish();
    }
    fn reset(&mut self) {
        self.1.reset();
    }
    fn read(&mut self) -> u64 {
        self.1.read()
    }
    fn rtt(&self) -> Duration {
        self.1.rtt()
    }
    fn stats(&mut self) -> MachineStats {
        self.1.stats()
    }
}

/// One flow over 12 Mbit/s with an RTT of 100 ms.
fn over_12_mbps(transport: CustomTransport, seconds: u64) -> Scenario {
    let mut scenario = Scenario::new("one flow");
    scenario.links.push(LinkSpec::new("link", Capacity::Constant(Rate::from_mbps(12.0))));
    let mut flow = FlowSpec::bulk(transport, &["link"]);
    flow.rtt = Span::from_millis(100);
    scenario.flows.push(flow);
    scenario.duration = Span::from_secs(seconds);
    scenario
}

fn quinn() -> Quinn {
    Quinn::new("own", Arc::new(CubicConfig::default()))
}

#[test]
fn machines_on_a_thread_do_what_others_do() {
    let local = CustomTransport::new("own", |setup| {
        let (client, server) = quinn().machines(setup)?;
        ends_on_a_thread(setup, || {
            let shared = Rc::new(());
            Ok((Local(Rc::clone(&shared), client), Local(shared, server)))
        })
    });
    let there = run(&over_12_mbps(local.clone(), 5)).expect("a run");
    let here = run(&over_12_mbps(quinn().transport(), 5)).expect("a run");
    assert_eq!(there.digest, here.digest);
    assert_eq!(there.flows[0].goodput_mbps, here.flows[0].goodput_mbps);
    assert_eq!(there.flows[0].sender, here.flows[0].sender);

    let (mut there, mut here) = (over_12_mbps(local, 5), over_12_mbps(quinn().transport(), 5));
    for scenario in [&mut there, &mut here] {
        scenario.flows[0].workload = Workload::Bytes(300_000);
    }
    let mut half = Simulation::new(&there).expect("a simulation");
    half.advance(Time::from_millis(250));
    let (finished, unfinished) = half.transfers().next().expect("a flow");
    assert!(finished.is_empty());
    assert_eq!(unfinished.map(|it| (it.start, it.bytes)), Some((Time::ZERO, 300_000)));
    let [there, here] = [there, here].map(|scenario| run(&scenario).expect("a run"));
    assert_eq!((there.flows[0].transfers, here.flows[0].transfers), (1, 1));
    assert_eq!(there.flows[0].completion_ms, here.flows[0].completion_ms);
}

#[test]
fn a_machine_that_cannot_be_made_is_an_error() {
    let failing = CustomTransport::new("none", |setup| {
        ends_on_a_thread(setup, || Err::<(Local<NoMachine>, Local<NoMachine>), _>("no keys".into()))
    });
    let Err(BuildError::Transport { problem, .. }) = run(&over_12_mbps(failing, 1)) else {
        panic!("it ran")
    };
    assert_eq!(problem, "no keys");
}

#[test]
fn a_machine_that_panics_ends_the_run_with_an_error() {
    let failing = CustomTransport::new("panics", |setup| {
        let (_, server) = quinn().machines(setup)?;
        ends_on_a_thread(setup, || Ok((NoMachine, server)))
    });
    let failed = run(&over_12_mbps(failing, 1)).map(|_| ()).expect_err("a panic");
    assert!(failed.to_string().contains("panicked"), "{failed}");
}

/// A machine that panics when it connects.
struct NoMachine;

impl Machine for NoMachine {
    fn connect(&mut self, _now: Instant) {
        panic!("a machine's mistake")
    }
    fn is_established(&self) -> bool {
        false
    }
    fn timeout(&mut self) -> Option<Instant> {
        None
    }
    fn on_timeout(&mut self, _now: Instant) {}
    fn on_datagram(
        &mut self,
        _now: Instant,
        _ecn: Ecn,
        _datagram: &[u8],
        _answer: &mut Vec<u8>,
    ) -> Option<Transmission> {
        None
    }
    fn transmit(&mut self, _now: Instant, _buffer: &mut Vec<u8>) -> Option<Transmission> {
        None
    }
    fn write(&mut self, _bytes: &[u8]) -> usize {
        0
    }
    fn finish(&mut self) {}
    fn reset(&mut self) {}
    fn read(&mut self) -> u64 {
        0
    }
    fn rtt(&self) -> Duration {
        Duration::ZERO
    }
    fn stats(&mut self) -> MachineStats {
        MachineStats::default()
    }
}
