//! Criteria: questions of documents, and how figures answer them.

use paceline_requests::numbers::figure;

use crate::figures::Look;

/// Where the bounds of frames' delays come from, and what was changed, too.
macro_rules! delay_reason {
    ($($changed:literal)?) => {
        concat!(
            "ours: ITU-T G.114 has 150 ms of delay as good and 400 ms as the limit of calls; changed after first runs: the \
             length of the run if fewer than 95 % of the frames arrive or the flow stops, since a flow that stopped was good",
            $("; ", $changed)?
        )
    };
}
pub(crate) use delay_reason;

/// The criterion of the largest delay of flows' frames: its name, section, case, flows, the words that say where, the
/// reason of its bounds, and what the answer does not cover.
macro_rules! frames {
    ($id:literal, $section:literal, $case:literal, $flows:expr, $where:literal, $because:expr, $cannot:expr) => {
        $crate::criterion::Criterion::measured(
            $id,
            $section,
            concat!("How late are frames ", $where, "?"),
            $crate::criterion::Measured::new(
                $case,
                "95th percentile of the frames' delay",
                "ms",
                concat!("Frames arrive within {} (95 %) ", $where),
                |look| look.worst_frames_p95(&$flows),
            )
            .judged($crate::criterion::Bounds::new(250.0, 500.0, $because)),
            $cannot,
        )
    };
}
pub(crate) use frames;

/// A question of a document.
#[derive(Debug)]
pub struct Criterion {
    /// Its name: `alone.rate`.
    pub id: &'static str,
    /// Section of the document, with its subject: `5.1.2 bufferbloat`.
    pub section: &'static str,
    /// The question, in plain words.
    pub question: &'static str,
    /// How it is answered.
    pub kind: Kind,
    /// What the answer does not cover.
    pub cannot: &'static str,
}

/// How a question is answered.
#[derive(Debug)]
pub enum Kind {
    /// By a figure of simulated runs.
    Measured(Measured),
    /// Not by simulation; the text says why.
    NotAnswerable(&'static str),
}

/// A figure of a case.
#[derive(Debug)]
pub struct Measured {
    /// The case that is run.
    pub case: &'static str,
    /// Name of the figure.
    pub figure: &'static str,
    /// Its unit; empty for a pure number.
    pub unit: &'static str,
    /// The answer, with `{}` for the figure.
    pub says: &'static str,
    /// The longest time that the figure can be, at which the awaited event did not happen, and the answer in that
    /// case with `{}` for this time.
    pub never: Option<(f64, &'static str)>,
    /// Computes the figure from a run's records; NaN if it has none.
    pub value: fn(&Look<'_>) -> f64,
    /// Bounds of good and poor, where the document gives a criterion.
    pub bounds: Option<Bounds>,
    /// Whether Cubic's figure stands beside it.
    pub beside: bool,
}

/// Bounds of good and poor. If `good` is above `poor`, higher figures are better.
#[derive(Copy, Clone, Debug)]
pub struct Bounds {
    /// Figures from here on are good.
    pub good: f64,
    /// Figures from here on are poor.
    pub poor: f64,
    /// True if both are multiples of the median of Cubic's figure.
    pub times_beside: bool,
    /// Where they come from.
    pub because: &'static str,
}

impl Bounds {
    /// Creates bounds in the figure's unit.
    pub const fn new(good: f64, poor: f64, because: &'static str) -> Bounds {
        Bounds { good, poor, times_beside: false, because }
    }

    /// Creates bounds in multiples of the median of Cubic's figure.
    pub const fn beside(good: f64, poor: f64, because: &'static str) -> Bounds {
        Bounds { good, poor, times_beside: true, because }
    }

    /// Returns the bounds of good and poor in the figure's unit; `cubic` is the median of Cubic's figure. `None` if
    /// they are multiples of it, and it is missing.
    pub fn absolute(&self, cubic: Option<f64>) -> Option<(f64, f64)> {
        let factor = if self.times_beside { cubic? } else { 1.0 };
        Some((self.good * factor, self.poor * factor))
    }

    /// Returns true if higher figures are better.
    pub fn higher_is_better(&self) -> bool {
        self.good > self.poor
    }

    /// Returns the rule in words: `good from 90 % on, poor up to 50 %`.
    pub fn rule(&self, unit: &str) -> String {
        let shown = |bound: f64| match (self.times_beside, unit) {
            (true, _) => format!("{} times cubic's", figure(bound)),
            (false, "") => figure(bound),
            (false, unit) => format!("{} {unit}", figure(bound)),
        };
        let (good, poor) = (shown(self.good), shown(self.poor));
        if self.higher_is_better() {
            format!("good: {good} or more; poor: {poor} or less")
        } else {
            format!("good: {good} or less; poor: {poor} or more")
        }
    }
}

impl Measured {
    /// Creates a figure without bounds, beside which Cubic's stands.
    pub const fn new(
        case: &'static str,
        figure: &'static str,
        unit: &'static str,
        says: &'static str,
        value: fn(&Look<'_>) -> f64,
    ) -> Measured {
        Measured { case, figure, unit, says, never: None, value, bounds: None, beside: true }
    }

    /// Returns the figure with bounds.
    #[must_use]
    pub const fn judged(mut self, bounds: Bounds) -> Measured {
        self.bounds = Some(bounds);
        self
    }

    /// Returns the figure, a time, with the answer for runs that ended before the awaited event.
    #[must_use]
    pub const fn ending(mut self, longest: f64, says: &'static str) -> Measured {
        self.never = Some((longest, says));
        self
    }

    /// Returns the figure without Cubic's beside it.
    #[must_use]
    pub const fn without_cubic(mut self) -> Measured {
        self.beside = false;
        self
    }
}

impl Criterion {
    /// Creates a criterion that a figure answers.
    pub const fn measured(
        id: &'static str,
        section: &'static str,
        question: &'static str,
        measured: Measured,
        cannot: &'static str,
    ) -> Criterion {
        Criterion { id, section, question, kind: Kind::Measured(measured), cannot }
    }

    /// Creates a criterion that simulation does not answer.
    pub const fn not_answerable(
        id: &'static str,
        section: &'static str,
        question: &'static str,
        why: &'static str,
    ) -> Criterion {
        Criterion { id, section, question, kind: Kind::NotAnswerable(why), cannot: why }
    }

    /// Returns the rule by which its figure is judged, with its reason; empty without bounds.
    pub fn rule(&self) -> String {
        match &self.kind {
            Kind::Measured(Measured { bounds: Some(bounds), unit, .. }) => {
                format!("{} ({})", bounds.rule(unit), bounds.because)
            }
            _ => String::new(),
        }
    }
}
