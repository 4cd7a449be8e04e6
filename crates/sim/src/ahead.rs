//! Merges links with the delays after them.

use paceline_path::LookAheadLink;

use crate::nodes::Carrier;
use crate::places::Places;

/// Makes each link that can compute departures ahead take over the delay after it. Then removes the
/// pipes that no route uses any more, because the event loop compares the wake-ups of all carriers
/// twice per packet. `lists` has the carriers of each route.
pub(crate) fn look_ahead(
    carriers: &mut Vec<Carrier>,
    lists: &mut [Vec<usize>],
    places: &mut Places,
) {
    places.links.iter().for_each(|&link| take_delay_over(carriers, lists, link));
    drop_idle_pipes(carriers, lists, places);
}

/// Merges a link with the delay after it, if it can compute departures ahead and all packets have
/// the same delay after it. Each packet then needs one call instead of three.
fn take_delay_over(carriers: &mut [Carrier], lists: &mut [Vec<usize>], link: usize) {
    let mut delays = lists.iter().filter_map(|list| {
        let at = list.iter().position(|&stage| stage == link)?;
        let next = list.get(at + 1).map(|&stage| &carriers[stage]);
        Some(match next {
            Some(Carrier::Pipe(pipe)) if pipe.is_plain() => Some(pipe.delay()),
            _ => None,
        })
    });
    let Some(Some(delay)) = delays.next() else { return };
    if !delays.all(|other| other == Some(delay)) {
        return;
    }
    drop(delays);
    let Carrier::Link(stage) = &carriers[link] else { return };
    let Some(stage) = LookAheadLink::new(stage, delay) else { return };
    carriers[link] = Carrier::LookAhead(Box::new(stage));
    for list in lists {
        if let Some(at) = list.iter().position(|&stage| stage == link) {
            list.remove(at + 1);
        }
    }
}

/// Removes the pipes that are in none of `lists`, and renumbers the carriers in `lists` and
/// `places`.
fn drop_idle_pipes(carriers: &mut Vec<Carrier>, lists: &mut [Vec<usize>], places: &mut Places) {
    let mut passed = vec![false; carriers.len()];
    lists.iter().flatten().for_each(|&stage| passed[stage] = true);
    // New number of each carrier, by its old number.
    let mut new_numbers = Vec::with_capacity(carriers.len());
    let mut kept_carriers = 0;
    carriers.retain(|carrier| {
        let is_kept = passed[new_numbers.len()] || !matches!(carrier, Carrier::Pipe(_));
        new_numbers.push(kept_carriers);
        kept_carriers += usize::from(is_kept);
        is_kept
    });
    let stages = lists.iter_mut().flatten().chain(&mut places.links).chain(&mut places.media);
    stages.for_each(|stage| *stage = new_numbers[*stage]);
}

#[cfg(test)]
mod tests {
    use paceline_cc::{Rate, SchemeSpec};

    use crate::Simulation;
    use crate::scenario::{Capacity, FlowSpec, LinkSpec, Scenario};

    /// Two flows over a link that takes over the delay of their data. The world has the link and
    /// the pipe of the acknowledgements, which hosts delay, and no unused pipe.
    #[test]
    fn a_pipe_without_a_route_is_removed() -> Result<(), Box<dyn std::error::Error>> {
        let mut scenario = Scenario::new("two");
        scenario.links.push(LinkSpec::new("link", Capacity::Constant(Rate::from_mbps(12.0))));
        let mut flow = FlowSpec::bulk(SchemeSpec::parse("cubic")?, &["link"]);
        flow.count = 2;
        scenario.flows.push(flow);
        let simulation = Simulation::new(scenario)?;
        assert_eq!(simulation.world().stages(), (2, 6));
        Ok(())
    }
}
