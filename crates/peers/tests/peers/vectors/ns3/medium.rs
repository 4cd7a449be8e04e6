//! 802.11: times on air, Bianchi's model as ns-3 prints it, and aggregation.

use paceline_cc::{Rate, Span, Stream};
use paceline_peers::vector::{Outcome, Vectors, near, same};
use paceline_wifi::{
    ChannelWidth, GuardInterval, Ht, Mcs, MediumConfig, Phy, Preamble, SaturatedSenders, saturate,
};

use crate::bench::ms;

pub(super) fn add(vectors: &mut Vectors) {
    single_rates(vectors);
    high_throughput(vectors);
    bianchi(vectors);
    aggregation(vectors);
}

/// Rate in Mbit/s, bytes, and microseconds on air.
type Times = &'static [(f64, u32, u64)];

fn single_rates(vectors: &mut Vectors) {
    const LONG: Times = &[
        (11.0, 1023, 936),
        (11.0, 1024, 937),
        (11.0, 1025, 938),
        (11.0, 1026, 939),
        (5.5, 1023, 1680),
        (5.5, 1024, 1682),
        (5.5, 1025, 1683),
        (5.5, 1026, 1685),
        (2.0, 1023, 4284),
        (2.0, 1026, 4296),
        (1.0, 1023, 8376),
        (1.0, 1026, 8400),
        (1.0, 14, 304),
        (11.0, 1536, 1310),
        (11.0, 76, 248),
        (11.0, 14, 203),
    ];
    const SHORT: Times = &[
        (11.0, 1023, 840),
        (11.0, 1024, 841),
        (11.0, 1025, 842),
        (11.0, 1026, 843),
        (5.5, 1023, 1584),
        (5.5, 1024, 1586),
        (5.5, 1025, 1587),
        (5.5, 1026, 1589),
        (2.0, 1023, 4188),
        (2.0, 1024, 4192),
        (1.0, 1023, 8376),
        (1.0, 1024, 8384),
    ];
    type Run = (&'static str, fn() -> Phy, Times);
    let runs: [Run; 4] = [
        ("802.11b, long preambles", || Phy::dsss(Preamble::Long), LONG),
        ("802.11b, short preambles but at 1 Mbit/s", || Phy::dsss(Preamble::Short), SHORT),
        ("802.11a", Phy::ofdm, &[(54.0, 1536, 248), (54.0, 76, 32), (54.0, 14, 24)]),
        ("802.11g", Phy::erp_ofdm, &[(54.0, 1536, 254), (54.0, 76, 38), (54.0, 14, 30)]),
    ];
    for (name, phy, times) in runs {
        vectors.holds("802.11", format!("tx-duration-test.cc: {name}"), move || {
            times.iter().try_for_each(|(mbps, bytes, micros)| {
                let time = phy().tx_time(Rate::from_mbps(*mbps), *bytes);
                same(&format!("{bytes} bytes at {mbps}"), time, Span::from_micros(*micros))
            })
        });
    }
}

fn high_throughput(vectors: &mut Vectors) {
    // With an MCS: bytes and nanoseconds on air, with a mixed preamble.
    type Run = (&'static str, ChannelWidth, GuardInterval, u8, [(u32, u64); 3]);
    let runs: [Run; 5] = [
        (
            "802.11n, MCS 7, 20 MHz",
            ChannelWidth::Mhz20,
            GuardInterval::Long,
            7,
            [(1536, 228_000), (76, 48_000), (14, 40_000)],
        ),
        (
            "802.11n, MCS 7, 40 MHz",
            ChannelWidth::Mhz40,
            GuardInterval::Long,
            7,
            [(1536, 128_000), (76, 44_000), (14, 40_000)],
        ),
        (
            "802.11n, MCS 7, 40 MHz, short guard intervals",
            ChannelWidth::Mhz40,
            GuardInterval::Short,
            7,
            [(1536, 118_800), (76, 43_200), (14, 39_600)],
        ),
        (
            "802.11n, MCS 0, 20 MHz, short guard intervals",
            ChannelWidth::Mhz20,
            GuardInterval::Short,
            0,
            [(1536, 1_742_400), (76, 126_000), (14, 57_600)],
        ),
        (
            "802.11n, MCS 6, 20 MHz, short guard intervals",
            ChannelWidth::Mhz20,
            GuardInterval::Short,
            6,
            [(1536, 226_800), (76, 46_800), (14, 39_600)],
        ),
    ];
    for (name, width, guard, mcs, times) in runs {
        let test = format!("tx-duration-test.cc: {name}");
        let check = move || {
            let phy = Phy::ht(Ht { width, guard, ..Ht::default() });
            let mcs = Mcs::new(mcs).ok_or("no such MCS")?;
            times.iter().try_for_each(|(bytes, nanos)| {
                same(
                    &format!("{bytes} bytes"),
                    phy.ampdu_time(mcs, *bytes),
                    Span::from_nanos(*nanos),
                )
            })
        };
        match guard {
            GuardInterval::Long => vectors.holds("802.11", test, check),
            GuardInterval::Short => vectors.by_design(
                "802.11",
                test,
                "the standard rounds the duration of short symbols up to a whole number of long symbols (IEEE 802.11-2020, \
                 19.4.3), and so does Paceline; ns-3 does not",
                check,
            ),
        }
    }
}

/// Returns the throughput of saturated stations in Mbit/s, with packets of 1500 bytes.
fn saturated(config: MediumConfig, span: Span) -> Result<f64, String> {
    let random = Stream::new(1, "peers");
    let outcome = saturate(config, SaturatedSenders::Up, 1500, span, &random);
    outcome.map(|outcome| outcome.total_mbps()).map_err(|error| error.to_string())
}

fn bianchi(vectors: &mut Vectors) {
    // Rate of the stations in Mbit/s, number of stations, total throughput in Mbit/s.
    for (dsss, mbps, stations, expected) in [
        (true, 1.0, 5, 0.8418),
        (true, 11.0, 5, 6.3821),
        (true, 11.0, 20, 5.5765),
        (false, 6.0, 5, 4.6899),
        (false, 6.0, 20, 3.9589),
        (false, 24.0, 10, 14.9153),
        (false, 54.0, 5, 29.2861),
        (false, 54.0, 20, 25.3325),
        (false, 54.0, 50, 22.4162),
    ] {
        let name = if dsss { "802.11b" } else { "802.11a" };
        let test =
            format!("wifi-bianchi.cc: {name} at {mbps} Mbit/s, {stations} stations, within 3 %");
        vectors.holds("802.11", test, move || {
            let phy = if dsss { Phy::dsss(Preamble::Long) } else { Phy::ofdm() };
            let mut config = MediumConfig::new(phy, stations, Rate::from_mbps(mbps));
            // Assumptions of the model: an EIFS after collisions, no limit of retries. ns-3's
            // 802.11b stations answer at any of its rates.
            config.phy.eifs_after_collision = true;
            config.short_retry_limit = 1000;
            if dsss {
                config.phy.basic_rates = [1.0, 2.0, 5.5, 11.0].map(Rate::from_mbps).to_vec();
            }
            let span = if mbps < 5.0 { ms(100_000) } else { ms(30_000) };
            near("Mbit/s", saturated(config, span)?, expected, 0.03 * expected)
        });
    }
}

fn aggregation(vectors: &mut Vectors) {
    for (test, max_mpdus, expected, tolerance) in [
        ("wifi-aggregation.cc: A-MPDUs of 65,535 bytes, 59 to 60 Mbit/s", 64, 59.5, 0.02),
        ("wifi-aggregation.cc: no aggregation, 30 to 31 Mbit/s", 1, 30.5, 0.05),
    ] {
        vectors.holds("802.11", test, move || aggregated(max_mpdus, expected, tolerance));
    }
}

/// Compares a station at MCS 7 with packets of 1472 bytes of UDP data; only this data counts.
fn aggregated(max_mpdus: u32, expected: f64, tolerance: f64) -> Outcome {
    let mut config = MediumConfig::new(Phy::ht(Ht::default()), 1, Rate::from_mbps(54.0));
    for station in &mut config.stations {
        station.mcs = vec![(Span::ZERO, Mcs::new(7).ok_or("no MCS 7")?)];
        station.max_mpdus = Some(max_mpdus);
    }
    let mbps = saturated(config, ms(5000))? * 1472.0 / 1500.0;
    near("Mbit/s", mbps, expected, tolerance * expected)
}
