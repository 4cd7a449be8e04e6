//! IPv4 packets with TCP segments, as the other end of a trial writes and reads them (RFC 9293
//! §3.1).

use std::net::Ipv4Addr;

use paceline_ip::packet::{TCP, fold, sum};

/// Flags (RFC 9293 §3.1, RFC 3168 §6.1).
pub(super) const SYN: u8 = 2;
pub(super) const RST: u8 = 4;
pub(super) const ACK: u8 = 16;
pub(super) const ECE: u8 = 64;
pub(super) const CWR: u8 = 128;

/// Bytes of an IPv4 header without options.
const IP_HEADER: usize = 20;
/// Window field of all segments; with the shift from the SYN it is far larger than a trial.
pub(super) const WINDOW: u16 = 0xffff;
/// Shift of the window field.
pub(super) const WINDOW_SCALE: u8 = 10;

/// A TCP segment and its addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    /// Address and port of the sender and the receiver.
    pub(super) from: (Ipv4Addr, u16),
    pub(super) to: (Ipv4Addr, u16),
    /// Sequence and acknowledgement number.
    pub(super) sequence: u32,
    pub(super) ack: u32,
    /// The flags.
    pub(super) flags: u8,
    /// Bytes of data.
    pub(super) length: usize,
    /// Value and echo reply of the timestamp option.
    pub(super) timestamp: Option<(u32, u32)>,
    /// MSS option of a SYN, which then has the SACK and window scale options, too.
    pub(super) mss: Option<u16>,
    /// SACK blocks.
    pub(super) sacks: Vec<(u32, u32)>,
}

impl Segment {
    /// Returns the packet, which has no data, whatever `length` says.
    pub(super) fn write(&self) -> Vec<u8> {
        let options = self.options();
        let mut tcp = Vec::new();
        tcp.extend(self.from.1.to_be_bytes());
        tcp.extend(self.to.1.to_be_bytes());
        tcp.extend(self.sequence.to_be_bytes());
        tcp.extend(self.ack.to_be_bytes());
        tcp.extend([((5 + options.len() / 4) << 4) as u8, self.flags]);
        tcp.extend(WINDOW.to_be_bytes());
        tcp.extend([0; 4]);
        tcp.extend(options);
        let addresses = [self.from.0.octets(), self.to.0.octets()].concat();
        let pseudo = [&addresses[..], &[0, TCP], &(tcp.len() as u16).to_be_bytes()].concat();
        let checksum = !fold(sum(&pseudo) + sum(&tcp));
        tcp[16..18].copy_from_slice(&checksum.to_be_bytes());
        let mut packet = vec![0x45, 0];
        packet.extend(((IP_HEADER + tcp.len()) as u16).to_be_bytes());
        packet.extend([0, 0, 0x40, 0, 64, TCP, 0, 0]);
        packet.extend(addresses);
        let checksum = !fold(sum(&packet));
        packet[10..12].copy_from_slice(&checksum.to_be_bytes());
        packet.extend(tcp);
        packet
    }

    fn options(&self) -> Vec<u8> {
        let mut options = Vec::new();
        if let Some(mss) = self.mss {
            options.extend([2, 4]);
            options.extend(mss.to_be_bytes());
            options.extend([4, 2, 3, 3, WINDOW_SCALE]);
        }
        if let Some((value, echo)) = self.timestamp {
            options.extend([8, 10]);
            options.extend([value.to_be_bytes(), echo.to_be_bytes()].concat());
        }
        if !self.sacks.is_empty() {
            options.extend([5, 2 + 8 * self.sacks.len() as u8]);
            for (first, end) in &self.sacks {
                options.extend([first.to_be_bytes(), end.to_be_bytes()].concat());
            }
        }
        options.resize(options.len().next_multiple_of(4), 1);
        options
    }

    /// Parses a packet; `None` if it is not a whole TCP segment over IPv4.
    pub(super) fn read(packet: &[u8]) -> Option<Segment> {
        let ip = usize::from(packet.first()? & 15) * 4;
        if packet[0] >> 4 != 4 || *packet.get(9)? != TCP {
            return None;
        }
        let total = usize::from(u16::from_be_bytes(packet.get(2..4)?.try_into().ok()?));
        let tcp = packet.get(ip..total)?;
        let short = |at: usize| Some(u16::from_be_bytes(tcp.get(at..at + 2)?.try_into().ok()?));
        let long = |at: usize| Some(u32::from_be_bytes(tcp.get(at..at + 4)?.try_into().ok()?));
        let address = |at: usize| -> Option<Ipv4Addr> {
            Some(<[u8; 4]>::try_from(packet.get(at..at + 4)?).ok()?.into())
        };
        let data = usize::from(*tcp.get(12)? >> 4) * 4;
        let mut segment = Segment {
            from: (address(12)?, short(0)?),
            to: (address(16)?, short(2)?),
            sequence: long(4)?,
            ack: long(8)?,
            flags: *tcp.get(13)?,
            length: tcp.len().checked_sub(data)?,
            timestamp: None,
            mss: None,
            sacks: Vec::new(),
        };
        let mut at = 20;
        while at < data {
            let length = match tcp[at] {
                0 => break,
                1 => 1,
                _ => usize::from(*tcp.get(at + 1)?).max(2),
            };
            match tcp[at] {
                2 => segment.mss = short(at + 2),
                8 => segment.timestamp = long(at + 2).zip(long(at + 6)),
                _ => {}
            }
            at += length;
        }
        Some(segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut segment = Segment {
            from: (Ipv4Addr::new(10, 0, 0, 1), 4000),
            to: (Ipv4Addr::new(192, 168, 0, 1), 80),
            sequence: 1,
            ack: 77,
            flags: ACK | ECE,
            length: 0,
            timestamp: Some((5, 6)),
            mss: None,
            sacks: vec![(100, 200), (300, 400)],
        };
        let packet = segment.write();
        assert_eq!(fold(sum(&packet[..20])), 0xffff, "the header's checksum");
        assert_eq!(packet.len(), 20 + 20 + 10 + 18);
        segment.sacks.clear();
        assert_eq!(Segment::read(&packet), Some(segment.clone()));
        (segment.mss, segment.flags) = (Some(1012), SYN);
        assert_eq!(Segment::read(&segment.write()), Some(segment));
        for cut in 0..packet.len() {
            assert_eq!(Segment::read(&packet[..cut]), None, "{cut}");
        }
    }
}
