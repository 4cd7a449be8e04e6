//! Compares the shared medium with Bianchi's model, and with ns-2 and ns-3.
//!
//! Stated before the first run: throughput within 3 % of Bianchi's fixed point for 1 to 20 stations
//! at each rate, and within 3 % of both simulators; with one slow station within 5 %. Stated before
//! the first run with A-MPDUs: also within 3 % of Bianchi's fixed point.

use paceline_cc::{Rate, Span, Stream};
use paceline_wifi::{Ht, Mcs, MediumConfig, Phy, Preamble, SaturatedSenders, Saturation, saturate};

const PACKET: u32 = 1300;

fn dsss() -> Phy {
    Phy::dsss(Preamble::Long)
}

fn run(phy: &Phy, stations: u32, mbps: f64, load: SaturatedSenders, seconds: u64) -> Saturation {
    let config = MediumConfig::new(phy.clone(), stations, Rate::from_mbps(mbps));
    saturate(config, load, PACKET, Span::from_secs(seconds), &Stream::new(1, "medium"))
        .expect("legal settings")
}

/// Bianchi's fixed point (JSAC 2000) with a retry limit: returns the throughput in Mbit/s and the
/// probability of a collision with `n` backlogged stations.
fn bianchi(phy: &Phy, n: i32, mbps: f64) -> (f64, f64) {
    let config = MediumConfig::new(phy.clone(), 1, Rate::from_mbps(mbps));
    let rate = Rate::from_mbps(mbps);
    let data = phy.tx_time(rate, PACKET + config.mac_overhead);
    fixed_point(phy, n, data, phy.sifs + phy.ack_time(rate), PACKET)
}

/// The same for frames that take `data` and carry `bytes` bytes.
fn fixed_point(phy: &Phy, n: i32, data: Span, answer: Span, bytes: u32) -> (f64, f64) {
    let config = MediumConfig::new(phy.clone(), 1, Rate::ZERO);
    let limit = config.short_retry_limit as i32;
    let window = |stage: i32| {
        let window = f64::from(phy.cw_min + 1) * 2f64.powi(stage);
        window.min(f64::from(phy.cw_max + 1))
    };
    let tau = |p: f64| {
        let sum = |part: &dyn Fn(i32) -> f64| -> f64 {
            (0..limit).map(|stage| p.powi(stage) * part(stage)).sum()
        };
        sum(&|_| 1.0) / sum(&|stage| 1.0 + (window(stage) - 1.0) / 2.0)
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..200 {
        let p = 0.5 * (low + high);
        let implied = 1.0 - (1.0 - tau(p)).powi(n - 1);
        if implied > p { low = p } else { high = p }
    }
    let p = if n == 1 { 0.0 } else { low };
    let t = tau(p);
    let seconds = |span: Span| span.as_secs_f64();
    let success = seconds(data + answer + phy.difs());
    let wait = if phy.eifs_after_collision { phy.eifs() } else { phy.difs() };
    let collision = seconds(data + wait);
    let idle = (1.0 - t).powi(n);
    let one = f64::from(n) * t * (1.0 - t).powi(n - 1);
    let mean = idle * seconds(phy.slot) + one * success + (1.0 - idle - one) * collision;
    (one * f64::from(8 * bytes) / mean / 1e6, p)
}

#[test]
fn one_to_twenty_stations_match_bianchi() {
    let cases: [(Phy, &[f64]); 2] = [(dsss(), &[1.0, 2.0, 5.5, 11.0]), (Phy::ofdm(), &[6.0, 54.0])];
    for (phy, rates) in cases {
        for &mbps in rates {
            for n in [1, 2, 3, 5, 8, 10, 15, 20] {
                let seconds = (400.0 / mbps) as u64;
                let got = run(&phy, n, mbps, SaturatedSenders::Up, seconds.clamp(20, 200));
                let (want, p) = bianchi(&phy, n as i32, mbps);
                let off = 100.0 * (got.total_mbps() / want - 1.0);
                assert!(off.abs() < 3.0, "{mbps} Mbit/s, {n}: {off} %");
                let p_got = got.collision_probability;
                assert!((p_got - p).abs() < 0.04, "{mbps} Mbit/s, {n}: {p_got} against {p}");
            }
        }
    }
}

/// A-MPDUs of up to 5.484 ms without RTS, so that a collision destroys a whole A-MPDU.
#[test]
fn batches_match_bianchi() {
    let phy = Phy::ht(Ht::default());
    for index in [0, 4, 7, 15] {
        let mcs = Mcs::new(index).expect("an index");
        for n in [1, 2, 5, 10, 20] {
            let mut config = MediumConfig::new(phy.clone(), n, Rate::ZERO);
            config.stations.iter_mut().for_each(|station| station.mcs = vec![(Span::ZERO, mcs)]);
            // 1300 bytes, 38 of headers, a delimiter of 4, and 2 of padding to a multiple of 4.
            let subframe = 1344;
            let longest = phy.ampdu_bytes_within(mcs, config.aggregation.max_duration);
            let frames = (longest.min(65_535) / subframe).min(64);
            let answer = phy.sifs + phy.block_ack_time(mcs);
            let data = phy.ampdu_time(mcs, frames * subframe);
            let (want, p) = fixed_point(&phy, n as i32, data, answer, frames * PACKET);
            let seconds = Span::from_secs(100);
            let got =
                saturate(config, SaturatedSenders::Up, PACKET, seconds, &Stream::new(1, "medium"))
                    .expect("legal settings");
            let off = 100.0 * (got.total_mbps() / want - 1.0);
            assert!(off.abs() < 3.0, "MCS {index}, {n}: {off} %");
            let p_got = got.collision_probability;
            assert!((p_got - p).abs() < 0.04, "MCS {index}, {n}: {p_got} against {p}");
        }
    }
}

/// Total throughput of ns-2 2.35 and ns-3 3.37 in Mbit/s: rate, stations, load, and both values
/// (only ns-3's for OFDM).
const PEERS: [(f64, u32, SaturatedSenders, &[f64]); 18] = [
    (1.0, 1, SaturatedSenders::Up, &[0.9021, 0.9016]),
    (1.0, 5, SaturatedSenders::Up, &[0.8298, 0.8306]),
    (1.0, 10, SaturatedSenders::Up, &[0.7704, 0.7776]),
    (1.0, 10, SaturatedSenders::Both, &[0.7598, 0.7685]),
    (2.0, 2, SaturatedSenders::Up, &[1.6632, 1.6654]),
    (2.0, 5, SaturatedSenders::Up, &[1.5702, 1.5784]),
    (2.0, 10, SaturatedSenders::Up, &[1.4608, 1.4860]),
    (11.0, 1, SaturatedSenders::Up, &[5.6965, 5.6628]),
    (11.0, 1, SaturatedSenders::Down, &[5.6965, 5.6597]),
    (11.0, 1, SaturatedSenders::Both, &[5.9313, 5.9400]),
    (11.0, 5, SaturatedSenders::Up, &[5.8105, 5.9051]),
    (11.0, 5, SaturatedSenders::Both, &[5.7221, 5.9072]),
    (11.0, 10, SaturatedSenders::Up, &[5.4656, 5.6637]),
    (6.0, 5, SaturatedSenders::Up, &[4.6415]),
    (6.0, 10, SaturatedSenders::Up, &[4.2666]),
    (24.0, 5, SaturatedSenders::Up, &[15.7313]),
    (54.0, 5, SaturatedSenders::Up, &[27.9552]),
    (54.0, 10, SaturatedSenders::Up, &[26.4645]),
];

#[test]
fn saturated_stations_match_two_simulators() {
    for (mbps, n, load, peers) in PEERS {
        let phy = if peers.len() == 1 { Phy::ofdm() } else { dsss() };
        let got = run(&phy, n, mbps, load, (400.0 / mbps).clamp(20.0, 200.0) as u64).total_mbps();
        for peer in peers {
            let off = 100.0 * (got / peer - 1.0);
            assert!(off.abs() < 3.0, "{mbps} Mbit/s, {n}, {load:?}: {off} %");
        }
    }
}

#[test]
fn one_slow_station_slows_all() {
    for (slow, peers) in [(1.0, [1.9164, 1.9430]), (2.0, [3.040, 3.085])] {
        let mut config = MediumConfig::new(dsss(), 3, Rate::from_mbps(11.0));
        config.stations[3].rates = vec![(Span::ZERO, Rate::from_mbps(slow))];
        let got = saturate(
            config,
            SaturatedSenders::Up,
            PACKET,
            Span::from_secs(60),
            &Stream::new(1, "medium"),
        )
        .expect("legal");
        for peer in peers {
            let off = 100.0 * (got.total_mbps() / peer - 1.0);
            assert!(off.abs() < 5.0, "{slow} Mbit/s: {off} %");
        }
        let mean = got.total_mbps() / 3.0;
        assert!(got.streams_mbps.iter().all(|each| (each / mean - 1.0).abs() < 0.1));
    }
}

#[test]
fn the_access_point_gets_no_more_than_one_station() {
    let got = run(&dsss(), 10, 11.0, SaturatedSenders::Both, 60);
    let down: f64 = got.streams_mbps[..10].iter().sum();
    assert!((down / got.total_mbps() - 1.0 / 11.0).abs() < 0.01, "{down}");
}
