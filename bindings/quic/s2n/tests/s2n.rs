//! Paceline's schemes behind s2n-quic's trait, and s2n-quic's own, in the simulator.

use paceline_cc::{Rate, Span};
use paceline_s2n_quic::{Scheme, SchemeError, halves};
use paceline_sim::path::BufferSize;
use paceline_sim::scenario::{Capacity, CustomScheme, FlowSpec, LinkSpec, Scenario, SchemeChoice};
use paceline_sim::{Outcome, run};
use s2n_quic_core::recovery::congestion_controller::Endpoint;
use s2n_quic_core::recovery::{bbr, cubic};

fn over_12_mbps(scheme: impl Into<SchemeChoice>) -> Outcome {
    let mut scenario = Scenario::new("s2n-quic");
    let mut link = LinkSpec::new("link", Capacity::Constant(Rate::from_mbps(12.0)));
    link.buffer = BufferSize::Packets(250);
    scenario.links.push(link);
    let mut flow = FlowSpec::bulk(scheme, &["link"]);
    flow.rtt = Span::from_millis(100);
    scenario.flows.push(flow);
    (scenario.warmup, scenario.duration) = (Span::from_secs(5), Span::from_secs(25));
    run(&scenario).expect("a run")
}

fn made<E: Endpoint>(make: impl Fn() -> E + Send + Sync + 'static) -> CustomScheme {
    CustomScheme::new("behind s2n-quic's trait", halves(make))
}

/// Puts a scheme of Paceline behind s2n-quic's trait, and that into the simulator. It must stay
/// within 5 points of utilisation and a fifth of the mean delay of the scheme itself, which shows
/// losses in either conversion. The bound is that of the other stacks, written before the first
/// run.
#[test]
fn a_scheme_behind_the_trait_does_what_it_does_without() {
    for spec in ["cubic", "newreno", "bbr", "bbr3", "copa", "vegas"] {
        let figures = |outcome: Outcome| {
            (outcome.links[0].utilization, outcome.flows[0].one_way_delay_ms.mean)
        };
        let scheme = Scheme::parse(spec).expect("a scheme");
        let (behind, delay) = figures(over_12_mbps(made(move || scheme.clone())));
        let own: SchemeChoice = spec.parse().expect("a scheme");
        let (without, own_delay) = figures(over_12_mbps(own));
        assert!((behind - without).abs() < 0.05, "{spec}: utilisation {behind}, {without}");
        assert!((delay / own_delay - 1.0).abs() < 0.2, "{spec}: delay {delay}, {own_delay} ms");
    }
}

/// s2n-quic's own controllers fill the link, and each run repeats exactly.
#[test]
fn s2n_quics_own_controllers_run_in_the_simulator() {
    for make in [|| made(cubic::Endpoint::default), || made(bbr::Endpoint::default)] {
        let (one, other) = (over_12_mbps(make()), over_12_mbps(make()));
        assert!(one.links[0].utilization > 0.85, "{}", one.links[0].utilization);
        assert_eq!(one.digest, other.digest);
    }
}

#[test]
fn marks_are_counted_but_receive_times_are_not_there() {
    for spec in ["dctcp", "prague", "cubic[ecn=true]", "bbr3"] {
        Scheme::parse(spec).unwrap_or_else(|error| panic!("{error}"));
    }
    for (spec, lacks) in [("abc", "echo"), ("gcc", "receive-time"), ("xcp", "headers")] {
        match Scheme::parse(spec) {
            Err(SchemeError::MissingSignals { missing, .. }) => {
                assert!(missing.contains(&lacks), "{spec}: {missing:?}");
            }
            Err(other) => panic!("{spec}: {other}"),
            Ok(_) => panic!("{spec} was taken"),
        }
    }
}
