//! What is run and checked, and how the verdicts come about.

use serde::Serialize;

use super::bound::{Bound, mean, prediction};

/// The figures of each run, in the order of the checks.
pub(crate) type Observations = Vec<Vec<f64>>;

/// A scheme that runs here for a peer's.
#[derive(Clone, Debug)]
pub struct OwnScheme {
    /// The scheme and its queue.
    pub scheme: String,
    /// For a variant: what of the peer it copies. `None` for the default, whose verdict counts.
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

/// A figure of a peer's, and how near ours must come.
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

/// One scheme here for one run of a peer's. Cases are independent of each other.
pub struct Case<'a> {
    /// Where the figures come from.
    pub peer: &'static str,
    /// The peer's run. Cases of one group stand side by side: a default, then its variants.
    pub group: String,
    /// What runs here.
    pub ours: OwnScheme,
    /// What is checked.
    pub checks: Vec<Check>,
    pub(crate) run: Box<dyn Fn() -> Result<Observations, String> + Send + Sync + 'a>,
}

/// One figure beside a peer's.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Where the expected figure comes from.
    pub peer: String,
    /// The peer's run.
    pub group: String,
    /// What ran here.
    pub scheme: String,
    /// True for a variant, whose verdict is not counted.
    pub variant: bool,
    /// What is measured.
    pub figure: String,
    /// The expected figure.
    pub expected: f64,
    /// Our figure, the mean of several runs; nothing if it could not be measured.
    pub measured: Option<f64>,
    /// Where one further run of ours lies with probability 95 %, if there were several.
    pub interval: Option<[f64; 2]>,
    /// How far they may lie apart, in words.
    #[serde(rename = "tolerance")]
    pub bound: String,
    /// Whether the bound is another than the one stated before the first run.
    pub changed: bool,
    /// Whether they agree by the bound that was stated before the first run.
    pub agrees_as_stated: Option<bool>,
    /// Whether they agree by today's bound.
    pub agrees: Option<bool>,
    /// Why not, or why it could not be measured.
    pub reason: String,
}

/// What became of a check.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Within the bound.
    Agrees,
    /// Beyond the bound, but within what one run of ours may show.
    Spread,
    /// Beyond the bound; a variant that copies the peer is within it, or its spread is.
    Explained,
    /// Beyond the bound.
    Differs,
    /// Not measured.
    Unmeasured,
}

impl Verdict {
    /// In words.
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

impl Row {
    /// The verdict by today's bound.
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
    /// The rows before anything is measured: names, expected figures and bounds.
    pub fn plan(&self) -> Vec<Row> {
        let row = |check: &Check| Row {
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

    /// Runs it, and holds what it measured against the figures expected.
    pub fn measure(&self) -> Vec<Row> {
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

/// Writes the reason of each difference of a default that a variant of its group explains.
pub fn explain(cases: &[Case<'_>], rows: &mut [Row]) {
    let why = |row: &Row| {
        let of = |case: &&Case<'_>| case.group == row.group && case.peer == row.peer;
        cases.iter().filter(of).find(|case| case.ours.scheme == row.scheme)?.ours.why
    };
    let agreeing: Vec<(Row, &str)> = rows
        .iter()
        .filter(|row| row.variant)
        .filter(|row| matches!(row.verdict(), Verdict::Agrees | Verdict::Spread))
        .filter_map(|row| Some((row.clone(), why(row)?)))
        .collect();
    for row in rows.iter_mut().filter(|row| !row.variant && row.agrees == Some(false)) {
        let same = |other: &&(Row, &str)| {
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

/// How many checks of defaults there are, and what became of them.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Checks of defaults.
    pub checks: usize,
    /// Agree by the bounds that were stated before their first run.
    pub agree_as_stated: usize,
    /// Agree by the bounds as they are now.
    pub agree: usize,
    /// Of the others: the peer's figure lies within what one run of ours may show.
    pub within_spread: usize,
    /// Of the others: a variant that copies the peer agrees, or has the figure within its spread.
    pub explained: usize,
    /// Neither.
    pub differ: usize,
    /// Not measured.
    pub unmeasured: usize,
}

impl Counts {
    /// Counts the rows of defaults.
    pub fn of(rows: &[Row]) -> Counts {
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

    /// In a sentence or two.
    pub fn words(&self) -> String {
        let Counts { checks, agree_as_stated, agree, within_spread, explained, differ, unmeasured } =
            self;
        format!(
            "Of {checks} checks of defaults {agree_as_stated} agree by the bounds that were stated \
             before their first run, {agree} by the bounds as they are now. Of the others the \
             peer's figure lies within the spread of our runs in {within_spread}, a variant that \
             copies the peer agrees or has it within its spread in {explained}, {differ} differ \
             without that, and {unmeasured} were not measured."
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

    fn verdicts(cases: &[Case<'_>]) -> (Vec<Row>, Vec<Verdict>) {
        let mut rows: Vec<Row> = cases.iter().flat_map(Case::measure).collect();
        explain(cases, &mut rows);
        let verdicts = rows.iter().map(Row::verdict).collect();
        (rows, verdicts)
    }

    #[test]
    fn verdicts_follow_from_bounds_spread_and_variants() {
        use Verdict::{Agrees, Differs, Explained, Spread, Unmeasured};
        let ours = || OwnScheme::default("cubic");
        let one = |runs| verdicts(&[case(ours(), runs)]).1;
        assert_eq!(one(&[10.4]), [Agrees]);
        assert_eq!(one(&[11.0]), [Differs]);
        assert_eq!(one(&[10.0, 12.0]), [Spread]);
        assert_eq!(one(&[10.9, 11.1]), [Spread]);
        assert_eq!(one(&[10.99, 11.01]), [Differs]);
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
        // Within 2 of it as stated, not within 0.5; the variant is not counted.
        assert_eq!((counts.checks, counts.agree_as_stated, counts.agree), (1, 1, 0));
        assert_eq!((counts.explained, counts.differ), (1, 0));
    }
}
