//! RFC 8869, Evaluation Test Cases for Interactive Real-Time Media over Wireless Networks: cellular (§3) and Wi-Fi
//! (§4).
//!
//! The document's cellular cases need a simulator of 3GPP networks. Here synthetic traces of LTE and UMTS, with
//! the statistics of recorded ones, take its place. The Wi-Fi cases run on this program's model of 802.11n.

use crate::case::Case;
use crate::criterion::{Bounds, Criterion, Measured, delay_reason, frames};

/// Media flows over one link.
const MEDIA: &str = include_str!("../cases/media.toml");
/// Media flows behind an access point.
const WIFI: &str = include_str!("../cases/media-wifi.toml");

/// Media flows over a cellular link.
macro_rules! cellular {
    () => {
        "[[flow]]\nname = \"media\"\nscheme = {subject}\npath = [\"link\"]\nback = [\"back\"]\nrtt = \"100ms\"\n\
         video = { min = \"150kbps\", max = \"1500kbps\" }\n"
    };
}

/// Equal media flows to stations (`down`) or from them (`up`).
macro_rules! wireless {
    ($name:literal, $count:literal, $path:literal, $back:literal, $station:literal, $direction:literal) => {
        concat!(
            "[[flow]]\nname = \"",
            $name,
            "\"\nscheme = {subject}\ncount = ",
            $count,
            "\npath = [\"",
            $path,
            "\"]\nback = [\"",
            $back,
            "\"]\nstation = \"",
            $station,
            "\"\ndirection = \"",
            $direction,
            "\"\nrtt = \"100ms\"\nvideo = { min = \"150kbps\", max = \"1500kbps\" }\n\n"
        )
    };
}

/// Media flows to the phone and from it.
macro_rules! pair {
    () => {
        concat!(
            wireless!("down", "1", "down", "up", "phone", "down"),
            wireless!("up", "1", "up", "down", "phone", "up")
        )
    };
}

/// Stations with these names.
macro_rules! stations {
    ($($name:literal),+) => {
        concat!($("[[medium.station]]\nname = \"", $name, "\"\n\n"),+)
    };
}

/// Media flows to stations with their names, one each.
macro_rules! down {
    ($($name:literal),+) => {
        concat!($(wireless!($name, "1", "down", "up", $name, "down")),+)
    };
}

/// Media flows from stations with their names, one each.
macro_rules! up {
    ($($name:literal),+) => {
        concat!($(wireless!($name, "1", "up", "down", $name, "up")),+)
    };
}

/// Cubic flows from stations with their names, one each, from 40 to 80 s.
macro_rules! tcp_up {
    ($($name:literal),+) => {
        concat!($(
            "[[flow]]\nname = \"",
            $name,
            "\"\nscheme = \"cubic\"\npath = [\"up\"]\nback = [\"down\"]\nstation = \"",
            $name,
            "\"\ndirection = \"up\"\nrtt = \"100ms\"\nstart = \"40s\"\nstop = \"80s\"\n\n"
        ),+)
    };
}

/// Applies a macro to the names of the 12 receiving stations of §4.2.
macro_rules! receivers {
    ($apply:ident) => {
        $apply!(
            "down-1", "down-2", "down-3", "down-4", "down-5", "down-6", "down-7", "down-8",
            "down-9", "down-10", "down-11", "down-12"
        )
    };
}

/// Applies a macro to the names of the 12 sending stations of §4.2.
macro_rules! senders {
    ($apply:ident) => {
        $apply!(
            "up-1", "up-2", "up-3", "up-4", "up-5", "up-6", "up-7", "up-8", "up-9", "up-10",
            "up-11", "up-12"
        )
    };
}

/// Applies a macro to the names of the stations of §4.2 that send by TCP.
macro_rules! tcp_senders {
    ($apply:ident) => {
        $apply!("tcp-1", "tcp-2", "tcp-3", "tcp-4")
    };
}

/// A Cubic flow to the laptop from 40 to 80 s.
macro_rules! tcp {
    () => {
        "[[flow]]\nname = \"tcp\"\nscheme = \"cubic\"\npath = [\"down\"]\nback = [\"up\"]\nstation = \"laptop\"\n\
         rtt = \"100ms\"\nstart = \"40s\"\nstop = \"80s\"\n"
    };
}

/// Puts names into an array.
macro_rules! names {
    ($($name:literal),+) => {
        [$($name),+]
    };
}

/// Receiving flows of §4.2.
const RECEIVERS: [&str; 12] = receivers!(names);
/// Sending flows of §4.2.
const SENDERS: [&str; 12] = senders!(names);

static CASES: &[Case] = &[
    Case::new(
        "8869-3.1",
        MEDIA,
        &[("capacity", "trace = \"lte-driving\""), ("duration", "140s"), ("flows", cellular!())],
    ),
    Case::new(
        "8869-3.2",
        MEDIA,
        &[("capacity", "trace = \"umts-driving\""), ("duration", "140s"), ("flows", cellular!())],
    ),
    Case::new("8869-4.1", WIFI, &[("rate", "1Mbps"), ("flows", pair!())]),
    Case::new("8869-4.1-tcp", WIFI, &[("rate", "1Mbps"), ("flows", concat!(pair!(), tcp!()))]),
    Case::new(
        "8869-4.2",
        WIFI,
        &[
            ("stations", concat!(receivers!(stations), senders!(stations))),
            ("flows", concat!(receivers!(down), senders!(up))),
        ],
    ),
    Case::new(
        "8869-4.2-tcp",
        WIFI,
        &[
            ("stations", concat!(receivers!(stations), senders!(stations), tcp_senders!(stations))),
            ("flows", concat!(receivers!(down), senders!(up), tcp_senders!(tcp_up))),
        ],
    ),
    Case::new(
        "8869-4.3.2",
        WIFI,
        &[
            ("duration", "60s"),
            ("laptop", "mcs = 0"),
            (
                "flows",
                concat!(
                    wireless!("down", "4", "down", "up", "phone", "down"),
                    wireless!("slow", "4", "down", "up", "laptop", "down")
                ),
            ),
        ],
    ),
];

/// The reason of a rate's bounds, and what was changed.
macro_rules! rate_reason {
    ($($changed:literal)?) => {
        concat!(
            "ours; the section asks for a rate near the available one; video has at most 1.5 Mbit/s",
            $("; changed after first runs: ", $changed)?
        )
    };
}

const TRACE: &str = "A synthetic trace with the statistics of a recorded one takes the place of a simulated cell: the number of \
     users, their movement and their radio are those of the recording.";

/// The criterion of the smallest mean rate of groups of flows.
macro_rules! rate {
    ($id:literal, $section:literal, $case:literal, $groups:expr, $where:literal, $good:literal, $poor:literal, $because:expr, $cannot:expr) => {
        Criterion::measured(
            $id,
            $section,
            concat!("Which rate do media have ", $where, "?"),
            Measured::new($case, "rate", "Mbit/s", concat!("Media have {} ", $where), |look| {
                look.smallest_goodput(&$groups)
            })
            .judged(Bounds::new($good, $poor, $because)),
            $cannot,
        )
    };
}

static CRITERIA: &[Criterion] = &[
    rate!(
        "8869.3.1.rate",
        "3.1 cellular, varying load",
        "8869-3.1",
        [&["media"]],
        "over an LTE link while driving",
        1.0,
        0.4,
        rate_reason!(),
        TRACE
    ),
    frames!(
        "8869.3.1.delay",
        "3.1 cellular, varying load",
        "8869-3.1",
        ["media"],
        "over an LTE link while driving",
        delay_reason!(),
        TRACE
    ),
    rate!(
        "8869.3.2.rate",
        "3.2 cellular, bad coverage",
        "8869-3.2",
        [&["media"]],
        "over a UMTS link while driving",
        0.7,
        0.3,
        rate_reason!(),
        TRACE
    ),
    frames!(
        "8869.3.2.delay",
        "3.2 cellular, bad coverage",
        "8869-3.2",
        ["media"],
        "over a UMTS link while driving",
        delay_reason!(),
        TRACE
    ),
    rate!(
        "8869.4.1.rate",
        "4.1 Wi-Fi, wired bottleneck",
        "8869-4.1",
        [&["down"], &["up"]],
        "in the worse direction behind 1 Mbit/s",
        0.7,
        0.4,
        rate_reason!("the worse direction counts, in place of the downlink"),
        ""
    ),
    frames!(
        "8869.4.1.delay",
        "4.1 Wi-Fi, wired bottleneck",
        "8869-4.1",
        ["down", "up"],
        "in the worse direction behind 1 Mbit/s",
        delay_reason!("the worse direction counts, in place of the downlink"),
        ""
    ),
    rate!(
        "8869.4.1.tcp",
        "4.1 Wi-Fi, wired bottleneck",
        "8869-4.1-tcp",
        [&["down"], &["up"]],
        "in the worse direction behind 1 Mbit/s, beside TCP down for 40 of 120 s",
        0.5,
        0.2,
        rate_reason!(
            "media in both directions, of which the worse one counts; there was a flow down alone"
        ),
        ""
    ),
    rate!(
        "8869.4.2.rate",
        "4.2 Wi-Fi, wireless bottleneck",
        "8869-4.2",
        [&RECEIVERS, &SENDERS],
        "in the worse direction, with 12 stations in each, on average",
        0.8,
        0.3,
        rate_reason!(
            "a station for each flow, since A-MPDUs of two stations carried all that 24 flows offered; 120 s in place of \
             60 s; the mean of 12 flows of the worse direction, in place of one flow down"
        ),
        ""
    ),
    frames!(
        "8869.4.2.delay",
        "4.2 Wi-Fi, wireless bottleneck",
        "8869-4.2",
        [RECEIVERS, SENDERS].concat(),
        "at the worst of 24 stations, 12 in each direction",
        delay_reason!(
            "a station for each flow, since A-MPDUs of two stations carried all that 24 flows offered; 120 s in place of \
             60 s; the worst of all flows, in place of one flow up"
        ),
        ""
    ),
    frames!(
        "8869.4.2.tcp",
        "4.2 Wi-Fi, wireless bottleneck",
        "8869-4.2-tcp",
        [RECEIVERS, SENDERS].concat(),
        "at the worst of 24 stations, 12 in each direction, beside 4 TCP flows up for 40 s",
        delay_reason!(
            "a station for each flow, since A-MPDUs of two stations carried all that 28 flows offered; 120 s in place of \
             100 s; the worst of all flows, in place of one flow down"
        ),
        ""
    ),
    rate!(
        "8869.4.3.2.rate",
        "4.3.2 Wi-Fi, slow stations",
        "8869-4.3.2",
        [&["down-1"]],
        "beside flows to a station at 6.5 Mbit/s",
        0.8,
        0.3,
        rate_reason!(),
        "The slow station has the lowest rate of 802.11n, in place of 802.11b."
    ),
    frames!(
        "8869.4.3.2.delay",
        "4.3.2 Wi-Fi, slow stations",
        "8869-4.3.2",
        ["down-1"],
        "beside flows to a station at 6.5 Mbit/s",
        delay_reason!(),
        ""
    ),
    Criterion::not_answerable(
        "8869.4.3.1",
        "4.3.1 Wi-Fi, EDCA and WMM",
        "Do media gain by a priority at the access point?",
        "The model of 802.11 has one access category.",
    ),
];

pub(crate) fn criteria() -> Vec<&'static Criterion> {
    CRITERIA.iter().collect()
}

pub(crate) fn cases() -> Vec<&'static Case> {
    CASES.iter().collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use paceline_cc::Span;
    use paceline_sim::Names;
    use paceline_sim::scenario::{Direction, Scenario};

    use super::*;

    fn scenario(id: &str, scheme: &str) -> Scenario {
        let case = CASES.iter().find(|case| case.id == id).expect("a case");
        case.scenario(scheme, &Names::default()).expect("a scenario")
    }

    #[test]
    fn each_flow_of_the_wireless_bottleneck_has_a_station() {
        for (id, flows) in [("8869-4.2", 24), ("8869-4.2-tcp", 28)] {
            let scenario = scenario(id, "gcc");
            let used = scenario.flows.iter().filter_map(|flow| flow.station.as_ref());
            let used: BTreeSet<&str> = used.map(|one| one.station.as_str()).collect();
            assert!(scenario.flows.iter().all(|flow| flow.count == 1), "{id}");
            assert_eq!((scenario.flows.len(), used.len()), (flows, flows), "{id}");
            assert_eq!(scenario.media[0].stations.len(), flows, "{id}");
            assert_eq!(scenario.duration, Span::from_secs(120), "{id}");
        }
    }

    #[test]
    fn media_behind_a_wired_bottleneck_pass_in_both_directions() {
        for id in ["8869-4.1", "8869-4.1-tcp"] {
            let scenario = scenario(id, "gcc");
            let media = scenario.flows.iter().filter(|flow| flow.name != "tcp");
            let directions: Vec<Direction> =
                media.filter_map(|flow| flow.station.as_ref()).map(|one| one.direction).collect();
            assert_eq!(directions, [Direction::Down, Direction::Up], "{id}");
        }
    }

    #[test]
    fn the_medium_is_the_bottleneck_of_24_stations() {
        let mut scenario = scenario("8869-4.2", "cubic");
        scenario.duration = Span::from_secs(25);
        let done = paceline_sim::run(&scenario).expect("a run");
        let down = done.flows.iter().filter(|flow| flow.name.starts_with("down-"));
        let mean = down.map(|flow| flow.goodput_mbps).sum::<f64>() / 12.0;
        // The videos offer 1.5 Mbit/s.
        assert!((0.5..1.3).contains(&mean), "{mean} Mbit/s");
        assert!(done.links.iter().all(|link| link.drops == 0), "the wire is no bottleneck");
    }
}
