//! Runs, checks, and verdicts.

use serde::Serialize;

use super::bound::{Bound, mean, prediction};

/// The figures of each run, in the order of the checks.
pub(crate) type Observations = Vec<Vec<f64>>;

/// A scheme that Paceline runs in place of a peer's.
#[derive(Clone, Debug)]
pub struct OwnScheme {
    /// The scheme and its queue.
    pub scheme: String,
    /// For a variant: the property of the peer that it copies. `None` for the default, whose
    /// verdict counts.
    pub why: Option<&'static str>,
}

impl OwnScheme {
    pub(crate) fn default(scheme: &str) -> OwnScheme {
        OwnScheme { scheme: scheme.into(), why: None }
    }

    pub(crate) fn variant(scheme: &str, why: &'static str) -> OwnScheme {
        OwnScheme { scheme: scheme.into(), why: Some(why) }
    }
}

/// A figure of a peer, and the allowed distance of Paceline's figure.
#[derive(Clone, Debug)]
pub struct Check {
    pub(crate) figure: &'static str,
    pub(crate) expected: f64,
    pub(crate) bound: Bound,
}

impl Check {
    pub(crate) fn new(figure: &'static str, expected: f64, bound: Bound) -> Check {
        Check { figure, expected, bound }
    }
}

/// One of Paceline's schemes for one run of a peer. Cases are independent of each other.
pub struct Case<'a> {
    /// Source of the figures.
    pub peer: &'static str,
    /// The peer's run. The cases of one group are neighbours: a default, then its variants.
    pub group: String,
    /// Scheme of Paceline.
    pub ours: OwnScheme,
    /// Figures to compare.
    pub checks: Vec<Check>,
    pub(crate) run: Box<dyn Fn() -> Result<Observations, String> + Send + Sync + 'a>,
}

/// One figure of Paceline beside a peer's.
#[derive(Clone, Debug, Serialize)]
pub struct ComparedFigure {
    /// Source of the expected figure.
    pub peer: String,
    /// The peer's run.
    pub group: String,
    /// Scheme of Paceline.
    pub scheme: String,
    /// Whether this is a variant, whose verdict is not counted.
    pub variant: bool,
    /// Name of the figure.
    pub figure: String,
    /// The expected figure.
    pub expected: f64,
    /// Paceline's figure: the mean of several runs. `None` if it could not be measured.
    pub measured: Option<f64>,
    /// Interval in which one further run lies with probability 95 %, if there were several runs.
    pub interval: Option<[f64; 2]>,
    /// Allowed distance, in words.
    #[serde(rename = "tolerance")]
    pub bound: String,
    /// Whether the bound differs from the one stated before the first run.
    pub changed: bool,
    /// Whether the figures agree by the bound stated before the first run.
    pub agrees_as_stated: Option<bool>,
    /// Whether the figures agree by the bound in force.
    pub agrees: Option<bool>,
    /// Reason why they do not agree, or why Paceline's could not be measured.
    pub reason: String,
}

/// Result of a check.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The figures agree within the bound.
    Agrees,
    /// The distance exceeds the bound, but the peer's figure is within the interval of one further
    /// run.
    Spread,
    /// The distance exceeds the bound, but a variant that copies the peer agrees, or has the peer's
    /// figure in its interval.
    Explained,
    /// The distance exceeds the bound, and no variant explains it.
    Differs,
    /// The figure was not measured.
    Unmeasured,
}

impl Verdict {
    /// Returns the verdict in words.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Agrees => "agrees",
            Verdict::Spread => "differs, within the spread",
            Verdict::Explained => "differs, explained",
            Verdict::Differs => "differs",
            Verdict::Unmeasured => "not measured",
        }
    }
}

impl ComparedFigure {
    /// Returns the verdict by the bound in force.
    pub fn verdict(&self) -> Verdict {
        let inside = |[low, high]: [f64; 2]| (low..=high).contains(&self.expected);
        match self.agrees {
            None => Verdict::Unmeasured,
            Some(true) => Verdict::Agrees,
            Some(false) if self.interval.is_some_and(inside) => Verdict::Spread,
            Some(false) if !self.reason.is_empty() => Verdict::Explained,
            Some(false) => Verdict::Differs,
        }
    }
}

impl Case<'_> {
    /// Returns the rows before the measurement: names, expected figures and bounds.
    pub fn plan(&self) -> Vec<ComparedFigure> {
        let row = |check: &Check| ComparedFigure {
            peer: self.peer.into(),
            group: self.group.clone(),
            scheme: self.ours.scheme.clone(),
            variant: self.ours.why.is_some(),
            figure: check.figure.into(),
            expected: check.expected,
            measured: None,
            interval: None,
            bound: check.bound.words(),
            changed: check.bound.changed.is_some(),
            agrees_as_stated: None,
            agrees: None,
            reason: String::new(),
        };
        self.checks.iter().map(row).collect()
    }

    /// Runs the case, and compares the measured figures with the expected ones.
    pub fn measure(&self) -> Vec<ComparedFigure> {
        let mut rows = self.plan();
        match (self.run)() {
            Err(reason) => rows.iter_mut().for_each(|row| row.reason.clone_from(&reason)),
            Ok(runs) => {
                for (place, (row, check)) in rows.iter_mut().zip(&self.checks).enumerate() {
                    let figures: Vec<f64> =
                        runs.iter().filter_map(|run| run.get(place).copied()).collect();
                    let ours = mean(&figures);
                    row.measured = Some(ours);
                    row.interval = prediction(&figures);
                    row.agrees_as_stated = Some(check.bound.stated.holds(check.expected, ours));
                    row.agrees = Some(check.bound.today().holds(check.expected, ours));
                }
            }
        }
        rows
    }
}

/// Adds the reason to each difference of a default that a variant of its group explains.
pub fn explain(cases: &[Case<'_>], rows: &mut [ComparedFigure]) {
    let why = |row: &ComparedFigure| {
        let of = |case: &&Case<'_>| case.group == row.group && case.peer == row.peer;
        cases.iter().filter(of).find(|case| case.ours.scheme == row.scheme)?.ours.why
    };
    let agreeing: Vec<(ComparedFigure, &str)> = rows
        .iter()
        .filter(|row| row.variant)
        .filter(|row| matches!(row.verdict(), Verdict::Agrees | Verdict::Spread))
        .filter_map(|row| Some((row.clone(), why(row)?)))
        .collect();
    for row in rows.iter_mut().filter(|row| !row.variant && row.agrees == Some(false)) {
        let same = |other: &&(ComparedFigure, &str)| {
            let other = &other.0;
            other.peer == row.peer && other.group == row.group && other.figure == row.figure
        };
        if let Some((variant, why)) = agreeing.iter().find(same) {
            let how = match variant.verdict() {
                Verdict::Agrees => "agrees",
                _ => "has the peer's figure within the spread of its runs",
            };
            row.reason = format!("{} {how}: {why}", variant.scheme);
        }
    }
}

/// Number of checks of defaults, by their results.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Checks of defaults.
    pub checks: usize,
    /// Checks that agree by the bounds stated before their first run.
    pub agree_as_stated: usize,
    /// Checks that agree by the bounds in force.
    pub agree: usize,
    /// Other checks: the peer's figure is within the interval of one further run.
    pub within_spread: usize,
    /// Other checks: a variant that copies the peer agrees, or has the peer's figure in its
    /// interval.
    pub explained: usize,
    /// Other checks that were measured.
    pub differ: usize,
    /// Checks that were not measured.
    pub unmeasured: usize,
}

impl Counts {
    /// Counts the rows of defaults, by their results.
    pub fn of(rows: &[ComparedFigure]) -> Counts {
        let mut counts = Counts::default();
        for row in rows.iter().filter(|row| !row.variant) {
            counts.checks += 1;
            counts.agree_as_stated += usize::from(row.agrees_as_stated == Some(true));
            let count = match row.verdict() {
                Verdict::Agrees => &mut counts.agree,
                Verdict::Spread => &mut counts.within_spread,
                Verdict::Explained => &mut counts.explained,
                Verdict::Differs => &mut counts.differ,
                Verdict::Unmeasured => &mut counts.unmeasured,
            };
            *count += 1;
        }
        counts
    }

    /// Returns the counts as one or two sentences.
    pub fn words(&self) -> String {
        let Counts { checks, agree_as_stated, agree, within_spread, explained, differ, unmeasured } =
            self;
        format!(
            "Of {checks} checks of schemes with their defaults, {agree_as_stated} agree by the \
             bounds that we stated before their first run, and {agree} by the present bounds. Of \
             the other checks, in {within_spread} the peer's figure lies within the spread of our \
             runs; in {explained} a variant that copies the peer agrees, or has the peer's figure \
             within its spread; {differ} differ without such an explanation; {unmeasured} were \
             not measured."
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::bound::Tolerance;
    use super::*;

    fn case(ours: OwnScheme, runs: &'static [f64]) -> Case<'static> {
        let stated = Tolerance::Either(0.1, 2.0);
        let bound = Bound { stated, changed: Some(Tolerance::Within(0.5)) };
        Case {
            peer: "peer",
            group: "run".into(),
            ours,
            checks: vec![Check::new("delay", 10.0, bound)],
            run: Box::new(move || match runs {
                [] => Err("no trace".into()),
                runs => Ok(runs.iter().map(|figure| vec![*figure]).collect()),
            }),
        }
    }

    fn verdicts(cases: &[Case<'_>]) -> (Vec<ComparedFigure>, Vec<Verdict>) {
        let mut rows: Vec<ComparedFigure> = cases.iter().flat_map(Case::measure).collect();
        explain(cases, &mut rows);
        let verdicts = rows.iter().map(ComparedFigure::verdict).collect();
        (rows, verdicts)
    }

    #[test]
    fn verdicts_follow_from_bounds_spread_and_variants() {
        use Verdict::{Agrees, Differs, Explained, Spread, Unmeasured};
        let ours = || OwnScheme::default("cubic");
        let one = |runs| verdicts(&[case(ours(), runs)]).1;
        assert_eq!(one(&[10.4]), [Agrees]);
        assert_eq!(one(&[11.0]), [Differs]);
        assert_eq!(one(&[10.0, 12.0]), [Differs]);
        assert_eq!(one(&[10.0, 11.0, 12.0]), [Spread]);
        assert_eq!(one(&[10.5, 11.0, 11.5]), [Spread]);
        assert_eq!(one(&[10.9, 11.0, 11.1]), [Differs]);
        assert_eq!(one(&[]), [Unmeasured]);
        assert_eq!(one(&[f64::NAN]), [Differs]);
        let variant = |runs| case(OwnScheme::variant("cubic[c=1]", "a larger c"), runs);
        let (rows, both) = verdicts(&[case(ours(), &[11.0]), variant(&[10.1])]);
        assert_eq!(both, [Explained, Agrees]);
        assert_eq!(rows[0].reason, "cubic[c=1] agrees: a larger c");
        assert_eq!(verdicts(&[case(ours(), &[11.0]), variant(&[12.0])]).1, [Differs, Differs]);
    }

    #[test]
    fn counts_are_of_defaults_by_both_bounds() {
        let variant = OwnScheme::variant("newreno", "another");
        let (rows, _) =
            verdicts(&[case(OwnScheme::default("cubic"), &[11.0]), case(variant, &[10.0])]);
        let counts = Counts::of(&rows);
        // Within 2 as stated, but not within 0.5; the variant is not counted.
        assert_eq!((counts.checks, counts.agree_as_stated, counts.agree), (1, 1, 0));
        assert_eq!((counts.explained, counts.differ), (1, 0));
    }
}
