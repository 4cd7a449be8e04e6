//! The network of the XCP-b paper's Fig. 7: wired nodes, a router, a base station, and wireless
//! nodes at 802.11b. ns-2's figures in `reference/peers/wifi_dcf.csv` are of the same network.

use paceline_cc::{Rate, Span, Spec, Stream};
use paceline_path::BufferSize;
use paceline_sim::scenario::{
    Capacity, Direction, FlowSpec, Layer, LinkSpec, LossRecovery, MediumSpec, RouterChoice,
    Scenario, StationPort, StationUse, check_scheme,
};
use paceline_wifi::Preamble;

/// Bytes of a packet with its headers.
pub const PACKET: u32 = 1340;
/// Bytes of a packet without its headers, which the paper and ns-2 count, over all of them.
pub const COUNTED: f64 = 1300.0 / 1340.0;

/// What runs over the network.
#[derive(Clone, Debug)]
pub struct NetworkScheme {
    /// Of the senders.
    pub sender: String,
    /// Of the routers at the medium, and of those at the wires.
    pub routers: Option<(String, &'static str)>,
    /// Packets that each queue at the medium holds.
    pub buffer: u64,
    /// Packets that a flow has under way at most.
    pub window: Option<u64>,
    /// How lost packets are found and sent again.
    pub recovery: LossRecovery,
}

impl NetworkScheme {
    /// NewReno, with queues of so many packets at the medium.
    pub fn newreno(buffer: u64) -> NetworkScheme {
        let (routers, window, recovery) = (None, None, LossRecovery::Sack);
        NetworkScheme { sender: "newreno".into(), routers, buffer, window, recovery }
    }

    /// NewReno that never loses a packet, to learn what the medium carries.
    pub fn capacity() -> NetworkScheme {
        NetworkScheme { window: Some(200), ..NetworkScheme::newreno(3000) }
    }

    /// XCP-b at the medium with buffers of 50 packets and Qmax of 64 kB times `scale`, XCP at the
    /// wires.
    pub fn xcpb(kappa: u32, scale: u32) -> NetworkScheme {
        let qmax = 64_000 * u64::from(scale);
        let router = format!("xcpb[kappa={kappa},tau=0.17,qmax={qmax}]");
        NetworkScheme {
            sender: "xcpb".into(),
            routers: Some((router, "xcp")),
            ..NetworkScheme::newreno(50 * u64::from(scale))
        }
    }

    /// XCP that is told a capacity in Mbit/s.
    pub fn xcp(told: f64, buffer: u64) -> NetworkScheme {
        let router = format!("xcp[capacity={}kbps]", (told * 1000.0 + 0.5) as u64);
        let routers = Some((router, "xcp"));
        NetworkScheme { sender: "xcp".into(), routers, ..NetworkScheme::newreno(buffer) }
    }
}

fn router(text: &str) -> Result<RouterChoice, String> {
    Ok(RouterChoice::Scheme(Spec::parse(text).map_err(|error| error.to_string())?))
}

/// The network with so many stations at 11 Mbit/s times `scale`, without flows. The medium is
/// called `air`, the stations `w0`, `w1`, ..., the wires `down` and `up`.
///
/// # Errors
/// A router that is none.
pub fn network(
    name: &str,
    which: &NetworkScheme,
    stations: u32,
    scale: u32,
) -> Result<Scenario, String> {
    let mut scenario = Scenario::new(name);
    scenario.mss = PACKET;
    for wire in ["down", "up"] {
        let rate = Rate::from_mbps(100.0 * f64::from(scale));
        let mut link = LinkSpec::new(wire, Capacity::Constant(rate));
        link.buffer = BufferSize::Packets(10_000);
        if let Some((_, wired)) = &which.routers {
            link.router = router(wired)?;
        }
        scenario.links.push(link);
    }
    let mut medium = MediumSpec::new("air", Layer::B(Preamble::Long));
    medium.scale = scale;
    let mut port = medium.access_point.clone();
    port.buffer = BufferSize::Packets(which.buffer);
    port.router = match &which.routers {
        Some((at_medium, _)) => router(at_medium)?,
        None => RouterChoice::None,
    };
    medium.access_point = port.clone();
    for number in 0..stations {
        let rate = Rate::from_mbps(11.0 * f64::from(scale));
        let mut station = StationPort::new(&format!("w{number}"), rate);
        station.port = port.clone();
        medium.stations.push(station);
    }
    scenario.media.push(medium);
    Ok(scenario)
}

/// A flow to or from a station, with each packet acknowledged.
///
/// # Errors
/// A scheme that is none.
pub fn flow(
    which: &NetworkScheme,
    name: String,
    station: u32,
    direction: Direction,
    rtt_ms: u64,
) -> Result<FlowSpec, String> {
    let (path, back) = match direction {
        Direction::Down => ("down", "up"),
        Direction::Up => ("up", "down"),
    };
    let mut flow = FlowSpec::bulk(
        check_scheme(&which.sender).map_err(|error| format!("{}: {error}", which.sender))?,
        &[path],
    );
    flow.name = name;
    flow.back = vec![back.into()];
    flow.station = Some(StationUse { station: format!("w{station}"), direction });
    flow.rtt = Span::from_millis(rtt_ms);
    flow.ack = Some(paceline_cc::AckPolicy::EACH);
    flow.recovery = which.recovery;
    // The paper's ns-2 has no handshake.
    flow.handshake = false;
    flow.receive_window = which.window.map(|packets| packets * u64::from(PACKET));
    Ok(flow)
}

/// Stations, of which each has a propagation delay of its own.
const PATHS: u32 = 9;
/// The sum of all durations of the flows that come and go, in seconds.
const TOTAL: f64 = 3080.0;

/// The flows that come and go (the paper's section 4.3).
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// True if every second flow is an upload.
    pub uploads: bool,
    /// The propagation delay, both ways; 0 for 40, 80, ... 360 ms at the nine stations.
    pub rtt_ms: u64,
    /// Which share of the durations is that of short flows; `None` for the paper's mix.
    pub short: Option<f64>,
}

/// The durations of the flows, in seconds.
fn durations(short: Option<f64>, random: &mut Stream) -> Vec<f64> {
    let mut between = |from: f64, to: f64| from + (to - from) * random.uniform();
    let mut all = Vec::new();
    match short {
        None => {
            all.extend((0..20).map(|_| between(80.0, 120.0)));
            all.extend((0..20).map(|_| between(25.0, 35.0)));
            all.extend((0..80).map(|_| between(2.0, 10.0)));
        }
        Some(share) => {
            let mut left = share * TOTAL;
            while left > 1.0 {
                let duration = between(2.0, 10.0);
                left -= duration;
                all.push(duration);
            }
            let mut left = (1.0 - share) * TOTAL;
            while left > 1.0 {
                let duration = between(80.0, 120.0);
                left -= duration;
                all.push(duration);
            }
        }
    }
    all
}

/// The network with nine stations and flows that begin at random within 300 s; the run has no
/// duration yet. 120 flows of the paper's mix: 20 of 80 to 120 s, 20 of 25 to 35 s, 80 of 2 to 10 s.
///
/// # Errors
/// As of [`network`] and [`flow`].
pub fn come_and_go(
    which: &NetworkScheme,
    scale: u32,
    load: Load,
    seed: u64,
) -> Result<Scenario, String> {
    let mut scenario = network("come and go", which, PATHS, scale)?;
    scenario.seed = seed;
    let mut random = Stream::new(seed, "flows that come and go");
    for (at, duration) in (0u32..).zip(durations(load.short, &mut random)) {
        let up = load.uploads && at % 2 == 1;
        let way = if up { "up" } else { "down" };
        let path = if load.uploads { at / 2 % PATHS } else { at % PATHS };
        let rtt_ms = if load.rtt_ms == 0 { 40 * (u64::from(path) + 1) } else { load.rtt_ms };
        let direction = if up { Direction::Up } else { Direction::Down };
        let mut flow = flow(which, format!("{way}-{at}"), path, direction, rtt_ms)?;
        flow.start = Span::from_secs_f64(300.0 * random.uniform());
        flow.stop = Some(flow.start + Span::from_secs_f64(duration));
        scenario.flows.push(flow);
    }
    Ok(scenario)
}
