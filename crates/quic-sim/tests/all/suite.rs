//! The maintainers' suite passes congestion control that works, and fails congestion control that
//! does not.

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use paceline_quic_sim::suite::{Aim, Measure, Suite, SuiteReport};
use paceline_quic_sim::{Noq, Quinn};
use paceline_sim::scenario::SchemeChoice;
use quinn_proto::VarInt;
use quinn_proto::congestion::{Controller, ControllerFactory, CubicConfig};

fn report(scheme: impl Into<SchemeChoice>, aim: Aim, cases: &[&str]) -> SuiteReport {
    let suite = Suite::standard().only(cases).runs(1);
    assert_eq!(suite.cases.len(), cases.len(), "{cases:?}");
    suite.run(&scheme.into(), aim).expect("a run")
}

/// A constant window in bytes.
struct Fixed(u64);

impl ControllerFactory for Fixed {
    fn build(self: Arc<Self>, _now: Instant, _mtu: u16) -> Box<dyn Controller> {
        Box::new(Fixed(self.0))
    }
}

impl Controller for Fixed {
    fn on_congestion_event(&mut self, _: Instant, _: Instant, _: bool, _: u64) {}
    fn on_mtu_update(&mut self, _: u16) {}
    fn window(&self) -> u64 {
        self.0
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Fixed(self.0))
    }
    fn initial_window(&self) -> u64 {
        self.0
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

#[test]
fn what_works_passes() {
    let quinn = Quinn::new("quinn's Cubic", Arc::new(CubicConfig::default()));
    let cases = ["startup", "ecn", "ack-loss", "outage", "video"];
    let found = report(quinn.transport(), Aim::FillsBuffers, &cases);
    assert!(found.holds(), "{found}");
    let bbr3 = paceline_noq::Scheme::parse("bbr3").expect("a scheme");
    let noq = Noq::new("noq, bbr3", Arc::new(bbr3));
    let found = report(noq.transport(), Aim::LimitsDelay, &["bufferbloat"]);
    assert!(found.holds(), "{found}");
}

/// A constant 400 packets in flight: three times the path and its buffer.
#[test]
fn what_ignores_congestion_fails() {
    let fixed = Quinn::new("400 packets", Arc::new(Fixed(400 * 1472)));
    let found = report(fixed.transport(), Aim::LimitsDelay, &["steady", "bufferbloat", "ecn"]);
    let failed = |case: usize, measure: Measure| {
        found.cases[case].checks.iter().any(|c| c.bound.measure == measure && !c.holds())
    };
    assert!(failed(0, Measure::LossPercent), "{found}");
    assert!(failed(1, Measure::DelayP95Ms), "{found}");
    assert!(failed(2, Measure::DelayP95Ms), "{found}");
    assert!(found.to_string().contains("400 packets: 3 cases, 3 failed"), "{found}");
}

/// A constant 4 packets in flight: 0.5 Mbit/s.
#[test]
fn what_does_not_use_the_link_fails() {
    let fixed = Quinn::new("4 packets", Arc::new(Fixed(4 * 1472)));
    let found = report(fixed.transport(), Aim::FillsBuffers, &["startup", "video"]);
    assert!(found.cases.iter().all(|case| !case.holds()), "{found}");
}

/// A stack that waits 1 s for packets, on a link that is down for 2 s.
#[test]
fn a_connection_that_ends_fails_its_case() {
    let impatient = Quinn::new("impatient", Arc::new(CubicConfig::default())).with(|config| {
        config.max_idle_timeout(Some(VarInt::from_u32(1000).into()));
    });
    let found = report(impatient.transport(), Aim::FillsBuffers, &["startup", "outage"]);
    let (startup, outage) = (&found.cases[0], &found.cases[1]);
    assert!(startup.holds() && !outage.holds(), "{found}");
    let failures = &outage.failures;
    assert!(
        failures[0].starts_with("run 1: ") && failures[0].contains("timed out"),
        "{failures:?}"
    );
    assert!(found.to_string().contains(&failures[0]), "{found}");
}

#[test]
fn the_same_stack_and_seed_give_the_same_digest() {
    let digest = || {
        let quinn = Quinn::new("quinn's Cubic", Arc::new(CubicConfig::default()));
        let found = report(quinn.transport(), Aim::FillsBuffers, &["reordering", "policer"]);
        found.cases.into_iter().flat_map(|case| case.digests).collect::<Vec<_>>()
    };
    assert_eq!(digest(), digest());
}

#[test]
fn every_case_can_be_built() {
    let cubic: SchemeChoice = "cubic".parse().expect("a scheme");
    for case in Suite::standard().cases {
        case.scenario(&cubic).unwrap_or_else(|error| panic!("{error}"));
        assert!(!case.bounds.is_empty() && case.warmup < case.end, "{}", case.name);
    }
}
