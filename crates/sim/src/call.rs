//! What a person sees of a call: when the frames of a video are shown, and how long the picture stands still.

use std::ops::Range;

use paceline_cc::{Span, Time};
use paceline_flow::{Frame, VideoStats};
use serde::Serialize;

use crate::metrics::{Quantiles, Samples, mbps};

/// A picture that stands still for this time or longer is frozen.
const FROZEN: Span = Span::from_millis(150);
/// libwebrtc's `video_quality_observer2.cc`: a gap between two frames is a freeze if it is at least
/// this much longer than the mean gap, ...
const FREEZE_INCREASE: Span = Span::from_millis(150);
/// ... and at least this multiple of it, ...
const FREEZE_MULTIPLE: u64 = 3;
/// ... where the mean is that of this number of gaps, of which the gap itself is the last, ...
const FREEZE_WINDOW: usize = 30;
/// ... and of at least this number.
const FREEZE_LEAST: usize = 5;

/// Results of those frames of a video that were made after the warm-up, and of those shown after it.
///
/// A frame is shown as soon as all of it has arrived, and all frames back to the last key frame have. A frame
/// that is not complete before a later key frame is never shown.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FramesOutcome {
    /// Frames made.
    pub made: u64,
    /// Frames that the encoder skipped because too much data was waiting.
    pub skipped: u64,
    /// Frames that arrived completely.
    pub delivered: u64,
    /// Frames that the viewer did not get: those that the encoder skipped, and those given up at a key frame,
    /// because a part of them was missing.
    #[serde(rename = "dropped_frames")]
    pub dropped: u64,
    /// Delay of the delivered frames, from the making of a frame to the arrival of its last packet.
    #[serde(rename = "frame_delay_ms")]
    pub delay_ms: Quantiles,
    /// Frames shown, per second.
    pub frames_per_s: f64,
    /// Bytes of the shown frames, headers included, as a rate.
    pub video_mbps: f64,
    /// Share of the time that belongs to gaps of 150 ms or more between two shown frames. The first gap
    /// begins with the making of the first frame, and the last one ends with the flow or the run.
    pub frozen: f64,
    /// Number of freezes by libwebrtc's definition: a gap between two shown frames is a freeze if it is at
    /// least three times the mean of the last 30 gaps, and at least 150 ms longer than this mean.
    pub freezes: u64,
    /// Sum of the freezes' lengths in seconds.
    pub freezes_s: f64,
}

/// Results of those packets of audio that were made after the warm-up.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct AudioOutcome {
    /// Packets made.
    pub made: u64,
    /// Delay of the packets that arrived, from the making of a packet to its arrival.
    #[serde(rename = "audio_delay_ms")]
    pub delay_ms: Quantiles,
    /// Share of the packets that did not arrive, of those made before the last one that arrived.
    #[serde(rename = "audio_lost")]
    pub lost: f64,
    /// Longest time in the measured time in which no packet arrived, in milliseconds.
    #[serde(rename = "audio_gap_ms")]
    pub longest_gap_ms: f64,
}

/// Returns the results of audio in the `measured` time, given all its packets.
pub(crate) fn audio_outcome(packets: &[CallFrame], measured: Range<Time>) -> AudioOutcome {
    let mut outcome = AudioOutcome::default();
    let Some(first) = packets.first() else { return outcome };
    let made = packets.iter().filter(|one| (measured.start..measured.end).contains(&one.made));
    let mut delays = Samples::default();
    let (mut missing, mut lost) = (0, 0);
    for packet in made {
        outcome.made += 1;
        match packet.arrived {
            // Packets behind the last one that arrived may be on their way.
            Some(at) => {
                delays.push(at.since(packet.made));
                lost += std::mem::take(&mut missing);
            }
            None => missing += 1,
        }
    }
    outcome.delay_ms = delays.quantiles();
    let known = delays.len() + lost;
    outcome.lost = if known > 0 { lost as f64 / known as f64 } else { 0.0 };
    let mut arrivals: Vec<Time> = packets.iter().filter_map(|packet| packet.arrived).collect();
    arrivals.sort_unstable();
    let mut since = first.made.max(measured.start);
    let mut longest = Span::ZERO;
    let inside = arrivals.into_iter().filter(|at| (measured.start..measured.end).contains(at));
    for at in inside.chain([measured.end]) {
        longest = longest.max(at.since(since));
        since = at;
    }
    outcome.longest_gap_ms = longest.as_millis_f64();
    outcome
}

/// A frame of a video, or a packet of audio.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallFrame {
    pub(crate) made: Time,
    /// When its last packet arrived; `None` if a part of it has not arrived.
    pub(crate) arrived: Option<Time>,
    /// True if it can be shown without an earlier frame.
    pub(crate) is_key: bool,
    pub(crate) bytes: u64,
}

/// Returns the frames with their arrivals, given the segments that arrived. With `in_order` the application reads a stream, as
/// TCP's, and gets a segment after all segments before it.
pub(crate) fn sent_frames(
    frames: &[Frame],
    segments: &[(u64, Time)],
    in_order: bool,
) -> Vec<CallFrame> {
    let count = frames.iter().filter_map(|frame| frame.last).max().map_or(0, |last| last + 1);
    let arrivals = arrivals(count as usize, segments, in_order);
    let arrived = |frame: &Frame| {
        let parts = arrivals.get(frame.first as usize..=frame.last? as usize)?;
        parts.iter().copied().max().filter(|&last| last != Time::NEVER)
    };
    let call_frame = |frame: &Frame| CallFrame {
        made: frame.made,
        arrived: arrived(frame),
        is_key: frame.is_key,
        bytes: frame.bytes,
    };
    frames.iter().map(call_frame).collect()
}

/// Returns when the application gets each of the first `count` segments; [`Time::NEVER`] for those it does not get.
fn arrivals(count: usize, segments: &[(u64, Time)], in_order: bool) -> Vec<Time> {
    let mut arrivals = vec![Time::NEVER; count];
    for &(segment, at) in segments {
        if let Some(first) = arrivals.get_mut(segment as usize) {
            *first = at.min(*first);
        }
    }
    if in_order {
        let mut all = Time::ZERO;
        for arrival in &mut arrivals {
            all = all.max(*arrival);
            *arrival = all;
        }
    }
    arrivals
}

/// Returns when each frame is shown, in the order of the frames; `None` for a frame that is not shown.
fn shown(frames: &[CallFrame]) -> Vec<Option<Time>> {
    // A frame waits for those before it, back to the last key frame.
    let mut ready_at = Time::ZERO;
    let mut shown: Vec<Option<Time>> = Vec::with_capacity(frames.len());
    for frame in frames {
        let arrived = frame.arrived.unwrap_or(Time::NEVER);
        ready_at = if frame.is_key { arrived } else { ready_at.max(arrived) };
        shown.push((ready_at != Time::NEVER).then_some(ready_at));
    }
    // A frame that would be shown after a later key frame is not shown.
    let mut key_at = Time::NEVER;
    for (frame, at) in frames.iter().zip(&mut shown).rev() {
        *at = at.filter(|&at| at < key_at);
        if let (true, Some(at)) = (frame.is_key, *at) {
            key_at = at;
        }
    }
    shown
}

/// Returns the results of a video in the `measured` time, given all its frames. `stats` counts the frames
/// made in this time.
pub(crate) fn outcome(
    frames: &[CallFrame],
    measured: Range<Time>,
    stats: VideoStats,
) -> FramesOutcome {
    let shown_at = shown(frames);
    let mut outcome =
        FramesOutcome { made: stats.made, skipped: stats.skipped, ..FramesOutcome::default() };
    outcome.dropped = stats.skipped;
    let mut delays = Samples::default();
    let last_shown = shown_at.iter().rposition(Option::is_some).unwrap_or(0);
    for (index, frame) in frames.iter().enumerate().filter(|(_, one)| one.made >= measured.start) {
        if let Some(at) = frame.arrived {
            delays.push(at.since(frame.made));
        }
        // Frames behind the last one shown may be shown later.
        outcome.dropped += u64::from(index < last_shown && shown_at[index].is_none());
    }
    (outcome.delivered, outcome.delay_ms) = (delays.len(), delays.quantiles());

    let length = measured.end.since(measured.start);
    let Some(first) = frames.first().filter(|_| !length.is_zero()) else { return outcome };
    let mut gaps = Gaps { measured: measured.clone(), since: first.made, ..Gaps::default() };
    let mut bytes = 0;
    for (frame, at) in frames.iter().zip(&shown_at) {
        let Some(at) = at.filter(|&at| at < measured.end) else { continue };
        if at >= measured.start {
            bytes += frame.bytes;
            gaps.shown += 1;
        }
        gaps.on_frame(at);
    }
    gaps.on_gap(measured.end);
    outcome.frames_per_s = gaps.shown as f64 / length.as_secs_f64();
    outcome.video_mbps = mbps(bytes, length);
    outcome.frozen = gaps.frozen.as_secs_f64() / length.as_secs_f64();
    (outcome.freezes, outcome.freezes_s) = (gaps.freezes, gaps.freeze_time.as_secs_f64());
    outcome
}

/// The gaps between shown frames.
#[derive(Debug)]
struct Gaps {
    measured: Range<Time>,
    /// When the last frame was shown, or before the first one when it was made.
    since: Time,
    /// True after the first frame.
    has_frame: bool,
    /// Frames shown in the measured time.
    shown: u64,
    /// The last gaps, at most [`FREEZE_WINDOW`], as a ring, and their number so far.
    last: [Span; FREEZE_WINDOW],
    count: usize,
    frozen: Span,
    freezes: u64,
    freeze_time: Span,
}

impl Default for Gaps {
    fn default() -> Gaps {
        Gaps {
            measured: Time::ZERO..Time::ZERO,
            since: Time::ZERO,
            has_frame: false,
            shown: 0,
            last: [Span::ZERO; FREEZE_WINDOW],
            count: 0,
            frozen: Span::ZERO,
            freezes: 0,
            freeze_time: Span::ZERO,
        }
    }
}

impl Gaps {
    /// Counts a frame that is shown at `at`, not before the one before it.
    fn on_frame(&mut self, at: Time) {
        let gap = at.since(self.since);
        // The wait for the first frame is no gap between two frames.
        if self.has_frame && self.is_freeze(gap) && at >= self.measured.start {
            self.freezes += 1;
            self.freeze_time += gap;
        }
        self.on_gap(at);
        (self.has_frame, self.since) = (true, at);
    }

    /// Counts the gap that ends at `at` as frozen time if it is long.
    fn on_gap(&mut self, at: Time) {
        if at.since(self.since) >= FROZEN {
            self.frozen += at.since(self.since.max(self.measured.start));
        }
    }

    /// Adds a gap to the last ones. Returns true if it is a freeze.
    fn is_freeze(&mut self, gap: Span) -> bool {
        self.last[self.count % FREEZE_WINDOW] = gap;
        self.count += 1;
        let number = self.count.min(FREEZE_WINDOW);
        let sum: u64 = self.last[..number].iter().map(|gap| gap.as_nanos()).sum();
        let mean = Span::from_nanos(sum / number as u64);
        number >= FREEZE_LEAST && gap >= (mean + FREEZE_INCREASE).max(mean * FREEZE_MULTIPLE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    /// A frame of 1000 bytes that was made and arrived at these times in milliseconds.
    fn frame(made: u64, arrived: impl Into<Option<u64>>) -> CallFrame {
        CallFrame {
            made: ms(made),
            arrived: arrived.into().map(ms),
            is_key: made == 0,
            bytes: 1000,
        }
    }

    fn key(made: u64, arrived: u64) -> CallFrame {
        CallFrame { is_key: true, ..frame(made, arrived) }
    }

    /// The results between two times in milliseconds.
    fn between(frames: &[CallFrame], from: u64, end: u64) -> FramesOutcome {
        let count = frames.iter().filter(|frame| frame.made >= ms(from)).count() as u64;
        let none = VideoStats::default();
        FramesOutcome { made: count, ..outcome(frames, ms(from)..ms(end), none) }
    }

    /// A stream's application gets a segment after all before it; a lost packet that is sent again delays them all.
    #[test]
    fn segments_of_a_stream_arrive_in_order() {
        let segments = [(0, ms(50)), (2, ms(130)), (1, ms(300)), (1, ms(400)), (4, ms(500))];
        let never = Time::NEVER;
        assert_eq!(arrivals(5, &segments, false), [ms(50), ms(300), ms(130), never, ms(500)]);
        assert_eq!(arrivals(5, &segments, true), [ms(50), ms(300), ms(300), never, never]);
    }

    /// Frames every 40 ms from zero on that arrive 50 ms after they are made.
    fn steady(count: u64) -> Vec<CallFrame> {
        (0..count).map(|index| frame(40 * index, 40 * index + 50)).collect()
    }

    #[test]
    fn a_steady_video_never_stands_still() {
        let seen = between(&steady(100), 0, 4000);
        assert_eq!((seen.delivered, seen.dropped, seen.freezes), (100, 0, 0));
        assert_eq!((seen.frozen, seen.delay_ms.p50, seen.delay_ms.p99), (0.0, 50.0, 50.0));
        // The last frame, made at 3960 ms, is shown behind the end.
        assert_eq!(seen.frames_per_s, 99.0 / 4.0);
        assert_eq!(seen.video_mbps, 99.0 * 8000.0 / 4e6);
    }

    #[test]
    fn a_gap_of_150_ms_is_frozen_and_one_below_is_not() {
        for (late, frozen) in [(109, 0.0), (110, 150.0)] {
            let mut frames = steady(100);
            // Frames wait for the one before them: those after the 50th arrive while it is late.
            frames[50].arrived = Some(ms(2050 + late));
            let seen = between(&frames, 0, 4000);
            assert_eq!(seen.frozen, frozen / 4000.0, "{late} ms late");
            assert_eq!((seen.freezes, seen.delivered), (0, 100));
        }
    }

    #[test]
    fn a_freeze_is_150_ms_longer_than_the_mean_gap() {
        // With a gap of x after 29 of 40 ms, the mean is (29 * 40 + x) / 30: a freeze from 195.2 ms on.
        for (gap, freezes) in [(195, 0), (196, 1), (1000, 1)] {
            let mut frames = steady(100);
            frames[50].arrived = Some(ms(2050 + gap - 40));
            let seen = between(&frames, 0, 4000);
            assert_eq!(seen.freezes, freezes, "{gap} ms");
            assert_eq!(seen.freezes_s, freezes as f64 * gap as f64 / 1e3);
        }
        // A freeze that ends before the measured time does not count; frozen time counts from its begin.
        let mut frames = steady(100);
        frames[50].arrived = Some(ms(3050));
        let seen = between(&frames, 3051, 4000);
        assert_eq!((seen.freezes, seen.frozen), (0, 0.0));
        let seen = between(&frames, 3000, 4000);
        assert_eq!((seen.freezes, seen.frozen), (1, 0.05));
    }

    #[test]
    fn four_gaps_are_no_mean() {
        let frames: Vec<CallFrame> =
            [0, 40, 80, 120, 900].iter().map(|&at| frame(at, at + 50)).collect();
        assert_eq!(between(&frames, 0, 1000).freezes, 0);
        let more: Vec<CallFrame> =
            [0, 40, 80, 120, 160, 900].iter().map(|&at| frame(at, at + 50)).collect();
        assert_eq!(between(&more, 0, 1000).freezes, 1);
    }

    #[test]
    fn slow_video_freezes_at_three_times_its_gap() {
        // One frame a second: 2.9 s are no freeze though 150 ms longer. The mean includes the gap.
        let frames = |last: u64| -> Vec<CallFrame> {
            let before = (0..40).map(|index| frame(1000 * index, 1000 * index + 50));
            before.chain([frame(39_000 + last, 39_050 + last)]).collect()
        };
        assert_eq!(between(&frames(2900), 0, 60_000).freezes, 0);
        assert_eq!(between(&frames(3300), 0, 60_000).freezes, 1);
    }

    #[test]
    fn a_lost_frame_stops_the_picture_until_a_key_frame() {
        let mut frames = steady(100);
        frames[50].arrived = None;
        let seen = between(&frames, 0, 4000);
        // Frames behind it may still be shown, so that none counts as dropped; 49 shows at 2010 ms.
        assert_eq!((seen.delivered, seen.dropped), (99, 0));
        assert_eq!(seen.frozen, 1990.0 / 4000.0);
        frames[60] = key(2400, 2450);
        let seen = between(&frames, 0, 4000);
        assert_eq!((seen.delivered, seen.dropped, seen.freezes), (99, 10, 1));
        assert_eq!((seen.frozen, seen.freezes_s), (440.0 / 4000.0, 0.44));
        // Its last part comes later than the key frame: it is delivered, but not shown.
        frames[50].arrived = Some(ms(2460));
        let late = between(&frames, 0, 4000);
        assert_eq!((late.delivered, late.dropped), (100, 10));
        assert_eq!(late.frozen, seen.frozen);
    }

    #[test]
    fn a_call_that_shows_nothing_is_frozen_from_its_first_frame_on() {
        let frames = [frame(500, None), frame(540, 600)];
        let seen = between(&frames, 0, 1000);
        assert_eq!((seen.frozen, seen.frames_per_s, seen.video_mbps), (0.5, 0.0, 0.0));
        assert_eq!(between(&[], 0, 1000), FramesOutcome::default());
        assert_eq!(between(&frames, 1000, 1000).frozen, 0.0);
    }

    #[test]
    fn audio_has_losses_and_a_longest_gap() {
        let mut packets: Vec<CallFrame> =
            (0..50).map(|index| frame(20 * index, 20 * index + 30)).collect();
        let seen = audio_outcome(&packets, ms(0)..ms(1000));
        assert_eq!((seen.made, seen.lost, seen.longest_gap_ms), (50, 0.0, 30.0));
        assert_eq!((seen.delay_ms.p50, seen.delay_ms.p95), (30.0, 30.0));
        // Two lost in a row make a gap of three packets; the last two have not arrived yet.
        for index in [10, 11, 48, 49] {
            packets[index].arrived = None;
        }
        let seen = audio_outcome(&packets, ms(0)..ms(990));
        assert_eq!((seen.lost, seen.longest_gap_ms), (2.0 / 48.0, 60.0));
        // After the warm-up only.
        let seen = audio_outcome(&packets, ms(500)..ms(990));
        assert_eq!((seen.made, seen.lost, seen.longest_gap_ms), (25, 0.0, 20.0));
        // Nothing arrives after 190 + 30 ms.
        packets.iter_mut().skip(10).for_each(|packet| packet.arrived = None);
        let seen = audio_outcome(&packets, ms(0)..ms(1000));
        assert_eq!((seen.lost, seen.longest_gap_ms), (0.0, 790.0));
        assert_eq!(audio_outcome(&[], ms(0)..ms(1000)), AudioOutcome::default());
    }

    #[test]
    fn skipped_frames_are_dropped_frames() {
        let mut stats = VideoStats::default();
        stats.skipped = 3;
        let seen = outcome(&steady(10), ms(0)..ms(400), stats);
        assert_eq!((seen.skipped, seen.dropped), (3, 3));
    }
}
