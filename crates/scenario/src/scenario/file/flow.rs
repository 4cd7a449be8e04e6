//! Flows.

use paceline_cc::{AckPolicy, EcnFeedback, Rate, SchemeSpec, Span, Spec};
use paceline_flow::{Audio, LossRecovery, RttSamples, Video, Workload};

use super::error::ScenarioError;
use super::keys::{Section, keys, within};
use super::limits;
use super::reader::{At, Place as _, Reader};
use super::table::Table;
use super::text::nameless;
use super::value::check_scheme;
use super::value::{Sysctls, words};
use super::workload::{Call, Limited, OnOff, RandomFlows};
use crate::scenario::spec::{
    Arrivals, Direction, FlowSpec, Programs, Scenario, SchemeChoice, StationUse, Stretch,
};

keys! {
    /// One flow, or several alike.
    FileFlow: "flow" of FlowSpec = FlowSpec::bulk(cubic(), &[]);
    /// the name in results; equal names get numbers
    name: String, default "the scheme's name" => name;
    /// `"abc[dt=60ms]"`, `"cubic+codel"`, `"linux:bbr[qdisc=fq]+codel"`. It must be given, or `host`, or
    /// `audio`, which no scheme holds back then
    scheme: String;
    /// `"linux"`: the ends of the flow are two Linux hosts ([Linux guests](linux-guest.md)).
    /// Settings of Paceline's own ends (`handshake`, `ack_every`, `receive_window`, `ecn`,
    /// `recovery`, `timestamps`, `slow_start_after_idle`) do not apply to them
    host: String;
    /// with `host`: flows with equal `host_name` are connections of one sending and one receiving host.
    /// `qdisc`, `mtu` and `sysctls` of one of these flows apply to all of them
    host_name: String, default "hosts of its own";
    /// with `host`: the kernel's congestion control, or a C file (`"./mine.c"`)
    cc: String, default "`\"cubic\"`";
    /// with `host`: the root queueing discipline of both hosts' devices (`"fq"`)
    qdisc: String, default "the kernel's default";
    /// with `host`: the MTU of both hosts' devices, in bytes
    mtu: u16, default "`mss`";
    /// with `host`: settings of both hosts,
    /// `{ "net.ipv4.tcp_ecn" = 1, "net.ipv4.tcp_rmem" = "4096 131072 6291456" }`
    sysctls: Sysctls;
    /// number of such flows; not with `arrivals`
    count: u32, in within(1..=100_000, "write count = 5") => count;
    /// the links that its data passes, in order
    path: Vec<String>, default "the only link, or none with a `station` and no links";
    /// the links that its acknowledgements pass, in order
    back: Vec<String>;
    /// the station of a shared medium that it goes to or comes from, beside the links of `path` and
    /// `back`
    station: String;
    /// `"down"`: the medium comes last, from the access point to the station; `"up"`: it comes first,
    /// from the station
    direction: Direction, default "`\"down\"`";
    /// round-trip propagation delay, half of it each way
    rtt: Span => rtt;
    /// delay, loss and other impairments of the data's path
    data: Stretch => data;
    /// delay, loss and other impairments of the acknowledgements' path
    acks: Stretch => acks;
    /// start time
    start: Span => start;
    /// stop time
    stop: Span, default "never" => stop;
    /// with `count`: each flow starts this much later than the one before
    stagger: Span => stagger;
    /// with `count`: each flow stops this much earlier than the one before
    stagger_stop: Span => stagger_stop;
    /// connections begin with a handshake, as TCP's do: see Handshakes below. `false` sends data at
    /// once, as ns-2's agents and Remy's simulator do. Schemes that retransmit nothing (GCC,
    /// Sprout) have no handshake, nor has RCP, whose first packet requests the rate as its SYN does
    handshake: bool => handshake;
    /// the receiver acknowledges after this many packets; with `ecn = "accurate"` also when marks
    /// begin, and each second mark (RFC 9768)
    ack_every: u32, default "as the scheme does it; for stock TCP as Linux' receiver does it: every \
        second packet, 40 ms at the latest (where packets arrive more than 20 ms apart, later: up to \
        the RTT, at most 200 ms), and at once for its first 16 acknowledgements, for pushed \
        packets, where the ECN field changes (`ecn = \"classic\"`: at the first mark and at CWR) \
        and while the receive window grows; beyond a gap three times at once, then once in a \
        millisecond";
    /// maximum number of bytes that the sender may send beyond the last one that has arrived in
    /// order: the receiver's window, or the smaller of the socket buffers
    receive_window: u64, default "no limit" => receive_window;
    /// how the receiver reports marks to the sender: not at all, as in RFC 3168, or with a count of
    /// all marks
    ecn: EcnFeedback => ecn;
    /// how losses are detected and repaired: by selective acknowledgements as in Linux' TCP (RACK,
    /// RFC 8985), or as `"rfc9002"` specifies for QUIC ([both
    /// rules](metrics.md#when-a-packet-counts-as-lost)); or without them as `"newreno"` (RFC 6582)
    /// or `"reno"` (RFC 5681), with duplicate acknowledgements, no tail loss probes, and the timer
    /// of RFC 6298, at least 200 ms
    recovery: Recovery, default "`\"sack\"`";
    /// without selective acknowledgements: true measures an RTT with each acknowledgement of new
    /// data, false only of one packet at a time
    timestamps: bool, default "`true`";
    /// true halves the window for each retransmission timeout without data (RFC 2861), as Linux does
    /// unless `net.ipv4.tcp_slow_start_after_idle` is 0; false keeps it, as ns-2's one-way TCPs do
    slow_start_after_idle: bool => slow_start_after_idle;
    /// sends this many bytes and ends
    bytes: u64;
    /// an application that writes at a limited rate: see below
    limited: Limited;
    /// an application that switches on and off: see below
    on_off: OnOff;
    /// frames of a video: see below
    video: Video;
    /// packets of audio: see below
    audio: Audio;
    /// a call with video and audio in both directions: see below. It needs the links of both: `path` and
    /// `back`, or a `station`
    call: Call;
    /// with `host`: programs of yours at the two hosts: see below
    programs: Programs;
    /// many short flows instead of one: see below
    arrivals: RandomFlows;
}

/// Any scheme: the other defaults do not depend on it.
fn cubic() -> SchemeSpec {
    SchemeSpec { sender: Spec { name: "cubic".into(), args: Vec::new() }, queue: None }
}

/// How losses are detected and repaired, without the setting `timestamps`.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Recovery {
    Sack,
    Rfc9002,
    NewReno,
    Reno,
}

words! {
    Recovery {
        "sack" => Recovery::Sack,
        "rfc9002" => Recovery::Rfc9002,
        "newreno" => Recovery::NewReno,
        "reno" => Recovery::Reno,
    }
}

impl Reader<'_> {
    /// Reads a flow, or short flows that arrive at random, into the scenario.
    pub(super) fn flow(
        &self,
        written: &At<FileFlow>,
        scenario: &mut Scenario,
    ) -> Result<(), ScenarioError> {
        let file = &written.value;
        let scheme = self.ends(written)?;
        self.refuse_own_settings(written, &scheme)?;
        let mut flow = FlowSpec::bulk(scheme, &[]);
        if file.scheme.is_none() && file.host.is_none() {
            flow.name = "audio".into();
        }
        file.apply(self, &mut flow)?;
        flow.station = self.station_use(file, scenario)?;
        flow.path = self.path(written, scenario)?;
        flow.back = self.route(&file.back, scenario)?.unwrap_or_default();
        flow.ack = match file.ack_every(self)? {
            Some(0) => {
                let message = "an acknowledgement covers at least one packet";
                return self.fail(&file.ack_every, message, "write ack_every = 2");
            }
            Some(1) => Some(AckPolicy::EACH),
            every => every.map(|every| AckPolicy { every, ..AckPolicy::DELAYED }),
        };
        if flow.receive_window.is_some_and(|bytes| bytes < u64::from(scenario.mss)) {
            let message = "the receive window is smaller than a packet";
            let help = "write bytes: receive_window = 3_000_000";
            return self.fail(&file.receive_window, message, help);
        }
        flow.recovery = self.recovery(file)?;
        self.workload(written, scenario.mss, &mut flow)?;
        if file.arrivals.is_some() {
            self.no_count(file)?;
        }
        flow.programs = self.programs(file, &flow.scheme)?;
        self.within(written, limits::workload(&flow))?;
        if let Some(call) = file.call(self)? {
            if flow.back.is_empty() && flow.station.is_none() {
                let message = "a call needs the links of both directions";
                return self.fail(&file.call, message, "write back = [\"up\"]");
            }
            if matches!(&flow.scheme, SchemeChoice::Transport(made) if made.hosts().is_some()) {
                let message = "a call has hosts of its own in each direction, and shares them with no other flow";
                return self.fail(
                    &file.call,
                    message,
                    "leave host_name (or `host` of the scheme) out",
                );
            }
            scenario.flows.extend(call.flows(flow));
            return Ok(());
        }
        match file.arrivals(self)? {
            None => scenario.flows.push(flow),
            Some(RandomFlows { per_second, bytes }) => {
                scenario.arrivals.push(Arrivals { flow, per_second, bytes });
            }
        }
        Ok(())
    }

    /// Returns an error at a key that says how many flows there are, and when each of them starts
    /// and stops, beside `arrivals`, which say this by themselves.
    fn no_count(&self, file: &FileFlow) -> Result<(), ScenarioError> {
        let keys = [
            ("count", file.count.place()),
            ("stagger", file.stagger.place()),
            ("stagger_stop", file.stagger_stop.place()),
        ];
        let Some((name, key)) = keys.into_iter().find(|(_, key)| key.is_some()) else {
            return Ok(());
        };
        let message = format!("a flow with arrivals has no {name}");
        let help =
            format!("arrivals are many flows, of which per_second says how many; leave {name} out");
        self.fail(&key, message, &help)
    }

    /// Returns the station that a flow names.
    fn station_use(
        &self,
        file: &FileFlow,
        scenario: &Scenario,
    ) -> Result<Option<StationUse>, ScenarioError> {
        let direction = file.direction(self)?;
        let Some(station) = file.station(self)? else {
            if direction.is_none() {
                return Ok(None);
            }
            let help = "write station = \"laptop\", or leave direction out";
            return self.fail(&file.direction, "a direction without a station", help);
        };
        if scenario.station(&station).is_none() {
            let stations = scenario.media.iter().flat_map(|medium| &medium.stations);
            let known: Vec<_> = stations.map(|station| station.name.as_str()).collect();
            let help = match known.is_empty() {
                true => "add [[medium]] with [[medium.station]]".to_string(),
                false => format!("the stations are {}", known.join(", ")),
            };
            return self.fail(&file.station, format!("there is no station `{station}`"), &help);
        }
        Ok(Some(StationUse { station, direction: direction.unwrap_or(Direction::Down) }))
    }

    /// Returns the links of a flow's data: those that it names, or the only one.
    fn path(
        &self,
        written: &At<FileFlow>,
        scenario: &Scenario,
    ) -> Result<Vec<String>, ScenarioError> {
        if let Some(path) = self.route(&written.value.path, scenario)? {
            return Ok(path);
        }
        match &scenario.links[..] {
            [] if written.value.station.is_some() => Ok(Vec::new()),
            [] => self.fail(written, "the flow uses no link", "write station = \"laptop\""),
            [link] => Ok(vec![link.name.clone()]),
            _ => {
                let message = "with several links a flow needs a path";
                self.fail(written, message, "write path = [\"first\", \"second\"]")
            }
        }
    }

    fn route(
        &self,
        names: &Option<At<Vec<At<String>>>>,
        scenario: &Scenario,
    ) -> Result<Option<Vec<String>>, ScenarioError> {
        let Some(names) = names else { return Ok(None) };
        let mut route = Vec::new();
        for name in &names.value {
            if !scenario.links.iter().any(|link| link.name == name.value) {
                let known: Vec<_> = scenario.links.iter().map(|link| link.name.as_str()).collect();
                let help = format!("the links are {}", known.join(", "));
                return self.fail(name, format!("there is no link `{}`", name.value), &help);
            }
        }
        for name in &names.value {
            if route.contains(&name.value) {
                let message = format!("the path passes link `{}` twice", name.value);
                return self.fail(name, message, "give each passage a link of its own");
            }
            route.push(name.value.clone());
        }
        Ok(Some(route))
    }

    fn recovery(&self, file: &FileFlow) -> Result<LossRecovery, ScenarioError> {
        let timestamps = file.timestamps(self)?;
        let samples = match timestamps {
            Some(false) => RttSamples::One,
            Some(true) | None => RttSamples::Each,
        };
        match (file.recovery(self)?.unwrap_or(Recovery::Sack), timestamps) {
            (Recovery::NewReno, _) => Ok(LossRecovery::NewReno(samples)),
            (Recovery::Reno, _) => Ok(LossRecovery::Reno(samples)),
            (Recovery::Sack, None) => Ok(LossRecovery::Sack),
            (Recovery::Rfc9002, None) => Ok(LossRecovery::Rfc9002),
            (Recovery::Sack | Recovery::Rfc9002, Some(_)) => {
                let message = "timestamps are chosen for a flow without selective acknowledgements";
                let help = "write recovery = \"newreno\" or \"reno\" beside it, or leave it out";
                self.fail(&file.timestamps, message, help)
            }
        }
    }

    fn workload(
        &self,
        written: &At<FileFlow>,
        mss: u32,
        flow: &mut FlowSpec,
    ) -> Result<(), ScenarioError> {
        let file = &written.value;
        let kinds = [
            file.bytes.is_some(),
            file.limited.is_some(),
            file.on_off.is_some(),
            file.video.is_some(),
            file.audio.is_some(),
            file.call.is_some(),
            file.arrivals.is_some(),
            file.programs.as_ref().is_some_and(|programs| programs.value.sender.is_some()),
        ];
        if kinds.into_iter().filter(|is_given| *is_given).count() > 1 {
            let message = "a flow has at most one of bytes, limited, on_off, video, audio, call, arrivals, and a \
                 program at its sender";
            return self.fail(written, message, "keep one of them");
        }
        if let Some(bytes) = file.bytes(self)? {
            flow.workload = Workload::Bytes(bytes);
        } else if let Some(limited) = file.limited(self)? {
            flow.workload = limited.workload(mss);
        } else if let Some(on_off) = file.on_off(self)? {
            flow.workload = on_off.workload();
        } else if let Some(video) = file.video(self)? {
            flow.workload = Workload::Video(video);
        } else if let Some(audio) = file.audio(self)? {
            flow.workload = Workload::Audio(audio);
        }
        Ok(())
    }
}

/// Lowest rate at which audio is sent.
const AUDIO_RATE: Rate = Rate::from_bps(600_000);

/// Returns the scheme of audio that no scheme was written for: it sends at once what the application has,
/// up to twice the audio's rate, and never probes or sends again.
pub(super) fn audio_scheme(audio: &Audio) -> String {
    let bits = f64::from(audio.packet_bytes()) * 8.0 * audio.packets_per_s;
    let rate = AUDIO_RATE.max(Rate::from_bps((2.0 * bits) as u64));
    format!(
        "gcc[probes=false,cwnd_time=0s,rtt_limit=0s,loss=draft,initial_rate={rate},min_rate={rate}]"
    )
}

impl Call {
    /// Returns the four flows of a call, of which `flow` has the scheme of the video, and the path.
    fn flows(&self, flow: FlowSpec) -> [FlowSpec; 4] {
        let other_way = |direction| match direction {
            Direction::Down => Direction::Up,
            Direction::Up => Direction::Down,
        };
        let mut reverse = flow.clone();
        std::mem::swap(&mut reverse.path, &mut reverse.back);
        std::mem::swap(&mut reverse.data, &mut reverse.acks);
        if let Some(used) = &mut reverse.station {
            used.direction = other_way(used.direction);
        }
        reverse.name = format!("{}-back", flow.name);
        let audio = |video: &FlowSpec| {
            let mut audio = video.clone();
            audio.name = format!("{}-audio", video.name);
            if let Ok(scheme) = check_scheme(&audio_scheme(&self.audio)) {
                audio.scheme = scheme.into();
            }
            audio.workload = Workload::Audio(self.audio.clone());
            audio
        };
        let [audio_there, audio_back] = [audio(&flow), audio(&reverse)];
        let with_video = |mut flow: FlowSpec| {
            flow.workload = Workload::Video(self.video.clone());
            flow
        };
        [with_video(flow), audio_there, with_video(reverse), audio_back]
    }
}

/// Writes a flow with its heading.
pub(super) fn written(spec: &FlowSpec, scenario: &Scenario) -> Result<String, ScenarioError> {
    let mut table = common(spec, scenario)?;
    match &spec.workload {
        Workload::Bulk => {}
        Workload::Bytes(bytes) => table.put("bytes", bytes)?,
        Workload::Limited { rate, message } => {
            table.put("limited", &Limited::new(*rate, *message, scenario.mss))?;
        }
        Workload::OnOff { on, off, starts_off, fresh } => {
            table.put("on_off", &OnOff::of(*on, *off, *starts_off, *fresh)?)?;
        }
        Workload::Video(video) => table.put("video", video)?,
        Workload::Audio(audio) => table.put("audio", audio)?,
        Workload::Supplied => {
            return Err(ScenarioError::new("the flow's data is supplied by a driver").help(
                "in files flows make their data themselves: bulk, bytes, rate, on_off, video, audio",
            ));
        }
    }
    Ok(format!("[[flow]]\n{}", table.lines()))
}

/// Writes short flows with their heading.
pub(super) fn written_arrivals(
    spec: &Arrivals,
    scenario: &Scenario,
) -> Result<String, ScenarioError> {
    if spec.flow.workload != Workload::Bulk {
        let message = "flows that arrive at random have a workload, which nothing reads";
        return Err(ScenarioError::new(message).help("let it be bulk; their sizes are `bytes`"));
    }
    let mut table = common(&spec.flow, scenario)?;
    let flows = RandomFlows { per_second: spec.per_second, bytes: spec.bytes };
    table.put("arrivals", &flows)?;
    Ok(format!("[[flow]]\n{}", table.lines()))
}

/// Writes the keys that flows of all kinds have.
fn common(spec: &FlowSpec, scenario: &Scenario) -> Result<Table, ScenarioError> {
    let has_name = match &spec.scheme {
        SchemeChoice::Named(_) => true,
        SchemeChoice::Custom(_) => false,
        SchemeChoice::Transport(made) => made.has_name(),
    };
    if !has_name {
        return Err(nameless("scheme", spec.scheme.name()));
    }
    let mut table = FileFlow::written(spec, &FlowSpec::bulk(spec.scheme.clone(), &[]))?;
    table.put("scheme", &spec.scheme.to_string())?;
    let usual = match &scenario.links[..] {
        [] => Some(Vec::new()),
        [link] => Some(vec![link.name.clone()]),
        _ => None,
    };
    table.put_field("path", Some(spec.path.clone()), usual)?;
    table.put_field("back", Some(spec.back.clone()), Some(Vec::new()))?;
    if let Some(hop) = &spec.station {
        table.put("station", &hop.station)?;
        table.put_field("direction", Some(hop.direction), Some(Direction::Down))?;
    }
    if let Some(AckPolicy { every, delay }) = spec.ack {
        // A receiver that acknowledges each packet delays nothing.
        if every > 1 && delay != AckPolicy::DELAYED.delay {
            let message = format!("acknowledgements are delayed by {delay} at most");
            let help = format!("in files it is always {}", AckPolicy::DELAYED.delay);
            return Err(ScenarioError::new(message).help(help));
        }
        table.put("ack_every", &every)?;
    }
    let (recovery, samples) = match spec.recovery {
        LossRecovery::Sack => (Recovery::Sack, RttSamples::Each),
        LossRecovery::Rfc9002 => (Recovery::Rfc9002, RttSamples::Each),
        LossRecovery::NewReno(samples) => (Recovery::NewReno, samples),
        LossRecovery::Reno(samples) => (Recovery::Reno, samples),
    };
    table.put_field("recovery", Some(recovery), Some(Recovery::Sack))?;
    if let Some(programs) = &spec.programs {
        table.put("programs", programs)?;
    }
    table.put_field("timestamps", Some(samples == RttSamples::Each), Some(true))?;
    Ok(table)
}
