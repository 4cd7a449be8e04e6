//! IP packets for tests.

use paceline_cc::Ecn;

const TCP: u8 = 6;
const UDP: u8 = 17;

/// Returns `start` plus the 16-bit words of `bytes` in ones' complement: the Internet checksum (RFC 1071) before its
/// bits are inverted. Written without the code that the tests check.
fn ones_complement_sum(start: u32, bytes: &[u8]) -> u16 {
    let mut sum = start;
    for pair in bytes.chunks(2) {
        sum += u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |&low| u32::from(low));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Header fields of a packet.
#[derive(Copy, Clone, Debug)]
pub struct PacketSpec {
    /// Whether it is IPv4 (otherwise IPv6).
    pub ipv4: bool,
    /// The transport protocol: 6 is TCP, 17 is UDP.
    pub protocol: u8,
    /// The ECN field.
    pub ecn: Ecn,
    /// The identification of IPv4.
    pub id: u16,
    /// The source port.
    pub port: u16,
    /// The sequence number of TCP.
    pub sequence: u32,
    /// The flags of TCP.
    pub flags: u8,
}

impl PacketSpec {
    /// UDP over IPv4 from port 1000, without ECN.
    pub const UDP4: PacketSpec = PacketSpec {
        ipv4: true,
        protocol: UDP,
        ecn: Ecn::NotEct,
        id: 7,
        port: 1000,
        sequence: 0,
        flags: 0,
    };

    /// Returns the number of bytes before the transport header.
    fn transport(&self) -> usize {
        if self.ipv4 { 20 } else { 40 }
    }

    /// Returns the number of bytes of all headers.
    pub fn headers(&self) -> usize {
        // TCP with an option of 12 bytes.
        self.transport() + if self.protocol == TCP { 32 } else { 8 }
    }

    /// Returns the offset of the transport checksum.
    fn place(&self) -> usize {
        self.transport() + if self.protocol == TCP { 16 } else { 6 }
    }

    /// Builds the packet with this payload. With `partial`, its transport checksum covers only the
    /// pseudo header.
    pub fn build(&self, payload: &[u8], partial: bool) -> Vec<u8> {
        let transport = self.transport();
        let mut p = vec![0; self.headers()];
        p.extend_from_slice(payload);
        let size = p.len();
        let addresses = if self.ipv4 {
            p[0] = 0x45;
            p[1] = 0xb8 | self.ecn as u8;
            p[2..4].copy_from_slice(&(size as u16).to_be_bytes());
            p[4..6].copy_from_slice(&self.id.to_be_bytes());
            p[8] = 64;
            p[9] = self.protocol;
            p[12..20].copy_from_slice(&[10, 0, 0, 1, 192, 168, 7, 9]);
            let checksum = !ones_complement_sum(0, &p[..20]);
            p[10..12].copy_from_slice(&checksum.to_be_bytes());
            12..20
        } else {
            p[0] = 0x6b;
            p[1] = 0x85 | (self.ecn as u8) << 4;
            p[4..6].copy_from_slice(&((size - 40) as u16).to_be_bytes());
            p[6] = self.protocol;
            p[7] = 64;
            (8..40).for_each(|i| p[i] = (i * 7) as u8);
            8..40
        };
        let t = &mut p[transport..];
        t[..2].copy_from_slice(&self.port.to_be_bytes());
        t[2..4].copy_from_slice(&5201_u16.to_be_bytes());
        let length = (size - transport) as u16;
        if self.protocol == TCP {
            t[4..8].copy_from_slice(&self.sequence.to_be_bytes());
            t[12] = 8 << 4;
            t[13] = self.flags;
        } else {
            t[4..6].copy_from_slice(&length.to_be_bytes());
        }
        let pseudo = u32::from(self.protocol) + u32::from(length);
        let pseudo = ones_complement_sum(pseudo, &p[addresses]);
        let checksum = match partial {
            true => pseudo,
            false => !ones_complement_sum(pseudo.into(), &p[transport..]),
        };
        let place = self.place();
        p[place..place + 2].copy_from_slice(&checksum.to_be_bytes());
        p
    }

    /// Builds a TUN device's header (`virtio_net_hdr`), and behind it a packet to be segmented into
    /// `step` payload bytes each.
    pub fn piece(&self, payload: &[u8], step: u16) -> Vec<u8> {
        let kind = match (self.protocol, self.ipv4) {
            _ if step == 0 => 0,
            (UDP, _) => 5,
            (_, true) => 1,
            (_, false) => 4,
        };
        let kind = kind | if self.flags & 0x80 != 0 && kind != 0 { 0x80 } else { 0 };
        let start = self.transport() as u16;
        let offset = self.place() as u16 - start;
        let mut piece = vec![1, kind];
        for word in [self.headers() as u16, step, start, offset] {
            piece.extend_from_slice(&word.to_ne_bytes());
        }
        piece.extend_from_slice(&self.build(payload, true));
        piece
    }
}

/// Returns true if the IPv4 header's checksum is correct.
pub fn header_is_right(packet: &[u8]) -> bool {
    ones_complement_sum(0, &packet[..20]) == 0xffff
}
