//! The papers' figures beside ours: factors, ratios of the opposite sense, and figures that two
//! claims compare with one measure.

use std::collections::BTreeSet;

use crate::judged::{CheckResult, ClaimResult};

/// A figure of a paper beside the measured one.
pub(crate) struct FigurePair<'a> {
    pub(crate) claim: &'a ClaimResult,
    pub(crate) check: &'a CheckResult,
    pub(crate) paper: f64,
    pub(crate) here: f64,
}

impl FigurePair<'_> {
    /// Returns the factor between the two figures, 1 or more; infinite if their signs differ.
    pub(crate) fn factor(&self) -> f64 {
        let ratio = self.here / self.paper;
        if ratio > 0.0 { ratio.max(1.0 / ratio) } else { f64::INFINITY }
    }

    /// Returns whether it is within the tolerance, although its ratio lies on the other side of 1.
    pub(crate) fn is_opposite(&self) -> bool {
        self.check.is_opposite()
    }

    /// Returns the experiment and the measure, with a ratio's two parts in the order of their
    /// letters: `a/b.delay` and `b/a.delay` are one quantity.
    fn quantity(&self) -> (&str, String) {
        let name = self.check.measure_names.join(" ");
        let (head, rest) = name.split_once('.').unwrap_or((&name, ""));
        let head = match head.split_once('/') {
            Some((of, over)) if of > over => format!("{over}/{of}"),
            _ => head.to_string(),
        };
        (&self.claim.experiment, format!("{head}.{rest}"))
    }
}

/// Returns the figures of the papers that present checks compare with a tolerance, beside the median
/// here.
pub(crate) fn figures(claims: &[ClaimResult]) -> Vec<FigurePair<'_>> {
    let all = claims.iter().flat_map(|claim| claim.checks.iter().map(move |check| (claim, check)));
    let pairs =
        all.filter(|(claim, _)| claim.unmeasured.is_empty()).filter_map(|(claim, check)| {
            let (paper, here) = check.figure()?;
            Some(FigurePair { claim, check, paper, here })
        });
    pairs.collect()
}

/// Returns the number of measures that the figures compare: a measure of one run that two claims
/// compare with two figures counts once.
pub(crate) fn measures(figures: &[FigurePair<'_>]) -> usize {
    figures.iter().map(FigurePair::quantity).collect::<BTreeSet<_>>().len()
}

impl CheckResult {
    /// Returns the figure that the paper prints, and the median here; `None` for a bound, an order, a
    /// figure with another source, and a check that was withdrawn.
    pub(crate) fn figure(&self) -> Option<(f64, f64)> {
        let bound = self.now.as_ref().filter(|_| self.source.is_empty())?;
        // Only a figure has a tolerance and is a number; a bound is words, and an order has none.
        let paper = bound.expected.parse().ok().filter(|_| !bound.tolerance.is_empty())?;
        let here = bound.over_runs.map(|over| over.median);
        Some((paper, here.or_else(|| bound.measured.parse().ok())?))
    }

    /// Returns whether it holds with the opposite sense: a ratio ("A over B") is above 1 in the paper
    /// and below 1 here, or the reverse.
    pub fn is_opposite(&self) -> bool {
        let is_ratio = self.what.contains(" over ");
        let differs = |(paper, here): (f64, f64)| (paper - 1.0) * (here - 1.0) < 0.0;
        is_ratio && self.shown().holds && self.figure().is_some_and(differs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::parse;
    use crate::findings::Findings;
    use crate::judged::judge;
    use crate::verdict::Limits;

    /// Returns a claim with checks of measures `a/b.x`, `b/a.x` and `c`, with their values.
    fn judged(ab: f64, ba: f64, c: f64) -> ClaimResult {
        let text = "[[claim]]\nid='X1'\npaper='P'\nplace='1'\ntitle='t'\nquote='q'\nsetup='s'\n\
                    experiment='e'\nchecks=[\n\
                    {what='a over b',measure='a/b.x',expected=0.9,within=0.2,why='w'},\n\
                    {what='b over a',measure='b/a.x',expected=1.1,within=0.2,why='w'},\n\
                    {what='seconds',measure='c',expected=0.9,within=0.2,why='w'}]";
        let claim = &parse("x", text).expect("a claim")[0];
        let mut findings = Findings::default();
        findings.measure("a/b.x", ab);
        findings.measure("b/a.x", ba);
        findings.measure("c", c);
        judge(claim, &findings, &[], Limits::default())
    }

    #[test]
    fn a_ratio_on_the_other_side_of_one_has_the_opposite_sense() {
        let opposite = |claim: &ClaimResult| -> Vec<bool> {
            claim.checks.iter().map(CheckResult::is_opposite).collect()
        };
        assert_eq!(opposite(&judged(1.05, 0.95, 1.05)), [true, true, false]);
        assert_eq!(opposite(&judged(0.95, 1.05, 0.95)), [false, false, false]);
        // Out of the tolerance it does not hold, which says more.
        assert_eq!(opposite(&judged(1.5, 0.5, 1.5)), [false, false, false]);
    }

    #[test]
    fn a_ratio_and_its_reciprocal_are_one_measure() {
        let claims = [judged(0.9, 1.1, 0.9)];
        let figures = figures(&claims);
        assert_eq!((figures.len(), measures(&figures)), (3, 2));
    }
}
