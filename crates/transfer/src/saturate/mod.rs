//! The Saturator: records what a cellular link can carry, by keeping its queues full.
//!
//! Winstein's thesis, section 2.3.1. Each end keeps as many packets in flight as hold the RTT
//! between 750 and 3000 ms ([`window`]). The arrival times are the link's trace ([`record`]).
//! Acknowledgements take another link if there is one: on the saturated link they would wait in its
//! queue.

mod client;
pub mod record;
mod server;
pub mod window;

use std::net::SocketAddr;

use paceline_cc::{Ecn, Span, Time};
use paceline_wire::Transmit;
use paceline_wire::saturator::{Body, SessionCodec};

pub use client::{ClientOptions, DirectionResult, SaturationResult, client};
pub use server::{Event, ServerOptions, server};

use self::window::Window;

/// Maximum number of packets sent before the loop looks at arrivals again.
const BURST: usize = 64;

/// Returns `now` in microseconds of this end's clock.
fn micros(now: Time) -> u64 {
    now.as_nanos() / 1000
}

/// Writes the next data packet, if the window allows one.
fn data(
    codec: &mut SessionCodec,
    window: &mut Window,
    now: Time,
    (to, size): (SocketAddr, usize),
    place: &mut [u8],
) -> Option<Transmit> {
    let (number, steady) = window.send(now)?;
    let body = Body::Data { number, sent: micros(now), steady };
    let length = codec.write(body, size, place).ok()?;
    let number = u64::from(number);
    Some(Transmit { to, length, ecn: Ecn::NotEct, number, data: Some(number), ack: false })
}

/// Returns the RTT of a packet that was sent at `echo` (microseconds).
fn rtt(now: Time, echo: u64) -> Span {
    now.since(Time::from_nanos(echo.saturating_mul(1000)))
}
