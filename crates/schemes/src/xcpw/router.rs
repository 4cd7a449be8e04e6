//! The network's half: feedback for every packet, computed from the last RTT.

use std::collections::VecDeque;

use paceline_cc::{
    Body, Header, LinkView, Packet, Router, Span, Time,
    xcp_feedback::{clamp_feedback, header},
};

use super::{Update, XcpwParams};
use crate::parts::WindowedMin;

/// The mean RTT before the first packet has left, if it comes from headers.
const INITIAL_RTT: Span = Span::from_millis(100);

/// A packet in a window: when it passed, its size in bytes, and its RTT where that matters.
#[derive(Copy, Clone, Debug)]
struct PassedPacket {
    at: Time,
    size: u32,
    rtt: Span,
}

/// The packets of a recent period, and one older packet, as in the authors' routers.
#[derive(Clone, Debug)]
struct RecentPackets {
    packets: VecDeque<PassedPacket>,
    bytes: u64,
    rtts: Span,
}

impl RecentPackets {
    fn new() -> RecentPackets {
        RecentPackets { packets: VecDeque::with_capacity(64), bytes: 0, rtts: Span::ZERO }
    }

    fn push(&mut self, packet: PassedPacket, span: Span) {
        let now = packet.at;
        while let (Some(&first), Some(&second)) = (self.packets.front(), self.packets.get(1))
            && now.since(first.at) > span
            && now > second.at
        {
            self.packets.pop_front();
            self.bytes -= u64::from(first.size);
            self.rtts -= first.rtt;
        }
        self.packets.push_back(packet);
        self.bytes += u64::from(packet.size);
        self.rtts += packet.rtt;
    }

    /// Returns the bytes after the oldest packet, which marks the beginning of the window.
    fn since_first(&self) -> u64 {
        self.bytes - self.packets.front().map_or(0, |first| u64::from(first.size))
    }
}

/// The router's half of XCPw.
#[derive(Clone, Debug)]
pub struct XcpwRouter {
    params: XcpwParams,
    arrived: RecentPackets,
    departed: RecentPackets,
    queue: WindowedMin<u64>,
    /// The mean RTT.
    rtt: Span,
    /// Feedback per byte of a packet.
    share: f64,
    updated: Time,
    aggregate: f64,
}

impl XcpwRouter {
    /// Returns a router before its first packet.
    pub fn new(params: &XcpwParams) -> XcpwRouter {
        let rtt = if params.rtt.is_zero() { INITIAL_RTT } else { params.rtt };
        XcpwRouter {
            arrived: RecentPackets::new(),
            departed: RecentPackets::new(),
            queue: WindowedMin::new(params.t.as_nanos()),
            rtt,
            share: 0.0,
            updated: Time::ZERO,
            aggregate: 0.0,
            params: params.clone(),
        }
    }

    /// Computes the aggregate in bytes of window, and the share of each byte.
    fn update(&mut self, now: Time, queue: u64, link: &LinkView<'_>) {
        let entries = self.departed.packets.len().max(1) as u64;
        self.rtt = (self.departed.rtts / entries).max(Span::from_millis(1));
        let offered = link.capacity.offered(now - self.rtt, now);
        let spare = offered as f64 - self.arrived.since_first() as f64;
        self.aggregate = self.params.alpha * spare - self.params.beta * queue as f64;
        self.share = self.aggregate / self.departed.bytes.max(1) as f64;
        self.updated = now;
    }
}

impl Router for XcpwRouter {
    fn on_arrival(&mut self, now: Time, packet: &mut Packet, _link: &LinkView<'_>) {
        self.arrived.push(PassedPacket { at: now, size: packet.size, rtt: Span::ZERO }, self.rtt);
    }

    fn on_departure(&mut self, now: Time, packet: &mut Packet, sojourn: Span, link: &LinkView<'_>) {
        let queue = self.queue.update(now.as_nanos(), link.queue_bytes);
        let size = packet.size;
        let told = match &packet.body {
            Body::Data(data) => match &data.header {
                Header::Xcp(header) => header.rtt,
                _ => return,
            },
            _ => return,
        };
        let rtt = match self.params.rtt {
            Span::ZERO if told.is_zero() => self.rtt,
            Span::ZERO => told,
            base => base + sojourn,
        };
        // With an RTT of hours the window would keep all packets.
        let rtt = rtt.min(Span::from_secs(10));
        self.departed.push(PassedPacket { at: now, size, rtt }, self.rtt);
        let due = self.params.update == Update::Packet || now.since(self.updated) > self.rtt;
        if due {
            self.update(now, queue, link);
        }
        if let Some(header) = header(packet) {
            let granted = clamp_feedback(self.share * f64::from(size));
            header.feedback = clamp_feedback(header.feedback).min(granted);
        }
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("rtt_ms", self.rtt.as_millis_f64());
        see("aggregate_packets", self.aggregate / 1500.0);
        see("share", self.share);
    }
}
