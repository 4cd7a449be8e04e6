//! What the halves of a scheme tell each other beyond IP's ECN field: congestion headers on data
//! packets, which routers rewrite, and reports, which receivers send of their own accord.

use crate::units::{Rate, Span, Time};

/// The congestion header of a data packet. Routers that do not know it leave it as it is.
///
/// The tag is a whole word, as in [`crate::Body`].
#[derive(Copy, Clone, Debug, Default, PartialEq)]
#[repr(u64)]
pub enum Header {
    /// None: the packet's flow is not under explicit control.
    #[default]
    None,
    /// XCP's, for all of its variants.
    Xcp(XcpHeader),
    /// RCP's.
    Rcp(RcpHeader),
    /// VCP's: the highest load on the way.
    Vcp(Load),
    /// Sprout's.
    Sprout(SproutHeader),
}

/// XCP's congestion header (Katabi et al., SIGCOMM 2002, §3.1, in ns-2's form).
#[derive(Copy, Clone, Debug, Default, PartialEq)]
pub struct XcpHeader {
    /// The sender's smoothed RTT; zero before it has one.
    pub rtt: Span,
    /// The time between its packets, RTT over window in packets; zero before it has an RTT.
    pub interval: Span,
    /// The change of the window in bytes that this packet may cause: what the sender desires,
    /// lowered by each router that grants less.
    pub feedback: f64,
}

/// RCP's congestion header (Dukkipati's thesis, §2.2).
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct RcpHeader {
    /// The sender's RTT; zero before it has one.
    pub rtt: Span,
    /// The rate that the path grants: what the sender desires, lowered by each router.
    pub rate: Rate,
}

/// VCP's load factor in two bits (Xia et al., SIGCOMM 2005, §3.1), in the order of loads.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Load {
    /// No router on the way has spoken.
    #[default]
    Unknown = 0b00,
    /// Below 80 %: increase multiplicatively.
    Low = 0b01,
    /// 80 to 100 %: increase additively.
    High = 0b10,
    /// Above 100 %: decrease multiplicatively.
    Overload = 0b11,
}

/// Sprout's header on data packets (Winstein's thesis §2.3.4).
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct SproutHeader {
    /// The number of the connection: goes up when the sender starts anew, so that the receiver
    /// does, too.
    pub connection: u32,
    /// Bytes that the sender has sent before this packet.
    pub offset: u64,
    /// Bytes below `offset` that will not arrive any more if this packet has: the reordering
    /// that the sender has seen stays above `offset - throwaway`.
    pub throwaway: u32,
    /// The sender's promise of its next packet, in milliseconds from this one; 0 within a flight.
    pub time_to_next: u32,
}

/// What a receiver sends of its own accord, apart from acknowledgements.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum Report {
    /// Sprout's forecast.
    Forecast(Forecast),
    /// An estimate of the bandwidth that the receiver has to offer (REMB).
    Rate(Rate),
}

/// Sprout's forecast (Winstein's thesis §2.2.5).
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Forecast {
    /// Bytes received or lost so far.
    pub total: u64,
    /// The start of the forecast's first tick, on the receiver's clock.
    pub from: Time,
    /// For each of the coming ticks, the packets that will have been delivered by its end, with
    /// the forecast's confidence.
    pub counts: [u16; FORECAST_TICKS],
}

/// The ticks that a forecast covers.
pub const FORECAST_TICKS: usize = 8;

impl Report {
    /// Bytes on the wire, with IP and UDP headers.
    pub fn size(&self) -> u32 {
        match self {
            Report::Forecast(_) => 68,
            Report::Rate(_) => 52,
        }
    }
}
