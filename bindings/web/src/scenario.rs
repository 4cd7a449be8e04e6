//! Whole runs of scenario files, as `paceline run` makes them.

use paceline_cc::Span;
use paceline_sim::Names;
use paceline_sim::runs::Run;
use paceline_sim::scenario::{Record, Scenario};
use serde_json::{Value, json};

/// Longest run of a scenario in the page.
const LONGEST: Span = Span::from_secs(600);
/// Most flows of a scenario in the page, with those that a specification counts.
const MOST_FLOWS: u64 = 1000;

/// Runs a scenario to its end. Returns its digest, the number of packets that reached their
/// receivers, and if `is_page` the page of `paceline run` about it.
pub(crate) fn run(file: &str, text: &str, is_page: bool, names: &Names) -> Result<Value, String> {
    let mut scenario = paceline_sim::scenario::parse_with(file, text, None, names)
        .map_err(|error| error.to_string())?;
    if is_page {
        check_size(&scenario)?;
        scenario.record = Record::Series(Record::BIN);
    }
    let outcome = paceline_sim::run_with(&scenario, names).map_err(|error| error.to_string())?;
    let mut answer =
        json!({ "name": outcome.name, "digest": outcome.digest, "packets": outcome.packets });
    if is_page {
        let (links, flows) = paceline_requests::view::views(&scenario, &outcome);
        let run = Run { number: 1, seed: scenario.seed, start: Span::ZERO };
        let runs = [(run, outcome)];
        let info = paceline_requests::run_page_info(&scenario, &runs);
        answer["page"] = json!(paceline_report::scenario_page(&info, &links, &flows));
    }
    Ok(answer)
}

/// Checks that a page can run a scenario while its reader waits.
fn check_size(scenario: &Scenario) -> Result<(), String> {
    if scenario.duration > LONGEST {
        return Err(format!(
            "this scenario lasts {}, and a page runs at most {LONGEST}: shorten its `duration`, or \
             run it with `paceline run`",
            scenario.duration
        ));
    }
    let flows: u64 = scenario.flows.iter().map(|flow| u64::from(flow.count)).sum();
    if flows > MOST_FLOWS {
        return Err(format!(
            "this scenario has {flows} flows, and a page runs at most {MOST_FLOWS}: run it with \
             `paceline run`"
        ));
    }
    Ok(())
}
