//! Settings of a reproduction: traces, lengths, number of runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use paceline_cc::Span;
use paceline_trace::Trace;

use crate::live::Live;
use crate::tables::Tables;

/// Settings of a reproduction.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Whether to make shorter and fewer runs.
    pub quick: bool,
    /// Recorded traces; with `None`, synthetic ones replace them.
    pub traces: Option<Recordings>,
    /// Tables of rules of the scheme `remy`.
    pub tables: Tables,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Permission to run programs in real time; with `None`, claims about running systems are not
    /// measured.
    pub live: Option<Live>,
    /// Whether to make the runs, too, that only show causes: no check reads them.
    pub causes: bool,
}

/// Runs of full length on synthetic traces, with built-in tables and the runs that only show causes.
impl Default for Setting {
    fn default() -> Setting {
        let tables = Tables::default();
        Setting { quick: false, traces: None, tables, seed: 1, live: None, causes: true }
    }
}

/// Source of the recorded traces, each under its name among Mahimahi's.
#[derive(Clone, Debug)]
pub enum Recordings {
    /// Files in a folder.
    Folder(PathBuf),
    /// Traces in memory, for callers without files.
    Loaded(BTreeMap<String, Trace>),
}

impl Recordings {
    /// Returns the names of the recordings that experiments use.
    pub fn names() -> BTreeSet<&'static str> {
        ABC.iter().chain(&C2TCP).map(|pair| pair.0).collect()
    }

    /// Returns a recording.
    ///
    /// # Errors
    /// The recording is missing, or its file cannot be read.
    fn load(&self, name: &str) -> Result<Trace, String> {
        let missing = |place: String, remedy: &str| {
            let all = Recordings::names().into_iter().collect::<Vec<_>>().join(", ");
            format!("{place}; the recordings, all of Mahimahi's, are {all}. {remedy}")
        };
        match self {
            Recordings::Folder(folder) => {
                let path = folder.join(name);
                if !path.exists() {
                    let place = format!("{}: no such file", path.display());
                    return Err(missing(place, "Without --traces synthetic ones stand in"));
                }
                let file = path.to_str().ok_or("the folder's name is not UTF-8")?;
                paceline_trace::load(file).map_err(|error| error.to_string())
            }
            Recordings::Loaded(traces) => traces.get(name).cloned().ok_or_else(|| {
                let place = format!("{name} is not among the recordings that were dropped");
                missing(
                    place,
                    "Drop their folder, or take the recordings away: then synthetic ones stand in",
                )
            }),
        }
    }
}

/// A cellular trace.
#[derive(Clone, Debug)]
pub struct Cellular {
    /// Name on the page.
    pub name: String,
    /// Delivery opportunities.
    pub trace: Trace,
}

/// Published recordings of the ABC paper, each with the synthetic trace of its kind that replaces
/// it.
const ABC: [(&str, &str); 8] = [
    ("Verizon-LTE-short.down", "lte-driving"),
    ("Verizon-LTE-short.up", "lte-driving.up"),
    ("ATT-LTE-driving-2016.down", "lte-walking"),
    ("ATT-LTE-driving-2016.up", "lte-driving.up"),
    ("TMobile-LTE-short.down", "lte-stationary"),
    ("TMobile-LTE-short.up", "lte-walking"),
    ("ATT-LTE-driving.down", "lte-driving"),
    ("ATT-LTE-driving.up", "lte-driving.up"),
];

/// The traces of the C2TCP paper's networks: T-Mobile LTE and UMTS, AT&T LTE, Verizon LTE and
/// EV-DO, both directions.
const C2TCP: [(&str, &str); 10] = [
    ("TMobile-LTE-short.down", "lte-stationary"),
    ("TMobile-LTE-short.up", "lte-walking"),
    ("TMobile-UMTS-driving.down", "umts-driving"),
    ("TMobile-UMTS-driving.up", "umts-driving.up"),
    ("ATT-LTE-driving.down", "lte-driving"),
    ("ATT-LTE-driving.up", "lte-driving.up"),
    ("Verizon-LTE-short.down", "lte-driving"),
    ("Verizon-LTE-short.up", "lte-driving.up"),
    ("Verizon-EVDO-driving.down", "evdo-driving"),
    ("Verizon-EVDO-driving.up", "evdo-driving.up"),
];

/// The links of Sprout's thesis: Verizon LTE and EV-DO, AT&T LTE, T-Mobile UMTS, both directions.
/// Verizon's LTE is another, shorter recording.
const SPROUT: [(&str, &str); 8] = [
    ("Verizon-LTE-short.down", "lte-driving"),
    ("Verizon-LTE-short.up", "lte-driving.up"),
    ("Verizon-EVDO-driving.down", "evdo-driving"),
    ("Verizon-EVDO-driving.up", "evdo-driving.up"),
    ("ATT-LTE-driving.down", "lte-driving"),
    ("ATT-LTE-driving.up", "lte-driving.up"),
    ("TMobile-UMTS-driving.down", "umts-driving"),
    ("TMobile-UMTS-driving.up", "umts-driving.up"),
];

impl Setting {
    /// Returns the eight LTE traces of the ABC experiments.
    ///
    /// # Errors
    /// A trace exists but cannot be read.
    pub fn abc_traces(&self) -> Result<Vec<Cellular>, String> {
        self.load(&ABC)
    }

    /// Returns the ten traces of the C2TCP experiments.
    ///
    /// # Errors
    /// A trace exists but cannot be read.
    pub fn c2tcp_traces(&self) -> Result<Vec<Cellular>, String> {
        self.load(&C2TCP)
    }

    /// Returns the eight traces of Sprout's thesis.
    ///
    /// # Errors
    /// A trace exists but cannot be read.
    pub fn sprout_traces(&self) -> Result<Vec<Cellular>, String> {
        self.load(&SPROUT)
    }

    /// Returns the trace for time series: Verizon LTE, downlink.
    ///
    /// # Errors
    /// A trace exists but cannot be read.
    pub fn verizon_down(&self) -> Result<Cellular, String> {
        self.one(0, ABC[0])
    }

    /// Returns Verizon LTE, uplink.
    ///
    /// # Errors
    /// A trace exists but cannot be read.
    pub fn verizon_up(&self) -> Result<Cellular, String> {
        self.one(1, ABC[1])
    }

    /// Returns AT&T LTE, downlink.
    ///
    /// # Errors
    /// A trace exists but cannot be read.
    pub fn att_down(&self) -> Result<Cellular, String> {
        self.one(4, SPROUT[4])
    }

    /// Returns the names of Verizon's LTE downlink and uplink for command lines: a recording's
    /// file, or a built-in trace.
    pub(crate) fn verizon_names(&self) -> (String, String) {
        let name = |(recorded, synthetic): (&str, &str)| match &self.traces {
            Some(Recordings::Folder(folder)) => {
                let path = folder.join(recorded);
                std::path::absolute(&path).unwrap_or(path).display().to_string()
            }
            // Programs read files, and traces in memory have none.
            Some(Recordings::Loaded(_)) | None => synthetic.to_string(),
        };
        (name(ABC[0]), name(ABC[1]))
    }

    fn load(&self, names: &[(&str, &str)]) -> Result<Vec<Cellular>, String> {
        names.iter().enumerate().map(|(at, pair)| self.one(at as u64, *pair)).collect()
    }

    /// Returns a recorded trace, or in its place a synthetic one with a seed of its own.
    fn one(&self, at: u64, (recorded, synthetic): (&str, &str)) -> Result<Cellular, String> {
        if let Some(recordings) = &self.traces {
            return Ok(Cellular { name: recorded.to_string(), trace: recordings.load(recorded)? });
        }
        let length = paceline_trace::default_length(synthetic).unwrap_or(Span::from_secs(300));
        let trace = paceline_trace::synthetic(synthetic, self.seed + at, length)
            .map_err(|error| error.to_string())?;
        Ok(Cellular { name: format!("{synthetic} #{}", at + 1), trace })
    }

    /// Returns a length of time: the paper's, or `quick` seconds in a quick reproduction.
    pub fn length(&self, seconds: u64, quick: u64) -> Span {
        Span::from_secs(if self.quick { quick } else { seconds })
    }

    /// Returns the whole list, or its first `quick` elements in a quick reproduction.
    pub fn some<T>(&self, mut all: Vec<T>, quick: usize) -> Vec<T> {
        if self.quick {
            all.truncate(quick);
        }
        all
    }
}
