//! What a scheme is: a name, parameters, and the halves that it makes.

use paceline_cc::{Halves, ParamInfo, Spec, SpecError};

use crate::plot_style::PlotStyle;

/// How a scheme is set in `compare --schemes all`, and why. Whoever names a scheme gets the bare scheme.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct BulkSetting {
    /// What is run, as a user would write it: parameters, a queue.
    pub spec: &'static str,
    /// Why: half a sentence for a note below a table.
    pub reason: &'static str,
}

/// A line of the registry.
pub struct Scheme {
    /// The name by which users call it.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub summary: &'static str,
    /// The paper or RFC.
    pub source: &'static str,
    /// Its parameters with their defaults.
    pub params: fn() -> Vec<ParamInfo>,
    /// How figures draw it.
    pub plot_style: PlotStyle,
    /// How it is set where all schemes send bulk data over a link that nobody has chosen for them,
    /// if it needs more than its name there.
    pub bulk: Option<BulkSetting>,
    /// Why one flow by the bare name leaves more than a fifth of some constant link of 6 to 96 Mbit/s
    /// unused within 30 s, at RTTs of 20 to 200 ms; `None` if it uses them all. Half a sentence for
    /// a note beside such a figure.
    pub note: Option<&'static str>,
    /// Makes it from what the user wrote.
    pub build: fn(&Spec) -> Result<Halves, SpecError>,
}

impl Scheme {
    /// The names of its halves: `sender`, `receiver`, `router`.
    pub fn halves(&self) -> Vec<&'static str> {
        let plain = Spec { name: self.name.to_string(), args: Vec::new() };
        let mut names = vec!["sender"];
        if let Ok(halves) = (self.build)(&plain) {
            names.extend(halves.reporter.map(|_| "receiver"));
            names.extend(halves.router.map(|_| "router"));
        }
        names
    }
}
