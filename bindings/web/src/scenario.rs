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

/// Longest time of all runs of a scenario together.
const LONGEST_OF_ALL: Span = Span::from_secs(6000);

/// Runs a scenario to its end: all its runs if `is_page`, and otherwise run 1. Returns the number
/// of runs, the digest of run 1 and the number of packets that reached their receivers in it, and
/// if `is_page` the page of `paceline run` about all.
pub(crate) fn run(file: &str, text: &str, is_page: bool, names: &Names) -> Result<Value, String> {
    let mut scenario = paceline_sim::scenario::parse_with(file, text, None, names)
        .map_err(|error| error.to_string())?;
    if is_page {
        check_size(&scenario)?;
        scenario.record = Record::Series(Record::BIN);
    }
    let make = |run: Run| match paceline_sim::run_with(&run.scenario(&scenario), names) {
        Ok(outcome) => Ok((run, outcome)),
        Err(error) => Err(error.to_string()),
    };
    let made = Run::all(&scenario).take(if is_page { usize::MAX } else { 1 });
    let runs = made.map(make).collect::<Result<Vec<_>, String>>()?;
    let (_, first) = runs.first().ok_or("this scenario has no runs")?;
    let mut answer = json!({
        "name": first.name, "runs": runs.len(), "digest": first.digest, "packets": first.packets,
    });
    if is_page {
        let (links, flows) = match &runs[..] {
            [(_, outcome)] => paceline_requests::view::views(&scenario, outcome),
            _ => paceline_requests::view::views_of_runs(&scenario, &runs),
        };
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
    let count = scenario.runs.count;
    if scenario.duration * u64::from(count) > LONGEST_OF_ALL {
        return Err(format!(
            "this scenario has {count} runs of {}, and those of a page last at most {LONGEST_OF_ALL} \
             together: lower its `runs`, or run it with `paceline run`",
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
