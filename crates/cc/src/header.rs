//! What the halves of a scheme send to each other beyond IP's ECN field: congestion headers on data
//! packets, which routers rewrite, and reports, which receivers send unasked.

use crate::units::{Rate, Span, Time};

/// The congestion header of a data packet. Routers that do not know it leave it unchanged.
///
/// The enum's tag takes a whole word, as in [`crate::Body`].
#[derive(Copy, Clone, Debug, Default, PartialEq)]
#[repr(u64)]
pub enum Header {
    /// No header: the packet's flow is not under explicit control.
    #[default]
    None,
    /// XCP's, for all its variants.
    Xcp(XcpHeader),
    /// RCP's.
    Rcp(RcpHeader),
    /// VCP's: the highest load on the path.
    Vcp(Load),
    /// Sprout's.
    Sprout(SproutHeader),
    /// Header of a scheme outside of this tree.
    Open(OpenHeader),
}

/// Congestion header of a scheme outside of this tree. Only this scheme knows the meaning of the words.
///
/// Its controller writes it in [`Controller::on_send`](crate::Controller::on_send), its routers rewrite
/// it, and its reporter returns what it says by [`Reporter::explicit`](crate::Reporter::explicit) or in
/// an [`OpenReport`]. It is part of [`Packet::size`](crate::Packet::size).
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenHeader {
    /// Number that the scheme's author has chosen at random. Routers and reporters ignore headers
    /// with other numbers, since several such schemes may share a link.
    pub scheme: u32,
    /// Words of the scheme.
    pub words: [u64; 2],
}

/// XCP's congestion header (Katabi et al., SIGCOMM 2002, §3.1, in ns-2's form).
#[derive(Copy, Clone, Debug, Default, PartialEq)]
pub struct XcpHeader {
    /// The sender's smoothed RTT; zero before the first sample.
    pub rtt: Span,
    /// Time between the sender's packets: RTT divided by the window in packets. Zero before the
    /// first RTT sample.
    pub interval: Span,
    /// Change of the window in bytes that this packet may cause: the sender's request, lowered by
    /// each router that grants less.
    pub feedback: f64,
}

/// RCP's congestion header (Dukkipati's thesis, §2.2).
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct RcpHeader {
    /// The sender's RTT; zero before the first sample.
    pub rtt: Span,
    /// Rate that the path grants: the sender's request, lowered by each router that grants less.
    pub rate: Rate,
}

/// VCP's load factor in two bits (Xia et al., SIGCOMM 2005, §3.1), in the order of loads.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Load {
    /// No router on the path has set it.
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
    /// Number of the connection: increases when the sender starts anew, so that the receiver starts
    /// anew, too.
    pub connection: u32,
    /// Bytes that the sender has sent before this packet.
    pub offset: u64,
    /// Bytes below `offset` that may still arrive after this packet, given the reordering that the
    /// sender expects. Once this packet has arrived, no data below `offset - throwaway` will.
    pub throwaway: u32,
    /// Time in milliseconds after which the sender promises its next packet; 0 within a flight.
    pub time_to_next: u32,
}

/// A message that a receiver sends unasked, apart from acknowledgements.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum Report {
    /// Sprout's forecast.
    Forecast(Forecast),
    /// The receiver's estimate of the available bandwidth (REMB).
    Rate(Rate),
    /// Report of a scheme outside of this tree.
    Open(OpenReport),
}

/// Report of a scheme outside of this tree. Only this scheme knows the meaning of the words.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenReport {
    /// Number of the scheme, as in [`OpenHeader::scheme`].
    pub scheme: u32,
    /// Words of the scheme.
    pub words: [u64; 3],
}

/// Sprout's forecast (Winstein's thesis §2.2.5).
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Forecast {
    /// Bytes received or lost so far.
    pub total: u64,
    /// Start of the forecast's first tick, on the receiver's clock.
    pub from: Time,
    /// For each coming tick, the number of packets that will have been delivered by its end, with
    /// the forecast's confidence.
    pub counts: [u16; FORECAST_TICKS],
}

/// Number of ticks that a forecast covers.
pub const FORECAST_TICKS: usize = 8;

impl Report {
    /// Returns the size in bytes on the wire, with IP and UDP headers.
    pub fn size(&self) -> u32 {
        match self {
            Report::Forecast(_) => 68,
            Report::Rate(_) => 52,
            // As a forecast: headers of IP and UDP, 29 bytes, and the rest of a transport packet.
            Report::Open(_) => 68,
        }
    }
}
