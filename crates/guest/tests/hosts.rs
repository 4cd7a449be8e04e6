//! Flows between real Linux hosts over simulated links. Skipped on machines without a built guest.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use paceline_cc::{Rate, SchemeSpec, Span};
use paceline_flow::{Amount, On};
use paceline_guest::build::BuiltGuest;
use paceline_guest::{find, transport};
use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, Scenario, Workload};
use paceline_sim::{FlowOutcome, Outcome, run};
use paceline_testing::{Need, skip, this_test};

/// Returns the guest; `None`, printed as a skipped test, if there is none.
fn guest() -> Option<BuiltGuest> {
    match find(None) {
        Ok(built) => Some(built),
        Err(error) => {
            skip(Need::Linux, &this_test(), &error.to_string());
            None
        }
    }
}

fn flow(built: &BuiltGuest, scheme: &str) -> FlowSpec {
    let built = built.clone();
    let made = transport(scheme, move || Ok(built.clone())).expect("a transport");
    FlowSpec::bulk(made, &["link"])
}

/// A link of 12 Mbit/s with 100 ms round trip and 250 packets of buffer, and one flow.
fn scenario(built: &BuiltGuest, scheme: &str, seconds: u64) -> Scenario {
    let mut scenario = Scenario::new("hosts");
    scenario.duration = Span::from_secs(seconds);
    let link = LinkSpec::new("link", Capacity::Constant(Rate::from_bps(12_000_000)));
    scenario.links.push(link);
    scenario.flows.push(flow(built, scheme));
    scenario
}

fn outcome(scenario: &Scenario) -> Outcome {
    run(scenario).expect("a run")
}

#[test]
fn equal_runs_have_equal_digests_under_load() {
    let Some(built) = guest() else { return };
    let scenario = scenario(&built, "cubic", 4);
    let first = outcome(&scenario);
    // Guests that run side by side wait for processors and are moved between them.
    let others: Vec<Outcome> = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..3).map(|_| scope.spawn(|| outcome(&scenario))).collect();
        runs.into_iter().map(|run| run.join().expect("a run")).collect()
    });
    for other in others {
        assert_eq!(format!("{other:?}"), format!("{first:?}"));
    }
    let flow = &first.flows[0];
    assert!((9.0..11.59).contains(&flow.goodput_mbps), "{flow:?}");
    assert!(flow.rtt_ms.p50 > 100.0 && flow.rtt_ms.max < 400.0, "{flow:?}");
    // Another seed gives other sequence numbers, which the digest covers.
    let mut other = scenario;
    other.seed = 2;
    assert_ne!(outcome(&other).digest, first.digest);
}

#[test]
fn marks_reach_the_hosts() {
    let Some(built) = guest() else { return };
    let scenario = scenario(&built, "cubic[ecn=true]+codel[ecn=true]", 6);
    let outcome = outcome(&scenario);
    assert!(outcome.links[0].marks > 0, "{outcome:?}");
    // The hosts reduce their windows at marks, so no packet is dropped, and few wait.
    assert_eq!((outcome.links[0].drops, outcome.flows[0].sender.retransmits), (0, 0));
    assert!(outcome.links[0].queue_delay_ms.p50 < 60.0, "{outcome:?}");
    assert!(outcome.links[0].utilization > 0.6, "{outcome:?}");
}

#[test]
fn a_transfer_ends_and_a_flow_starts_late() {
    let Some(built) = guest() else { return };
    let mut scenario = scenario(&built, "reno", 5);
    scenario.flows[0].workload = Workload::Bytes(300_000);
    scenario.flows[0].name = "transfer".into();
    let mut late = flow(&built, "bbr[qdisc=fq]");
    (late.name, late.start, late.stop) =
        ("late".into(), Span::from_secs(3), Some(Span::from_secs(4)));
    scenario.flows.push(late);
    let outcome = outcome(&scenario);
    let bytes = |at: usize| outcome.flows[at].goodput_mbps * 5.0 / 8.0 * 1e6;
    // 200 packets of 1500 bytes with 52 bytes of headers each.
    assert!((bytes(0) - 289_600.0).abs() < 1.0, "{outcome:?}");
    assert!((100_000.0..1_600_000.0).contains(&bytes(1)), "{outcome:?}");
    assert!(outcome.flows[1].rtt_ms.p50 >= 100.0, "{outcome:?}");
}

/// Messages of 200 bytes each leave at once, as from the simulator's sender (`TCP_NODELAY`): with Nagle's algorithm,
/// 58 packets leave in place of 375.
#[test]
fn small_messages_leave_at_once() {
    let Some(built) = guest() else { return };
    let mut scenario = scenario(&built, "cubic", 3);
    scenario.flows[0].workload = Workload::Limited { rate: Rate::from_bps(200_000), message: 200 };
    let outcome = outcome(&scenario);
    // 125 messages per second for almost 3 s.
    let sent = outcome.flows[0].since_start.sent;
    assert!((300..450).contains(&sent), "{sent}");
}

#[test]
fn flows_of_one_host_share_its_device() {
    let Some(built) = guest() else { return };
    let run_of = |hosts: [&str; 2]| {
        let mut scenario = scenario(&built, &format!("cubic[qdisc=fq{}]", hosts[0]), 6);
        scenario.flows[0].stop = Some(Span::from_secs(5));
        let mut second = flow(&built, &format!("cubic[qdisc=fq{}]", hosts[1]));
        (second.name, second.start) = ("second".into(), Span::from_secs(1));
        second.path = vec!["link".into()];
        scenario.flows.push(second);
        outcome(&scenario)
    };
    let shared = run_of([",host=phone", ",host=phone"]);
    let apart = run_of(["", ""]);
    // The hosts have other sequence numbers, and a device of their own.
    assert_ne!(shared.digest, apart.digest);
    assert_eq!(shared.digest, run_of([",host=phone", ",host=phone"]).digest);
    for outcome in [&shared, &apart] {
        let [first, second] = [&outcome.flows[0], &outcome.flows[1]];
        assert!((2.0..11.0).contains(&first.goodput_mbps), "{outcome:?}");
        assert!((1.0..11.0).contains(&second.goodput_mbps), "{outcome:?}");
        assert!(first.goodput_mbps + second.goodput_mbps > 8.0, "{outcome:?}");
        assert!(first.rtt_ms.p50 > 100.0 && second.rtt_ms.p50 > 100.0, "{outcome:?}");
        assert!(first.sender.sent > 300 && second.sender.sent > 300, "{outcome:?}");
    }
}

#[test]
fn a_host_has_flows_with_different_schemes_and_one_setting() {
    let Some(built) = guest() else { return };
    let mut scenario = scenario(&built, "cubic[host=server,qdisc=fq]", 3);
    let mut others = flow(&built, "reno[host=server]");
    (others.name, others.count, others.workload) = ("r".into(), 3, Workload::Bytes(150_000));
    scenario.flows.push(others);
    let result = outcome(&scenario);
    for flow in &result.flows[1..] {
        assert_eq!(flow.transfers, 1, "{flow:?}");
    }
    scenario.flows[1].count = 16;
    let error = run(&scenario).expect_err("17 flows").to_string();
    assert!(error.contains("17 flows"), "{error}");
    scenario.flows[1] = flow(&built, "reno[host=server,qdisc=fq_codel]");
    let error = run(&scenario).expect_err("two disciplines").to_string();
    assert!(error.contains("different values of qdisc: fq and fq_codel"), "{error}");
}

/// Requests of 100 kB over a link that is otherwise idle take about as long as with our own ends.
#[test]
fn requests_have_completion_times() {
    let Some(built) = guest() else { return };
    for fresh in [false, true] {
        let workload = Workload::OnOff {
            on: On::Bytes(Amount::Fixed(100_000.0)),
            off: Amount::Exponential(0.2),
            starts_off: true,
            fresh,
        };
        let run_of = |scheme: Option<FlowSpec>| {
            let mut scenario = scenario(&built, "reno", 10);
            if let Some(flow) = scheme {
                scenario.flows[0] = flow;
            }
            scenario.flows[0].workload = workload.clone();
            outcome(&scenario).flows.remove(0)
        };
        let linux = run_of(None);
        let ours = run_of(Some(FlowSpec::bulk(
            SchemeSpec::parse("newreno").expect("a scheme"),
            &["link"],
        )));
        let median = |flow: &FlowOutcome| flow.completion_ms.as_ref().expect("transfers").p50;
        let (theirs, own) = (median(&linux), median(&ours));
        assert!(linux.transfers >= 5 && linux.transfers.abs_diff(ours.transfers) <= 4, "{linux:?}");
        let shown = format!("fresh {fresh}: Linux {theirs} ms, ours {own} ms");
        assert!((theirs - own).abs() < 0.3 * own, "{shown}");
    }
}

#[test]
fn what_a_guest_cannot_do_is_an_error() {
    let Some(built) = guest() else { return };
    let error = |scenario: &Scenario| run(scenario).expect_err("no run").to_string();
    let unknown = error(&scenario(&built, "cubci", 1));
    assert!(unknown.contains("no congestion control `cubci`"), "{unknown}");
    let qdisc = error(&scenario(&built, "cubic[qdisc=none-such]", 1));
    assert!(qdisc.contains("reports") && qdisc.contains("qdisc"), "{qdisc}");
    let mut small = scenario(&built, "cubic", 1);
    small.mss = 100;
    assert!(error(&small).contains("128"), "{}", error(&small));
}
