//! ABC at a real Linux endpoint, behind the router of ABC's authors.

use super::bound::{Bound, Tolerance};
use super::case::{Case, Check, OwnScheme};
use super::recorded::ValidationFolders;

/// Figures of a real Linux endpoint with the authors' module, behind their router: 50 ms each way,
/// 250 packets, 60 s.
struct Run {
    trace: &'static str,
    checks: &'static [(&'static str, f64, Tolerance)],
}

static RUNS: [Run; 2] = [
    Run {
        trace: "12Mbps",
        checks: &[
            ("utilisation", 0.985, Tolerance::Within(0.04)),
            ("p95 delay, ms", 5.0, Tolerance::Within(1.0)),
        ],
    },
    Run {
        trace: "Verizon-LTE-short.up",
        checks: &[
            ("utilisation", 0.923, Tolerance::Within(0.04)),
            ("mean delay, ms", 31.0, Tolerance::Share(0.2)),
            ("p50 delay, ms", 22.0, Tolerance::Share(0.2)),
            ("p95 delay, ms", 88.0, Tolerance::Share(0.2)),
            ("p99 delay, ms", 184.0, Tolerance::Share(0.2)),
        ],
    },
];

/// Returns a case for each run and each of Paceline's schemes for it.
pub(super) fn cases(folders: ValidationFolders<'_>) -> Vec<Case<'_>> {
    let mut cases = Vec::new();
    for run in &RUNS {
        let variant = "the sender's second window, Cubic's, never limits it there";
        for ours in
            [OwnScheme::default("abc"), OwnScheme::variant("abc[dual_window=false]", variant)]
        {
            let scheme = ours.scheme.clone();
            let check =
                |(figure, expected, bound)| Check::new(figure, expected, Bound::stated(bound));
            cases.push(Case {
                peer: "ABC's authors",
                group: format!("Linux endpoint and router on {}", run.trace),
                ours,
                checks: run.checks.iter().copied().map(check).collect(),
                run: Box::new(move || {
                    let row = folders.alone(run.trace, &scheme, None)?;
                    let delay = row.queue_delay_ms;
                    Ok(vec![match run.trace {
                        "12Mbps" => vec![row.utilization, delay.p95],
                        _ => vec![row.utilization, delay.mean, delay.p50, delay.p95, delay.p99],
                    }])
                }),
            });
        }
    }
    cases
}
