//! Runs over recorded traces and with published tables of rules, which are not part of the program.

use std::path::Path;

use paceline_cc::{AckPolicy, Rate, SchemeSpec, Span};

use super::network;
use paceline_requests::compare::{CompareRow, Comparison};
use paceline_sim::scenario::{Capacity, check_scheme};

/// Folders of recorded traces and of published tables of rules; `None` if the user gave none.
#[derive(Copy, Clone, Debug)]
pub(super) struct ValidationFolders<'a> {
    pub(super) traces: Option<&'a Path>,
    pub(super) tables: Option<&'a Path>,
}

/// A path over a recorded link, or over a link of constant rate.
#[derive(Copy, Clone, Debug)]
pub(super) struct PathSetup {
    /// Capacity of the data's direction: a trace's name, or a rate such as `12Mbps`.
    pub(super) trace: &'static str,
    /// Capacity of the opposite direction.
    pub(super) reverse: &'static str,
    pub(super) rtt_ms: u64,
    pub(super) seconds: u64,
}

impl ValidationFolders<'_> {
    fn capacity(self, name: &str) -> Result<Capacity, String> {
        if name == "12Mbps" {
            return Ok(Capacity::Constant(Rate::from_mbps(12.0)));
        }
        let path = self.traces.map(|folder| folder.join(name)).filter(|path| path.exists());
        let path = path.as_deref().and_then(Path::to_str).ok_or_else(|| {
            format!("the recorded trace {name} is not here; name its folder with --traces")
        })?;
        paceline_trace::load(path).map(Capacity::trace).map_err(|error| error.to_string())
    }

    /// Parses a scheme; the file in `remy[file=NAME]` is looked up in the folder of tables.
    fn scheme(self, text: &str) -> Result<SchemeSpec, String> {
        let file = text.strip_prefix("remy[file=").and_then(|rest| rest.strip_suffix(']'));
        let Some(file) = file else {
            return check_scheme(text).map_err(|error| error.to_string());
        };
        let path = self.tables.map(|folder| folder.join(file)).filter(|path| path.exists());
        let path = path.as_deref().and_then(Path::to_str).ok_or_else(|| {
            format!("the published table {file} is not here; name its folder with --tables")
        })?;
        let named = paceline_remy::names().check_scheme(&format!("remy[file={path}]"));
        named.map_err(|error| error.to_string())
    }

    fn comparison(self, way: &PathSetup, scheme: &str) -> Result<Comparison, String> {
        let scheme = self.scheme(scheme)?;
        Ok(Comparison {
            reverse: Some(self.capacity(way.reverse)?),
            rtt: Span::from_millis(way.rtt_ms),
            duration: Span::from_secs(way.seconds),
            ..Comparison::new(way.trace, self.capacity(way.trace)?, scheme)
        })
    }

    /// Runs data over the trace, and acknowledgements and reports over the opposite direction.
    /// `jitter` is the mean random delay of acknowledgements.
    pub(super) fn one_way(
        self,
        way: &PathSetup,
        scheme: &str,
        jitter: Span,
        seed: u64,
    ) -> Result<CompareRow, String> {
        let comparison = Comparison { jitter, seed, ..self.comparison(way, scheme)? };
        network::plain(&comparison, None)
    }

    /// Runs data over the trace, with a way back without link or queue and with this policy of
    /// acknowledgements.
    pub(super) fn alone(
        self,
        trace: &'static str,
        scheme: &str,
        ack: Option<AckPolicy>,
    ) -> Result<CompareRow, String> {
        let way = PathSetup { trace, reverse: "12Mbps", rtt_ms: 100, seconds: 60 };
        let comparison = Comparison { reverse: None, ..self.comparison(&way, scheme)? };
        network::plain(&comparison, ack)
    }

    /// Runs data in both directions at once. `jitter` is the mean random delay of acknowledgements.
    pub(super) fn two_ways(
        self,
        way: &PathSetup,
        scheme: &str,
        jitter: Span,
        seed: u64,
    ) -> Result<CompareRow, String> {
        network::two_ways(&Comparison { jitter, seed, ..self.comparison(way, scheme)? })
    }
}
