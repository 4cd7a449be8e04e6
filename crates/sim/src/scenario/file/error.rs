//! Mistakes in scenarios, with their positions.

use std::ops::Range;

use paceline_cc::spec::nearest;

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

    /// Converts an error of the TOML reader; suggests a known word for an unknown one.
    pub(crate) fn from_toml(file: &str, text: &str, error: &toml::de::Error) -> ScenarioError {
        let message = error.message().trim_end().replace('\n', "; ");
        let mut words = message.split('`').skip(1).step_by(2);
        let help = if message.contains("did you mean") {
            None
        } else if message.starts_with("unknown") {
            let near = words.next().and_then(|wrong| nearest(wrong, words));
            near.map(|near| format!("did you mean `{near}`?"))
        } else if message.ends_with("expected a string") {
            Some("put it in quotes; times and rates have units: \"10s\", \"12Mbps\"".into())
        } else if message.ends_with("map, expected a sequence") {
            Some(twice_bracketed(error.span().and_then(|span| text.get(span))))
        } else if message.ends_with("expected u64") || message.ends_with("expected u32") {
            Some("write a whole number from 0 on".into())
        } else if message == "missing field `duration`" {
            Some("say first how long it runs: duration = \"60s\"".into())
        } else {
            None
        };
        ScenarioError { help, ..ScenarioError::new(message) }.at(file, text, error.span())
    }
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
