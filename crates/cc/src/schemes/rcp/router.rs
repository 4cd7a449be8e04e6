//! The network's half: keeps one rate for all flows and lowers headers to it.

use super::authors::Windowed;
use super::paper::Timed;
use super::{RcpParams, Rule};
use crate::header::{Header, RcpHeader};
use crate::packet::{Body, Packet};
use crate::route::{LinkView, Router};
use crate::units::{Rate, Span, Time};

#[derive(Debug)]
enum Evaluation {
    Timed(Timed),
    Windowed(Windowed),
}

/// The router's half of RCP.
#[derive(Debug)]
pub struct Allocator {
    evaluation: Evaluation,
}

/// The header of a packet, if it is RCP's.
fn header(packet: &mut Packet) -> Option<&mut RcpHeader> {
    match &mut packet.body {
        Body::Data(data) => match &mut data.header {
            Header::Rcp(header) => Some(header),
            _ => None,
        },
        _ => None,
    }
}

impl Allocator {
    /// A router before the first packet.
    pub fn new(params: &RcpParams) -> Allocator {
        let evaluation = match params.rule {
            Rule::Paper => Evaluation::Timed(Timed::new(params)),
            Rule::Authors => Evaluation::Windowed(Windowed::new(params)),
        };
        Allocator { evaluation }
    }

    /// The rate that flows are told now.
    pub fn rate(&self) -> Rate {
        Rate::from_bytes_per_sec(match &self.evaluation {
            Evaluation::Timed(timed) => timed.rate,
            Evaluation::Windowed(windowed) => windowed.rate,
        })
    }
}

impl Router for Allocator {
    fn on_arrival(&mut self, now: Time, packet: &mut Packet, link: &LinkView<'_>) {
        match &mut self.evaluation {
            Evaluation::Timed(timed) => {
                timed.catch_up(now, link.queue_bytes, link);
                let told = header(packet).copied();
                timed.count(packet, told.as_ref());
            }
            Evaluation::Windowed(windowed) => windowed.on_arrival(now, packet.size),
        }
    }

    fn on_departure(&mut self, now: Time, packet: &mut Packet, sojourn: Span, link: &LinkView<'_>) {
        match &mut self.evaluation {
            // Until now this packet waited, too.
            Evaluation::Timed(timed) => {
                timed.catch_up(now, link.queue_bytes + packet.size as u64, link);
            }
            Evaluation::Windowed(windowed) => windowed.on_departure(now, sojourn, link),
        }
        let rate = self.rate();
        if let Some(header) = header(packet) {
            header.rate = header.rate.min(rate);
        }
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("rate_mbps", self.rate().as_mbps());
        see(
            "d0_ms",
            match &self.evaluation {
                Evaluation::Timed(timed) => timed.d0 * 1e3,
                Evaluation::Windowed(windowed) => windowed.d0.as_millis_f64(),
            },
        );
    }
}
