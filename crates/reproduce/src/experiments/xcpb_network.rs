//! The network of the XCP-b paper's Fig. 7: wired nodes, a router, a base station, and wireless
//! nodes at 802.11b.

use paceline_cc::{Rate, Span, Spec};
use paceline_path::BufferSize;
use paceline_path::medium::Preamble;
use paceline_sim::scenario::{
    Capacity, Direction, FlowSpec, Layer, LinkSpec, MediumSpec, RouterChoice, Scenario,
    StationPort, StationUse,
};

use super::common::scheme;

/// Bytes of a packet with its headers, and without, as the paper counts them.
pub(super) const PACKET: u32 = 1340;
pub(super) const COUNTED: f64 = 1300.0 / 1340.0;

/// What runs over the network.
#[derive(Clone, Debug)]
pub(super) struct Scheme {
    /// Of the senders.
    pub(super) sender: String,
    /// Of the routers at the medium, and of those at the wires.
    pub(super) routers: Option<(String, &'static str)>,
    /// Packets that each queue at the medium holds.
    pub(super) buffer: u64,
    /// Packets that a flow has under way at most.
    pub(super) window: Option<u64>,
}

impl Scheme {
    pub(super) fn newreno(buffer: u64) -> Scheme {
        Scheme { sender: "newreno".into(), routers: None, buffer, window: None }
    }

    /// NewReno that never loses a packet, to learn what the medium carries.
    pub(super) fn capacity() -> Scheme {
        Scheme { window: Some(200), ..Scheme::newreno(3000) }
    }

    /// XCP-b at the medium with buffers of 50 packets and Qmax of 64 kB times `scale`, XCP at the
    /// wires.
    pub(super) fn xcpb(kappa: u32, scale: u32) -> Scheme {
        let qmax = 64_000 * u64::from(scale);
        let router = format!("xcpb[kappa={kappa},tau=0.17,qmax={qmax}]");
        Scheme {
            sender: "xcpb".into(),
            routers: Some((router, "xcp")),
            buffer: 50 * u64::from(scale),
            window: None,
        }
    }

    /// XCP that is told a capacity in Mbit/s.
    pub(super) fn xcp(told: f64, buffer: u64) -> Scheme {
        let router = format!("xcp[capacity={}kbps]", (told * 1000.0 + 0.5) as u64);
        Scheme { sender: "xcp".into(), routers: Some((router, "xcp")), buffer, window: None }
    }
}

fn router(text: &str) -> Result<RouterChoice, String> {
    Ok(RouterChoice::Scheme(Spec::parse(text).map_err(|error| error.to_string())?))
}

/// The network with so many stations at 11 Mbit/s times `scale`, without flows.
pub(super) fn network(
    name: &str,
    which: &Scheme,
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

/// A flow to or from a station.
pub(super) fn flow(
    which: &Scheme,
    name: String,
    station: u32,
    direction: Direction,
    rtt_ms: u64,
) -> Result<FlowSpec, String> {
    let (path, back) = match direction {
        Direction::Down => ("down", "up"),
        Direction::Up => ("up", "down"),
    };
    let mut flow = FlowSpec::bulk(scheme(&which.sender)?, &[path]);
    flow.name = name;
    flow.back = vec![back.into()];
    flow.station = Some(StationUse { station: format!("w{station}"), direction });
    flow.rtt = Span::from_millis(rtt_ms);
    flow.ack = Some(paceline_cc::AckPolicy::EACH);
    flow.receive_window = which.window.map(|packets| packets * u64::from(PACKET));
    Ok(flow)
}
