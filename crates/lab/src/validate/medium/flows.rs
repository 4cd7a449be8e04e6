//! NewReno and XCP over the network of the XCP-b paper, compared with ns-2.
//!
//! Bounds, stated before the first run of these rows. NewReno: totals and RTTs within 15 %, the
//! uploads' share of the total within 0.1 (so that uploads and downloads keep their order), the
//! queue at the access point within 15 % or 3 packets. XCP: totals within 5 %, RTTs within 15 %,
//! queues within 15 % or 3 packets.

use paceline_cc::{Rate, Span};
use paceline_sim::Outcome;
use paceline_sim::scenario::{Direction, Layer, Scenario};
use paceline_wifi::Preamble;

use crate::validate::bound::{Bound, Tolerance};
use crate::validate::case::{Case, Check, Observations, OwnScheme};
use crate::validate::network::Settings;
use crate::wireless::{COUNTED, NetworkScheme, WirelessLoad, come_and_go, flow, network};

const NEWRENO: Tolerance = Tolerance::Share(0.15);
const XCP: Tolerance = Tolerance::Share(0.05);
const UPLOADS: Tolerance = Tolerance::Within(0.1);
const QUEUE: Tolerance = Tolerance::Either(0.15, 3.0);
const RTT: Tolerance = Tolerance::Share(0.15);
const SEEDS: u64 = 5;
/// Packets that ns-2's queue with a limit of 50 holds.
const HELD: u64 = 49;

/// The flows of a run.
#[derive(Copy, Clone, Debug)]
enum Flows {
    /// `down` downloads and `up` uploads with at most 200 packets in flight, at one station each,
    /// over queues that never drop.
    Full { down: u32, up: u32, mbps: f64 },
    /// Three such pairs at 11 Mbit/s with short preambles, and answers at this rate.
    Short { basic_mbps: f64 },
    /// Downloads at twelve stations with propagation delays of 40, 70, ... 370 ms.
    Apart,
    /// 120 flows that come and go; half of them are uploads, or none.
    ComeAndGo { uploads: bool },
    /// A download and an upload at each of three stations, from 0, 20 and 40 s on.
    Pairs,
    /// A download and an upload at each of twelve stations.
    Twelve,
    /// XCP's downloads at three stations from 0, 20 and 40 s on. Routers at the medium assume a
    /// capacity of `told` Mbit/s, and queues hold `limit` packets.
    Xcp { told: f64, limit: u64 },
}

use Flows::{Apart, ComeAndGo, Full, Pairs, Short, Twelve, Xcp};

/// A row: the flows, the measured window in seconds, and ns-2's figures in it.
#[derive(Copy, Clone, Debug)]
struct FlowsRow {
    flows: Flows,
    window: [u64; 2],
    /// Throughput without headers of all flows and of uploads, in Mbit/s.
    throughput: f64,
    up: f64,
    /// Mean number of packets in the access point's queue.
    queue: f64,
    rtt_ms: f64,
}

const fn row(
    flows: Flows,
    window: [u64; 2],
    [throughput, up, queue, rtt_ms]: [f64; 4],
) -> FlowsRow {
    FlowsRow { flows, window, throughput, up, queue, rtt_ms }
}

const fn full(down: u32, up: u32, mbps: f64) -> Flows {
    Full { down, up, mbps }
}

const fn xcp(told: f64, limit: u64) -> Flows {
    Xcp { told, limit }
}

/// Every row that is not doubtful. XCP's pairs are left out: ns-2 crashed in 5 of 12 runs.
#[rustfmt::skip]
static ROWS: [FlowsRow; 73] = [
    row(full(1, 0, 11.0), [20, 50], [3.952, 0.0, 87.0, 527.5]),
    row(full(1, 0, 2.0), [20, 50], [1.3451, 0.0, 140.8, 1550.0]),
    row(full(1, 0, 54.0), [20, 50], [6.0171, 0.0, 55.4, 347.2]),
    row(full(0, 1, 11.0), [20, 50], [3.9486, 3.949, 82.0, 527.9]),
    row(full(0, 1, 2.0), [20, 50], [1.3474, 1.347, 61.6, 1554.9]),
    row(full(0, 1, 54.0), [20, 50], [6.0159, 6.016, 103.3, 347.4]),
    row(full(3, 3, 11.0), [20, 50], [3.9549, 2.583, 551.2, 1534.3]),
    row(Short { basic_mbps: 1.0 }, [20, 50], [4.6542, 2.144, 729.9, 1716.6]),
    row(Short { basic_mbps: 2.0 }, [20, 50], [4.919, 2.859, 472.5, 1082.1]),
    row(full(3, 3, 2.0), [20, 50], [1.3507, 0.812, 557.7, 4390.6]),
    row(full(3, 0, 11.0), [20, 50], [3.9664, 0.0, 466.5, 1311.1]),
    row(full(3, 0, 2.0), [20, 50], [1.3454, 0.0, 586.1, 4638.1]),
    row(full(3, 0, 54.0), [20, 50], [6.0245, 0.0, 417.5, 806.2]),
    row(full(0, 3, 11.0), [20, 50], [3.9354, 3.935, 466.1, 1322.2]),
    row(full(0, 3, 2.0), [20, 50], [1.3381, 1.338, 466.2, 3742.7]),
    row(full(0, 3, 54.0), [20, 50], [6.0128, 6.013, 462.1, 886.4]),
    row(Apart, [50, 150], [3.9655, 0.0, 33.2, 255.3]),
    row(ComeAndGo { uploads: false }, [0, 300], [3.7681, 0.0, 27.5, 245.5]),
    row(ComeAndGo { uploads: false }, [50, 300], [3.9041, 0.0, 29.2, 245.2]),
    row(ComeAndGo { uploads: true }, [0, 300], [4.2682, 4.11, 43.0, 362.9]),
    row(ComeAndGo { uploads: true }, [50, 300], [4.4077, 4.296, 45.2, 358.0]),
    row(Pairs, [0, 80], [4.3316, 3.774, 41.3, 279.3]),
    row(Pairs, [5, 20], [3.9751, 1.84, 25.5, 214.0]),
    row(Pairs, [20, 40], [4.354, 4.15, 45.6, 270.8]),
    row(Pairs, [40, 60], [4.6127, 4.61, 48.3, 367.6]),
    row(Pairs, [60, 80], [4.5285, 4.528, 48.2, 313.7]),
    row(Twelve, [0, 300], [4.8157, 4.799, 48.0, 437.7]),
    row(Twelve, [50, 300], [4.8272, 4.822, 48.3, 437.8]),
    row(xcp(4.0, 1000), [0, 80], [3.7907, 0.0, 1.3, 92.2]),
    row(xcp(4.0, 1000), [5, 20], [3.8022, 0.0, 1.5, 95.2]),
    row(xcp(4.0, 1000), [20, 40], [3.8074, 0.0, 1.3, 91.6]),
    row(xcp(4.0, 1000), [40, 60], [3.8095, 0.0, 1.1, 90.5]),
    row(xcp(4.0, 1000), [60, 80], [3.8064, 0.0, 1.1, 90.5]),
    row(xcp(4.3, 1000), [0, 80], [3.9239, 0.0, 4.9, 104.1]),
    row(xcp(4.3, 1000), [5, 20], [3.9201, 0.0, 5.8, 113.8]),
    row(xcp(4.3, 1000), [20, 40], [3.9512, 0.0, 4.7, 101.9]),
    row(xcp(4.3, 1000), [40, 60], [3.9499, 0.0, 4.3, 99.7]),
    row(xcp(4.3, 1000), [60, 80], [3.9445, 0.0, 4.6, 100.5]),
    row(xcp(5.15, 1000), [0, 80], [3.9294, 0.0, 43.0, 245.1]),
    row(xcp(5.15, 1000), [5, 20], [3.9399, 0.0, 57.3, 396.2]),
    row(xcp(5.15, 1000), [20, 40], [3.9395, 0.0, 62.8, 299.9]),
    row(xcp(5.15, 1000), [40, 60], [3.953, 0.0, 30.4, 168.5]),
    row(xcp(5.15, 1000), [60, 80], [3.9478, 0.0, 30.4, 168.6]),
    row(xcp(5.5, 1000), [0, 80], [3.9322, 0.0, 77.6, 336.3]),
    row(xcp(5.5, 1000), [5, 20], [3.9392, 0.0, 95.0, 481.5]),
    row(xcp(5.5, 1000), [20, 40], [3.9442, 0.0, 114.5, 439.6]),
    row(xcp(5.5, 1000), [40, 60], [3.9616, 0.0, 60.1, 247.5]),
    row(xcp(5.5, 1000), [60, 80], [3.9445, 0.0, 55.5, 235.0]),
    row(xcp(5.5, 50), [0, 80], [3.8386, 0.0, 34.0, 190.4]),
    row(xcp(5.5, 50), [5, 20], [3.5239, 0.0, 22.1, 192.3]),
    row(xcp(5.5, 50), [20, 40], [3.9348, 0.0, 36.4, 186.8]),
    row(xcp(5.5, 50), [40, 60], [3.9549, 0.0, 39.0, 191.4]),
    row(xcp(5.5, 50), [60, 80], [3.9549, 0.0, 39.7, 193.4]),
    row(xcp(6.0, 1000), [0, 80], [3.9326, 0.0, 204.5, 684.6]),
    row(xcp(6.0, 1000), [5, 20], [3.9447, 0.0, 159.9, 663.8]),
    row(xcp(6.0, 1000), [20, 40], [3.9413, 0.0, 256.7, 848.4]),
    row(xcp(6.0, 1000), [40, 60], [3.9554, 0.0, 231.0, 701.2]),
    row(xcp(6.0, 1000), [60, 80], [3.9515, 0.0, 197.4, 611.6]),
    row(xcp(6.0, 50), [0, 80], [3.6048, 0.0, 27.3, 175.6]),
    row(xcp(6.0, 50), [5, 20], [2.9484, 0.0, 17.1, 182.5]),
    row(xcp(6.0, 50), [20, 40], [3.6608, 0.0, 27.7, 170.9]),
    row(xcp(6.0, 50), [40, 60], [3.848, 0.0, 32.0, 176.9]),
    row(xcp(6.0, 50), [60, 80], [3.9052, 0.0, 31.3, 173.3]),
    row(xcp(7.0, 1000), [0, 80], [3.9267, 0.0, 420.2, 1257.6]),
    row(xcp(7.0, 1000), [5, 20], [3.9413, 0.0, 338.1, 1088.1]),
    row(xcp(7.0, 1000), [20, 40], [3.9283, 0.0, 464.0, 1437.5]),
    row(xcp(7.0, 1000), [40, 60], [3.953, 0.0, 466.2, 1323.9]),
    row(xcp(7.0, 1000), [60, 80], [3.9434, 0.0, 473.5, 1339.6]),
    row(xcp(7.0, 50), [0, 80], [3.1953, 0.0, 21.7, 166.6]),
    row(xcp(7.0, 50), [5, 20], [2.3303, 0.0, 13.3, 170.5]),
    row(xcp(7.0, 50), [20, 40], [3.3095, 0.0, 22.2, 164.6]),
    row(xcp(7.0, 50), [40, 60], [3.5844, 0.0, 25.9, 166.4]),
    row(xcp(7.0, 50), [60, 80], [3.4096, 0.0, 23.9, 164.8]),
];

fn name(row: &FlowsRow) -> String {
    let flows = match row.flows {
        Full { down, up, mbps } => {
            format!("NewReno without drops at {mbps} Mbit/s, {down} down, {up} up")
        }
        Short { basic_mbps } => format!(
            "NewReno without drops at 11 Mbit/s, 3 down, 3 up, short preambles, answers at \
             {basic_mbps} Mbit/s"
        ),
        Apart => "NewReno, 12 down with RTTs of 40 to 370 ms".into(),
        ComeAndGo { uploads: true } => "NewReno, 60 flows down and 60 up that come and go".into(),
        ComeAndGo { uploads: false } => "NewReno, 120 flows down that come and go".into(),
        Pairs => "NewReno, 3 down and 3 up from 0, 20, 40 s".into(),
        Twelve => "NewReno, 12 down and 12 up".into(),
        Xcp { told, limit } => {
            format!("XCP told {told} Mbit/s, 3 down from 0, 20, 40 s, queues of {limit}")
        }
    };
    let [from, to] = row.window;
    format!("{flows}, {from} to {to} s")
}

/// Adds flows at one station each, `apart` seconds after each other: downloads, or a download and
/// an upload per station.
fn at_stations(
    which: &NetworkScheme,
    (down, up): (u32, u32),
    apart: u64,
    rtt: impl Fn(u32) -> u64,
) -> Result<Scenario, String> {
    let mut scenario = network("wifi", which, down.max(up), 1)?;
    for station in 0..down.max(up) {
        let ways = [(Direction::Down, "down", down), (Direction::Up, "up", up)];
        for (direction, way, count) in ways {
            if station < count {
                let name = format!("{way}-{station}");
                let mut flow = flow(which, name, station, direction, rtt(station))?;
                flow.start = Span::from_secs(apart * u64::from(station));
                scenario.flows.push(flow);
            }
        }
    }
    Ok(scenario)
}

fn scenario(flows: Flows, label: &str, seed: u64) -> Result<Scenario, String> {
    let settings = Settings::of(label)?;
    let sender = settings.scheme;
    let newreno = |which: NetworkScheme| NetworkScheme { sender: sender.into(), ..which };
    let plain = newreno(NetworkScheme::newreno(HELD));
    let full = newreno(NetworkScheme::capacity());
    let equal = |_| 82;
    let mut scenario = match flows {
        Full { down, up, mbps } => {
            let mut scenario = at_stations(&full, (down, up), 0, equal)?;
            for station in scenario.media.iter_mut().flat_map(|medium| &mut medium.stations) {
                station.rates = vec![(Span::ZERO, Rate::from_mbps(mbps))];
            }
            scenario
        }
        Short { basic_mbps } => {
            let mut scenario = at_stations(&full, (3, 3), 0, equal)?;
            for medium in &mut scenario.media {
                medium.layer = Layer::B(Preamble::Short);
                medium.basic_rates = vec![Rate::from_mbps(basic_mbps)];
            }
            scenario
        }
        Apart => at_stations(&plain, (12, 0), 0, |station| 40 + 30 * u64::from(station))?,
        ComeAndGo { uploads } => {
            come_and_go(&plain, 1, WirelessLoad { uploads, rtt_ms: 0, short: None }, seed)?
        }
        Pairs => at_stations(&plain, (3, 3), 20, equal)?,
        Twelve => at_stations(&plain, (12, 12), 0, equal)?,
        Xcp { told, limit } => {
            at_stations(&newreno(NetworkScheme::xcp(told, limit - 1)), (3, 0), 20, equal)?
        }
    };
    settings.apply(&mut scenario);
    scenario.seed = seed;
    Ok(scenario)
}

/// True if data flows in both directions.
fn both_ways(flows: Flows) -> bool {
    match flows {
        Full { down, up, .. } => down > 0 && up > 0,
        ComeAndGo { uploads } => uploads,
        Short { .. } | Pairs | Twelve => true,
        Apart | Xcp { .. } => false,
    }
}

/// Returns the figures that [`checks`] compares with ns-2: throughput of all flows, the uploads'
/// share of it if there are uploads, the queue at the access point without the packet in
/// transmission, and the mean RTT.
fn figures(flows: Flows, outcome: &Outcome) -> Result<Vec<f64>, String> {
    let sum = |uploads: bool| {
        let flows = outcome.flows.iter().filter(|flow| !uploads || flow.name.starts_with("up"));
        COUNTED * flows.map(|flow| flow.goodput_mbps).sum::<f64>()
    };
    let (all, up) = (sum(false), sum(true));
    let access_point = outcome.media.first().and_then(|medium| medium.stations.first());
    let waiting = access_point.ok_or("there is no access point")?.waiting_packets;
    let mut figures = vec![all];
    figures.extend(both_ways(flows).then_some(up / all));
    // `max` would make 0 of a number that was not measured.
    let queue = if waiting < 1.0 { 0.0 } else { waiting - 1.0 };
    figures.extend([queue, outcome.pooled.rtt_ms.mean]);
    Ok(figures)
}

fn measure(row: &FlowsRow, label: &str) -> Result<Observations, String> {
    let run = |seed| {
        let mut scenario = scenario(row.flows, label, seed)?;
        let [from, to] = row.window;
        (scenario.warmup, scenario.duration) = (Span::from_secs(from), Span::from_secs(to));
        scenario.flows.retain(|flow| flow.start < scenario.duration);
        figures(row.flows, &paceline_sim::run(&scenario).map_err(|error| error.to_string())?)
    };
    (1..=SEEDS).map(run).collect()
}

fn checks(row: &FlowsRow) -> Vec<Check> {
    let is_xcp = matches!(row.flows, Xcp { .. });
    let total = if is_xcp { XCP } else { NEWRENO };
    let share = row.up / row.throughput;
    // Round to three decimals, as on the page.
    let share = (share * 1000.0).round() / 1000.0;
    let mut checks = vec![Check::new("throughput, Mbit/s", row.throughput, Bound::stated(total))];
    if both_ways(row.flows) {
        checks.push(Check::new("uploads' share of it", share, Bound::stated(UPLOADS)));
    }
    let queue = "mean queue at the access point, packets";
    checks.push(Check::new(queue, row.queue, Bound::stated(QUEUE)));
    checks.push(Check::new("mean RTT, ms", row.rtt_ms, Bound::stated(RTT)));
    checks
}

/// In these runs ns-2's TCP has neither selective acknowledgements nor timestamps.
const WHY_TCP: &str = "ns-2's NewReno begins with two packets, counts acknowledgements, knows of one \
                       loss per round trip, and has timeouts of 200 ms and more that follow one RTT \
                       sample per window, so that a queue that grows fast outruns them";
const WHY_COLLISIONS: &str = "the same over ns-2's medium, where who sent the shorter frame of a \
                              collision has no advantage after it";
const WHY_XCP_COLLISIONS: &str = "XCP over ns-2's medium, where who sent the shorter frame of a \
                                  collision has no advantage after it, so that acknowledgements \
                                  queue at the stations and `d` contains that delay";
const WHY_XCP_RENO: &str = "ns-2's XCP repairs losses as Reno does, without selective \
                            acknowledgements, and waits for its timer after a second loss in a window";

/// Returns the runs of Paceline for a row: the default first, then variants.
fn ours(row: &FlowsRow) -> Vec<OwnScheme> {
    match row.flows {
        Xcp { limit, .. } => {
            let mut ours = vec![
                OwnScheme::default("xcp"),
                OwnScheme::variant(
                    "xcp[initial_window=2], after_own_collision=eifs",
                    WHY_XCP_COLLISIONS,
                ),
            ];
            // Longer queues drop no packet, so loss recovery does not matter.
            if limit < 1000 {
                ours.push(OwnScheme::variant("xcp[initial_window=2], recovery=reno", WHY_XCP_RENO));
            }
            ours
        }
        _ => vec![
            OwnScheme::default("newreno"),
            OwnScheme::variant(
                "newreno[initial_window=2,counts=acks], recovery=newreno, timestamps=false",
                WHY_TCP,
            ),
            OwnScheme::variant(
                "newreno[initial_window=2,counts=acks], recovery=newreno, timestamps=false, \
                 after_own_collision=eifs",
                WHY_COLLISIONS,
            ),
        ],
    }
}

/// Returns a case for each row, and variants that copy ns-2.
pub(super) fn cases() -> Vec<Case<'static>> {
    let mut cases = Vec::new();
    for row in &ROWS {
        for ours in ours(row) {
            let label = ours.scheme.clone();
            cases.push(Case {
                peer: "ns-2, flows over 802.11",
                group: name(row),
                ours,
                checks: checks(row),
                run: Box::new(move || measure(row, &label)),
            });
        }
    }
    cases
}
