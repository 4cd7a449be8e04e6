//! The fields of Ethernet, IPv4 and TCP headers that the simulator reads or changes.

use paceline_cc::Ecn;
use paceline_ip::packet::{self, TCP};

/// Bytes of an Ethernet header.
pub(crate) const ETHERNET: usize = 14;
const IPV4: [u8; 2] = [0x08, 0x00];

/// Returns the EtherType of a frame; 0 if it is too short.
pub(crate) fn ether_type(frame: &[u8]) -> u16 {
    frame.get(12..14).map_or(0, |word| u16::from_be_bytes([word[0], word[1]]))
}

/// True if a frame carries a whole IPv4 packet.
pub(crate) fn is_ipv4(frame: &[u8]) -> bool {
    ip(frame).is_some()
}

/// Returns the IPv4 packet of a frame and the length of its header, in bytes.
fn ip(frame: &[u8]) -> Option<(&[u8], usize)> {
    let (ethernet, packet) = frame.split_at_checked(ETHERNET)?;
    let first = *packet.first()?;
    let header = usize::from(first & 15) * 4;
    let whole = ethernet[12..] == IPV4 && first >> 4 == 4 && header >= 20;
    let length = usize::from(u16::from_be_bytes([*packet.get(2)?, *packet.get(3)?]));
    // Ethernet pads short frames, so cut at the packet's length.
    let packet = packet.get(..length)?;
    (whole && header <= length).then_some((packet, header))
}

/// Length of a frame's IPv4 packet in bytes; 0 if it has none.
pub(crate) fn ip_length(frame: &[u8]) -> u32 {
    ip(frame).map_or(0, |(packet, _)| packet.len() as u32)
}

/// The ECN field of a frame's IPv4 header (RFC 3168 §5).
pub(crate) fn ecn(frame: &[u8]) -> Ecn {
    Ecn::of_bits(ip(frame).map_or(0, |(packet, _)| packet[1]))
}

/// Writes the ECN field of a frame's IPv4 header, and mends the header's checksum.
pub(crate) fn set_ecn(frame: &mut [u8], ecn: Ecn) {
    if is_ipv4(frame) {
        packet::set_ecn(&mut frame[ETHERNET..], ecn);
    }
}

/// The fields of a TCP segment's header that the simulator reads.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Port of the sending host.
    pub(crate) from: u16,
    /// Port of the receiving host.
    pub(crate) to: u16,
    /// Sequence number of the first byte of data.
    pub(crate) sequence: u32,
    /// Sequence number of the next byte expected; `None` without ACK.
    pub(crate) acknowledgement: Option<u32>,
    /// Bytes of data.
    pub(crate) length: u32,
    /// Whether the segment opens the connection (SYN).
    pub(crate) syn: bool,
}

/// Left and right edges of a segment's selective acknowledgements (RFC 2018 §3).
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sack {
    blocks: [(u32, u32); 4],
    count: usize,
}

impl Sack {
    pub(crate) fn blocks(&self) -> &[(u32, u32)] {
        &self.blocks[..self.count]
    }

    /// Adds a block; ignores it if there are four already, which is the most that a header has room
    /// for.
    fn push(&mut self, block: (u32, u32)) {
        if let Some(place) = self.blocks.get_mut(self.count) {
            *place = block;
            self.count += 1;
        }
    }

    #[cfg(test)]
    pub(crate) fn of(blocks: &[(u32, u32)]) -> Sack {
        let mut sack = Sack::default();
        blocks.iter().for_each(|block| sack.push(*block));
        sack
    }
}

/// Returns the TCP segment of a frame; `None` if there is none, or only a fragment.
fn tcp(frame: &[u8]) -> Option<&[u8]> {
    let (packet, header) = ip(frame)?;
    let is_fragment = u16::from_be_bytes([packet[6], packet[7]]) & 0x3fff != 0;
    if packet[9] != TCP || is_fragment { None } else { Some(&packet[header..]) }
}

/// Reads the selective acknowledgements of a frame's TCP header.
pub(crate) fn sack(frame: &[u8]) -> Sack {
    const END: u8 = 0;
    const NO_OPERATION: u8 = 1;
    const SACK: u8 = 5;
    let mut sack = Sack::default();
    let options = tcp(frame).and_then(|tcp| {
        let offset = usize::from(*tcp.get(12)? >> 4) * 4;
        tcp.get(20..offset)
    });
    let mut rest = options.unwrap_or_default();
    while let [kind, after @ ..] = rest {
        match *kind {
            END => break,
            NO_OPERATION => rest = after,
            kind => {
                let length = after.first().map_or(0, |length| usize::from(*length));
                let Some(option) = rest.get(2..length) else { break };
                if kind == SACK {
                    for block in option.chunks_exact(8) {
                        let [a, b, c, d, e, f, g, h] = *block else { continue };
                        let (left, right) = ([a, b, c, d], [e, f, g, h]);
                        sack.push((u32::from_be_bytes(left), u32::from_be_bytes(right)));
                    }
                }
                rest = &rest[length..];
            }
        }
    }
    sack
}

/// Reads a frame's TCP header; `None` if it has none, or only a fragment.
pub(crate) fn segment(frame: &[u8]) -> Option<Segment> {
    let tcp = tcp(frame)?;
    let port = |at: usize| Some(u16::from_be_bytes(*tcp.get(at..)?.first_chunk()?));
    let word = |at: usize| Some(u32::from_be_bytes(*tcp.get(at..)?.first_chunk()?));
    let (offset, flags) = (usize::from(*tcp.get(12)? >> 4) * 4, *tcp.get(13)?);
    let length = tcp.len().checked_sub(offset).filter(|_| offset >= 20)?;
    Some(Segment {
        from: port(0)?,
        to: port(2)?,
        sequence: word(4)?,
        acknowledgement: if flags & 0x10 != 0 { word(8) } else { None },
        length: length as u32,
        syn: flags & 2 != 0,
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns a frame with a TCP segment of `length` bytes of data.
    pub(crate) fn tcp(sequence: u32, acknowledgement: u32, length: usize, flags: u8) -> Vec<u8> {
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
        frame.extend([0x45, 0b10]);
        frame.extend((40 + length as u16).to_be_bytes());
        frame.extend([0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        let sum = checksum(&frame[ETHERNET..]);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
        frame.extend([0, 1, 0x13, 0x89]);
        frame.extend(sequence.to_be_bytes());
        frame.extend(acknowledgement.to_be_bytes());
        frame.extend([0x50, flags, 0, 0, 0, 0, 0, 0]);
        frame.resize(frame.len() + length, 0);
        frame
    }

    fn checksum(header: &[u8]) -> u16 {
        let words = header.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
        let sum: u32 = words.sum();
        let sum = (sum & 0xffff) + (sum >> 16);
        !(((sum & 0xffff) + (sum >> 16)) as u16)
    }

    #[test]
    fn ecn_is_read_and_written_with_its_checksum() {
        let mut frame = tcp(1, 2, 100, 0x10);
        assert_eq!((ecn(&frame), ip_length(&frame)), (Ecn::Ect0, 140));
        for mark in [Ecn::Ce, Ecn::Ect1, Ecn::NotEct, Ecn::Ect0, Ecn::Ce] {
            set_ecn(&mut frame, mark);
            assert_eq!(ecn(&frame), mark);
            // The checksum over a header with a correct checksum is zero.
            assert_eq!(checksum(&frame[ETHERNET..ETHERNET + 20]), 0, "{mark:?}");
        }
    }

    #[test]
    fn segments_are_read() {
        let segment = segment(&tcp(7, 9, 1448, 0x12)).expect("a segment");
        let wanted = Segment {
            from: 1,
            to: 5001,
            sequence: 7,
            acknowledgement: Some(9),
            length: 1448,
            syn: true,
        };
        assert_eq!(segment, wanted);
    }

    #[test]
    fn selective_acknowledgements_are_read() {
        let mut frame = tcp(7, 9, 20, 0x10);
        // The first 20 bytes of data become options: two no-operations, and two blocks.
        frame[46] = 0xa0;
        frame[54..74].copy_from_slice(&[
            1, 1, 5, 18, 0, 0, 0, 1, 0, 0, 0, 2, 255, 255, 255, 255, 0, 0, 0, 9,
        ]);
        assert_eq!(sack(&frame).blocks(), [(1, 2), (u32::MAX, 9)]);
        for length in 0..=255 {
            frame[57] = length;
            let _ = sack(&frame);
        }
        frame[54] = 5;
        frame[55] = 0;
        assert_eq!(sack(&frame).blocks(), []);
    }

    #[test]
    fn frames_that_are_cut_or_strange_do_no_harm() {
        let whole = tcp(7, 9, 10, 0x10);
        for length in 0..whole.len() {
            let mut cut = whole[..length].to_vec();
            assert_eq!(segment(&cut), None);
            assert_eq!((ecn(&cut), ip_length(&cut)), (Ecn::NotEct, 0));
            set_ecn(&mut cut, Ecn::Ce);
        }
        for at in 0..whole.len() {
            for value in [0, 0x0f, 0xf0, 0xff] {
                let mut frame = whole.clone();
                frame[at] = value;
                set_ecn(&mut frame, Ecn::Ce);
                let _ = (segment(&frame), sack(&frame), ether_type(&frame));
            }
        }
    }
}
