//! Captures of the packets that the hosts of complete transports send and receive.

use std::fmt;
use std::sync::Arc;

use paceline_cc::Time;

/// A packet at the network device of a host.
#[derive(Clone, Copy, Debug)]
pub struct CapturedFrame<'a> {
    /// Name of the host, one for each host of a run.
    pub host: &'a str,
    /// True if the host receives the frame, false if it sends it.
    pub is_inbound: bool,
    /// Simulated time at which it leaves or reaches the device.
    pub time: Time,
    /// Its bytes, from the Ethernet header on.
    pub bytes: &'a [u8],
}

/// Receives captured frames, in the order of their times.
pub trait FrameObserver: Send + Sync {
    /// Called once for each frame that a host sends or receives.
    fn on_frame(&self, frame: CapturedFrame<'_>);
}

/// A capture of a run, which its hosts share. It changes nothing in the run, and is not in digests.
#[derive(Clone)]
pub struct Capture(Arc<dyn FrameObserver>);

impl Capture {
    /// Creates a capture that passes all frames to `observer`.
    pub fn new(observer: Arc<dyn FrameObserver>) -> Capture {
        Capture(observer)
    }

    /// Passes a frame to the observer.
    pub fn on_frame(&self, frame: CapturedFrame<'_>) {
        self.0.on_frame(frame);
    }
}

impl fmt::Debug for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Capture")
    }
}
