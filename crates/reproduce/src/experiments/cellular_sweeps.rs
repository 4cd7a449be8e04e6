//! Settings of other schemes on cellular links that the ABC paper does not state: Sprout's RTT and
//! look-ahead, and Verus' r.

use paceline_cc::Span;
use paceline_sim::scenario::Capacity;

use super::common::{abc_emulation, mean, on};
use crate::findings::Findings;
use crate::setting::{Cellular, Setting};
use paceline_tasks::Results;
use paceline_tasks::Task;

/// A value of the setting: name of its row, scheme, RTT in milliseconds.
type SweptCell = (&'static str, &'static str, u64);

const SPROUT_RTT: [SweptCell; 5] = [
    ("20 ms", "sprout", 20),
    ("40 ms", "sprout", 40),
    ("60 ms", "sprout", 60),
    ("80 ms", "sprout", 80),
    ("100 ms", "sprout", 100),
];
const SPROUT_LOOKAHEAD: [SweptCell; 3] = [
    ("100 ms", "sprout", 100),
    ("120 ms", "sprout[lookahead=6]", 100),
    ("140 ms", "sprout[lookahead=7]", 100),
];
const VERUS_R: [SweptCell; 4] = [
    ("2", "verus[r=2]", 100),
    ("3", "verus[r=3]", 100),
    ("4", "verus[r=4]", 100),
    ("6", "verus", 100),
];

/// The sweeps: prefix of measures, title, first heading, caption and rows.
const SWEEPS: [(&str, &str, &str, &str, &[SweptCell]); 3] = [
    (
        "sprout.rtt",
        "Sprout by RTT",
        "RTT",
        "Sprout over the eight traces, ABC at an RTT of 100 ms beside it. The paper has 0.55 of \
         ABC's utilisation at 1.08 of its delay, by an RTT of 100 ms.",
        &SPROUT_RTT,
    ),
    (
        "sprout.lookahead",
        "Sprout by look-ahead",
        "look-ahead",
        "Sprout over the eight traces at an RTT of 100 ms, by the time within which its packets \
         are to clear the queue; its authors' program has 100 ms. The paper: 0.55 and 1.08.",
        &SPROUT_LOOKAHEAD,
    ),
    (
        "verus.r",
        "Verus by r",
        "r",
        "Verus over the eight traces at an RTT of 100 ms, by the largest delay over the smallest \
         that it aims at; its authors' program has been published with 2 and with 6, its paper \
         tries 2, 4 and 6. The ABC paper has 0.72 and 2.01, and does not tell r.",
        &VERUS_R,
    ),
];

fn name(row: &SweptCell, cellular: &Cellular) -> String {
    // Tasks of runs with the default setting are the experiment's own.
    match row {
        (_, "sprout" | "verus", 100) => on(row.1, &cellular.name),
        _ => format!("{} at {} ms", on(row.1, &cellular.name), row.2),
    }
}

pub(super) fn plan(setting: &Setting, length: Span, quick: usize) -> Result<Vec<Task>, String> {
    let mut tasks = Vec::new();
    let all = setting.abc_traces()?;
    for (at, cellular) in setting.some(all.clone(), quick).into_iter().enumerate() {
        let rows = SWEEPS.iter().flat_map(|sweep| sweep.4);
        for row in rows.filter(|row| !matches!(row, (_, "sprout" | "verus", 100))) {
            let mut comparison = abc_emulation(row.1, &cellular, length)?;
            comparison.rtt = Span::from_millis(row.2);
            comparison.reverse = Some(Capacity::trace(all[at ^ 1].trace.clone()));
            tasks.push(Task::scenario(name(row, &cellular), comparison.scenario()));
        }
    }
    Ok(tasks)
}

pub(super) fn find(
    setting: &Setting,
    results: &Results,
    quick: usize,
    findings: &mut Findings,
) -> Result<(), String> {
    let traces = setting.some(setting.abc_traces()?, quick);
    for (key, title, head, caption, rows) in SWEEPS {
        let mut table = Vec::new();
        for row in rows {
            let over = |figure: &str| {
                let of = |cellular| results.get(&name(row, cellular)).number(figure);
                mean(traces.iter().map(of))
            };
            let used = over("link.link.utilization");
            let relative = used / findings.get("abc.utilization");
            let queueing = over("link.link.delay.p95");
            let delay = queueing / findings.get("abc.p95");
            let with_rtt = (queueing + row.2 as f64) / findings.get("abc.p95_rtt");
            for (part, value) in [("utilization", relative), ("p95", delay), ("p95_rtt", with_rtt)]
            {
                findings.measure(format!("{key}.{}.{part}", row.0), value);
            }
            table.push(vec![
                row.0.to_string(),
                format!("{used:.3}"),
                format!("{relative:.2}"),
                format!("{delay:.2}"),
                format!("{with_rtt:.2}"),
            ]);
        }
        let columns =
            [head, "utilisation", "over ABC's", "p95 of queueing over ABC's", "with propagation"];
        findings.sweep(title, caption, &columns, table);
    }
    Ok(())
}
