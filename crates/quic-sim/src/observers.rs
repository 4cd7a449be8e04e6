//! What observers of a run see of an end: its datagrams as frames, and events of its connection.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use paceline_cc::{Ecn, Span, Time};
use paceline_ip::packet::{UDP, fold, sum};
use paceline_sim::{
    Capture, CapturedFrame, ConnectionEvent, ConnectionEventKind, ConnectionLog, TransportSetup,
};

use crate::addresses::{CLIENT, SERVER};
use crate::machine::MachineStats;

const ETHERNET_IPV4: [u8; 2] = [0x08, 0x00];
const IP_HEADER: usize = 20;
const UDP_HEADER: usize = 8;
/// First of the ports that the clients of a run's flows have in captures (RFC 6335 §6).
const FIRST_PORT: u16 = 49152;

/// The capture and the log of a run at one end of a flow.
pub(crate) struct Observers {
    capture: Option<Capture>,
    log: Option<ConnectionLog>,
    flow: String,
    host: String,
    is_sender: bool,
    /// Own address in frames, and that of the other end.
    addresses: [SocketAddr; 2],
    state: Option<(u64, Duration, Option<u64>)>,
    lost: u64,
    has_ended: bool,
    frame: Vec<u8>,
}

impl Observers {
    /// Returns the observers of a flow's sending or receiving end; `None` if the run has none.
    pub(crate) fn new(setup: &TransportSetup, is_sender: bool) -> Option<Observers> {
        if setup.capture.is_none() && setup.log.is_none() {
            return None;
        }
        let (mut client, server) = (CLIENT, SERVER);
        client.set_port(FIRST_PORT + (setup.number() % 0x3fff) as u16);
        let (end, addresses) =
            if is_sender { ("sender", [client, server]) } else { ("receiver", [server, client]) };
        Some(Observers {
            capture: setup.capture.clone(),
            log: setup.log.clone(),
            flow: setup.name.clone(),
            host: format!("{}.{end}", setup.name),
            is_sender,
            addresses,
            state: None,
            lost: 0,
            has_ended: false,
            frame: Vec::new(),
        })
    }

    /// Passes a datagram that leaves or arrives.
    pub(crate) fn on_datagram(&mut self, time: Time, is_inbound: bool, ecn: Ecn, datagram: &[u8]) {
        if let Some(capture) = &self.capture {
            let [own, other] = self.addresses;
            let ends = if is_inbound { [other, own] } else { [own, other] };
            write_frame(&mut self.frame, ends, ecn, datagram);
            let bytes = &self.frame;
            capture.on_frame(CapturedFrame { host: &self.host, is_inbound, time, bytes });
        }
        let bytes = datagram.len() as u32;
        self.event(
            time,
            match is_inbound {
                true => ConnectionEventKind::Received { bytes, ecn },
                false => ConnectionEventKind::Sent { bytes, ecn },
            },
        );
    }

    /// Passes what has changed in the stack's counters and state.
    pub(crate) fn on_state(
        &mut self,
        time: Time,
        stats: &MachineStats,
        rtt: Duration,
        failure: Option<&str>,
    ) {
        if stats.lost > self.lost {
            let packets = stats.lost - self.lost;
            self.lost = stats.lost;
            self.event(time, ConnectionEventKind::Lost { packets });
        }
        let state = Some((stats.cwnd, rtt, stats.pacing_bps));
        // A machine without a connection has no window.
        if stats.cwnd > 0 && self.state != state {
            self.state = state;
            let srtt = Span::from_nanos(u64::try_from(rtt.as_nanos()).unwrap_or(u64::MAX));
            let (cwnd, pacing_bps) = (stats.cwnd, stats.pacing_bps);
            self.event(time, ConnectionEventKind::State { cwnd, srtt, pacing_bps });
        }
        if let Some(reason) = failure.filter(|_| !self.has_ended) {
            self.has_ended = true;
            self.event(time, ConnectionEventKind::Ended { reason });
        }
    }

    fn event(&self, time: Time, kind: ConnectionEventKind<'_>) {
        if let Some(log) = &self.log {
            let (flow, is_sender) = (self.flow.as_str(), self.is_sender);
            log.on_event(ConnectionEvent { flow, is_sender, time, kind });
        }
    }
}

/// Writes the Ethernet frame of a UDP datagram between two ends into `frame`.
fn write_frame(frame: &mut Vec<u8>, [from, to]: [SocketAddr; 2], ecn: Ecn, datagram: &[u8]) {
    let octets = |address: SocketAddr| match address.ip() {
        IpAddr::V4(ip) => ip.octets(),
        // The ends have IPv4 addresses.
        IpAddr::V6(_) => [0; 4],
    };
    let (source, destination) = (octets(from), octets(to));
    let udp_length = (UDP_HEADER + datagram.len()) as u16;
    let ip_length = (IP_HEADER + UDP_HEADER + datagram.len()) as u16;
    frame.clear();
    // Locally administered addresses, made from those of IP.
    for [a, b, c, d] in [destination, source] {
        frame.extend([0x02, 0, a, b, c, d]);
    }
    frame.extend(ETHERNET_IPV4);
    let ip = frame.len();
    frame.extend([0x45, ecn as u8]);
    frame.extend(ip_length.to_be_bytes());
    // No identification, "don't fragment", TTL 64, and the checksum, which follows.
    frame.extend([0, 0, 0x40, 0, 64, UDP, 0, 0]);
    frame.extend(source);
    frame.extend(destination);
    let checksum = !fold(sum(&frame[ip..]));
    frame[ip + 10..ip + 12].copy_from_slice(&checksum.to_be_bytes());
    let udp = frame.len();
    frame.extend(from.port().to_be_bytes());
    frame.extend(to.port().to_be_bytes());
    frame.extend(udp_length.to_be_bytes());
    frame.extend([0, 0]);
    frame.extend(datagram);
    let pseudo_header = sum(&source) + sum(&destination) + u64::from(UDP) + u64::from(udp_length);
    // RFC 768: a checksum of 0 means that there is none.
    let checksum = match !fold(sum(&frame[udp..]) + pseudo_header) {
        0 => 0xffff,
        checksum => checksum,
    };
    frame[udp + 6..udp + 8].copy_from_slice(&checksum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_have_right_checksums_and_lengths() {
        let mut frame = vec![1, 2, 3];
        for length in [1, 2, 1472] {
            write_frame(&mut frame, [CLIENT, SERVER], Ecn::Ect0, &vec![0xa5; length]);
            assert_eq!(frame.len(), 14 + 28 + length);
            let parsed = paceline_ip::packet::parse(&frame[14..]).expect("a packet");
            assert_eq!(fold(sum(&frame[14..34])), 0xffff);
            assert_eq!(parsed.ecn, Ecn::Ect0);
            let [source, destination] = [&frame[26..30], &frame[30..34]];
            let pseudo = sum(source) + sum(destination) + 17 + (8 + length) as u64;
            assert_eq!(fold(sum(&frame[34..]) + pseudo), 0xffff);
        }
    }
}
