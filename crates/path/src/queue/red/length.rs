//! Lengths of queues, as thresholds of RED.

use paceline_cc::params::ParamValue;

use crate::queue::BufferSize;

/// The length of a queue in the user's notation: `20` packets or `30kB`.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum QueueLength {
    /// Packets: `20`, `20p`.
    Packets(u64),
    /// Bytes: `64000B`, `64kB`.
    Bytes(u64),
}

impl QueueLength {
    /// Returns true for a length in bytes.
    pub fn in_bytes(self) -> bool {
        matches!(self, QueueLength::Bytes(_))
    }

    /// Returns the number of packets or bytes.
    pub fn number(self) -> u64 {
        match self {
            QueueLength::Packets(number) | QueueLength::Bytes(number) => number,
        }
    }
}

impl ParamValue for QueueLength {
    const KIND: &'static str = "number of packets or bytes";
    const UNIT: &'static str = "packets or bytes";
    fn read(text: &str) -> Result<QueueLength, String> {
        match BufferSize::parse(text)? {
            BufferSize::Packets(packets) => Ok(QueueLength::Packets(packets)),
            BufferSize::Bytes(bytes) => Ok(QueueLength::Bytes(bytes)),
            _ => Err("expected packets (20) or bytes (30kB)".into()),
        }
    }
    fn show(&self) -> String {
        match *self {
            QueueLength::Packets(packets) => BufferSize::Packets(packets).to_string(),
            QueueLength::Bytes(bytes) => BufferSize::Bytes(bytes).to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_packets_or_bytes() {
        for (text, length) in
            [("20p", QueueLength::Packets(20)), ("30kB", QueueLength::Bytes(30_000))]
        {
            assert_eq!(QueueLength::read(text), Ok(length));
            assert_eq!(length.show(), text);
        }
        for wrong in ["50ms", "1bdp", "inf", "sojourn=50ms"] {
            assert!(QueueLength::read(wrong).is_err_and(|error| error.contains("30kB")), "{wrong}");
        }
        assert!(QueueLength::read("many").is_err());
    }
}
