//! RFC 8867, Test Cases for Evaluating Congestion Control for Interactive Real-Time Media: §5.1 to §5.8.
//!
//! The topologies, rates and times are the document's. Its audio flow of 20 kbit/s is left out, since one flow
//! has one source; TCP is Cubic. The document says what to expect in words; the bounds are this program's.

use crate::case::Case;
use crate::criterion::{Bounds, Criterion, Measured, delay_reason, frames};
use crate::figures::Look;

/// Media flows over one link.
const MEDIA: &str = include_str!("../cases/media.toml");

/// A media flow of the evaluated scheme: name, RTT, path there and back, and further keys.
macro_rules! media {
    ($name:literal, $rtt:literal, $path:literal, $back:literal, $more:literal) => {
        concat!(
            "[[flow]]\nname = \"",
            $name,
            "\"\nscheme = {subject}\npath = [\"",
            $path,
            "\"]\nback = [\"",
            $back,
            "\"]\nrtt = \"",
            $rtt,
            "\"\nvideo = { min = \"150kbps\", max = \"1500kbps\" }\n",
            "data = { jitter = \"15ms\", jitter_sd = \"8.66ms\", jitter_shape = \"uniform\" }\n",
            $more,
            "\n"
        )
    };
}

/// A media flow on the forward path with the usual RTT.
macro_rules! forward {
    ($name:literal, $more:literal) => {
        media!($name, "100ms", "link", "back", $more)
    };
}

/// Cubic flows that download files of 550 kB on average, with pauses of 10 s on average.
macro_rules! downloads {
    ($name:literal, $count:literal, $starts_off:literal) => {
        concat!(
            "[[flow]]\nname = \"",
            $name,
            "\"\nscheme = \"cubic\"\ncount = ",
            $count,
            "\npath = [\"link\"]\nback = [\"back\"]\nrtt = \"100ms\"\non_off = { on_bytes = 550000, off = \"10s\", \
             starts_off = ",
            $starts_off,
            " }\n"
        )
    };
}

static CASES: &[Case] = &[
    Case::new(
        "8867-5.1",
        MEDIA,
        &[
            (
                "capacity",
                "schedule = [{ at = \"0s\", rate = \"1Mbps\" }, { at = \"40s\", rate = \"2.5Mbps\" }, \
                 { at = \"60s\", rate = \"0.6Mbps\" }, { at = \"80s\", rate = \"1Mbps\" }]",
            ),
            ("flows", forward!("media", "")),
        ],
    ),
    Case::new(
        "8867-5.2",
        MEDIA,
        &[
            ("duration", "125s"),
            (
                "capacity",
                "schedule = [{ at = \"0s\", rate = \"4Mbps\" }, { at = \"25s\", rate = \"2Mbps\" }, \
                 { at = \"50s\", rate = \"3.5Mbps\" }, { at = \"75s\", rate = \"1Mbps\" }, \
                 { at = \"100s\", rate = \"2Mbps\" }]",
            ),
            ("flows", concat!(forward!("media-1", ""), forward!("media-2", ""))),
        ],
    ),
    Case::new(
        "8867-5.3",
        MEDIA,
        &[
            (
                "capacity",
                "schedule = [{ at = \"0s\", rate = \"2Mbps\" }, { at = \"20s\", rate = \"1Mbps\" }, \
                 { at = \"40s\", rate = \"0.5Mbps\" }, { at = \"60s\", rate = \"2Mbps\" }]",
            ),
            (
                "back",
                "schedule = [{ at = \"0s\", rate = \"2Mbps\" }, { at = \"35s\", rate = \"0.8Mbps\" }, \
                 { at = \"70s\", rate = \"2Mbps\" }]",
            ),
            ("back_buffer", "300ms"),
            (
                "flows",
                concat!(forward!("there", ""), media!("return", "100ms", "back", "link", "")),
            ),
        ],
    ),
    Case::new(
        "8867-5.4",
        MEDIA,
        &[
            ("duration", "120s"),
            ("warmup", "60s"),
            (
                "flows",
                concat!(
                    forward!("media-1", ""),
                    forward!("media-2", "start = \"20s\""),
                    forward!("media-3", "start = \"40s\"")
                ),
            ),
        ],
    ),
    Case::new(
        "8867-5.5",
        MEDIA,
        &[
            ("duration", "300s"),
            ("warmup", "60s"),
            ("capacity", "rate = \"4Mbps\""),
            (
                "flows",
                concat!(
                    media!("media-1", "20ms", "link", "back", ""),
                    media!("media-2", "50ms", "link", "back", "start = \"10s\""),
                    media!("media-3", "100ms", "link", "back", "start = \"20s\""),
                    media!("media-4", "200ms", "link", "back", "start = \"30s\""),
                    media!("media-5", "300ms", "link", "back", "start = \"40s\"")
                ),
            ),
        ],
    ),
    Case::new(
        "8867-5.6",
        MEDIA,
        &[
            ("duration", "120s"),
            ("warmup", "20s"),
            ("capacity", "rate = \"2Mbps\""),
            (
                "flows",
                concat!(
                    forward!("media", "start = \"5s\""),
                    "[[flow]]\nname = \"tcp\"\nscheme = \"cubic\"\npath = [\"link\"]\nback = [\"back\"]\n\
                     rtt = \"100ms\"\n"
                ),
            ),
        ],
    ),
    Case::new(
        "8867-5.7",
        MEDIA,
        &[
            ("duration", "300s"),
            ("warmup", "20s"),
            ("capacity", "rate = \"2Mbps\""),
            (
                "flows",
                concat!(
                    forward!("media-1", "start = \"5s\""),
                    forward!("media-2", "start = \"5s\""),
                    downloads!("tcp-on", "2", "false"),
                    downloads!("tcp-off", "8", "true")
                ),
            ),
        ],
    ),
    Case::new(
        "8867-5.8",
        MEDIA,
        &[
            ("duration", "120s"),
            (
                "flows",
                concat!(
                    forward!("media-1", ""),
                    forward!("media-2", ""),
                    forward!("media-3", "stop = \"40s\""),
                    forward!("resumed", "start = \"60s\"")
                ),
            ),
        ],
    ),
];

const CAPACITY: &str = "ours; the section asks to use the capacity and follow its changes";
const FALL: &str = "ours; the section asks to use the capacity and follow its changes; changed after first runs: all time with such a \
     queue until the next change counts; it was 0.5 s and the time from then on to the first half second without one";
const ADDED: &str =
    "ours, as in §5.1; added after first runs: without it, flows that stop were fair and in time";
const DELAY: &str = delay_reason!();
const DELAY_OF_BOTH: &str = delay_reason!("the worse of both flows, in place of the first one");
const FAIR: &str = "ours; the section asks for equal rates of equal flows";
const FAIR_TO_THE_END: &str = "ours; the section asks for equal rates of equal flows; changed after first runs: flows that all stop were fair";
const STARVES: &str = "ours; the section asks that neither flow starves";
const MIXED: &str = "Audio is left out, since one simulated flow has one source.";

/// The share of the link's capacity that its flows use.
fn used(look: &Look<'_>) -> f64 {
    look.percent("link.link.utilization")
}

/// The criterion of the utilization of a case's link.
macro_rules! uses {
    ($id:literal, $section:literal, $case:literal, $where:literal) => {
        uses!($id, $section, $case, $where, CAPACITY)
    };
    ($id:literal, $section:literal, $case:literal, $where:literal, $because:expr) => {
        Criterion::measured(
            $id,
            $section,
            concat!("Which part of the capacity is used ", $where, "?"),
            Measured::new(
                $case,
                "utilization",
                "%",
                concat!("Media use {} of the capacity ", $where),
                used,
            )
            .judged(Bounds::new(70.0, 40.0, $because)),
            MIXED,
        )
    };
}

static CRITERIA: &[Criterion] = &[
    uses!(
        "8867.5.1.rate",
        "5.1 variable capacity, one flow",
        "8867-5.1",
        "while it changes from 0.6 to 2.5 Mbit/s"
    ),
    frames!(
        "8867.5.1.delay",
        "5.1 variable capacity, one flow",
        "8867-5.1",
        ["media"],
        "while the capacity changes",
        DELAY,
        MIXED
    ),
    Criterion::measured(
        "8867.5.1.loss",
        "5.1 variable capacity, one flow",
        "How many packets are lost while the capacity changes?",
        Measured::new(
            "8867-5.1",
            "lost packets",
            "%",
            "Of the packets {} are lost while the capacity changes",
            |look| look.lost_packets(&["media"]),
        )
        .judged(Bounds::new(1.0, 5.0, "ours; the section asks for few losses")),
        "",
    ),
    Criterion::measured(
        "8867.5.1.fall",
        "5.1 variable capacity, one flow",
        "How long does the queue last after the capacity has fallen from 2.5 to 0.6 Mbit/s?",
        Measured::new(
            "8867-5.1",
            "time with more than 100 ms of queue",
            "s",
            "In the 20 s after the capacity has fallen, the queue is longer than 100 ms for {}",
            |look| look.time_above("link.link.delay", 100.0, 60.0, 80.0),
        )
        .judged(Bounds::new(3.0, 10.0, FALL)),
        "The queue after the next change of the capacity, 20 s later, does not count.",
    ),
    uses!(
        "8867.5.2.rate",
        "5.2 variable capacity, several flows",
        "8867-5.2",
        "by two flows while it changes"
    ),
    frames!(
        "8867.5.2.delay",
        "5.2 variable capacity, several flows",
        "8867-5.2",
        ["media-1", "media-2"],
        "of the worse of two flows while the capacity changes",
        DELAY_OF_BOTH,
        MIXED
    ),
    Criterion::measured(
        "8867.5.2.fair",
        "5.2 variable capacity, several flows",
        "Do two flows share a capacity that changes?",
        Measured::new(
            "8867-5.2",
            "Jain's index",
            "",
            "Two flows share the capacity with a Jain index of {}",
            |look| {
                let has_stopped = look.have_stopped(&["media-1", "media-2"]);
                if has_stopped { f64::NAN } else { look.number("all.jain") }
            },
        )
        .judged(Bounds::new(
            0.95,
            0.75,
            "ours; the section asks for equal rates of equal flows; changed after first runs: flows that both stop were fair",
        )),
        "",
    ),
    uses!(
        "8867.5.3.rate",
        "5.3 congested feedback link",
        "8867-5.3",
        "if feedback passes a congested link, too,"
    ),
    frames!(
        "8867.5.3.delay",
        "5.3 congested feedback link",
        "8867-5.3",
        ["there"],
        "if feedback passes a congested link, too",
        DELAY,
        MIXED
    ),
    uses!(
        "8867.5.4.rate",
        "5.4 competing media flows",
        "8867-5.4",
        "by three flows that start 20 s apart",
        ADDED
    ),
    Criterion::measured(
        "8867.5.4.fair",
        "5.4 competing media flows",
        "Do three flows that start 20 s apart share the link?",
        Measured::new(
            "8867-5.4",
            "Jain's index",
            "",
            "In the last minute three flows share the link with a Jain index of {}",
            |look| look.jain(&["media-1", "media-2", "media-3"], 60.0, 120.0),
        )
        .judged(Bounds::new(0.95, 0.75, FAIR_TO_THE_END)),
        "",
    ),
    frames!(
        "8867.5.4.delay",
        "5.4 competing media flows",
        "8867-5.4",
        ["media-3"],
        "of the last of three flows",
        DELAY,
        MIXED
    ),
    uses!(
        "8867.5.5.rate",
        "5.5 fairness of round trips",
        "8867-5.5",
        "by five flows with round trips of 20 to 300 ms",
        ADDED
    ),
    Criterion::measured(
        "8867.5.5.fair",
        "5.5 fairness of round trips",
        "Do five flows with round trips of 20 to 300 ms share the link?",
        Measured::new(
            "8867-5.5",
            "Jain's index",
            "",
            "Five flows share the link with a Jain index of {}",
            |look| {
                let flows = ["media-1", "media-2", "media-3", "media-4", "media-5"];
                look.jain(&flows, 60.0, 300.0)
            },
        )
        .judged(Bounds::new(0.9, 0.6, FAIR_TO_THE_END)),
        "",
    ),
    frames!(
        "8867.5.5.delay",
        "5.5 fairness of round trips",
        "8867-5.5",
        ["media-5"],
        "of the flow with the longest round trip",
        DELAY,
        MIXED
    ),
    Criterion::measured(
        "8867.5.6.rate",
        "5.6 a long TCP flow",
        "Which rate does media keep beside a long TCP flow?",
        Measured::new(
            "8867-5.6",
            "rate",
            "Mbit/s",
            "Beside a Cubic flow on 2 Mbit/s media get {}",
            |look| look.number("flow.media.goodput"),
        )
        .judged(Bounds::new(0.5, 0.15, STARVES)),
        "",
    ),
    Criterion::measured(
        "8867.5.6.tcp",
        "5.6 a long TCP flow",
        "Which rate does a long TCP flow keep beside media?",
        Measured::new(
            "8867-5.6",
            "rate of TCP",
            "Mbit/s",
            "Beside media on 2 Mbit/s a Cubic flow gets {}",
            |look| look.number("flow.tcp.goodput"),
        )
        .judged(Bounds::new(0.5, 0.15, STARVES)),
        "",
    ),
    frames!(
        "8867.5.6.delay",
        "5.6 a long TCP flow",
        "8867-5.6",
        ["media"],
        "beside a long Cubic flow",
        DELAY,
        MIXED
    ),
    Criterion::measured(
        "8867.5.7.rate",
        "5.7 short TCP flows",
        "Which rate do media keep beside short TCP flows?",
        Measured::new(
            "8867-5.7",
            "rate of two flows",
            "Mbit/s",
            "Beside short Cubic flows on 2 Mbit/s two media flows get {}",
            |look| look.number("flow.media-1.goodput") + look.number("flow.media-2.goodput"),
        )
        .judged(Bounds::new(0.8, 0.3, STARVES)),
        "Files have exponentially distributed sizes of 550 kB on average, in place of 100 kB to 1 MB.",
    ),
    frames!(
        "8867.5.7.delay",
        "5.7 short TCP flows",
        "8867-5.7",
        ["media-1"],
        "beside short Cubic flows",
        DELAY,
        MIXED
    ),
    Criterion::measured(
        "8867.5.8.rate",
        "5.8 pause and resume",
        "Which rate does a flow have that resumes after a pause?",
        Measured::new(
            "8867-5.8",
            "rate",
            "Mbit/s",
            "From 5 s after its return on, a third flow on 3.5 Mbit/s has {}",
            |look| look.mean("flow.resumed.goodput", 65.0, 120.0),
        )
        .judged(Bounds::new(0.8, 0.3, FAIR)),
        "A flow resumes as a new connection here.",
    ),
    frames!(
        "8867.5.8.delay",
        "5.8 pause and resume",
        "8867-5.8",
        ["media-1"],
        "while another flow pauses and resumes",
        DELAY,
        MIXED
    ),
];

pub(crate) fn criteria() -> Vec<&'static Criterion> {
    CRITERIA.iter().collect()
}

pub(crate) fn cases() -> Vec<&'static Case> {
    CASES.iter().collect()
}
