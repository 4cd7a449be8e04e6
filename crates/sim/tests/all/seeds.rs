//! The seed of a run affects everything random, and each part draws different numbers.

use paceline_cc::{Rate, Span};
use paceline_path::{BufferSize, Loss};
use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, Scenario, check_scheme};
use paceline_sim::{Outcome, run};

/// Queues that draw random numbers.
const RANDOM: [&str; 5] = ["pie", "pie-mahimahi", "red", "dualpi2", "abc_dual[weights=zombie]"];

fn ran(scenario: &Scenario) -> Outcome {
    run(scenario).expect("a legal scenario")
}

/// Links with the same queue, each used by equal flows and by no others.
fn links(queue: &str, count: usize) -> Scenario {
    let mut scenario = Scenario::new("seeds");
    scenario.duration = Span::from_secs(20);
    for number in 0..count {
        let name = format!("link-{number}");
        let mut link = LinkSpec::new(&name, Capacity::Constant(Rate::from_mbps(12.0)));
        link.buffer = BufferSize::Packets(100);
        scenario.links.push(link);
        // Zombie lists matter only if a list has packets of several flows.
        let schemes: &[&str] = match queue.starts_with("abc_dual") {
            true => &["abc", "cubic", "newreno"],
            false => &["cubic", "newreno"],
        };
        for scheme in schemes {
            let scheme = check_scheme(&format!("{scheme}+{queue}")).expect("a scheme");
            let mut flow = FlowSpec::bulk(scheme, &[&name]);
            flow.rtt = Span::from_millis(50);
            flow.name = format!("{scheme} over {name}", scheme = flow.scheme.name());
            scenario.flows.push(flow);
        }
    }
    scenario
}

#[test]
fn the_seed_of_the_run_reaches_every_random_queue() {
    for queue in RANDOM {
        let digest = |seed| {
            let queue = queue.replace("zombie", "zombie,list=20,gain=0.01");
            ran(&links(&queue, 1).with(|scenario| scenario.seed = seed)).digest
        };
        assert_eq!(digest(1), digest(1), "{queue}");
        assert_ne!(digest(1), digest(2), "{queue}");
    }
}

#[test]
fn queues_of_two_links_draw_different_numbers() {
    for queue in ["pie", "pie-mahimahi", "red", "dualpi2"] {
        let outcome = ran(&links(queue, 2));
        let link = |at: usize| {
            let link = &outcome.links[at];
            (link.drops, link.marks, link.queue_delay_ms.mean.to_bits())
        };
        assert!(outcome.links[0].drops > 0, "{queue}");
        assert_ne!(link(0), link(1), "{queue}");
    }
}

#[test]
fn no_queue_has_a_seed_of_its_own() {
    for queue in RANDOM {
        let name = queue.split('[').next().expect("a name");
        let error = check_scheme(&format!("cubic+{name}[seed=2]")).expect_err("no parameter");
        assert!(error.to_string().contains("has no parameter `seed`"), "{error}");
    }
}

/// One flow over a queue that draws no random numbers; several flows, whose hosts draw some.
#[test]
fn a_run_says_whether_its_seed_decides_anything() {
    let one = |queue: &str, count: u32| {
        let mut scenario = Scenario::new("seeds");
        scenario.duration = Span::from_secs(10);
        scenario.links.push(LinkSpec::new("link", Capacity::Constant(Rate::from_mbps(12.0))));
        let scheme = check_scheme(&format!("cubic+{queue}")).expect("a scheme");
        let flow = FlowSpec::bulk(scheme, &["link"]);
        scenario.flows.push(flow.with(|flow| flow.count = count));
        scenario
    };
    let digests = |scenario: &Scenario| {
        [1, 2].map(|seed| ran(&scenario.clone().with(|scenario| scenario.seed = seed)).digest)
    };
    for (queue, count, used) in [("droptail", 1, false), ("pie", 1, true), ("droptail", 2, true)] {
        let scenario = one(queue, count);
        assert_eq!(ran(&scenario).seed_used, used, "{queue}, {count} flows");
        let [first, second] = digests(&scenario);
        assert_eq!(first != second, used, "{queue}, {count} flows");
    }
    let lockstep = one("droptail", 2).with(|scenario| scenario.host_jitter = Some(Span::ZERO));
    assert!(!ran(&lockstep).seed_used);
    let [first, second] = digests(&lockstep);
    assert_eq!(first, second);
}

/// Two flows of one name, each over a link of its own, lose and delay different packets, and do not
/// begin together.
#[test]
fn flows_of_one_name_draw_different_numbers() {
    let flows = |name: [&str; 2]| {
        let mut scenario = links("droptail", 2);
        // The two flows then differ only in what they lose.
        scenario.host_jitter = Some(Span::ZERO);
        scenario.flows.retain(|flow| flow.scheme.name() == "cubic");
        for (flow, name) in scenario.flows.iter_mut().zip(name) {
            flow.name = name.to_string();
            flow.data.impairments.loss = Loss::Bernoulli(0.01);
        }
        ran(&scenario).flows
    };
    let same = flows(["cubic", "cubic"]);
    assert_ne!(same[0].sender, same[1].sender);
    assert_ne!(same[0].rtt_ms.mean, same[1].rtt_ms.mean);
    // A name that no other flow has gives the draws that it gives alone.
    assert_eq!(same[0].sender, flows(["cubic", "other"])[0].sender);

    let without_loss = |name: [&str; 2]| {
        let mut scenario = links("droptail", 2);
        scenario.flows.retain(|flow| flow.scheme.name() == "cubic");
        for (flow, name) in scenario.flows.iter_mut().zip(name) {
            flow.name = name.to_string();
            flow.path = vec!["link-0".into()];
        }
        ran(&scenario).flows.iter().map(|flow| flow.goodput_mbps).collect::<Vec<_>>()
    };
    let shares = without_loss(["cubic", "cubic"]);
    assert_ne!(shares[0], shares[1], "both begin in one nanosecond");
}
