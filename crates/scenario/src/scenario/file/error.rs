//! Mistakes in scenarios, with their positions.

use std::ops::Range;

use paceline_cc::spec::nearest;

use super::document::FormError;
use super::remedies;

/// A mistake in a scenario. Displayed as `file:line:column: message (help)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// The file, or a name for a scenario that is not from a file.
    pub file: String,
    /// Position in the text in bytes, if the mistake has one.
    pub span: Option<Range<usize>>,
    /// Line of the position, from 1.
    pub line: Option<usize>,
    /// Column of the position in characters, from 1.
    pub column: Option<usize>,
    /// The mistake, in words.
    pub message: String,
    /// The remedy.
    pub help: Option<String>,
}

impl ScenarioError {
    /// Creates a mistake without a position.
    pub fn new(message: impl Into<String>) -> ScenarioError {
        ScenarioError {
            file: String::new(),
            span: None,
            line: None,
            column: None,
            message: message.into(),
            help: None,
        }
    }

    /// Sets the remedy.
    pub fn help(mut self, help: impl Into<String>) -> ScenarioError {
        self.help = Some(help.into());
        self
    }

    /// Sets the position in a text.
    pub fn at(mut self, file: &str, text: &str, span: Option<Range<usize>>) -> ScenarioError {
        self.file = file.to_string();
        if let Some(span) = span {
            let upto = text.get(..span.start).unwrap_or(text);
            self.line = Some(upto.matches('\n').count() + 1);
            let line_start = upto.rfind('\n').map_or(0, |at| at + 1);
            self.column = Some(upto[line_start..].chars().count() + 1);
            self.span = Some(span);
        }
        self
    }

    /// Converts an error of a document's form; suggests a known word for an unknown one.
    pub(super) fn from_form(file: &str, text: &str, error: FormError) -> ScenarioError {
        let message = error.message.trim_end().replace('\n', "; ");
        // The reader's own types have no meaning for users.
        let message = match message.split_once("expected struct ") {
            Some((before, _)) => format!("{before}expected a table"),
            None => message,
        };
        let (message, help) = match unknown_key(&message) {
            Some((message, remedy)) => (message, Some(remedy)),
            None => {
                let help = help(&message, error.span.clone().and_then(|span| text.get(span)));
                (message, help)
            }
        };
        ScenarioError { help, ..ScenarioError::new(message) }.at(file, text, error.span)
    }
}

/// Returns a message and the remedy for an unknown key that has one, by the message of the TOML reader.
fn unknown_key(message: &str) -> Option<(String, String)> {
    let mut words = message.strip_prefix("unknown field `")?.split('`').step_by(2);
    let (key, known) = (words.next()?, words.collect::<Vec<&str>>());
    let section = remedies::section_of(&known)?;
    let remedy = remedies::remedy(section, key)?;
    Some((format!("{} has no key `{key}`", remedies::shown(section)), remedy.to_string()))
}

/// Returns the remedy for a message of the TOML reader about `written`, a part of the file.
fn help(message: &str, written: Option<&str>) -> Option<String> {
    if message.contains("did you mean") {
        return None;
    }
    if message.starts_with("unknown") {
        let mut words = message.split('`').skip(1).step_by(2);
        let near = words.next().and_then(|wrong| nearest(wrong, words));
        return near.map(|near| format!("did you mean `{near}`?"));
    }
    if message.ends_with("map, expected a sequence") {
        return Some(twice_bracketed(written));
    }
    if message == "missing field `duration`" {
        return Some("say first how long it runs: duration = \"60s\"".into());
    }
    let rest = message
        .strip_prefix("invalid type: ")
        .or_else(|| message.strip_prefix("invalid value: "))?;
    let (found, expected) = rest.rsplit_once(", expected ")?;
    remedies::of_type(found, expected)
}

/// Returns the text that should replace a table where a list of tables is expected.
fn twice_bracketed(written: Option<&str>) -> String {
    let head = written.and_then(|text| text.lines().next()).unwrap_or_default().trim();
    match head.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((name, _)) => format!("there may be several: write [[{name}]]"),
        None => "there may be several: put them between [ and ]".into(),
    }
}

impl std::fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.file.is_empty() {
            write!(f, "{}:", self.file)?;
        }
        if let (Some(line), Some(column)) = (self.line, self.column) {
            write!(f, "{line}:{column}:")?;
        }
        if !self.file.is_empty() {
            f.write_str(" ")?;
        }
        f.write_str(&self.message)?;
        match &self.help {
            Some(help) => write!(f, " ({help})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ScenarioError {}
