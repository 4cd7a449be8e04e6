//! XCPw's delay beside ABC's on cellular links, by the start time of the flow.

use paceline_cc::Span;
use paceline_sim::scenario::Capacity;

use super::common::{abc_emulation, mean, on, range};
use crate::findings::Findings;
use crate::setting::{Cellular, Setting};
use paceline_tasks::Results;
use paceline_tasks::Task;

const SCHEMES: [&str; 2] = ["abc", "xcpw"];
/// Start times of flows in milliseconds; `None` for a flow at 0 without a handshake.
const STARTS_MS: [Option<u64>; 11] = [
    None,
    Some(0),
    Some(100),
    Some(200),
    Some(300),
    Some(400),
    Some(500),
    Some(600),
    Some(700),
    Some(800),
    Some(900),
];
/// Index of AT&T's uplink of 2016 among the eight traces.
const OUTAGES: usize = 3;
/// Propagation in ms that is added to delays, as in the claims.
const RTT_MS: f64 = 100.0;

fn name(scheme: &str, start_ms: Option<u64>, cellular: &Cellular) -> String {
    let on = on(scheme, &cellular.name);
    match start_ms {
        // Tasks of runs from 0 on are the experiment's own.
        Some(0) => on,
        Some(start_ms) => format!("{on} from {start_ms} ms on"),
        None => format!("{on} without a handshake"),
    }
}

pub(super) fn plan(setting: &Setting, length: Span, quick: usize) -> Result<Vec<Task>, String> {
    let mut tasks = Vec::new();
    let all = setting.abc_traces()?;
    for (at, cellular) in setting.some(all.clone(), quick).into_iter().enumerate() {
        for scheme in SCHEMES {
            for start_ms in STARTS_MS.into_iter().filter(|start_ms| *start_ms != Some(0)) {
                let mut comparison = abc_emulation(scheme, &cellular, length)?;
                comparison.reverse = Some(Capacity::trace(all[at ^ 1].trace.clone()));
                let mut scenario = comparison.scenario();
                scenario.flows[0].handshake = start_ms.is_some();
                scenario.flows[0].start = Span::from_millis(start_ms.unwrap_or(0));
                tasks.push(Task::scenario(name(scheme, start_ms, &cellular), scenario));
            }
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
    let (mut rows, mut ratios) = (Vec::new(), Vec::new());
    for start_ms in STARTS_MS {
        let p95 = |scheme: &str, cellular: &Cellular| {
            results.get(&name(scheme, start_ms, cellular)).number("link.link.delay.p95")
        };
        let over = |scheme: &str, which: &dyn Fn(usize) -> bool| {
            let chosen = traces.iter().enumerate().filter(|(at, _)| which(*at));
            RTT_MS + mean(chosen.map(|(_, cellular)| p95(scheme, cellular)))
        };
        let ratio = over("xcpw", &|_| true) / over("abc", &|_| true);
        let others = |at: usize| at != OUTAGES;
        let without = over("xcpw", &others) / over("abc", &others);
        if start_ms.is_some() {
            ratios.push(ratio);
        }
        if start_ms == Some(0) {
            findings.measure("xcpw/abc.p95_rtt.seven", without);
        }
        let alone = |scheme| traces.get(OUTAGES).map_or(f64::NAN, |cellular| p95(scheme, cellular));
        rows.push(vec![
            start_ms.map_or("0 ms, no handshake".into(), |start_ms| format!("{start_ms} ms")),
            format!("{ratio:.2}"),
            format!("{without:.2}"),
            format!("{:.0}", alone("xcpw")),
            format!("{:.0}", alone("abc")),
        ]);
    }
    range(findings, "xcpw/abc.p95_rtt.starts", &ratios);
    findings.sweep(
        "XCPw by start",
        "XCPw's 95th-percentile delay over ABC's, with propagation, by when the flow starts: over the \
         eight traces, over the seven without AT&T's uplink of 2016, and on that uplink the queueing \
         delays in ms. The paper has 1.4.",
        &["start", "eight traces", "seven", "uplink: XCPw", "uplink: ABC"],
        rows,
    );
    Ok(())
}
