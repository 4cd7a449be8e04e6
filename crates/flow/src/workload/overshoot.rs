//! By how much a video's frames overshoot the encoder's rate.

use std::collections::VecDeque;

use paceline_cc::{Span, Time};

/// Factor that is assumed until [`FRAMES`] frames were made (libwebrtc's `encoder_bitrate_adjuster.h`).
const FIRST_FACTOR: f64 = 1.2;
/// Number of frames from which on the factor is a measured one.
const FRAMES: u32 = 30;
/// Largest factor: beyond it the encoder would leave out frames.
const LARGEST_FACTOR: f64 = 2.0;

/// Measures by how much frames overshoot a rate, as libwebrtc's `encoder_overshoot_detector.cc` does: bits of earlier
/// frames that still wait when a frame comes, if bits leave at the rate. A single large frame does not count if
/// smaller ones follow, since the pacer spreads it.
#[derive(Debug)]
pub(super) struct Overshoot {
    /// Time over which frames are averaged; zero if overshoot is not measured.
    window: Span,
    /// Bits that wait after the last frame, and its time.
    waiting: f64,
    last: Time,
    /// Number of frames, at most [`FRAMES`].
    made: u32,
    /// Time and factor (1 or more) of each frame in the window, and the factors' sum.
    factors: VecDeque<(Time, f64)>,
    sum: f64,
}

impl Overshoot {
    pub(super) fn new(window: Span) -> Overshoot {
        Overshoot {
            window,
            waiting: 0.0,
            last: Time::ZERO,
            made: 0,
            factors: VecDeque::new(),
            sum: 0.0,
        }
    }

    /// Returns the factor, 1 to 2, by which the encoder divides its rate: the mean of the frames in the window that
    /// ends at `now`.
    pub(super) fn factor(&mut self, now: Time) -> f64 {
        if self.window.is_zero() {
            return 1.0;
        }
        while let Some(&(at, factor)) = self.factors.front()
            && now.since(at) > self.window
        {
            self.factors.pop_front();
            self.sum -= factor;
        }
        match self.factors.len() {
            count if count > 0 && self.made >= FRAMES => {
                (self.sum / count as f64).clamp(1.0, LARGEST_FACTOR)
            }
            _ => FIRST_FACTOR,
        }
    }

    /// Notes a frame of `bits` bits of an encoder whose divided rate is `rate`, in bits per second. `gap` is the time
    /// between frames in seconds.
    pub(super) fn on_frame(&mut self, at: Time, bits: f64, rate: f64, gap: f64) {
        if self.window.is_zero() {
            return;
        }
        let left = rate * at.since(self.last).as_secs_f64();
        self.waiting = (self.waiting - left).max(0.0);
        self.last = at;
        let ideal = rate * gap;
        // The first frame has no earlier ones to wait for: its size counts.
        let (excess, counted) = match self.factors.is_empty() {
            true => ((bits - ideal).max(0.0), 0.0),
            false => {
                let excess = (self.waiting + bits - ideal).clamp(0.0, self.waiting);
                (excess, excess)
            }
        };
        // Bits that were counted do not count again.
        self.waiting += bits - counted;
        self.made = (self.made + 1).min(FRAMES);
        let factor = 1.0 + excess / ideal;
        self.factors.push_back((at, factor));
        self.sum += factor;
    }
}
