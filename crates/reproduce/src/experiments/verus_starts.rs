//! Frequency of bursts by Verus' curve on Verizon's EV-DO downlink, by the offset in the recording
//! at which its flow starts.

use paceline_cc::Span;

use super::common::{c2tcp_emulation, range};
use crate::findings::Findings;
use crate::setting::Setting;
use paceline_tasks::Results;
use paceline_tasks::Task;

/// Indices of Verizon's EV-DO downlink, and of the uplink that carries its acknowledgements, among
/// the ten recordings.
const EVDO: (usize, usize) = (8, 9);
const STARTS: u64 = 30;
/// Seconds between two start offsets.
const APART: u64 = 10;
/// Mean delay in milliseconds that only a run with a burst exceeds.
const BURST_MS: f64 = 1000.0;

fn name(start: u64) -> String {
    format!("verus on Verizon's EV-DO downlink from {} s on", APART * start)
}

pub(super) fn plan(setting: &Setting) -> Result<Vec<Task>, String> {
    if setting.quick {
        return Ok(Vec::new());
    }
    let all = setting.c2tcp_traces()?;
    let (down, up) = (&all[EVDO.0], &all[EVDO.1]);
    let task = |start| {
        let mut scenario = c2tcp_emulation("verus", down, up, down.trace.period())?.scenario();
        scenario.flows[0].start = Span::from_secs(APART * start);
        Ok(Task::scenario(name(start), scenario))
    };
    (0..STARTS).map(task).collect()
}

pub(super) fn find(results: &Results, findings: &mut Findings) {
    let delay = |start| results.get(&name(start)).number("link.link.delay.mean");
    let delays: Vec<f64> = (0..STARTS).map(delay).filter(|delay| delay.is_finite()).collect();
    range(findings, "verus.evdo.mean", &delays);
    let bursts = delays.iter().filter(|delay| **delay > BURST_MS).count() as f64;
    let share = if delays.is_empty() { f64::NAN } else { bursts / delays.len() as f64 };
    findings.measure("verus.evdo.bursts", share);
}
