//! The audio of a call: packets of one size at a steady rate.

use paceline_cc::{Rate, Span};

use super::Video;

/// Bytes of a packet around the codec's data: IPv4 20, UDP 8, RTP 12, the tag of SRTP 10.
const HEADERS: f64 = 50.0;
/// Data that waits for longer than this is not sent.
const LONGEST_WAIT: Span = Span::from_secs(3600);

/// Audio of a call, as Opus sends it without silences.
#[derive(Clone, Debug, PartialEq)]
pub struct Audio {
    /// Rate of the codec, without headers.
    pub rate: Rate,
    /// Packets per second.
    pub packets_per_s: f64,
}

impl Default for Audio {
    /// Returns 32 kbit/s in packets of 20 ms, Chromium's default for a call.
    fn default() -> Audio {
        Audio { rate: Rate::from_bps(32_000), packets_per_s: 50.0 }
    }
}

impl Audio {
    /// Returns the size of a packet in bytes, headers included.
    pub fn packet_bytes(&self) -> u32 {
        (self.rate.as_bps() as f64 / 8.0 / self.packets_per_s + HEADERS).ceil() as u32
    }

    /// Returns the video whose frames are the audio's packets: all of one size, none of which needs another one.
    pub(super) fn frames(&self) -> Video {
        let bits = f64::from(self.packet_bytes()) * 8.0 * self.packets_per_s;
        let rate = Rate::from_bps(bits.ceil() as u64);
        Video {
            fps: self.packets_per_s,
            min: rate,
            max: rate,
            lag: Span::ZERO,
            fall_lag: Span::ZERO,
            noise: 0.0,
            key_every: 1,
            key_size: 1.0,
            requests: 0,
            key_gap: Span::ZERO,
            small_below: Rate::ZERO,
            queue: LONGEST_WAIT,
            overshoot_window: Span::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use paceline_cc::{Stream, Time};

    use super::*;
    use crate::workload::{Source, Workload};

    #[test]
    fn a_packet_of_130_bytes_comes_every_20_ms_whatever_the_target() {
        let audio = Audio::default();
        assert_eq!(audio.packet_bytes(), 130);
        let workload = Workload::Audio(audio);
        let random = || Stream::new(1, "workload");
        let mut source = Source::new(workload, Time::ZERO, Time::from_secs(100), true, random);
        for index in 0..100u64 {
            assert_eq!(source.next(), Time::from_millis(20 * index));
            source.set_target(Rate::from_bps(1000 * index), 0.9);
            source.update(Time::from_millis(20 * index));
            assert_eq!(source.ready(), 130, "packet {index}");
            source.take(130);
        }
        let packets = source.audio().expect("audio");
        assert!(packets.len() == 100 && packets.iter().all(|packet| packet.is_key));
        assert!(source.video().is_none());
    }

    #[test]
    fn odd_rates_give_whole_packets() {
        for (bps, packets_per_s) in [(6000, 16.7), (64_000, 50.0), (510_000, 100.0), (24_001, 33.3)]
        {
            let audio = Audio { rate: Rate::from_bps(bps), packets_per_s };
            let random = || Stream::new(1, "workload");
            let bytes = u64::from(audio.packet_bytes());
            let mut source =
                Source::new(Workload::Audio(audio), Time::ZERO, Time::from_secs(9), true, random);
            source.update(Time::ZERO);
            assert_eq!(source.ready(), bytes, "{bps} bit/s");
        }
    }
}
