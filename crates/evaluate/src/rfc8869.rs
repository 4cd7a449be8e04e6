//! RFC 8869, Evaluation Test Cases for Interactive Real-Time Media over Wireless Networks: cellular (§3) and Wi-Fi
//! (§4).
//!
//! The document's cellular cases need a simulator of 3GPP networks. Here synthetic traces of LTE and UMTS, with
//! the statistics of recorded ones, take its place. The Wi-Fi cases run on this program's model of 802.11n.

use crate::case::Case;
use crate::criterion::{Bounds, Criterion, Measured, frames};

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

/// A Cubic flow to the laptop from 40 to 80 s.
macro_rules! tcp {
    () => {
        "[[flow]]\nname = \"tcp\"\nscheme = \"cubic\"\npath = [\"down\"]\nback = [\"up\"]\nstation = \"laptop\"\n\
         rtt = \"100ms\"\nstart = \"40s\"\nstop = \"80s\"\n"
    };
}

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
    Case::new(
        "8869-4.1",
        WIFI,
        &[
            ("rate", "1Mbps"),
            (
                "flows",
                concat!(
                    wireless!("down", "1", "down", "up", "phone", "down"),
                    wireless!("up", "1", "up", "down", "phone", "up")
                ),
            ),
        ],
    ),
    Case::new(
        "8869-4.1-tcp",
        WIFI,
        &[
            ("rate", "1Mbps"),
            ("flows", concat!(wireless!("down", "1", "down", "up", "phone", "down"), tcp!())),
        ],
    ),
    Case::new(
        "8869-4.2",
        WIFI,
        &[
            ("duration", "60s"),
            (
                "flows",
                concat!(
                    wireless!("down", "12", "down", "up", "phone", "down"),
                    wireless!("up", "12", "up", "down", "laptop", "up")
                ),
            ),
        ],
    ),
    Case::new(
        "8869-4.2-tcp",
        WIFI,
        &[
            ("duration", "100s"),
            (
                "flows",
                concat!(
                    wireless!("down", "12", "down", "up", "phone", "down"),
                    wireless!("up", "12", "up", "down", "laptop", "up"),
                    "[[flow]]\nname = \"tcp\"\nscheme = \"cubic\"\ncount = 4\npath = [\"up\"]\nback = [\"down\"]\n\
                     station = \"laptop\"\ndirection = \"up\"\nrtt = \"100ms\"\nstart = \"40s\"\nstop = \"80s\"\n"
                ),
            ),
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

const RATE: &str =
    "ours; the section asks for a rate near the available one; video has at most 1.5 Mbit/s";
const TRACE: &str = "A synthetic trace with the statistics of a recorded one takes the place of a simulated cell: the number of \
     users, their movement and their radio are those of the recording.";

/// The criterion of the rate of a flow.
macro_rules! rate {
    ($id:literal, $section:literal, $case:literal, $flow:literal, $where:literal, $good:literal, $poor:literal, $cannot:expr) => {
        Criterion::measured(
            $id,
            $section,
            concat!("Which rate do media have ", $where, "?"),
            Measured::new($case, "rate", "Mbit/s", concat!("Media have {} ", $where), |look| {
                look.number(concat!("flow.", $flow, ".goodput"))
            })
            .judged(Bounds::new($good, $poor, RATE)),
            $cannot,
        )
    };
}

static CRITERIA: &[Criterion] = &[
    rate!(
        "8869.3.1.rate",
        "3.1 cellular, varying load",
        "8869-3.1",
        "media",
        "over an LTE link while driving",
        1.0,
        0.4,
        TRACE
    ),
    frames!(
        "8869.3.1.delay",
        "3.1 cellular, varying load",
        "8869-3.1",
        "media",
        "over an LTE link while driving",
        TRACE
    ),
    rate!(
        "8869.3.2.rate",
        "3.2 cellular, bad coverage",
        "8869-3.2",
        "media",
        "over a UMTS link while driving",
        0.7,
        0.3,
        TRACE
    ),
    frames!(
        "8869.3.2.delay",
        "3.2 cellular, bad coverage",
        "8869-3.2",
        "media",
        "over a UMTS link while driving",
        TRACE
    ),
    rate!(
        "8869.4.1.rate",
        "4.1 Wi-Fi, wired bottleneck",
        "8869-4.1",
        "down",
        "in each direction behind 1 Mbit/s",
        0.7,
        0.4,
        ""
    ),
    frames!(
        "8869.4.1.delay",
        "4.1 Wi-Fi, wired bottleneck",
        "8869-4.1",
        "down",
        "in each direction behind 1 Mbit/s",
        ""
    ),
    rate!(
        "8869.4.1.tcp",
        "4.1 Wi-Fi, wired bottleneck",
        "8869-4.1-tcp",
        "down",
        "behind 1 Mbit/s, beside TCP for 40 of 120 s",
        0.5,
        0.2,
        ""
    ),
    rate!(
        "8869.4.2.rate",
        "4.2 Wi-Fi, wireless bottleneck",
        "8869-4.2",
        "down-1",
        "each beside 11 flows down and 12 up",
        0.8,
        0.3,
        ""
    ),
    frames!(
        "8869.4.2.delay",
        "4.2 Wi-Fi, wireless bottleneck",
        "8869-4.2",
        "up-1",
        "from a station, beside 12 flows down and 11 up",
        ""
    ),
    frames!(
        "8869.4.2.tcp",
        "4.2 Wi-Fi, wireless bottleneck",
        "8869-4.2-tcp",
        "down-1",
        "beside 11 flows down and 12 up and, for 40 s, 4 TCP flows up",
        ""
    ),
    rate!(
        "8869.4.3.2.rate",
        "4.3.2 Wi-Fi, slow stations",
        "8869-4.3.2",
        "down-1",
        "beside flows to a station at 6.5 Mbit/s",
        0.8,
        0.3,
        "The slow station has the lowest rate of 802.11n, in place of 802.11b."
    ),
    frames!(
        "8869.4.3.2.delay",
        "4.3.2 Wi-Fi, slow stations",
        "8869-4.3.2",
        "down-1",
        "beside flows to a station at 6.5 Mbit/s",
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
