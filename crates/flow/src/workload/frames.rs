//! Frames of a video or packets of audio, for transports that come whole: they carry the data in a stream of bytes.

use paceline_cc::{Rate, Stream, Time};

use super::video::Encoder;
use super::{Frame, VideoStats, Workload};

/// Source of the frames of a video, or of the packets of audio.
#[derive(Debug)]
pub struct FrameSource {
    encoder: Encoder,
    random: Stream,
    next: Time,
    stop: Time,
    is_audio: bool,
}

impl FrameSource {
    /// Creates the source of a workload; `None` if it is neither video nor audio.
    pub fn new(workload: &Workload, start: Time, stop: Time, random: Stream) -> Option<Self> {
        let (encoder, is_audio) = match workload {
            Workload::Video(video) => (Encoder::new(video, false), false),
            Workload::Audio(audio) => (Encoder::new(&audio.frames(), false), true),
            _ => return None,
        };
        let next = if start < stop { start } else { Time::NEVER };
        Some(FrameSource { encoder, random, next, stop, is_audio })
    }

    /// Returns when the next frame is due; [`Time::NEVER`] after the stop.
    pub fn next(&self) -> Time {
        self.next
    }

    /// Makes the frame that is due while `waiting` bytes are not sent; a video's encoder follows the rate `offered`.
    /// Returns the frame's size in bytes, headers included; `None` if it is left out.
    ///
    /// The frame is the segment of its number: [`Frame::first`] and [`Frame::last`] are its index in
    /// [`FrameSource::frames`].
    pub fn make(&mut self, waiting: u64, offered: Rate) -> Option<u64> {
        if !self.is_audio {
            self.encoder.set_target(offered, 0.0);
        }
        let at = self.next;
        let bytes = self.encoder.frame(at, waiting, &mut self.random) - waiting;
        self.next = at + self.encoder.gap();
        if self.next >= self.stop {
            self.next = Time::NEVER;
        }
        if bytes > 0 {
            self.encoder.on_packet(bytes);
        }
        (bytes > 0).then_some(bytes)
    }

    /// Returns the frames so far.
    pub fn frames(&self) -> &[Frame] {
        self.encoder.frames()
    }

    /// Returns the counts of frames so far.
    pub fn stats(&self) -> VideoStats {
        self.encoder.stats()
    }

    /// Returns true for the packets of audio, false for the frames of a video.
    pub fn is_audio(&self) -> bool {
        self.is_audio
    }
}

#[cfg(test)]
mod tests {
    use paceline_cc::Span;

    use super::*;
    use crate::{Audio, Video};

    fn source(workload: &Workload) -> Option<FrameSource> {
        FrameSource::new(workload, Time::from_secs(1), Time::from_secs(3), Stream::new(1, "frames"))
    }

    #[test]
    fn frames_are_segments_of_their_numbers() {
        let video = Workload::Video(Video { fps: 25.0, noise: 0.0, ..Video::default() });
        let mut source = source(&video).expect("a source");
        let mut made = 0;
        while source.next() != Time::NEVER {
            assert!(source.next() < Time::from_secs(3));
            // Too much waits at each tenth frame.
            let waiting = if (made + source.stats().skipped) % 10 == 9 { 1 << 20 } else { 0 };
            made += u64::from(source.make(waiting, Rate::from_mbps(1.0)).is_some());
        }
        assert_eq!((source.stats().made, source.stats().skipped), (45, 5));
        for (number, frame) in (0..).zip(source.frames()) {
            assert_eq!((frame.first, frame.last), (number, Some(number)));
        }
        assert!(source.frames().windows(2).all(|pair| pair[0].made < pair[1].made));
    }

    #[test]
    fn audio_has_one_size_and_bulk_no_frames() {
        let audio = Audio::default();
        let mut source = source(&Workload::Audio(audio.clone())).expect("a source");
        assert!(source.is_audio());
        assert_eq!(source.make(1 << 20, Rate::ZERO), Some(u64::from(audio.packet_bytes())));
        assert_eq!(source.next(), Time::from_secs(1) + Span::from_millis(20));
        assert!(self::source(&Workload::Bulk).is_none());
    }
}
