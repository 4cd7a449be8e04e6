//! Mistakes in a NewReno: each is found by a case of the suite, and the correct NewReno passes all
//! cases.

mod newreno;

use std::sync::Arc;

use newreno::{Factory, Mistake};
use paceline_quic_sim::Quinn;
use paceline_quic_sim::suite::{Aim, Measure, Suite, SuiteReport};

/// The mistakes, the case that finds each, and the figure that misses its bound there.
const FOUND: [(Mistake, &str, Measure); 16] = [
    (Mistake::IgnoresLoss, "policer", Measure::LossPercent),
    (Mistake::IgnoresMarks, "ecn", Measure::DelayP95Ms),
    (Mistake::HardlyReduces, "random-loss", Measure::GoodputMbps),
    (Mistake::ReducesTooMuch, "ecn", Measure::Utilisation),
    (Mistake::ReducesForEachLoss, "satellite", Measure::Utilisation),
    (Mistake::NoSlowStart, "startup", Measure::Utilisation),
    (Mistake::ResetsAtMtuChange, "startup", Measure::FirstKb(690)),
    (Mistake::GrowsTooSlowly, "random-loss", Measure::GoodputMbps),
    (Mistake::GrowsByBytes, "random-loss", Measure::GoodputMbps),
    (Mistake::RecoversForTenSeconds, "policer", Measure::LossPercent),
    (Mistake::StartsWithTwoHundred, "first-flight", Measure::FirstKb(90)),
    (Mistake::GrowsUnused, "video-step-down", Measure::LossPercent),
    (Mistake::GrowsByFour, "random-loss", Measure::GoodputMbps),
    (Mistake::IgnoresPersistentCongestion, "blackout", Measure::FirstKb(250)),
    (Mistake::StaysAtTwo, "blackout", Measure::Utilisation),
    (Mistake::HalvesUnused, "bursts", Measure::FirstKb(250)),
];

fn report(mistake: Mistake, suite: &Suite) -> SuiteReport {
    let quinn = Quinn::new(format!("{mistake:?}"), Arc::new(Factory(mistake)));
    suite.run(&quinn.transport().into(), Aim::FillsBuffers).expect("a run")
}

#[test]
fn each_mistake_is_found_by_its_case() {
    let mut missed = Vec::new();
    for (mistake, case, measure) in FOUND {
        let found = report(mistake, &Suite::standard().only(&[case]).runs(1));
        let checks = found.cases.iter().flat_map(|case| &case.checks);
        if !checks.clone().any(|check| check.bound.measure == measure && !check.holds()) {
            missed.push(found.to_string());
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn the_correct_controller_passes_every_case() {
    let found = report(Mistake::None, &Suite::standard().runs(3));
    assert!(found.holds(), "{found}");
}
