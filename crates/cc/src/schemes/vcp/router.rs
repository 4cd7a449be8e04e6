//! The network's half: measures its load and raises headers to it.

use super::authors::Windowed;
use super::paper::Timed;
use super::{Rule, VcpParams};
use crate::header::{Header, Load};
use crate::packet::{Body, Packet};
use crate::route::{LinkView, Router};
use crate::units::{Span, Time};

#[derive(Debug)]
enum Measurement {
    Timed(Timed),
    Windowed(Windowed),
}

/// The router's half of VCP.
#[derive(Debug)]
pub struct Meter {
    measurement: Measurement,
}

impl Meter {
    /// A router before the first packet: its load is low.
    pub fn new(params: &VcpParams) -> Meter {
        let measurement = match params.rule {
            Rule::Paper => Measurement::Timed(Timed::new(params)),
            Rule::Authors => Measurement::Windowed(Windowed::new(params)),
        };
        Meter { measurement }
    }

    /// The load that packets are told at `now`.
    pub fn load(&self, now: Time) -> Load {
        match &self.measurement {
            Measurement::Timed(timed) => timed.load,
            Measurement::Windowed(windowed) => windowed.shown(now),
        }
    }
}

impl Router for Meter {
    fn on_arrival(&mut self, now: Time, packet: &mut Packet, link: &LinkView<'_>) {
        match &mut self.measurement {
            Measurement::Timed(timed) => {
                timed.catch_up(now, link.queue_bytes, link);
                timed.count(packet.size);
            }
            Measurement::Windowed(windowed) => windowed.on_arrival(now, packet.size, link),
        }
    }

    fn on_departure(&mut self, now: Time, packet: &mut Packet, _: Span, link: &LinkView<'_>) {
        match &mut self.measurement {
            // Until now this packet waited, too.
            Measurement::Timed(timed) => {
                timed.catch_up(now, link.queue_bytes + packet.size as u64, link);
            }
            Measurement::Windowed(windowed) => windowed.on_departure(now, link),
        }
        let load = self.load(now);
        if let Body::Data(data) = &mut packet.body
            && let Header::Vcp(shown) = &mut data.header
        {
            *shown = (*shown).max(load);
        }
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        match &self.measurement {
            Measurement::Timed(timed) => {
                see("load", timed.rho);
                see("queue_bytes", timed.queue);
            }
            Measurement::Windowed(windowed) => see("load", windowed.rho),
        }
    }
}
