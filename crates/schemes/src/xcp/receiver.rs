//! The receiver's half: sums the feedback of the packets that an acknowledgement covers.

use paceline_cc::{
    Body, Header, Packet, Reporter, Time, Verdict,
    xcp_feedback::{MOST, clamp_feedback, decode, encode},
};

/// Returns the sum of the feedback that has arrived since the last acknowledgement. The remainder
/// due to rounding or the bounds of the format goes into the next one.
#[derive(Clone, Debug, Default)]
pub struct XcpReceiver {
    /// Feedback not returned yet, in bytes.
    bytes: f64,
}

impl Reporter for XcpReceiver {
    fn on_arrival(&mut self, _now: Time, packet: &Packet) -> Verdict {
        if let Body::Data(data) = &packet.body
            && let Header::Xcp(header) = &data.header
        {
            let feedback = clamp_feedback(header.feedback);
            // If no router has set it, the feedback is still the sender's request.
            if feedback < MOST {
                self.bytes += feedback;
            }
        }
        Verdict::default()
    }

    fn explicit(&mut self) -> u32 {
        let said = encode(self.bytes);
        self.bytes -= decode(said);
        said
    }
}
