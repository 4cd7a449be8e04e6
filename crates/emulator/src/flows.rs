//! What packets' hashes of flows stand for: protocol, addresses and ports.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use paceline_ip::packet::{ParsedPacket, flow_id};

/// Largest number of flows that have figures of their own in a direction. Packets of further flows are counted together.
pub const MAX_FLOWS: usize = 64;

/// The identity of a flow inside the emulator: a packet's protocol, addresses and ports.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct FlowId {
    /// The number of the protocol above IP and its extension headers.
    pub protocol: u8,
    /// The sender's address.
    pub source: IpAddr,
    /// The receiver's address.
    pub destination: IpAddr,
    /// The ports of the sender and of the receiver; `None` in fragments and of protocols without ports.
    pub ports: Option<[u16; 2]>,
}

impl FlowId {
    /// Reads the identity of a parsed packet's flow; `None` if the packet has no addresses.
    pub fn of(packet: &[u8], parsed: &ParsedPacket) -> Option<FlowId> {
        let (ends, protocol, ports) = flow_id(packet, parsed);
        let (source, destination) = ends?;
        let ports =
            ports.map(|[a, b, c, d]| [u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])]);
        Some(FlowId { protocol, source, destination, ports })
    }

    /// Returns the protocol's name in lower case; its number if it has no name here.
    pub fn protocol_name(&self) -> String {
        let name = match self.protocol {
            1 => "icmp",
            6 => "tcp",
            17 => "udp",
            33 => "dccp",
            58 => "icmpv6",
            132 => "sctp",
            136 => "udplite",
            number => return number.to_string(),
        };
        name.into()
    }

    /// Returns the sender's address, with its port if it has one.
    pub fn source_name(&self) -> String {
        endpoint(self.source, self.ports.map(|[from, _]| from))
    }

    /// Returns the receiver's address, with its port if it has one.
    pub fn destination_name(&self) -> String {
        endpoint(self.destination, self.ports.map(|[_, to]| to))
    }
}

fn endpoint(address: IpAddr, port: Option<u16>) -> String {
    match port {
        Some(port) => SocketAddr::new(address, port).to_string(),
        None => address.to_string(),
    }
}

/// Writes `udp 10.0.0.1:5000 > 10.0.0.2:443`.
impl fmt::Display for FlowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} > {}", self.protocol_name(), self.source_name(), self.destination_name())
    }
}

/// The identities of the first [`MAX_FLOWS`] flows of a direction, by the hashes that their packets carry. Two flows
/// with equal hashes have one entry, that of the first.
#[derive(Clone, Debug, Default)]
pub struct FlowNames {
    hashes: Vec<u32>,
    ids: Vec<FlowId>,
}

impl FlowNames {
    /// Notes the identity of a packet's flow, if it is new and there is room for it.
    #[inline]
    pub(crate) fn note(&mut self, packet: &[u8], parsed: &ParsedPacket) {
        if self.ids.len() < MAX_FLOWS && !self.hashes.contains(&parsed.flow) {
            self.add(packet, parsed);
        }
    }

    #[cold]
    fn add(&mut self, packet: &[u8], parsed: &ParsedPacket) {
        if let Some(id) = FlowId::of(packet, parsed) {
            self.hashes.push(parsed.flow);
            self.ids.push(id);
        }
    }

    /// Returns the identity of the flow whose packets carry `hash`.
    pub fn get(&self, hash: u32) -> Option<&FlowId> {
        let index = self.hashes.iter().position(|known| *known == hash)?;
        self.ids.get(index)
    }
}

#[cfg(test)]
mod tests {
    use paceline_ip::packet::parse;

    use super::*;

    /// An IPv4 header and the first eight bytes above it.
    fn packet(protocol: u8, host: u8, ports: [u16; 2]) -> Vec<u8> {
        let mut bytes = vec![0u8; 28];
        (bytes[0], bytes[3], bytes[8], bytes[9]) = (0x45, 28, 64, protocol);
        bytes[12..16].copy_from_slice(&[10, 0, 0, host]);
        bytes[16..20].copy_from_slice(&[10, 0, 1, 1]);
        bytes[20..22].copy_from_slice(&ports[0].to_be_bytes());
        bytes[22..24].copy_from_slice(&ports[1].to_be_bytes());
        bytes[24..26].copy_from_slice(&8u16.to_be_bytes());
        bytes
    }

    fn name(bytes: &[u8]) -> String {
        let parsed = parse(bytes).expect("a packet");
        FlowId::of(bytes, &parsed).expect("addresses").to_string()
    }

    #[test]
    fn names_have_protocol_addresses_and_ports() {
        assert_eq!(name(&packet(17, 2, [5000, 443])), "udp 10.0.0.2:5000 > 10.0.1.1:443");
        assert_eq!(name(&packet(1, 2, [0, 0])), "icmp 10.0.0.2 > 10.0.1.1");
        assert_eq!(name(&packet(200, 2, [0, 0])), "200 10.0.0.2 > 10.0.1.1");
        let mut six = vec![0u8; 48];
        (six[0], six[5], six[6], six[7]) = (0x60, 8, 17, 64);
        (six[23], six[39]) = (1, 2);
        six[40..44].copy_from_slice(&[0x13, 0x88, 1, 0xbb]);
        six[45] = 8;
        assert_eq!(name(&six), "udp [::1]:5000 > [::2]:443");
    }

    #[test]
    fn the_first_flows_have_names() {
        let mut names = FlowNames::default();
        let hashes: Vec<u32> = (0..2 * MAX_FLOWS as u16)
            .map(|port| {
                let bytes = packet(6, 2, [port, 80]);
                let parsed = parse(&bytes).expect("a packet");
                names.note(&bytes, &parsed);
                names.note(&bytes, &parsed);
                parsed.flow
            })
            .collect();
        let named = hashes.iter().filter_map(|hash| names.get(*hash));
        let ports: Vec<u16> = named.filter_map(|id| Some(id.ports?[0])).collect();
        assert_eq!(ports, (0..MAX_FLOWS as u16).collect::<Vec<_>>());
    }
}
