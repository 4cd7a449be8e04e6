//! The section of the run: the keys of a scenario file outside of its links, media and flows.

use paceline_cc::Span;

use super::error::ScenarioError;
use super::flow::FileFlow;
use super::keys::{Section, at_least, keys, within};
use super::limits;
use super::link::FileLink;
use super::medium::FileMedium;
use super::reader::{At, Place as _, Reader};
use crate::runs::{MAX_RUNS, MAX_SEED, Spread};
use crate::scenario::spec::{Record, Scenario};

keys! {
    /// A scenario file.
    FileScenario: "run" of Scenario = Scenario::new("");
    /// for readers
    name: String, default "the file's name";
    /// for readers; the program does not use it
    description: String;
    /// simulated duration
    [required] duration: Span => duration;
    /// time at the beginning that is not measured
    warmup: Span => warmup;
    /// the seed of all random numbers; equal seeds give equal digests
    seed: u64, in within(0..=MAX_SEED, "write seed = 1") => seed;
    /// number of runs of `paceline run` and `paceline gap`; their results are medians and ranges.
    /// Without this key `paceline gap` makes 10 runs. Run 1 is the scenario as written; every further
    /// run has its own seed, drawn from `seed`, and its own start
    runs: u32, in within(1..=MAX_RUNS, "write runs = 10") => runs.count;
    /// range of the starts of the further runs: within this time, or with `"trace"` anywhere in the
    /// recording. A start of 300 ms means: all recordings on the path (traces, schedules with a
    /// period, recorded delays, in both directions) begin 300 ms later and wrap at their end, while
    /// flows begin when they did. If nothing repeats, the first flow starts later than written, by
    /// less than its round-trip delay, if there are other flows or a schedule
    spread: Spread => runs.spread;
    /// maximum packet size, in bytes on the wire; with `[link.wifi]` or `[[medium]]` at most 2296, which is the longest
    /// packet of an 802.11 frame
    mss: u32, in within(64..=65_535, "write mss = 1500").or("mss is outside {least}..{most} bytes")
        => mss;
    /// maximum processing time of hosts, which keeps flows out of step: see Hosts below. `"0s"`
    /// lets flows that start together begin and answer in the same nanosecond
    host_jitter: Span, default "a packet's time",
        in within(Span::ZERO..=Span::from_secs(1), "write host_jitter = \"1ms\"")
            .or("hosts take more than a second for a packet")
        => host_jitter;
    /// length of a bin of the time series
    bin: Span, default "`\"100ms\"`",
        in at_least(Span::from_millis(1), "write bin = \"100ms\"").or("bins are at least 1 ms");
    tables {
        /// The links.
        link: FileLink;
        /// The shared media.
        medium: FileMedium;
        /// The flows.
        flow: FileFlow;
    }
}

impl Reader<'_> {
    pub(super) fn scenario(&self, file: &FileScenario) -> Result<Scenario, ScenarioError> {
        let mut scenario = FileScenario::usual();
        file.apply(self, &mut scenario)?;
        let stem = std::path::Path::new(self.file).file_stem().and_then(|stem| stem.to_str());
        let name = || stem.unwrap_or("scenario").to_string();
        scenario.name = file.name(self)?.unwrap_or_else(name);
        scenario.states_runs = file.runs.is_some();
        self.within(&file.duration, limits::duration(scenario.duration))?;
        if file.warmup.is_some() && scenario.warmup >= scenario.duration {
            let message = "the warm-up leaves nothing to measure";
            return self.fail(&file.warmup, message, "make it shorter than the duration");
        }
        scenario.record = Record::Series(file.bin(self)?.unwrap_or(Record::BIN));
        for link in &file.link {
            let link = self.link(link, &scenario)?;
            scenario.links.push(link);
        }
        for medium in &file.medium {
            let medium = self.medium(&medium.value, &scenario)?;
            scenario.media.push(medium);
        }
        self.within(&file.mss, limits::packets(&scenario))?;
        if scenario.links.is_empty() && scenario.media.is_empty() {
            let help = "add [[link]] with name and rate or trace";
            return self.fail(&None::<At<()>>, "the scenario has no link", help);
        }
        for flow in &file.flow {
            self.flow(flow, &mut scenario)?;
            self.within(flow, limits::flows(&scenario))?;
        }
        self.station_flows(file, &scenario)?;
        let bins = limits::bins(&scenario);
        match file.bin.place() {
            Some(_) => self.within(&file.bin, bins)?,
            None => self.within(&file.duration, bins)?,
        }
        if scenario.flows.is_empty() && scenario.arrivals.is_empty() {
            let help = "add [[flow]] with a scheme";
            return self.fail(&None::<At<()>>, "the scenario has no flow", help);
        }
        Ok(scenario)
    }

    /// Returns an error if a station of an access point names a flow that does not exist.
    fn station_flows(&self, file: &FileScenario, scenario: &Scenario) -> Result<(), ScenarioError> {
        let access_points = file.link.iter().filter_map(|link| link.value.wifi.as_ref());
        let stations = access_points.filter_map(|wifi| wifi.value.stations.as_ref());
        let stations = stations.flat_map(|stations| &stations.value);
        let names = stations.filter_map(|station| station.value.flows.as_ref());
        for name in names.flat_map(|flows| &flows.value) {
            let arrivals = scenario.arrivals.iter().map(|arrivals| &arrivals.flow);
            let known: Vec<_> =
                scenario.flows.iter().chain(arrivals).map(|flow| flow.name.as_str()).collect();
            if !known.contains(&name.value.as_str()) {
                let message = format!("there is no flow `{}` for this station", name.value);
                return self.fail(name, message, &format!("the flows are {}", known.join(", ")));
            }
        }
        Ok(())
    }
}

/// Writes the section of the run.
pub(super) fn written(scenario: &Scenario) -> Result<String, ScenarioError> {
    let mut table = FileScenario::written(scenario, &FileScenario::usual())?;
    table.put("name", &scenario.name)?;
    let is_usual = scenario.runs.count == FileScenario::usual().runs.count;
    if scenario.states_runs && is_usual {
        table.put("runs", &scenario.runs.count)?;
    }
    let Record::Series(bin) = scenario.record else {
        return Err(ScenarioError::new("the scenario records no time series")
            .help("files always do: set `record` to Record::Series"));
    };
    table.put_field("bin", Some(bin), Some(Record::BIN))?;
    if !scenario.digest {
        return Err(ScenarioError::new("the scenario has its digest switched off")
            .help("runs of files always have one: set `digest` to true"));
    }
    Ok(table.lines())
}
