//! The network's half: computes one rate for all flows and lowers the rate in headers to it.

use paceline_cc::{Body, Header, LinkView, Packet, Rate, RcpHeader, Router, Span, Time};

use super::authors::DepartureEvaluation;
use super::paper::TimerEvaluation;
use super::{RcpParams, Rule};

#[derive(Debug)]
enum Evaluation {
    Timer(TimerEvaluation),
    Departure(DepartureEvaluation),
}

/// The router's half of RCP.
#[derive(Debug)]
pub struct RcpRouter {
    evaluation: Evaluation,
}

/// Returns the header of a packet, if it is RCP's.
fn header(packet: &mut Packet) -> Option<&mut RcpHeader> {
    match &mut packet.body {
        Body::Data(data) => match &mut data.header {
            Header::Rcp(header) => Some(header),
            _ => None,
        },
        _ => None,
    }
}

impl RcpRouter {
    /// Returns a router before its first packet.
    pub fn new(params: &RcpParams) -> RcpRouter {
        let evaluation = match params.rule {
            Rule::Paper => Evaluation::Timer(TimerEvaluation::new(params)),
            Rule::Authors => Evaluation::Departure(DepartureEvaluation::new(params)),
        };
        RcpRouter { evaluation }
    }

    /// Returns the rate that the router writes into headers now.
    pub fn rate(&self) -> Rate {
        Rate::from_bytes_per_sec(match &self.evaluation {
            Evaluation::Timer(timer) => timer.rate,
            Evaluation::Departure(departure) => departure.rate,
        })
    }
}

impl Router for RcpRouter {
    fn on_arrival(&mut self, now: Time, packet: &mut Packet, link: &LinkView<'_>) {
        match &mut self.evaluation {
            Evaluation::Timer(timer) => {
                timer.catch_up(now, link.queue_bytes, link);
                let told = header(packet).copied();
                timer.count(packet, told.as_ref());
            }
            Evaluation::Departure(departure) => departure.on_arrival(now, packet.size),
        }
    }

    fn on_departure(&mut self, now: Time, packet: &mut Packet, sojourn: Span, link: &LinkView<'_>) {
        match &mut self.evaluation {
            // Until now this packet waited, too.
            Evaluation::Timer(timer) => {
                timer.catch_up(now, link.queue_bytes + packet.size as u64, link);
            }
            Evaluation::Departure(departure) => departure.on_departure(now, sojourn, link),
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
                Evaluation::Timer(timer) => timer.d0 * 1e3,
                Evaluation::Departure(departure) => departure.d0.as_millis_f64(),
            },
        );
    }
}
