//! Further runs of a task's scenario: other seeds, other starts within the recordings, and processing
//! times at hosts.

use std::borrow::Cow;

use paceline_cc::Span;
use paceline_sim::runs::Run;
use paceline_sim::scenario::Scenario;

/// Longest processing time of a single flow's hosts in further runs; the first run has none.
/// Mahimahi's shells on a real machine add about as much.
const HOST_JITTER: Span = Span::from_micros(200);

/// Returns the scenario of run `number`, which was planned with the seed `plan_seed`. Run 1 is
/// unchanged. The others differ from it as runs of `paceline compare --runs` do, and in the
/// processing times of a single flow's hosts:
///
/// - a scenario with the default seed, which does not follow its plan's, gets the plan's;
/// - recordings begin up to a second later;
/// - without recordings, the first of several flows begins up to a round trip later, unless the
///   scenario's seed follows its plan's: then its loads are drawn anew already;
/// - a single flow's hosts take up to 0.2 ms per acknowledgement, unless the scenario states their
///   processing times.
pub(crate) fn scenario_of_run(
    scenario: &Scenario,
    number: u32,
    plan_seed: u64,
) -> Cow<'_, Scenario> {
    if number <= 1 {
        return Cow::Borrowed(scenario);
    }
    let follows_plan = scenario.seed != Scenario::new("").seed;
    let seed = if follows_plan { scenario.seed } else { plan_seed };
    let Run { start, .. } = Run::of(scenario, number);
    let mut moved = Run { number, seed, start }.scenario(scenario);
    if follows_plan
        && let (Some(flow), Some(first)) = (moved.flows.first_mut(), scenario.flows.first())
    {
        flow.start = first.start;
    }
    let flows: u32 = scenario.flows.iter().map(|flow| flow.count).sum();
    if flows == 1 && scenario.arrivals.is_empty() {
        moved.host_jitter.get_or_insert(HOST_JITTER);
    }
    Cow::Owned(moved)
}

#[cfg(test)]
mod tests {
    use paceline_cc::Rate;
    use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, check_scheme};

    use super::*;

    fn scenario(capacity: Capacity, flows: usize) -> Scenario {
        let mut scenario = Scenario::new("repeated");
        scenario.links.push(LinkSpec::new("link", capacity));
        let scheme = check_scheme("cubic").expect("a scheme");
        let flow = FlowSpec::bulk(scheme, &["link"]);
        scenario.flows = vec![flow; flows];
        scenario
    }

    fn constant() -> Capacity {
        Capacity::Constant(Rate::from_mbps(12.0))
    }

    #[test]
    fn the_first_run_is_unchanged_and_the_others_differ() {
        let single = scenario(constant(), 1);
        let first = scenario_of_run(&single, 1, 9);
        assert_eq!(format!("{first:?}"), format!("{single:?}"));
        let third = scenario_of_run(&single, 3, 9);
        assert_eq!((third.seed, third.host_jitter), (9, Some(HOST_JITTER)));
        assert!(third.flows[0].start.is_zero());
    }

    #[test]
    fn recordings_begin_later_in_further_runs() {
        let steps = [12.0, 24.0, 6.0].map(Rate::from_mbps);
        let steps = (0u64..).zip(steps).map(|(at, rate)| (Span::from_secs(at), rate)).collect();
        let period = Some(Span::from_secs(3));
        let recorded = scenario(Capacity::Schedule { steps, period }, 1);
        let first = |number| {
            let moved = scenario_of_run(&recorded, number, 9).into_owned();
            match &moved.links[0].capacity {
                Capacity::Schedule { steps, .. } => steps.clone(),
                other => panic!("{other:?}"),
            }
        };
        let others = (2..=8).filter(|number| first(*number) != first(1)).count();
        assert!(others >= 5, "{others} of 7 runs begin elsewhere");
    }

    #[test]
    fn loads_drawn_by_the_plans_seed_keep_their_starts() {
        let mut several = scenario(constant(), 3);
        assert!(!scenario_of_run(&several, 2, 9).flows[0].start.is_zero());
        several.seed = 77;
        let kept = scenario_of_run(&several, 2, 9);
        assert_eq!((kept.seed, kept.flows[0].start, kept.host_jitter), (77, Span::ZERO, None));
    }
}
