//! Saturated stations, compared with ns-2, ns-3 and Bianchi's model.
//!
//! Bounds, stated before the first run of these rows: throughput within 3 % (5 % with one slow
//! station), the share of colliding frames within 0.04.

use paceline_cc::{Rate, Span, Stream};
use paceline_wifi::{MediumConfig, SaturatedSenders, saturate};

use super::figures::{self, SaturationRow, Standard};
use crate::validate::bound::{Bound, Tolerance};
use crate::validate::case::{Case, Check, Observations, OwnScheme};

/// Size of a packet in bytes.
pub(super) const PACKET: u32 = 1300;
const SEEDS: u64 = 5;
const THROUGHPUT: Tolerance = Tolerance::Share(0.03);
const SLOW: Tolerance = Tolerance::Share(0.05);
const COLLISIONS: Tolerance = Tolerance::Within(0.04);

/// Deviation of the medium from its default.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Setting {
    Default,
    /// Stations wait for a DIFS after a collision.
    Difs,
    /// Acknowledgements have the rate of the data.
    FastAnswers,
    /// Both deviations.
    FastDifs,
}

impl Setting {
    fn ours(self) -> OwnScheme {
        let why = "stations wait for a DIFS after a collision there, and for an EIFS here";
        match self {
            Setting::Default => OwnScheme::default("medium"),
            Setting::FastAnswers => OwnScheme::default("medium --basic-rate 1Mbps,11Mbps"),
            Setting::Difs => OwnScheme::variant("medium --after-collision difs", why),
            Setting::FastDifs => {
                OwnScheme::variant("medium --basic-rate 1Mbps,11Mbps --after-collision difs", why)
            }
        }
    }
}

fn name(row: &SaturationRow) -> String {
    let load = match row.load {
        SaturatedSenders::Up => "up",
        SaturatedSenders::Down => "down",
        SaturatedSenders::Both => "up and down",
    };
    let SaturationRow { standard, mbps, stations, .. } = row;
    format!("{} at {mbps} Mbit/s, {stations} {load}", standard.name())
}

fn measure(
    config: &MediumConfig,
    load: SaturatedSenders,
    mbps: f64,
) -> Result<Observations, String> {
    // Ten thousand packets or more for each seed.
    let span = Span::from_secs(if mbps < 5.0 { 200 } else { 60 });
    let run = |seed| {
        let random = Stream::new(seed, "medium");
        let got = saturate(config.clone(), load, PACKET, span, &random);
        let got = got.map_err(|error| error.to_string())?;
        Ok(vec![got.total_mbps(), got.collision_probability])
    };
    (1..=SEEDS).map(run).collect()
}

fn case(peer: &'static str, row: SaturationRow, setting: Setting) -> Case<'static> {
    Case {
        peer,
        group: name(&row),
        ours: setting.ours(),
        checks: vec![
            Check::new("throughput, Mbit/s", row.throughput, Bound::stated(THROUGHPUT)),
            Check::new("frames that collide", row.collisions, Bound::stated(COLLISIONS)),
        ],
        run: Box::new(move || {
            let rate = Rate::from_mbps(row.mbps);
            let mut config = MediumConfig::new(row.standard.phy(), row.stations, rate);
            if matches!(setting, Setting::Difs | Setting::FastDifs) {
                config.phy.eifs_after_collision = false;
            }
            if matches!(setting, Setting::FastAnswers | Setting::FastDifs) {
                config.phy.basic_rates = vec![Rate::from_mbps(1.0), Rate::from_mbps(11.0)];
            }
            measure(&config, row.load, row.mbps)
        }),
    }
}

/// Returns a case with three stations, of which the last one is slower. Each has packets for the
/// access point; with `load` down the access point has packets for each.
fn slow(
    peer: &'static str,
    load: SaturatedSenders,
    rates: [f64; 3],
    throughput: f64,
) -> Case<'static> {
    let [first, second, third] = rates;
    let way = if load == SaturatedSenders::Up { "up" } else { "down" };
    Case {
        peer,
        group: format!("802.11b, stations at {first}, {second} and {third} Mbit/s, {way}"),
        ours: OwnScheme::default("medium"),
        checks: vec![Check::new("throughput, Mbit/s", throughput, Bound::stated(SLOW))],
        run: Box::new(move || {
            let mut config = MediumConfig::new(Standard::B.phy(), 3, Rate::from_mbps(11.0));
            for (station, mbps) in config.stations.iter_mut().skip(1).zip(rates) {
                station.rates = vec![(Span::ZERO, Rate::from_mbps(mbps))];
            }
            measure(&config, load, 1.0)
        }),
    }
}

/// Returns a case for each row of a section, and a second one for rows of 802.11b whose peer waits
/// for a DIFS after a collision.
fn rows(peer: &'static str, section: &str, difs: bool, default: Setting) -> Vec<Case<'static>> {
    let mut cases = Vec::new();
    for row in figures::rows(section) {
        cases.push(case(peer, row, default));
        let alone = row.load == SaturatedSenders::Down
            || (row.load == SaturatedSenders::Up && row.stations == 1);
        if difs && row.standard == Standard::B && !alone {
            let fast = default == Setting::FastAnswers;
            cases.push(case(peer, row, if fast { Setting::FastDifs } else { Setting::Difs }));
        }
    }
    cases
}

/// Returns the cases of Bianchi's model.
pub(super) fn bianchi() -> Vec<Case<'static>> {
    let mut cases = rows("Bianchi, ns-2's settings", "bianchi-ns2", false, Setting::Default);
    let settings = Setting::Default;
    cases.extend(rows("Bianchi, the standard's settings", "bianchi-standard", true, settings));
    cases
}

/// Returns the cases of ns-2 and ns-3.
pub(super) fn simulators() -> Vec<Case<'static>> {
    let mut cases = rows("ns-2, 802.11", "ns2", false, Setting::Default);
    cases.extend(rows("ns-2, 802.11, other addresses", "ns2-check", false, Setting::Default));
    cases.extend(rows("ns-3, 802.11", "ns3", true, Setting::Default));
    cases.extend(rows("ns-3, 802.11, fast answers", "ns3-ack", true, Setting::FastAnswers));
    cases.extend([
        slow("ns-2, 802.11, a slow station", SaturatedSenders::Up, [11.0, 11.0, 11.0], 5.9419),
        slow("ns-2, 802.11, a slow station", SaturatedSenders::Up, [11.0, 11.0, 1.0], 1.9164),
        // These two rows are in wifi_dcf.md, not in wifi_dcf.csv.
        slow("ns-2, 802.11, a slow station", SaturatedSenders::Up, [11.0, 11.0, 2.0], 3.040),
        slow("ns-3, 802.11, a slow station", SaturatedSenders::Up, [11.0, 11.0, 2.0], 3.085),
        slow("ns-3, 802.11, a slow station", SaturatedSenders::Up, [11.0, 11.0, 1.0], 1.9430),
        slow("sums of times, a slow station", SaturatedSenders::Down, [11.0, 11.0, 1.0], 2.0553),
    ]);
    cases
}
