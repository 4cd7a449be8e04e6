//! The network of the XCP-b paper's Fig. 7: wired nodes, a router, a base station, and wireless
//! nodes with 802.11b. ns-2's figures in `reference/peers/wifi_dcf.csv` are from this network.

use paceline_cc::{Rate, Span, Spec, Stream};
use paceline_path::BufferSize;
use paceline_sim::scenario::{
    Capacity, Direction, FlowSpec, Layer, LinkSpec, LossRecovery, MediumSpec, RouterChoice,
    Scenario, StationPort, StationUse, check_scheme,
};
use paceline_wifi::Preamble;

/// Size of a packet with its headers, in bytes.
pub const PACKET: u32 = 1340;
/// Share of a packet's bytes that the paper and ns-2 count: those without headers.
pub const COUNTED: f64 = 1300.0 / 1340.0;

/// The schemes, queues and loss recovery that run over the network.
#[derive(Clone, Debug)]
pub struct NetworkScheme {
    /// Scheme of the senders.
    pub sender: String,
    /// Router schemes at the medium and at the wires.
    pub routers: Option<(String, &'static str)>,
    /// Capacity of each queue at the medium, in packets.
    pub buffer: u64,
    /// Most packets that a flow may have in flight.
    pub window: Option<u64>,
    /// Method that detects and retransmits lost packets.
    pub recovery: LossRecovery,
}

impl NetworkScheme {
    /// NewReno, with queues of `buffer` packets at the medium.
    pub fn newreno(buffer: u64) -> NetworkScheme {
        let (routers, window, recovery) = (None, None, LossRecovery::Sack);
        NetworkScheme { sender: "newreno".into(), routers, buffer, window, recovery }
    }

    /// NewReno that never loses a packet, to measure the medium's capacity.
    pub fn capacity() -> NetworkScheme {
        NetworkScheme { window: Some(200), ..NetworkScheme::newreno(3000) }
    }

    /// XCP-b at the medium, with buffers of 50 packets and Qmax of 64 kB times `scale`; XCP at the
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

    /// XCP whose routers assume a capacity of `told` Mbit/s.
    pub fn xcp(told: f64, buffer: u64) -> NetworkScheme {
        let router = format!("xcp[capacity={}kbps]", (told * 1000.0 + 0.5) as u64);
        let routers = Some((router, "xcp"));
        NetworkScheme { sender: "xcp".into(), routers, ..NetworkScheme::newreno(buffer) }
    }
}

fn router(text: &str) -> Result<RouterChoice, String> {
    Ok(RouterChoice::Scheme(Spec::parse(text).map_err(|error| error.to_string())?))
}

/// Returns the network with `stations` stations at 11 Mbit/s times `scale`, without flows. The
/// medium is called `air`, the stations `w0`, `w1`, ..., the wires `down` and `up`.
///
/// # Errors
/// A router scheme is unknown or invalid.
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

/// Returns a flow to or from a station, with each packet acknowledged.
///
/// # Errors
/// The scheme is unknown or invalid.
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

/// Turns an upload into a download, and a download into an upload.
pub fn exchange(flow: &mut FlowSpec) {
    std::mem::swap(&mut flow.path, &mut flow.back);
    let Some(hop) = &mut flow.station else { return };
    (hop.direction, flow.name) = match hop.direction {
        Direction::Up => (Direction::Down, flow.name.replacen("up", "down", 1)),
        Direction::Down => (Direction::Up, flow.name.replacen("down", "up", 1)),
    };
}

/// Number of stations, each with its own propagation delay.
const PATHS: u32 = 9;
/// Sum of the durations of all flows that come and go, in seconds.
const TOTAL: f64 = 3080.0;

/// The flows that come and go (paper, section 4.3).
#[derive(Clone, Copy, Debug)]
pub struct WirelessLoad {
    /// Whether every second flow is an upload.
    pub uploads: bool,
    /// Propagation delay of both ways together, in ms; 0 for 40, 80, ... 360 ms at the nine
    /// stations.
    pub rtt_ms: u64,
    /// Share of the total duration that short flows have; `None` for the paper's mix.
    pub short: Option<f64>,
}

/// Draws the durations of the flows, in seconds.
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

/// Returns the network with nine stations, and flows that begin at random times within 300 s. The
/// caller sets the run's duration. The paper's mix has 120 flows: 20 of 80 to 120 s, 20 of 25 to 35
/// s, 80 of 2 to 10 s.
///
/// # Errors
/// As for [`network`] and [`flow`].
pub fn come_and_go(
    which: &NetworkScheme,
    scale: u32,
    load: WirelessLoad,
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
