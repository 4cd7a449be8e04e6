//! The table of columns, and the rows that are made from it.

use paceline_sim::metrics::{self, Distribution, P95, Quantiles};
use paceline_sim::runs::Run;
use paceline_sim::{AudioOutcome, FlowOutcome, FramesOutcome, LinkOutcome, LinkSeries, Outcome};
use serde::Serialize;

use super::Column;
use super::cell::Format::{Count, Figures, Index, Percent};
use super::cell::Part::{Mean, P50, P95 as Percentile95, P99, Whole};
use super::cell::TextTable::{
    Compare, CompareRuns, FlowRuns as FlowRunsTable, Flows, LinkRuns as LinkRunsTable, Links,
    Notebook, Stations,
};
use super::cell::{Cell, Format, Part, TableRow};
use super::figure::{Figure, FigureOverRuns, OfMedia};
use crate::likeness::Likeness;

/// A run of a scheme over a link, from which a row of `compare` is made.
pub(crate) struct RowSource<'a> {
    /// Name of the link's trace.
    pub(crate) trace: &'a str,
    /// Scheme as written.
    pub(crate) scheme: String,
    /// Number of flows.
    pub(crate) flows: u32,
    pub(crate) run: Run,
    pub(crate) outcome: &'a Outcome,
    /// The link that is measured: the first one.
    pub(crate) link: &'a LinkOutcome,
    pub(crate) note: Option<String>,
}

/// Keeps a field where the entry names a place that it comes from.
macro_rules! of {
    ($source:ident, $($kept:tt)*) => { $($kept)* };
}

macro_rules! columns {
    (
        begin { $($(#[$first_attribute:meta])* $first:ident: $first_type:ty = $first_unit:literal, $first_meaning:literal,
            compare $first_run:ident => $of_first:expr;)* }
        figures { $($name:ident: $type:ty = $unit:literal, $meaning:literal
            $(, exactly $exactly:literal)?
            $(, compare $run:ident => $of_run:expr)?
            $(, link $link:ident => $of_link:expr)?
            $(, flow $flow:ident => $of_flow:expr)?
            $(, cells [$($cell:expr),* $(,)?])?;)* }
        end { $($(#[$attribute:meta])* $last:ident: $last_type:ty = $last_unit:literal, $last_meaning:literal
            $(, exactly $last_exactly:literal)?, compare $last_run:ident => $of_last:expr;)* }
    ) => {
        /// All columns, in the order of JSON's fields.
        pub static COLUMNS: &[Column] = &[
            $(Column { name: stringify!($first), unit: $first_unit, meaning: $first_meaning, exactly: None,
                in_compare: true, in_run: false, cells: &[] },)*
            $(Column {
                name: stringify!($name),
                unit: $unit,
                meaning: $meaning,
                exactly: { let exactly: &[&str] = &[$($exactly)?]; exactly.first().copied() },
                in_compare: { let places: &[&str] = &[$(stringify!($run))?]; !places.is_empty() },
                in_run: { let places: &[&str] = &[$(stringify!($link),)? $(stringify!($flow))?]; !places.is_empty() },
                cells: &[$($($cell),*)?],
            },)*
            $(Column {
                name: stringify!($last),
                unit: $last_unit,
                meaning: $last_meaning,
                exactly: { let exactly: &[&str] = &[$($last_exactly)?]; exactly.first().copied() },
                in_compare: true,
                in_run: false,
                cells: &[],
            },)*
        ];

        /// A row of `paceline compare` and of its JSON: one run of one scheme on one link. The first link is the one
        /// measured; delays of several flows are pooled.
        #[derive(Clone, Debug, Default, Serialize)]
        pub struct CompareRow {
            $(#[doc = $first_meaning] $(#[$first_attribute])* pub $first: $first_type,)*
            $($(#[doc = $meaning] #[serde(skip_serializing_if = "Figure::is_left_out")]
                pub $name: of!($run, $type),)?)*
            $(#[doc = $last_meaning] $(#[$attribute])* pub $last: $last_type,)*
            /// What equal runs have in common; not part of the JSON.
            #[serde(skip)]
            pub likeness: Option<Likeness>,
            /// The link over time, if recorded; not part of the JSON.
            #[serde(skip)]
            pub series: Option<LinkSeries>,
            /// Inner values of the first flow's controller over time, if recorded; not part of the JSON.
            #[serde(skip)]
            pub state: Vec<(&'static str, Vec<f64>)>,
        }

        impl CompareRow {
            pub(crate) fn of(source: &RowSource<'_>) -> CompareRow {
                CompareRow {
                    $($first: { let $first_run = source; $of_first },)*
                    $($($name: { let $run = source; $of_run },)?)*
                    $($last: { let $last_run = source; $of_last },)*
                    likeness: Likeness::of(source.outcome),
                    series: source.link.series.clone(),
                    state: {
                        let flow = source.outcome.flows.first();
                        let series = flow.and_then(|flow| flow.series.as_ref());
                        series.map_or_else(Vec::new, |series| series.state.clone())
                    },
                }
            }
        }

        impl TableRow for CompareRow {
            fn number(&self, field: &str, part: Part) -> Option<f64> {
                match field {
                    $($(stringify!($name) => of!($run, Figure::part(self.$name, part)),)?)*
                    _ => None,
                }
            }

            fn flows(&self) -> u32 {
                self.flows
            }
        }

        /// The runs of one scheme on one link: a row of `summary` in the JSON of `paceline compare`.
        #[derive(Clone, Debug, Serialize)]
        pub struct SummaryRow {
            /// Name of the link's trace.
            pub trace: String,
            /// Round-trip propagation delay; only in a sweep.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub rtt: Option<String>,
            /// Limit of the link's queue; only in a sweep.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub buffer: Option<String>,
            /// Scheme as written.
            pub scheme: String,
            /// Number of runs.
            pub runs: usize,
            /// True if there are several runs, and nothing differs between them: see [`Likeness`].
            pub equal: bool,
            /// Number of flows.
            pub flows: u32,
            $($(#[doc = $meaning] #[serde(skip_serializing_if = "FigureOverRuns::is_left_out")]
                pub $name: of!($run, <$type as Figure>::OverRuns),)?)*
        }

        impl SummaryRow {
            /// The summary of these runs, of which there is at least one.
            pub(crate) fn of(runs: &[&CompareRow]) -> SummaryRow {
                let first = runs[0];
                let likenesses: Vec<_> = runs.iter().map(|run| run.likeness.as_ref()).collect();
                SummaryRow {
                    trace: first.trace.clone(),
                    rtt: first.rtt.clone(),
                    buffer: first.buffer.clone(),
                    scheme: first.scheme.clone(),
                    runs: runs.len(),
                    equal: Likeness::all_equal(&likenesses),
                    flows: first.flows,
                    $($($name: of!($run, over_runs(runs, |run| run.$name)),)?)*
                }
            }
        }

        over_runs_row!(SummaryRow, flows [$($($name, $run;)?)*]);

        /// A link over several runs of a scenario.
        #[derive(Clone, Debug, Serialize)]
        pub struct LinkRuns<'a> {
            /// Its name.
            pub name: &'a str,
            $($(#[doc = $meaning] #[serde(skip_serializing_if = "FigureOverRuns::is_left_out")]
                pub $name: of!($link, <$type as Figure>::OverRuns),)?)*
        }

        impl<'a> LinkRuns<'a> {
            pub(crate) fn of(name: &'a str, runs: &[&LinkOutcome]) -> LinkRuns<'a> {
                LinkRuns { name, $($($name: over_runs(runs, |$link| $of_link),)?)* }
            }
        }

        one_run_row!(LinkOutcome [$($($name, $link, $of_link;)?)*]);
        over_runs_row!(LinkRuns<'_> [$($($name, $link;)?)*]);

        /// A flow over several runs of a scenario.
        #[derive(Clone, Debug, Serialize)]
        pub struct FlowRuns<'a> {
            /// Its name.
            pub name: &'a str,
            /// Its scheme, as written.
            pub scheme: &'a str,
            $($(#[doc = $meaning] #[serde(skip_serializing_if = "FigureOverRuns::is_left_out")]
                pub $name: of!($flow, <$type as Figure>::OverRuns),)?)*
        }

        impl<'a> FlowRuns<'a> {
            pub(crate) fn of(first: &'a FlowOutcome, runs: &[&FlowOutcome]) -> FlowRuns<'a> {
                FlowRuns {
                    name: &first.name,
                    scheme: &first.scheme,
                    $($($name: over_runs(runs, |$flow| $of_flow),)?)*
                }
            }
        }

        one_run_row!(FlowOutcome [$($($name, $flow, $of_flow;)?)*]);
        over_runs_row!(FlowRuns<'_> [$($($name, $flow;)?)*]);
    };
}

macro_rules! one_run_row {
    ($row:ty [$($name:ident, $of:ident, $figure:expr;)*]) => {
        impl TableRow for $row {
            fn number(&self, field: &str, part: Part) -> Option<f64> {
                match field {
                    $(stringify!($name) => { let $of = self; Figure::part($figure, part) })*
                    _ => None,
                }
            }
        }
    };
}

macro_rules! over_runs_row {
    ($row:ty $(, $flows:ident)? [$($name:ident, $of:ident;)*]) => {
        impl TableRow for $row {
            fn distribution(&self, field: &str, part: Part) -> Option<&Distribution> {
                match field {
                    $(stringify!($name) => FigureOverRuns::part(&self.$name, part),)*
                    _ => None,
                }
            }

            $(fn flows(&self) -> u32 { self.$flows })?
        }
    };
}

fn over_runs<T, F: Figure>(runs: &[&T], figure: impl Fn(&T) -> F) -> F::OverRuns {
    F::over_runs(&runs.iter().map(|run| figure(run)).collect::<Vec<F>>())
}

fn p95(figure: Option<f64>) -> P95 {
    P95 { p95: figure.unwrap_or(f64::NAN) }
}

/// Returns a figure of the flow's video.
fn of_video<T>(flow: &FlowOutcome, figure: impl Fn(FramesOutcome) -> T) -> OfMedia<T> {
    OfMedia(flow.frames.map(figure))
}

/// Returns a figure of the flow's audio.
fn of_audio<T>(flow: &FlowOutcome, figure: impl Fn(AudioOutcome) -> T) -> OfMedia<T> {
    OfMedia(flow.audio.map(figure))
}

/// Returns the mean of a figure over the flows that have audio.
fn mean_of_audio(outcome: &Outcome, figure: impl Fn(AudioOutcome) -> f64) -> OfMedia<f64> {
    OfMedia(metrics::mean(outcome.flows.iter().filter_map(|flow| flow.audio).map(figure)))
}

fn videos(outcome: &Outcome) -> impl Iterator<Item = FramesOutcome> {
    outcome.flows.iter().filter_map(|flow| flow.frames)
}

/// Returns the mean of a figure over the flows that have a video.
fn mean_of_videos(outcome: &Outcome, figure: impl Fn(FramesOutcome) -> f64) -> OfMedia<f64> {
    OfMedia(metrics::mean(videos(outcome).map(figure)))
}

/// Returns the sum of a count over the flows that have a video.
fn sum_of_videos(outcome: &Outcome, count: impl Fn(FramesOutcome) -> u64) -> OfMedia<u64> {
    OfMedia(videos(outcome).map(count).reduce(|sum, count| sum + count))
}

/// Returns the means of the quantiles of delays; `mean` returns that of one quantile.
fn delays_of(mean: impl Fn(fn(Quantiles) -> f64) -> Option<f64>) -> OfMedia<Quantiles> {
    let all = || {
        Some(Quantiles {
            mean: mean(|delay| delay.mean)?,
            p50: mean(|delay| delay.p50)?,
            p95: mean(|delay| delay.p95)?,
            p99: mean(|delay| delay.p99)?,
            max: mean(|delay| delay.max)?,
        })
    };
    OfMedia(all())
}

/// A cell of a figure of a video or of audio.
const fn media_cell(heading: &'static str, part: Part, format: Format) -> Cell {
    Cell::new(heading, part, format, &[Compare, CompareRuns, Notebook, Flows, FlowRunsTable])
        .if_measured()
}

columns! {
    begin {
        trace: String = "text", "The link's capacity: a trace, a file or a rate", compare of => of.trace.into();
        #[serde(skip_serializing_if = "Option::is_none")]
        rtt: Option<String> = "text", "Round-trip propagation delay, if `--rtt` or `--buffer` is a list", compare _run => None;
        #[serde(skip_serializing_if = "Option::is_none")]
        buffer: Option<String> = "text", "Limit of the link's queue (`250p`: packets), if `--rtt` or `--buffer` is a list",
            compare _run => None;
        scheme: String = "text", "The scheme as written", compare of => of.scheme.clone();
        run: u32 = "number", "Number of the run, from 1; run 1 has the seed as given and starts at 0",
            compare of => of.run.number;
        start_ms: f64 = "ms", "Time in the recordings between the starts of run 1 and of this run; on constant links, the \
            delay of this run's first flow", compare of => of.run.start.as_millis_f64();
        seed: u64 = "number", "Seed of the run", compare of => of.run.seed;
        flows: u32 = "number", "Number of flows", compare of => of.flows;
        duration_s: f64 = "s", "The measured time, without the warm-up", compare of => of.outcome.duration_s;
    }
    figures {
        capacity_mbps: f64 = "Mbit/s", "The rate that the link offered",
            exactly "These are the offered bytes divided by the measured time. On a trace, each opportunity offers 1504 bytes.",
            compare of => of.link.capacity_mbps,
            link link => link.capacity_mbps,
            cells [Cell::new("capacity", Whole, Figures, &[Links, LinkRunsTable])];
        throughput_mbps: f64 = "Mbit/s", "The rate that the link delivered",
            exactly "These are the delivered bytes divided by the measured time. On a trace a packet counts with 4 bytes more \
                than its size, the header of Mahimahi's TUN device, so that a 1500-byte packet fills an opportunity.",
            compare of => of.link.throughput_mbps,
            link link => link.throughput_mbps,
            cells [Cell::new("Mbit/s", Whole, Figures,
                &[Compare, CompareRuns, Notebook, Links, LinkRunsTable, Stations])];
        utilization: f64 = "share", "Delivered bytes divided by offered bytes",
            exactly "A packet counts whole when its last byte leaves. So after a warm-up, a link with a constant rate or a \
                schedule can have delivered up to one packet more than it offered: on 0.1 Mbit/s, measured for 1 s, up to 1.12. \
                `null` if the link offered nothing in the measured time.",
            compare of => of.link.utilization,
            link link => link.utilization,
            cells [Cell::new("used %", Whole, Percent, &[Compare, CompareRuns, Notebook, Links, LinkRunsTable])];
        goodput_mbps: f64 = "Mbit/s", "The rate of data that reached receivers for the first time, headers included; of all \
            flows, or of one",
            exactly "Retransmissions of received data do not count.",
            compare of => of.outcome.goodput_mbps(),
            flow flow => flow.goodput_mbps,
            cells [Cell::new("Mbit/s", Whole, Figures, &[Flows, FlowRunsTable])];
        queue_delay_ms: Quantiles = "quantiles", "For each packet, the time from its arrival at the queue until it has left the link",
            exactly "It has left when its last byte has, so that propagation is not included: the delay that Mahimahi's log has \
                for a departure. ns-2 and ns-3 report the time until transmission starts, which is shorter by one packet's \
                transmission time.",
            compare of => of.link.queue_delay_ms,
            link link => link.queue_delay_ms,
            cells [
                Cell::new("delay ms", Mean, Figures, &[Compare, Notebook, Links, Stations]),
                Cell::new("delay ms", P50, Figures, &[Compare, Links]),
                Cell::optional("delay ms", P50, 1),
                Cell::new("delay ms", Percentile95, Figures,
                    &[Compare, CompareRuns, Notebook, Links, LinkRunsTable, Stations]),
                Cell::new("delay ms", P99, Figures, &[Compare, Notebook, Links]),
            ];
        one_way_delay_ms: Quantiles = "quantiles", "For each packet, the time from sending to arrival",
            exactly "It begins when the packet leaves the sender and ends when it reaches the receiver.",
            compare of => of.outcome.pooled.one_way_delay_ms;
        rtt_ms: Quantiles = "quantiles", "For each acknowledgement, the time since its newest packet was sent",
            exactly "Includes the receiver's delay of the acknowledgement, as TCP timestamps do.",
            compare of => of.outcome.pooled.rtt_ms,
            flow flow => flow.rtt_ms,
            cells [
                Cell::new("RTT ms", Mean, Figures, &[Flows, FlowRunsTable]),
                Cell::new("RTT ms", Percentile95, Figures, &[Flows, FlowRunsTable]),
            ];
        end_to_end_delay_ms: P95 = "quantiles", "The age of the newest packet at the receiver, over the time in which flows \
            are on: only `p95`, which is `null` if no packet arrived in that time",
            exactly "Winstein's thesis §2.4.1: at each moment, the age of the newest packet that has reached the receiver, \
                counted from its sending; its 95th percentile over time (not over packets). An age counts while the flow \
                is on (below). With several flows, the mean over those that have one.",
            compare of => p95(of.outcome.pooled.end_to_end_p95_ms);
        self_inflicted_delay_ms: P95 = "quantiles", "`end_to_end_delay_ms` minus that of a sender that knows the link's \
            future: only `p95`, which is `null`, or the field left out, if the latter is unknown",
            exactly "The sender is the omniscient protocol (below), on the first link of the flow's path over the whole \
                measured time, even if the flow is on for only a part of it.",
            compare of => p95(of.outcome.pooled.self_inflicted_p95_ms);
        power: Option<f64> = "number", "Goodput in Mbit/s divided by `end_to_end_delay_ms` in seconds",
            exactly "The unit is Mbit/s per second: the thesis' \"throughput divided by the delay\" (§2.5), with the delay that it \
                defines (§2.4.1). The thesis does not say whether this delay or its self-inflicted part is meant; the \
                latter is zero for the best sender. The goodput is over the whole measured time, even if the flow is on \
                for only a part of it. With several flows, the sum of the goodputs divided by the mean of the delays. \
                `null` without a delay, or if it is zero.",
            compare of => of.outcome.pooled.power;
        drops: u64 = "number", "Packets that the link's queue dropped",
            exactly "For whatever reason the queue dropped them.",
            compare of => of.link.drops,
            link link => link.drops,
            cells [
                Cell::new("drops", Whole, Count, &[Compare, Notebook, Links, Stations])
                    .on_page("packets that the link's queue dropped"),
                Cell::optional("drops", Whole, 3),
            ];
        marks: u64 = "number", "Packets marked CE or changed from accelerate to brake",
            exactly "The link's queue or router sets CE; accelerate and brake are ABC's marks.",
            compare of => of.link.marks,
            link link => link.marks,
            cells [
                Cell::new("marks", Whole, Count, &[Compare, Notebook, Links, Stations])
                    .on_page("packets marked CE, or changed from accelerate to brake"),
                Cell::optional("marks", Whole, 4),
            ];
        sent: u64 = "number", "Packets sent",
            flow flow => flow.sender.sent,
            cells [Cell::new("sent", Whole, Count, &[Flows])];
        retransmits: Option<u64> = "number", "Packets that carried data which had been sent before",
            exactly "Not known of QUIC stacks, which do not count them.",
            compare of => of.outcome.flows.iter().map(|flow| flow.sender.counted_retransmits()).sum(),
            flow flow => flow.sender.counted_retransmits(),
            cells [
                Cell::new("resent", Whole, Count, &[Compare, Notebook, Flows, FlowRunsTable])
                    .on_page("packets sent again"),
                Cell::optional("resent", Whole, 2),
            ];
        timeouts: Option<u64> = "number", "Expiries of the retransmission timer",
            exactly "Not known of QUIC stacks, which do not count them.",
            compare of => of.outcome.flows.iter().map(|flow| flow.sender.counted_timeouts()).sum(),
            flow flow => flow.sender.counted_timeouts(),
            cells [Cell::new("timeouts", Whole, Count, &[Flows])];
        transfers: u64 = "number", "Finished transfers of a given size that began after the warm-up",
            flow flow => flow.transfers,
            cells [Cell::new("transfers", Whole, Count, &[Flows])];
        frame_delay_ms: OfMedia<Quantiles> = "quantiles", "For each frame of a video that arrived, the time from its making to \
            the arrival of its last packet",
            exactly "Encoding and decoding take no time. The frame waits at the sender, in the network, and for packets that \
                are sent again. With several flows, the mean over those with a video, as for all figures of a video that \
                are no counts.",
            compare of => delays_of(|part| mean_of_videos(of.outcome, |frames| part(frames.delay_ms)).0),
            flow flow => of_video(flow, |frames| frames.delay_ms),
            cells [
                media_cell("frame ms", P50, Figures).on_page("time from the making of a frame to the arrival of its last packet"),
                media_cell("frame ms", Percentile95, Figures).on_page("time from the making of a frame to the arrival of its last packet"),
                media_cell("frame ms", P99, Figures),
            ];
        frozen: OfMedia<f64> = "share", "Share of the time in which the picture of a video stood still for 150 ms or more",
            exactly "The sum of all gaps of 150 ms or more between two shown frames, divided by the measured time. A frame is \
                shown as soon as all of it has arrived, and all frames back to the last key frame have. The first gap \
                begins with the making of the first frame; the last one ends with the flow or the run.",
            compare of => mean_of_videos(of.outcome, |frames| frames.frozen),
            flow flow => of_video(flow, |frames| frames.frozen),
            cells [media_cell("frozen %", Whole, Percent).on_page("share of the time with no frame for 150 ms or more")];
        freezes: OfMedia<u64> = "number", "Freezes of a video by WebRTC's definition",
            exactly "libwebrtc's `video_quality_observer2.cc`, which getStats shows as freezeCount: a gap between two shown \
                frames is a freeze if it is at least three times the mean of the last 30 gaps, itself included, and at \
                least 150 ms longer than this mean. The first four gaps are none. A gap counts where it ends.",
            compare of => sum_of_videos(of.outcome, |frames| frames.freezes),
            flow flow => of_video(flow, |frames| frames.freezes),
            cells [Cell::new("freezes", Whole, Count, &[Compare, Notebook, Flows, FlowRunsTable]).if_measured()
                .on_page("gaps between frames that WebRTC counts as freezes")];
        freezes_s: OfMedia<f64> = "s", "The sum of the lengths of these freezes",
            exactly "getStats shows it as totalFreezesDuration.",
            compare of => mean_of_videos(of.outcome, |frames| frames.freezes_s),
            flow flow => of_video(flow, |frames| frames.freezes_s);
        dropped_frames: OfMedia<u64> = "number", "Frames of a video that the viewer did not get",
            exactly "These are the frames that the encoder skipped because too much data waited, or because congestion \
                control wanted it, and the frames given up at a key frame because a part was missing.",
            compare of => sum_of_videos(of.outcome, |frames| frames.dropped),
            flow flow => of_video(flow, |frames| frames.dropped),
            cells [Cell::new("dropped", Whole, Count, &[Compare, Notebook, Flows, FlowRunsTable]).if_measured()
                .on_page("frames skipped by the encoder, or given up because a part was missing")];
        frames_per_s: OfMedia<f64> = "number", "Frames of a video that were shown, per second",
            compare of => mean_of_videos(of.outcome, |frames| frames.frames_per_s),
            flow flow => of_video(flow, |frames| frames.frames_per_s),
            cells [media_cell("frames/s", Whole, Figures).on_page("frames shown per second")];
        video_mbps: OfMedia<f64> = "Mbit/s", "The rate of the shown frames of a video, headers included",
            compare of => mean_of_videos(of.outcome, |frames| frames.video_mbps),
            flow flow => of_video(flow, |frames| frames.video_mbps),
            cells [Cell::new("video Mbit/s", Whole, Figures, &[Compare, Notebook, Flows, FlowRunsTable]).if_measured()
                .on_page("rate of the shown frames")];
        audio_delay_ms: OfMedia<Quantiles> = "quantiles", "For each packet of audio that arrived, the time from its making to its \
            arrival",
            compare of => delays_of(|part| mean_of_audio(of.outcome, |audio| part(audio.delay_ms)).0),
            flow flow => of_audio(flow, |audio| audio.delay_ms),
            cells [media_cell("audio ms", Percentile95, Figures).on_page("time from the making of a packet of audio to its arrival")];
        audio_lost: OfMedia<f64> = "share", "Share of the packets of audio that did not arrive",
            exactly "Of the packets made before the last one that arrived.",
            compare of => mean_of_audio(of.outcome, |audio| audio.lost),
            flow flow => of_audio(flow, |audio| audio.lost),
            cells [media_cell("audio lost %", Whole, Percent).on_page("share of the packets of audio that did not arrive")];
        audio_gap_ms: OfMedia<f64> = "ms", "The longest time in which no packet of audio arrived",
            compare of => mean_of_audio(of.outcome, |audio| audio.longest_gap_ms),
            flow flow => of_audio(flow, |audio| audio.longest_gap_ms),
            cells [media_cell("gap ms", Whole, Figures).on_page("longest time without a packet of audio")];
        jain: f64 = "index", "Jain's index of the flows' goodputs",
            exactly "1 if all are equal, 1/n if one of n flows has everything. `null` if no data arrived.",
            compare of => of.outcome.jain(),
            cells [Cell::new("Jain", Whole, Index, &[Compare, CompareRuns]).of_several_flows()
                .on_page("Jain's fairness index over the flows")];
        jain_1s: Option<f64> = "index", "The mean of Jain's index over windows of a second in which at least two flows are active",
            exactly "The first window begins at the end of the warm-up. A flow counts in a window if it is active during \
                all of it: it has started, does not stop before the window's end, and has not finished a transfer of a \
                given size. A flow whose application is silent is active. A window counts if it has at least two such \
                flows and data reaches one of them. `null` without such windows, as for one flow. It depends \
                neither on the bins of a series nor on the recorded metrics.",
            compare of => of.outcome.jain_1s;
        packets: u64 = "number", "Packets delivered",
            exactly "These are data packets that reach their receivers, warm-up included; SYNs are no data packets.",
            compare of => of.outcome.packets;
    }
    end {
        digest: String = "text", "A hash of every arrival of a packet at a sender or receiver; equal runs have equal digests",
            exactly "It covers the arrival's time, and the packet's flow, number, size and ECN, and is the same on every machine, \
                in debug and release builds. Packets that never arrive are not in it: runs with equal digests can differ in \
                packets sent or dropped.",
            compare of => of.outcome.digest.clone();
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        system_random: bool = "yes/no", "True if the congestion control of a flow draws random numbers from the system, so that an \
            equal run has another digest", compare of => of.outcome.system_random;
        #[serde(skip_serializing_if = "Option::is_none")]
        note: Option<String> = "text", "How `compare --schemes all` has set the scheme's parameters, or why a scheme without \
            parameters uses less than .8 of the link, if the path explains it, or keeps a long queue; or that many packets were sent \
            again", compare of => of.note.clone();
    }
}
