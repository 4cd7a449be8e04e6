//! A scheme's entry in the table: its name, its parameters, and the function that makes its halves.

use paceline_cc::{Halves, ParamInfo, Span, Spec, SpecError};

use crate::plot_style::PlotStyle;

/// How a scheme is set in `compare --schemes all`, and why. A user who names the scheme gets it
/// without this setting.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct BulkSetting {
    /// The setting as a user would write it: parameters, a queue.
    pub spec: &'static str,
    /// Reason: half a sentence for a note below a table.
    pub reason: &'static str,
}

/// Reason why a scheme leaves much of a link unused, and the paths on which it is the reason; and why it
/// keeps a long queue on others.
#[derive(Copy, Clone, Debug)]
pub struct Note {
    /// The reason: half a sentence for a note beside a figure.
    pub text: &'static str,
    /// Returns true for paths on which this is the reason.
    pub applies_to: fn(&BulkPath) -> bool,
    /// Reason why a scheme that means to keep the queue short keeps a long one, if there are links on
    /// which it does.
    pub long_queue: Option<&'static str>,
}

impl Note {
    /// Creates a note for all paths.
    pub const fn new(text: &'static str) -> Note {
        Note::on(|_| true, text)
    }

    /// Creates a note for the paths for which `applies_to` returns true.
    pub const fn on(applies_to: fn(&BulkPath) -> bool, text: &'static str) -> Note {
        Note { text, applies_to, long_queue: None }
    }

    /// Returns this note with the reason for long queues: see [`Note::long_queue`].
    pub const fn with_long_queue(self, text: &'static str) -> Note {
        Note { long_queue: Some(text), ..self }
    }
}

/// A path over which flows of one scheme send bulk data.
#[derive(Copy, Clone, Debug)]
pub struct BulkPath {
    /// Round-trip propagation delay.
    pub rtt: Span,
    /// Bandwidth-delay product of a flow's share of the link, in packets.
    pub bdp_packets: f64,
    /// Limit of the link's buffer, as a multiple of the link's bandwidth-delay product; infinite
    /// without a limit.
    pub buffer_bdp: f64,
    /// Length of the run.
    pub duration: Span,
}

impl BulkPath {
    /// Returns true if a flow needs a window of 100 packets or more: adding a packet per RTT is slow
    /// on such a path.
    pub fn is_long_and_fast(&self) -> bool {
        self.bdp_packets >= 100.0
    }
}

/// An entry of the table.
pub struct Scheme {
    /// The name by which users call it.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub summary: &'static str,
    /// The paper or RFC that it comes from.
    pub source: &'static str,
    /// Its parameters with their defaults.
    pub params: fn() -> Vec<ParamInfo>,
    /// How figures draw it.
    pub plot_style: PlotStyle,
    /// Setting for comparisons in which all schemes send bulk data over one link, if the scheme
    /// needs one there.
    pub bulk: Option<BulkSetting>,
    /// Reason why one flow with default parameters leaves more than a fifth of some constant link
    /// of 6 to 96 Mbit/s unused within 30 s, at RTTs of 20 to 200 ms; `None` if it leaves less
    /// unused on all of them.
    pub note: Option<Note>,
    /// Makes it from a user's spec.
    pub build: fn(&Spec) -> Result<Halves, SpecError>,
}

impl Scheme {
    /// Returns the names of its halves: `sender`, `receiver`, `router`.
    pub fn halves(&self) -> Vec<&'static str> {
        names_of_halves(self.name, self.build)
    }
}

/// Returns the names of the halves that `build` makes of the scheme's bare name; only `sender` if
/// it cannot be built without parameters.
pub(crate) fn names_of_halves(
    name: &str,
    build: impl Fn(&Spec) -> Result<Halves, SpecError>,
) -> Vec<&'static str> {
    let plain = Spec { name: name.to_string(), args: Vec::new() };
    let mut names = vec!["sender"];
    if let Ok(halves) = build(&plain) {
        names.extend(halves.reporter.map(|_| "receiver"));
        names.extend(halves.router.map(|_| "router"));
    }
    names
}
