//! Video: an encoder that follows the rate that congestion control offers, as in videoconferences.

use std::ops::Sub;

use paceline_cc::{Rate, Span, Stream, Time};

use super::overshoot::Overshoot;

/// A video's encoder.
#[derive(Clone, Debug, PartialEq)]
pub struct Video {
    /// Frames per second.
    pub fps: f64,
    /// Lowest rate of the encoder, even if congestion control offers less.
    pub min: Rate,
    /// Highest rate of the encoder.
    pub max: Rate,
    /// Time constant with which the encoder follows a higher offered rate.
    pub lag: Span,
    /// Time constant with which the encoder follows a lower offered rate, which it overshoots for as long.
    pub fall_lag: Span,
    /// Standard deviation of the frames' sizes, as a share of their mean.
    pub noise: f64,
    /// Period of key frames, in frames; 0 for a key frame only at the start.
    pub key_every: u32,
    /// Size of a key frame as a multiple of the other frames' size.
    pub key_size: f64,
    /// How many times the receiver asks for a lost packet, an RTT apart (RTCP's NACK), if the flow does not send lost
    /// data again by itself; 0 if it asks for none.
    pub requests: u32,
    /// Shortest time between a key frame and the next one that the receiver asks for (RTCP's PLI) because a
    /// packet was lost that is not sent again, or has not arrived for 3 s; zero if it asks for none. Without another
    /// key frame, no frame behind a lost packet can be shown.
    pub key_gap: Span,
    /// If less than this is offered for 2 s, the picture gets smaller, and larger again if 1.5 times
    /// this is offered for 2 s. Each change of the picture's size begins with a key frame. Zero for
    /// pictures of one size.
    pub small_below: Rate,
    /// Longest wait: a frame is left out if the waiting data would take longer than this at the
    /// encoder's rate.
    pub queue: Span,
    /// Time over which the encoder averages by how much its frames overshoot its rate. It divides the rate by this
    /// overshoot. Zero for an encoder that takes all of the rate.
    pub overshoot_window: Span,
}

impl Default for Video {
    /// Returns 30 frames per second, 100 kbit/s to 2.5 Mbit/s, as Chromium's VP8 encoder makes them in
    /// measured calls: sizes that deviate by 8 to 15 %, one key frame, and half a second of overshoot
    /// after a fall.
    fn default() -> Video {
        Video {
            fps: 30.0,
            min: Rate::from_bps(100_000),
            max: Rate::from_bps(2_500_000),
            lag: Span::from_millis(200),
            fall_lag: Span::from_millis(500),
            noise: 0.11,
            key_every: 0,
            key_size: 4.0,
            // libwebrtc's `nack_requester.cc`, kMaxNackRetries.
            requests: 10,
            // libwebrtc's `encoder_rtcp_feedback.cc`, kMinKeyframeSendIntervalMs.
            key_gap: Span::from_millis(300),
            small_below: Rate::from_bps(150_000),
            queue: Span::from_millis(200),
            // libwebrtc's `encoder_bitrate_adjuster.h`, kWindowSize.
            overshoot_window: Span::from_secs(3),
        }
    }
}

/// A frame, and the segments that carry it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Frame {
    /// When it was made.
    pub made: Time,
    /// The first segment that carries part of it.
    pub first: u64,
    /// The last segment that carries part of it; `None` until all of it is sent.
    pub last: Option<u64>,
    /// Its size in bytes, headers included.
    pub bytes: u64,
    /// True if it can be shown without an earlier frame.
    pub is_key: bool,
    /// Position of its end in the stream of bytes.
    end: u64,
}

/// Counts of frames.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VideoStats {
    /// Frames made.
    pub made: u64,
    /// Frames left out because too much data waited, or was in flight.
    pub skipped: u64,
}

impl Sub for VideoStats {
    type Output = VideoStats;

    /// Returns the counts since the moment when they were `earlier`.
    fn sub(self, earlier: VideoStats) -> VideoStats {
        VideoStats { made: self.made - earlier.made, skipped: self.skipped - earlier.skipped }
    }
}

/// Smallest size of a frame, in bytes.
const LEAST: f64 = 64.0;
/// A smaller share of frames is not left out (libwebrtc's `video_stream_encoder.cc`).
const LEAST_LEFT_OUT_SHARE: f64 = 0.01;
/// The offered rate must be beyond a bound for this time before the picture's size changes.
const SIZE_CHANGE_WAIT: Span = Span::from_secs(2);
/// The picture gets larger above this multiple of the rate below which it gets smaller.
const SIZE_CHANGE_HYSTERESIS: f64 = 1.5;

/// Makes frames, and records which segments carry them.
#[derive(Debug)]
pub(super) struct Encoder {
    video: Video,
    /// The offered rate, and the encoder's rate, which follows it after the division by the overshoot, both in bits
    /// per second.
    target: f64,
    rate: Option<f64>,
    /// By how much the frames overshoot the offered rate.
    overshoot: Overshoot,
    /// True if each packet carries data of one frame only.
    own_packets: bool,
    /// Number of frames until the next key frame.
    until_key: u32,
    /// Index of the last key frame in `frames`.
    last_key: usize,
    /// One more than the largest segment that was lost and is not sent again (any more).
    lost_end: u64,
    /// True while the picture is small, and since when the offered rate is beyond the bound for the
    /// other size.
    is_small: bool,
    beyond_since: Option<Time>,
    frames: Vec<Frame>,
    /// Number of frames sent completely.
    gone: usize,
    /// Share of frames that congestion control wants left out, and the number of frames while it does.
    left_out_share: f64,
    congested: u64,
    /// Number of frames left out.
    skipped: u64,
    /// Bytes of all frames, bytes sent, and segments sent.
    made: u64,
    sent: u64,
    segments: u64,
}

impl Encoder {
    /// Returns the encoder of `video`. With `own_packets`, each packet carries data of one frame only, as in RTP.
    pub(super) fn new(video: &Video, own_packets: bool) -> Encoder {
        Encoder {
            video: video.clone(),
            target: 0.0,
            rate: None,
            overshoot: Overshoot::new(video.overshoot_window),
            own_packets,
            until_key: 0,
            last_key: 0,
            lost_end: 0,
            is_small: false,
            beyond_since: None,
            frames: Vec::new(),
            gone: 0,
            left_out_share: 0.0,
            congested: 0,
            skipped: 0,
            made: 0,
            sent: 0,
            segments: 0,
        }
    }

    /// Sets the offered rate, and the share of frames that are to be left out.
    pub(super) fn set_target(&mut self, target: Rate, left_out_share: f64) {
        self.target = target.as_bps() as f64;
        self.left_out_share = left_out_share;
    }

    /// Sets one more than the largest segment that was lost and is not sent again.
    pub(super) fn set_lost_end(&mut self, lost_end: u64) {
        self.lost_end = lost_end;
    }

    /// Returns the time between frames.
    pub(super) fn gap(&self) -> Span {
        Span::from_secs_f64(1.0 / self.video.fps).max(Span::from_micros(1))
    }

    /// Makes the frame that is due while `left` bytes wait. Returns the bytes that wait then.
    pub(super) fn frame(&mut self, at: Time, left: u64, random: &mut Stream) -> u64 {
        let video = &self.video;
        let least = video.min.as_bps() as f64;
        let target = self.target.max(least).min(video.max.as_bps() as f64);
        let interval = self.left_out_interval(target, least);
        // Where all frames are left out for a moment, the rate stays.
        let kept = match interval {
            Some(interval) if interval > 1 => target - target / interval as f64,
            _ => target,
        };
        let divided = (kept / self.overshoot.factor(at)).max(least.min(target));
        let gap = 1.0 / video.fps;
        let falls = self.rate.is_some_and(|rate| divided < rate);
        let lag = if falls { video.fall_lag } else { video.lag };
        let follows = gap / (gap + lag.as_secs_f64());
        let rate = self.rate.map_or(divided, |rate| rate + follows * (divided - rate));
        self.rate = Some(rate);
        let is_too_much = left as f64 * 8.0 > rate * video.queue.as_secs_f64();
        if self.is_left_out(interval) || is_too_much {
            self.skipped += 1;
            return left;
        }
        let mean = rate / 8.0 / self.video.fps;
        let is_key = self.changes_size(at, target) || self.has_turn() || self.is_asked_for(at);
        let size = mean * self.share(is_key) * self.deviation(random);
        let bytes = size.clamp(LEAST, 1e9) as u64;
        self.overshoot.on_frame(at, bytes as f64 * 8.0, divided, gap);
        self.made += bytes;
        let first = self.segments;
        if is_key {
            self.last_key = self.frames.len();
        }
        self.frames.push(Frame { made: at, first, last: None, bytes, is_key, end: self.made });
        left.saturating_add(bytes)
    }

    /// Returns `n` if each n-th frame is to be left out for congestion control. For a share below 1 this is each
    /// second one at most, and none at the least rate; the encoder's rate falls by the same share (libwebrtc's
    /// `video_stream_encoder.cc`, `UpdateTargetBitrate`). For a share of 1 it is each one, and the rate stays.
    fn left_out_interval(&self, target: f64, least: f64) -> Option<u64> {
        let share = self.left_out_share;
        if share >= 1.0 {
            return Some(1);
        }
        let reduction = (target * share).min(target - least);
        let is_congested = share > LEAST_LEFT_OUT_SHARE && reduction >= 1.0;
        is_congested.then(|| (target / reduction).clamp(2.0, 1e9) as u64)
    }

    /// Returns true if the next frame is left out, as each `interval`-th one is.
    fn is_left_out(&mut self, interval: Option<u64>) -> bool {
        let Some(interval) = interval else { return false };
        self.congested += 1;
        (self.congested - 1).is_multiple_of(interval)
    }

    /// Returns true if the picture's size changes with the next frame, as the offered rate has been
    /// beyond the bound for long enough.
    fn changes_size(&mut self, at: Time, target: f64) -> bool {
        let bound = self.video.small_below.as_bps() as f64;
        let is_beyond = match self.is_small {
            true => target > SIZE_CHANGE_HYSTERESIS * bound,
            false => target < bound,
        };
        if !is_beyond {
            self.beyond_since = None;
            return false;
        }
        let since = *self.beyond_since.get_or_insert(at);
        let changes = at.since(since) >= SIZE_CHANGE_WAIT;
        if changes {
            (self.is_small, self.beyond_since) = (!self.is_small, None);
        }
        changes
    }

    /// Returns true if the next frame is a key frame by its turn: the first one, and each `key_every`-th
    /// after the last key frame.
    fn has_turn(&self) -> bool {
        self.until_key == 0 && (self.video.key_every > 0 || self.frames.is_empty())
    }

    /// Returns true if the receiver asks for a key frame at `at`: a packet of the last key frame or of a later
    /// frame was lost. Its request arrives with the feedback from which the sender learns of the loss.
    fn is_asked_for(&self, at: Time) -> bool {
        let Some(key) = self.frames.get(self.last_key) else { return false };
        let gap = self.video.key_gap;
        !gap.is_zero() && self.lost_end > key.first && at.since(key.made) >= gap
    }

    /// Returns the next frame's size as a share of the mean: above 1 for a key frame, below 1 for the
    /// others.
    fn share(&mut self, is_key: bool) -> f64 {
        let Video { key_every, key_size, .. } = self.video;
        if is_key {
            self.until_key = key_every;
        }
        self.until_key = self.until_key.saturating_sub(1);
        if key_every == 0 {
            return if is_key { key_size } else { 1.0 };
        }
        let mean = (key_size + f64::from(key_every - 1)) / f64::from(key_every);
        if is_key { key_size / mean } else { 1.0 / mean }
    }

    /// Draws a normal deviate with mean 1, at least 0.1.
    fn deviation(&self, random: &mut Stream) -> f64 {
        (1.0 + self.video.noise * random.normal()).max(0.1)
    }

    /// Returns the bytes of the waiting frames that the next segment takes, at most `largest`, which is above zero.
    /// A frame in packets of its own is divided into parts of about equal size, as libwebrtc's
    /// `rtp_format.cc` does.
    pub(super) fn packet_bytes(&self, largest: u64) -> u64 {
        let Some(frame) = self.frames.get(self.gone).filter(|_| self.own_packets) else {
            return largest;
        };
        let left = frame.end - self.sent;
        left.div_ceil(left.div_ceil(largest).max(1))
    }

    /// Assigns `bytes` of the waiting frames to the next segment.
    pub(super) fn on_packet(&mut self, bytes: u64) {
        let segment = self.segments;
        self.segments += 1;
        let from = self.sent;
        self.sent += bytes;
        let mut start = self.gone.checked_sub(1).map_or(0, |last| self.frames[last].end);
        while let Some(frame) = self.frames.get_mut(self.gone) {
            if start >= from {
                frame.first = segment;
            }
            if frame.end > self.sent {
                break;
            }
            frame.last = Some(segment);
            start = frame.end;
            self.gone += 1;
        }
    }

    pub(super) fn frames(&self) -> &[Frame] {
        &self.frames
    }

    pub(super) fn stats(&self) -> VideoStats {
        VideoStats { made: self.frames.len() as u64, skipped: self.skipped }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the default video, with an encoder that takes all of the offered rate.
    fn whole_rate() -> Video {
        Video { overshoot_window: Span::ZERO, ..Video::default() }
    }

    fn encoder(video: Video, target: f64) -> (Encoder, Stream) {
        let mut encoder = Encoder::new(&video, false);
        encoder.set_target(Rate::from_mbps(target), 0.0);
        (encoder, Stream::new(1, "video"))
    }

    /// Makes frames for `seconds` seconds and sends each at once; returns the mean rate in bits per
    /// second.
    fn rate(encoder: &mut Encoder, random: &mut Stream, seconds: u64) -> f64 {
        let before = encoder.made;
        for i in 0..30 * seconds {
            let left = encoder.frame(Time::from_millis(33 * i), 0, random);
            encoder.on_packet(left);
        }
        (encoder.made - before) as f64 * 8.0 / seconds as f64
    }

    #[test]
    fn frames_sum_up_to_the_target_within_bounds() {
        let video = whole_rate();
        for (target, made) in [(1.0, 1.0), (50.0, 2.5), (0.01, 0.1)] {
            let (mut encoder, mut random) = encoder(video.clone(), target);
            let share = rate(&mut encoder, &mut random, 100) / (made * 1e6);
            assert!((share - 1.0).abs() < 0.02, "{target}: {share}");
        }
    }

    #[test]
    fn frames_of_differing_sizes_take_less_than_the_rate() {
        // With frames of one size, only the first second and the key frame take less; the more sizes differ, the less.
        for (noise, low, high) in [(0.0, 0.98, 1.0), (0.11, 0.95, 0.98), (0.25, 0.88, 0.95)] {
            let window = Span::from_secs(3);
            let video = Video { noise, overshoot_window: window, ..whole_rate() };
            let (mut encoder, mut random) = encoder(video, 1.0);
            let share = rate(&mut encoder, &mut random, 100) / 1e6;
            assert!((low..high).contains(&share), "{noise}: {share}");
        }
    }

    #[test]
    fn packets_of_one_frame_are_about_equal() {
        let mut encoder = Encoder::new(&Video { noise: 0.0, key_size: 1.0, ..whole_rate() }, true);
        encoder.set_target(Rate::from_mbps(0.6), 0.0);
        let mut random = Stream::new(1, "video");
        // Two frames of 2500 bytes that wait: three packets each, of at most 1000 bytes.
        let waiting = encoder.frame(Time::ZERO, 0, &mut random);
        encoder.frame(Time::from_millis(33), waiting, &mut random);
        let sizes: Vec<u64> = (0..6)
            .map(|_| {
                let bytes = encoder.packet_bytes(1000);
                encoder.on_packet(bytes);
                bytes
            })
            .collect();
        assert_eq!(sizes, [834, 833, 833, 834, 833, 833]);
        let spans = encoder.frames().iter().map(|frame| (frame.first, frame.last));
        assert_eq!(spans.collect::<Vec<_>>(), [(0, Some(2)), (3, Some(5))]);
    }

    #[test]
    fn the_encoder_lags() {
        let video = Video { noise: 0.0, key_size: 1.0, ..whole_rate() };
        let (mut encoder, mut random) = encoder(video, 1.0);
        assert!((rate(&mut encoder, &mut random, 1) / 1e6 - 1.0).abs() < 0.01);
        encoder.set_target(Rate::from_mbps(2.0), 0.0);
        // 200 ms are the time of six frames.
        let after: Vec<f64> = (0..7)
            .map(|i| encoder.frame(Time::from_secs(2 + i), 0, &mut random) as f64 * 240.0 / 1e6)
            .collect();
        assert!(after[0] < 1.2 && (1.5..1.7).contains(&after[5]), "{after:?}");
    }

    #[test]
    fn the_encoder_overshoots_for_half_a_second_after_a_fall() {
        let video = Video { noise: 0.0, key_size: 1.0, ..whole_rate() };
        let (mut encoder, mut random) = encoder(video, 2.0);
        rate(&mut encoder, &mut random, 1);
        encoder.set_target(Rate::from_mbps(1.0), 0.0);
        let made = (0..90).map(|_| encoder.frame(Time::from_secs(2), 0, &mut random));
        let excess = made.sum::<u64>() as f64 * 8.0 / 1e6 - 3.0;
        assert!((excess - 0.5).abs() < 0.05, "{excess} Mbit more than offered");
    }

    #[test]
    fn a_share_of_frames_is_left_out() {
        for (share, made) in [(0.0, 30), (0.01, 30), (0.05, 28), (0.34, 15), (0.6, 15), (1.0, 0)] {
            let (mut encoder, mut random) = encoder(whole_rate(), 1.0);
            encoder.set_target(Rate::from_mbps(1.0), share);
            rate(&mut encoder, &mut random, 1);
            assert_eq!(encoder.stats(), VideoStats { made, skipped: 30 - made }, "{share}");
        }
    }

    #[test]
    fn the_rate_falls_with_half_of_the_frames_and_stays_without_any() {
        for (share, size) in [(0.0, 1.0), (0.5, 0.5), (1.0, 1.0)] {
            let video = Video {
                noise: 0.0,
                key_size: 1.0,
                lag: Span::ZERO,
                fall_lag: Span::ZERO,
                ..whole_rate()
            };
            let (mut encoder, mut random) = encoder(video, 1.0);
            rate(&mut encoder, &mut random, 1);
            encoder.set_target(Rate::from_mbps(1.0), share);
            rate(&mut encoder, &mut random, 1);
            let kept = encoder.rate.expect("has made frames") / 1e6;
            assert!((kept - size).abs() < 1e-6, "{share}: {kept}");
        }
    }

    #[test]
    fn a_change_of_the_pictures_size_is_a_key_frame() {
        let video = Video {
            noise: 0.0,
            lag: Span::ZERO,
            fall_lag: Span::ZERO,
            small_below: Rate::from_mbps(0.5),
            ..whole_rate()
        };
        let (mut encoder, mut random) = encoder(video, 1.0);
        let mut keys = Vec::new();
        for second in 0..40u64 {
            // Down at 10 s, up at 20 s to less than 1.5 times the bound, and at 30 s to more.
            let target = [1.0, 0.4, 0.7, 0.8][second as usize / 10];
            encoder.set_target(Rate::from_mbps(target), 0.0);
            for index in 0..10 {
                let at = Time::from_millis(1000 * second + 100 * index);
                let size = encoder.frame(at, 0, &mut random) as f64 * 240.0 / 1e6 / target;
                keys.extend((size > 2.0).then_some((second, index)));
            }
        }
        assert_eq!(keys, [(0, 0), (12, 0), (32, 0)]);
    }

    #[test]
    fn a_lost_packet_asks_for_one_key_frame() {
        let video = Video { noise: 0.0, fps: 10.0, ..whole_rate() };
        let keys = |video: &Video| {
            let (mut encoder, mut random) = encoder(video.clone(), 1.0);
            // Each frame is one packet. Packet 1 is lost, which the sender learns before frame 2; packet 20
            // is lost before frame 21; packet 23, the key frame that follows, too.
            for (index, lost) in (0..40).map(|index| (index, [2, 21, 24].contains(&index))) {
                if lost {
                    encoder.set_lost_end(index);
                }
                let left = encoder.frame(Time::from_millis(100 * index), 0, &mut random);
                encoder.on_packet(left);
            }
            let is_key = |index: &usize| encoder.frames()[*index].is_key;
            (0..40).filter(is_key).collect::<Vec<usize>>()
        };
        // The first request comes 200 ms after the first key frame, and is fulfilled after 300 ms.
        assert_eq!(keys(&video), [0, 3, 21, 24]);
        assert_eq!(keys(&Video { key_gap: Span::ZERO, ..video }), [0]);
    }

    #[test]
    fn key_frames_are_larger_and_come_on_time() {
        let video = Video { noise: 0.0, key_every: 10, ..whole_rate() };
        let (mut encoder, mut random) = encoder(video, 1.0);
        let sizes: Vec<u64> =
            (0..30).map(|i| encoder.frame(Time::from_secs(i), 0, &mut random)).collect();
        for (at, size) in sizes.iter().enumerate() {
            let expected = if at % 10 == 0 { 4 * sizes[1] } else { sizes[1] };
            assert!(size.abs_diff(expected) <= 4, "{at}: {size}");
        }
    }

    #[test]
    fn too_long_a_queue_skips_frames() {
        let (mut encoder, mut random) = encoder(whole_rate(), 1.0);
        encoder.frame(Time::ZERO, 0, &mut random);
        // 200 ms at 1 Mbit/s are 25 000 bytes.
        assert_eq!(encoder.frame(Time::from_secs(1), 25_001, &mut random), 25_001);
        assert!(encoder.frame(Time::from_secs(1), 24_000, &mut random) > 24_000);
        assert_eq!(encoder.stats(), VideoStats { made: 2, skipped: 1 });
    }

    #[test]
    fn frames_know_their_segments() {
        let video = Video { noise: 0.0, key_size: 1.0, ..whole_rate() };
        let (mut encoder, mut random) = encoder(video, 0.6);
        // Three frames of 2500 bytes in packets of 1500: 1500, 1000 + 500, 1500, 500 + 1000, 1500.
        for i in 0..3 {
            assert_eq!(encoder.frame(Time::from_secs(i), 0, &mut random), 2500);
        }
        for _ in 0..4 {
            encoder.on_packet(1500);
        }
        let spans = |encoder: &Encoder| -> Vec<(u64, Option<u64>)> {
            encoder.frames().iter().map(|frame| (frame.first, frame.last)).collect()
        };
        assert_eq!(spans(&encoder), [(0, Some(1)), (1, Some(3)), (3, None)]);
        encoder.on_packet(1500);
        assert_eq!(spans(&encoder), [(0, Some(1)), (1, Some(3)), (3, Some(4))]);
        // The next frame begins with a packet of its own.
        encoder.frame(Time::from_secs(4), 0, &mut random);
        encoder.on_packet(1500);
        assert_eq!(spans(&encoder)[3], (5, None));
    }
}
