//! Real Linux TCP over recorded traces.

use paceline_cc::Span;

use super::bound::{Bound, Tolerance};
use super::case::{Case, Check, OwnScheme};
use super::recorded::{PathSetup, ValidationFolders};

/// Figures of kernel 6.18 behind Mahimahi: 50 ms each way, 250 packets, 60 s; means of several
/// runs.
struct Run {
    scheme: &'static str,
    trace: &'static str,
    reverse: &'static str,
    runs: u32,
    utilization: f64,
    mean: f64,
    p95: f64,
}

const fn run(
    scheme: &'static str,
    trace: &'static str,
    reverse: &'static str,
    runs: u32,
    [utilization, mean, p95]: [f64; 3],
) -> Run {
    Run { scheme, trace, reverse, runs, utilization, mean, p95 }
}

/// Every row. After the trace comes the capacity of the opposite direction.
#[rustfmt::skip]
static RUNS: [Run; 9] = [
    run("bbr", "Verizon-LTE-short.down", "12Mbps", 4, [0.9596, 279.8356, 684.05]),
    run("cubic", "Verizon-LTE-short.down", "12Mbps", 4, [0.9901, 497.9022, 1352.0]),
    run("cubic+codel", "Verizon-LTE-short.down", "12Mbps", 4, [0.7019, 38.454, 191.0]),
    run("bbr", "Verizon-LTE-short.up", "Verizon-LTE-short.down", 1, [0.954, 261.8266, 744.4]),
    run("cubic", "Verizon-LTE-short.up", "Verizon-LTE-short.down", 1, [0.9888, 383.7021, 940.0]),
    run("cubic+codel", "Verizon-LTE-short.up", "Verizon-LTE-short.down", 1, [0.6458, 28.4269, 125.0]),
    run("bbr", "Verizon-LTE-short.up", "12Mbps", 4, [0.9557, 254.4035, 768.7]),
    run("cubic", "Verizon-LTE-short.up", "12Mbps", 4, [0.9892, 382.6655, 908.5]),
    run("cubic+codel", "Verizon-LTE-short.up", "12Mbps", 4, [0.6582, 27.8794, 109.5]),
];

/// CoDel with the settings of the peer's runs, as in Mahimahi; below, as in RFC 8289.
const CODEL: &str = "cubic+codel[target=50ms,interval=100ms]";

const WHY_CLAIMS: &str = "Linux before 5.1, whose BBR the papers measured, has no allowance for \
                          aggregated acknowledgements; the claims run this one";

fn ours(scheme: &str) -> Vec<OwnScheme> {
    match scheme {
        "cubic+codel" => {}
        "bbr" => {
            return vec![
                OwnScheme::default("bbr"),
                OwnScheme::variant("bbr[aggregation=false]", WHY_CLAIMS),
            ];
        }
        _ => return vec![OwnScheme::default(scheme)],
    }
    vec![
        OwnScheme::default(CODEL),
        OwnScheme::variant(
            "cubic+codel-mahimahi[target=50ms,interval=100ms]",
            "Mahimahi's CoDel delivers the packet that it means to drop, and drops the next",
        ),
        OwnScheme::variant(
            "cubic[hystart=off]+codel-mahimahi[target=50ms,interval=100ms]",
            "its slow start overshoots, as in those real runs whose logs hold over a hundred drops \
             at a full buffer",
        ),
    ]
}

/// Returns a case for each run and each of Paceline's schemes for it.
pub(super) fn cases(folders: ValidationFolders<'_>) -> Vec<Case<'_>> {
    let mut cases = Vec::new();
    for run in &RUNS {
        for ours in ours(run.scheme) {
            let scheme = ours.scheme.clone();
            let way =
                PathSetup { trace: run.trace, reverse: run.reverse, rtt_ms: 100, seconds: 60 };
            let quarter = Bound::stated(Tolerance::Share(0.25));
            let runs = if run.runs == 1 { "1 run".into() } else { format!("{} runs", run.runs) };
            cases.push(Case {
                peer: "Linux 6.18",
                group: format!("{} on {}, {} back, {runs}", run.scheme, run.trace, run.reverse),
                ours,
                checks: vec![
                    Check::new(
                        "utilisation",
                        run.utilization,
                        Bound::stated(Tolerance::Within(0.03)),
                    ),
                    Check::new("mean delay, ms", run.mean, quarter),
                    Check::new("p95 delay, ms", run.p95, quarter),
                ],
                run: Box::new(move || {
                    let row = folders.one_way(&way, &scheme, Span::ZERO, 1)?;
                    let delay = row.queue_delay_ms;
                    Ok(vec![vec![row.utilization, delay.mean, delay.p95]])
                }),
            });
        }
    }
    cases
}
