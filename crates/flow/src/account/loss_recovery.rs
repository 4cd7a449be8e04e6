//! The ways in which a sender detects and repairs losses.

/// How a sender detects losses and repairs them.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum LossRecovery {
    /// With selective acknowledgements, as Linux' TCP: RACK and tail loss probes (RFC 8985). Flows
    /// that retransmit nothing use RFC 9002's loss detection instead.
    #[default]
    Sack,
    /// With selective acknowledgements, as QUIC (RFC 9002).
    Rfc9002,
    /// NewReno (RFC 6582): three duplicate acknowledgements reveal one loss, and each partial
    /// acknowledgement reveals one more.
    NewReno(RttSamples),
    /// Reno (RFC 5681 §3.2): three duplicate acknowledgements reveal one loss. Fast recovery ends
    /// with the next acknowledgement of new data. A second loss in the same window mostly waits for
    /// the retransmission timer.
    Reno(RttSamples),
}

impl LossRecovery {
    /// Returns true if the receiver reports which packets have arrived.
    pub fn is_selective(self) -> bool {
        matches!(self, LossRecovery::Sack | LossRecovery::Rfc9002)
    }
}

/// Which packets give RTT samples without selective acknowledgements.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum RttSamples {
    /// Every acknowledgement of new data gives a sample, as with timestamps (RFC 7323).
    Each,
    /// One packet at a time is timed, and never a retransmission (Karn; RFC 6298 §3).
    One,
}
