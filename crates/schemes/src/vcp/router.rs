//! The network's half: measures its load, and raises the load in headers to it.

use paceline_cc::{Body, Header, LinkView, Load, Packet, Router, Span, Time};

use super::authors::DepartureMeasurement;
use super::paper::TimerMeasurement;
use super::{Rule, VcpParams};

#[derive(Debug)]
enum Measurement {
    Timer(TimerMeasurement),
    Departure(DepartureMeasurement),
}

/// The router's half of VCP.
#[derive(Debug)]
pub struct VcpRouter {
    measurement: Measurement,
}

impl VcpRouter {
    /// Returns a router before its first packet: its load is low.
    pub fn new(params: &VcpParams) -> VcpRouter {
        let measurement = match params.rule {
            Rule::Paper => Measurement::Timer(TimerMeasurement::new(params)),
            Rule::Authors => Measurement::Departure(DepartureMeasurement::new(params)),
        };
        VcpRouter { measurement }
    }

    /// Returns the load that the router writes into packets at `now`.
    pub fn load(&self, now: Time) -> Load {
        match &self.measurement {
            Measurement::Timer(timer) => timer.load,
            Measurement::Departure(departure) => departure.shown(now),
        }
    }
}

impl Router for VcpRouter {
    fn on_arrival(&mut self, now: Time, packet: &mut Packet, link: &LinkView<'_>) {
        match &mut self.measurement {
            Measurement::Timer(timer) => {
                timer.catch_up(now, link.queue_bytes, link);
                timer.count(packet.size);
            }
            Measurement::Departure(departure) => departure.on_arrival(now, packet.size, link),
        }
    }

    fn on_departure(&mut self, now: Time, packet: &mut Packet, _: Span, link: &LinkView<'_>) {
        match &mut self.measurement {
            // Until now this packet waited, too.
            Measurement::Timer(timer) => {
                timer.catch_up(now, link.queue_bytes + packet.size as u64, link);
            }
            Measurement::Departure(departure) => departure.on_departure(now, link),
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
            Measurement::Timer(timer) => {
                see("load", timer.rho);
                see("queue_bytes", timer.queue);
            }
            Measurement::Departure(departure) => see("load", departure.rho),
        }
    }
}
