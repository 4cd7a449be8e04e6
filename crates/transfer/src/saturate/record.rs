//! The deliveries of a saturated link, as a trace. Without input or output.

use std::collections::BTreeMap;

/// Bytes of a delivery opportunity in Mahimahi's traces: one IP packet of 1500 bytes.
const OPPORTUNITY: u64 = 1500;
/// Maximum number of arrivals kept: five hours at 12 Mbit/s.
const MOST: usize = 20_000_000;

/// The arrivals of data packets at one end: packet numbers, and times in microseconds on that end's
/// clock.
#[derive(Debug, Default)]
pub struct ArrivalRecord {
    arrivals: BTreeMap<u32, u64>,
}

/// The recording of one direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedTrace {
    /// Number of the first packet that it covers.
    pub first: u32,
    /// Packets that arrived.
    pub packets: u64,
    /// Packets that did not arrive, of the numbers from `first` to the largest that arrived.
    pub lost: u64,
    /// Seconds from the first arrival to the last.
    pub duration_s: f64,
    /// Delivery opportunities, in milliseconds since the first arrival.
    pub opportunities: Vec<u32>,
}

impl ArrivalRecord {
    /// Notes that packet `number` arrived at `at` (microseconds). Ignores duplicates.
    pub fn push(&mut self, number: u32, at: u64) {
        if self.arrivals.len() < MOST {
            self.arrivals.entry(number).or_insert(at);
        }
    }

    /// Returns the share of the packets that did not arrive, of all numbers up to the largest that arrived.
    pub fn lost_share(&self) -> f64 {
        let arrived = self.arrivals.len() as f64;
        let numbers = self.arrivals.keys().next_back().map_or(0.0, |last| f64::from(*last) + 1.0);
        if numbers > 0.0 { 1.0 - arrived / numbers } else { 0.0 }
    }

    /// Returns the recording of the packets from `first` on, of `size` bytes each with IP headers,
    /// as one opportunity per 1500 bytes.
    pub fn recorded(&self, first: u32, size: u64) -> RecordedTrace {
        let mut times: Vec<u64> = self.arrivals.range(first..).map(|(_, at)| *at).collect();
        times.sort_unstable();
        let (Some(start), Some(end)) = (times.first().copied(), times.last().copied()) else {
            return RecordedTrace { first, ..RecordedTrace::default() };
        };
        let numbers =
            self.arrivals.keys().next_back().map_or(0, |last| u64::from(last - first) + 1);
        let mut credit = 0;
        let mut opportunities = Vec::with_capacity(times.len());
        for at in &times {
            credit += size;
            while credit >= OPPORTUNITY {
                credit -= OPPORTUNITY;
                opportunities.push(u32::try_from((at - start) / 1000).unwrap_or(u32::MAX));
            }
        }
        let packets = times.len() as u64;
        RecordedTrace {
            first,
            packets,
            lost: numbers.saturating_sub(packets),
            duration_s: (end - start) as f64 / 1e6,
            opportunities,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_packets_are_opportunities() {
        let mut record = ArrivalRecord::default();
        // Packets 3 to 12 without 7, sent 1.5 ms apart; 5 and 6 are reordered.
        for number in (3..13).filter(|number| *number != 7) {
            let at = match number {
                5 => 6,
                6 => 5,
                number => number,
            };
            record.push(number, 1_000_000 + u64::from(at) * 1500);
            record.push(number, 9_999_999);
        }
        let recorded = record.recorded(4, 1500);
        assert_eq!((recorded.packets, recorded.lost), (8, 1));
        assert_eq!(recorded.opportunities, [0, 1, 3, 6, 7, 9, 10, 12]);
        assert!((recorded.duration_s - 0.012).abs() < 1e-9);
        // Packets 0, 1, 2 and 7 of 13.
        assert!((record.lost_share() - 4.0 / 13.0).abs() < 1e-9);
        assert_eq!(ArrivalRecord::default().lost_share(), 0.0);
        // With packets of 1000 bytes, three packets make two opportunities.
        assert_eq!(record.recorded(4, 1000).opportunities, [1, 3, 7, 9, 12]);
        assert_eq!(
            record.recorded(50, 1500),
            RecordedTrace { first: 50, ..RecordedTrace::default() }
        );
    }
}
