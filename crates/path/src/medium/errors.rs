//! Frames that are damaged on air without a collision.

/// With which probability frames of a station are damaged, by their size.
#[derive(Copy, Clone, Debug)]
pub(super) struct FrameErrors {
    frame_error: f64,
    /// The logarithm of the probability that a byte arrives.
    byte_arrives: f64,
}

impl FrameErrors {
    /// Frames that are damaged with probability `frame_error`, and each of whose bits is damaged with
    /// probability `bit_error`, independently of others.
    pub(super) fn new(frame_error: f64, bit_error: f64) -> FrameErrors {
        FrameErrors { frame_error, byte_arrives: 8.0 * libm::log1p(-bit_error) }
    }

    /// The probability that a frame of so many bytes is damaged.
    pub(super) fn damage(&self, bytes: u32) -> f64 {
        if self.byte_arrives == 0.0 {
            return self.frame_error;
        }
        1.0 - (1.0 - self.frame_error) * libm::exp(self.byte_arrives * f64::from(bytes))
    }
}
