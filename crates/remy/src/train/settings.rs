//! Settings of training: the part `[training]` of a specification file.
//!
//! ```toml
//! [training]
//! procedure = "racing"       # or "thesis"
//! signals = ["send_ewma", "rec_ewma", "rtt_ratio", "slow_rec_ewma"]
//! vary = ["m", "b", "r"]
//! start = { m = 1.0, b = 1, r = 3.0 }
//! m = { least = 0.0, most = 2.0 }
//! b = { least = -50, most = 300 }
//! r = { least = 0.05, most = 30.0 }
//! actions = "window"         # or "rate": then t, too, is a number of actions
//! generations_per_split = 1
//! rules_at_once = 1
//! max_rules = 100
//! timer = "20ms"             # rules are looked up without acknowledgements, too
//! ```

use paceline_cc::{ParamValue, Span};
use paceline_schemes::remy::{Action, ActionBasis, Domain, RuleTree, SIGNALS, Signal};
use paceline_sim::scenario::RouterChoice;
use serde::Deserialize;

use crate::readable::TIMER_BOUNDS;
use crate::spec::{Specification, SpecificationError};

/// Maximum of `max_rules`.
const MAX_RULES: usize = 5_000;

/// Procedure by which rules are improved and divided.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Procedure {
    /// Section 3.5.3 of the thesis: all combinations of changes of a rule's three numbers run to
    /// the end; the rule used most is divided at the medians of all signals at once.
    Thesis,
    /// Fewer changes, of which poor ones are given up early. A rule is divided on one axis, the one
    /// with the largest gain.
    #[default]
    Racing,
}

/// Whether the winner of a race must also gain on newly drawn networks. The best of many candidates
/// on the same networks is partly lucky.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Confirm {
    /// Never.
    Never,
    /// Only if its gain is below [`Confirm::SURE`] standard errors of the differences per network.
    Doubtful,
    /// Always.
    Always,
}

impl Confirm {
    /// A gain of this many standard errors is rarely luck. Of 28 candidates without effect, the
    /// best exceeds it in one of 27 races; in fewer with real networks, whose differences are not
    /// only luck.
    pub const SURE: f64 = 3.0;
}

/// Its notation in the file.
#[derive(Deserialize)]
#[serde(untagged)]
enum FileConfirm {
    Always(bool),
    Word(String),
}

impl FileConfirm {
    fn read(&self) -> Result<Confirm, SpecificationError> {
        match self {
            FileConfirm::Always(true) => Ok(Confirm::Always),
            FileConfirm::Always(false) => Ok(Confirm::Never),
            FileConfirm::Word(word) if word == "doubtful" => Ok(Confirm::Doubtful),
            FileConfirm::Word(word) => fail(
                "training.confirm",
                format!("`{word}` is none of true, false and \"doubtful\""),
            ),
        }
    }
}

/// Bounds of a number of an action.
#[derive(Copy, Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    /// Minimum.
    pub least: f64,
    /// Maximum.
    pub most: f64,
}

impl Bounds {
    const fn new(least: f64, most: f64) -> Bounds {
        Bounds { least, most }
    }

    /// Returns true if `value` is within the bounds.
    pub fn contain(&self, value: f64) -> bool {
        (self.least..=self.most).contains(&value)
    }
}

/// Which numbers of an action training changes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Vary {
    /// Window multiple `m`.
    pub multiple: bool,
    /// Window increment `b`.
    pub increment: bool,
    /// Time between packets or pacing gain `r`.
    pub intersend: bool,
    /// Queueing delay aimed at `t`; only with actions on the rate.
    pub queue: bool,
}

/// Settings of training.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Settings {
    /// Procedure by which rules are improved and divided.
    pub procedure: Procedure,
    /// True for signals by which rules may be divided, by [`Signal::index`].
    pub signals: [bool; SIGNALS],
    /// Which numbers of actions training changes.
    pub vary: Vary,
    /// Action of the first rule.
    pub start: Action,
    /// Bounds of the window multiple.
    pub multiple: Bounds,
    /// Bounds of the window increment, in packets.
    pub increment: Bounds,
    /// Bounds of the time between packets, in milliseconds, or of the pacing gain.
    pub intersend: Bounds,
    /// Bounds of the queueing delay aimed at, in milliseconds.
    pub queue: Bounds,
    /// How often all rules are improved before some are divided.
    pub generations_per_split: u32,
    /// Number of rules for which changes are tried from the same table. Changes that gain together
    /// are kept together.
    pub rules_at_once: usize,
    /// Number of rules from which on no rule is divided.
    pub max_rules: usize,
    /// True if poor candidates are given up after a part of the networks.
    pub racing: bool,
    /// True if a candidate runs only on networks on which its rule is used.
    pub incremental: bool,
    /// Whether a winner must also gain on newly drawn networks.
    pub confirm: Confirm,
    /// True if divisions are undone of which one side is never used.
    pub prune: bool,
    /// Minimum gain of a change, divided by the number of networks.
    pub least_gain: f64,
    /// True if progress is shown by a validation set, which training does not use.
    pub validate: bool,
    /// Time without an acknowledgement after which senders look their rule up again; 0 for never:
    /// see [`RuleTable::timer`](paceline_schemes::remy::RuleTable::timer).
    pub timer: Span,
}

impl Settings {
    /// Returns the default settings of a procedure.
    pub fn of(procedure: Procedure) -> Settings {
        let thesis = procedure == Procedure::Thesis;
        Settings {
            procedure,
            signals: Domain::WHOLE.active,
            vary: Vary { multiple: true, increment: true, intersend: true, queue: false },
            start: Action::new(1.0, 1, 3.0),
            multiple: Bounds::new(0.0, 2.0),
            increment: Bounds::new(-50.0, 300.0),
            intersend: Bounds::new(0.05, 30.0),
            queue: Bounds::new(0.0, 0.0),
            generations_per_split: if thesis { 4 } else { 1 },
            rules_at_once: 1,
            max_rules: 200,
            racing: !thesis,
            incremental: !thesis,
            confirm: if thesis { Confirm::Never } else { Confirm::Always },
            prune: !thesis,
            least_gain: if thesis { 0.0 } else { 2e-4 },
            validate: true,
            timer: Span::ZERO,
        }
    }

    /// Returns these settings for actions on the delivery rate, with all signals but those of
    /// absolute rates and of marks.
    fn on_rate(self) -> Settings {
        let scaled = |signal: Signal| signal.follows_rate() || signal == Signal::RttRatio;
        Settings {
            signals: Signal::ALL.map(scaled),
            vary: Vary { queue: true, ..self.vary },
            start: Action::of_rate(1.0, 4, 2.0, 20.0),
            multiple: Bounds::new(0.0, 8.0),
            increment: Bounds::new(0.0, 300.0),
            intersend: Bounds::new(0.1, 20.0),
            queue: Bounds::new(-200.0, 1000.0),
            ..self
        }
    }

    /// Reads the part `[training]` of a specification and ignores its other parts.
    ///
    /// # Errors
    /// The text is not TOML, or a value is invalid.
    pub fn parse(text: &str) -> Result<Settings, SpecificationError> {
        let file: File =
            toml::from_str(text).map_err(|error| SpecificationError::Syntax(error.to_string()))?;
        file.training.read().map_err(|error| error.in_text(text))
    }

    /// Checks that the networks provide the signals.
    ///
    /// # Errors
    /// Rules are divided by marks, and no router of the networks writes marks.
    pub fn check(&self, specification: &Specification) -> Result<(), SpecificationError> {
        let marks = self.signals[Signal::AccelShare.index()];
        if marks && specification.router == RouterChoice::None {
            let problem = "accel_share needs the marks of an ABC router: write router = \"abc\"";
            return fail("networks.router", problem);
        }
        Ok(())
    }

    /// Returns the tree with which training begins: one rule.
    pub fn first(&self) -> RuleTree {
        let mut tree = RuleTree::single(self.start);
        if let RuleTree::Leaf(rule) = &mut tree {
            rule.domain.active = self.signals;
        }
        tree
    }

    /// Returns true if an action is within the bounds.
    pub fn allow(&self, action: &Action) -> bool {
        self.multiple.contain(action.multiple)
            && self.increment.contain(f64::from(action.increment))
            && self.intersend.contain(action.intersend_ms)
            && self.queue.contain(action.queue_ms)
            && self.start.basis == action.basis
    }
}

/// A specification file, of which only this part is read.
#[derive(Deserialize)]
struct File {
    #[serde(default)]
    training: FileSettings,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileSettings {
    procedure: Option<Procedure>,
    actions: Option<String>,
    signals: Option<Vec<String>>,
    vary: Option<Vec<String>>,
    start: Option<FileAction>,
    m: Option<Bounds>,
    b: Option<Bounds>,
    r: Option<Bounds>,
    t: Option<Bounds>,
    generations_per_split: Option<u32>,
    rules_at_once: Option<usize>,
    max_rules: Option<usize>,
    racing: Option<bool>,
    incremental: Option<bool>,
    confirm: Option<FileConfirm>,
    prune: Option<bool>,
    least_gain: Option<f64>,
    validate: Option<bool>,
    timer: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileAction {
    m: f64,
    b: i32,
    r: f64,
    t: Option<f64>,
}

fn fail<T>(key: &'static str, problem: impl Into<String>) -> Result<T, SpecificationError> {
    Err(SpecificationError::value(key, problem))
}

impl FileSettings {
    fn read(self) -> Result<Settings, SpecificationError> {
        let mut settings = Settings::of(self.procedure.unwrap_or_default());
        let basis = match &self.actions {
            None => ActionBasis::Window,
            Some(name) => ActionBasis::of_name(name).ok_or_else(|| {
                let problem = format!("`{name}` is neither \"window\" nor \"rate\"");
                SpecificationError::value("training.actions", problem)
            })?,
        };
        let on_rate = basis == ActionBasis::Rate;
        if on_rate {
            if settings.procedure == Procedure::Thesis {
                let problem = "the thesis' procedure changes windows: write procedure = \"racing\"";
                return fail("training.actions", problem);
            }
            settings = settings.on_rate();
        }
        let has_t = self.t.is_some() || self.start.as_ref().is_some_and(|start| start.t.is_some());
        if has_t && !on_rate {
            return fail("training.t", "only actions on the rate have t: write actions = \"rate\"");
        }
        if let Some(names) = &self.signals {
            settings.signals = signals(names)?;
        }
        if let Some(names) = &self.vary {
            settings.vary = vary(names, on_rate)?;
        }
        if let Some(FileAction { m, b, r, t }) = self.start {
            settings.start = match basis {
                ActionBasis::Window => Action::new(m, b, r),
                ActionBasis::Rate => Action::of_rate(m, b, r, t.unwrap_or(0.0)),
            };
        }
        for (key, written, bounds, least, most) in [
            ("training.m", self.m, &mut settings.multiple, 0.0, 1e3),
            ("training.b", self.b, &mut settings.increment, -1e6, 1e6),
            ("training.r", self.r, &mut settings.intersend, 1e-3, 1e6),
            ("training.t", self.t, &mut settings.queue, -1e6, 1e6),
        ] {
            *bounds = written.unwrap_or(*bounds);
            if !(least <= bounds.least && bounds.least <= bounds.most && bounds.most <= most) {
                return fail(key, format!("write least and most between {least} and {most}"));
            }
        }
        let Action { multiple: m, increment: b, intersend_ms: r, queue_ms: t, .. } = settings.start;
        if !settings.start.is_sane() || !settings.allow(&settings.start) {
            let problem = match basis {
                ActionBasis::Window => {
                    format!("m = {m}, b = {b}, r = {r} is not within training.m, .b and .r")
                }
                ActionBasis::Rate => format!(
                    "m = {m}, b = {b}, r = {r}, t = {t} is not within training.m, .b, .r and .t"
                ),
            };
            return fail("training.start", problem);
        }
        for (key, written, value, most) in [
            ("training.rules_at_once", self.rules_at_once, &mut settings.rules_at_once, 1000),
            ("training.max_rules", self.max_rules, &mut settings.max_rules, MAX_RULES),
        ] {
            *value = written.unwrap_or(*value);
            if !(1..=most).contains(value) {
                return fail(key, format!("{value} is not from 1 to {most}"));
            }
        }
        let generations = self.generations_per_split.unwrap_or(settings.generations_per_split);
        if !(1..=1000).contains(&generations) {
            let problem = format!("{generations} is not from 1 to 1000");
            return fail("training.generations_per_split", problem);
        }
        settings.generations_per_split = generations;
        settings.racing = self.racing.unwrap_or(settings.racing);
        settings.incremental = self.incremental.unwrap_or(settings.incremental);
        if let Some(written) = &self.confirm {
            settings.confirm = written.read()?;
        }
        settings.prune = self.prune.unwrap_or(settings.prune);
        settings.validate = self.validate.unwrap_or(settings.validate);
        settings.least_gain = self.least_gain.unwrap_or(settings.least_gain);
        if !(0.0..=1e6).contains(&settings.least_gain) {
            let problem = format!("{} is not from 0 to 1000000", settings.least_gain);
            return fail("training.least_gain", problem);
        }
        if let Some(text) = &self.timer {
            settings.timer = timer(text, &settings)?;
        }
        Ok(settings)
    }
}

/// Reads the time after which rules on a timer are looked up.
fn timer(text: &str, settings: &Settings) -> Result<Span, SpecificationError> {
    let (least, most) = TIMER_BOUNDS;
    let span = Span::read(text).or_else(|problem| fail("training.timer", problem))?;
    if span < least || span > most {
        return fail("training.timer", format!("{span} is not from {least} to {most}"));
    }
    if !settings.signals[Signal::AckGap.index()] {
        let problem =
            "rules on a timer are divided by ack_gap: add \"ack_gap\" to training.signals";
        return fail("training.timer", problem);
    }
    Ok(span)
}

/// Returns the signals with these names.
fn signals(names: &[String]) -> Result<[bool; SIGNALS], SpecificationError> {
    let mut active = [false; SIGNALS];
    for name in names {
        let Some(signal) = Signal::of_name(name) else {
            let known: Vec<&str> = Signal::ALL.iter().map(|signal| signal.name()).collect();
            let problem = format!("there is no signal `{name}`; there are: {}", known.join(", "));
            return fail("training.signals", problem);
        };
        active[signal.index()] = true;
    }
    Ok(active)
}

fn vary(names: &[String], on_rate: bool) -> Result<Vary, SpecificationError> {
    let mut vary = Vary { multiple: false, increment: false, intersend: false, queue: false };
    for name in names {
        match name.as_str() {
            "m" => vary.multiple = true,
            "b" => vary.increment = true,
            "r" => vary.intersend = true,
            "t" if on_rate => vary.queue = true,
            _ => {
                let known = if on_rate { "m, b, r or t" } else { "m, b or r" };
                let problem = format!("`{name}` is no number of an action: write {known}");
                return fail("training.vary", problem);
            }
        }
    }
    if names.is_empty() {
        return fail("training.vary", "name at least one of m, b and r");
    }
    Ok(vary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_those_of_the_procedure() {
        let none = Settings::parse("[networks]\nlink = 1").expect("no part of its own");
        assert_eq!(none, Settings::of(Procedure::Racing));
        let thesis = Settings::parse("[training]\nprocedure = \"thesis\"\nprune = true");
        let thesis = thesis.expect("reads");
        assert!(!thesis.racing && thesis.prune && thesis.generations_per_split == 4);
    }

    #[test]
    fn signals_and_numbers_are_chosen() {
        let text = "[training]\nsignals = [\"rtt_ratio\"]\nvary = [\"b\"]\n\
                    start = { m = 0.5, b = 7, r = 1.0 }\nb = { least = 0, most = 9 }";
        let settings = Settings::parse(text).expect("reads");
        let RuleTree::Leaf(rule) = settings.first() else { panic!("one rule") };
        let used = Signal::ALL.map(|signal| signal == Signal::RttRatio);
        assert_eq!(rule.domain.active, used);
        assert_eq!(rule.action, Action::new(0.5, 7, 1.0));
        assert!(settings.vary.increment && !settings.vary.multiple);
    }

    #[test]
    fn actions_on_the_rate_have_four_numbers_and_signals_without_a_scale() {
        let text = "[training]\nactions = \"rate\"\nvary = [\"t\"]\n\
                    start = { m = 0.5, b = 7, r = 1.0, t = 30.0 }";
        let settings = Settings::parse(text).expect("reads");
        assert_eq!(settings.start, Action::of_rate(0.5, 7, 1.0, 30.0));
        assert!(settings.vary.queue && !settings.vary.multiple);
        let active = |signal: Signal| settings.signals[signal.index()];
        assert!(active(Signal::QueueEwma) && active(Signal::RttRatio));
        assert!(!active(Signal::RecEwma) && !active(Signal::AccelShare));
        assert!(!settings.allow(&Action::new(0.5, 7, 1.0)));
    }

    #[test]
    fn what_does_not_fit_is_named() {
        for (line, words) in [
            ("signals = [\"rtt\"]", "training.signals: there is no signal `rtt`"),
            ("vary = []", "training.vary: name at least one"),
            ("vary = [\"x\"]", "`x` is no number"),
            ("start = { m = 1.0, b = 1, r = 99.0 }", "training.start"),
            ("start = { m = nan, b = 1, r = 1.0 }", "training.start"),
            ("m = { least = 2.0, most = 1.0 }", "training.m: write least and most"),
            ("max_rules = 0", "training.max_rules: 0 is not from 1"),
            ("generations_per_split = 0", "training.generations_per_split"),
            ("least_gain = -1.0", "training.least_gain"),
            ("confirm = \"maybe\"", "line 2: training.confirm: `maybe` is none of"),
            ("procedure = \"magic\"", "unknown variant `magic`"),
            ("rule = 1", "unknown field `rule`"),
            ("actions = \"rate\"\ntimer = \"2\"", "line 3: training.timer: a time needs a unit"),
            ("actions = \"rate\"\ntimer = \"2s\"", "2s is not from 1ms to 1s"),
            ("timer = \"20ms\"", "add \"ack_gap\" to training.signals"),
            ("actions = \"rates\"", "line 2: training.actions: `rates` is neither"),
            ("t = { least = 0.0, most = 9.0 }", "only actions on the rate have t"),
            ("actions = \"rate\"\nprocedure = \"thesis\"", "write procedure = \"racing\""),
            ("actions = \"rate\"\nvary = [\"x\"]", "write m, b, r or t"),
            ("actions = \"rate\"\nstart = { m = 1.0, b = 1, r = 1.0, t = 9e9 }", ".r and .t"),
        ] {
            let error = Settings::parse(&format!("[training]\n{line}")).expect_err(line);
            assert!(error.to_string().contains(words), "{line}: {error}");
        }
    }
}
