//! What an application asks a connection, and hands to it.

use core::net::SocketAddr;

use paceline_cc::{Ack, Rate, Span, Time};
use paceline_flow::{Loss, ReceiverStats, Sender, SenderStats};

use super::incoming::Incoming;
use super::outgoing::Outgoing;
use super::{Connection, End, State};
use crate::terms::Service;

impl Connection {
    /// The identifier by which the other end addresses this one.
    pub fn local(&self) -> u32 {
        self.local
    }
    /// The identifiers of this end and of the other.
    pub(crate) fn ids(&self) -> (u32, u32) {
        (self.local, self.remote)
    }
    /// The address of the other end, and how often it has changed.
    pub fn remote(&self) -> (SocketAddr, u64) {
        (self.path.current(), self.path.changes())
    }
    /// The largest packets that this end sends, IP and UDP headers included. They become smaller if the
    /// path comes to carry only smaller ones, and larger again if it does, but never larger than at first.
    pub fn mtu(&self) -> u16 {
        self.black_hole.mtu()
    }
    /// How long nothing may come before the connection is over: the longer one of what both ends asked for.
    pub fn idle(&self) -> Span {
        self.idle
    }
    /// The system says that a packet was too large for the path.
    pub fn on_too_large(&mut self, now: Time) {
        if self.outgoing.is_some() {
            self.black_hole.on_too_large(now, self.rtt(), self.pings.wrapping_add(1));
        }
    }
    /// The scheme by which the other end sends its data; empty if it sends none.
    pub fn peer_scheme(&self) -> &str {
        &self.peer_scheme
    }
    /// The scheme by which this end sends its data; empty if it sends none.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }
    /// What the connection carries.
    pub fn service(&self) -> Service {
        self.service
    }
    /// True until either end closes the connection.
    pub fn is_open(&self) -> bool {
        self.state == State::Open
    }
    /// How the connection has ended, once it has.
    pub fn ended(&self) -> Option<&End> {
        match &self.state {
            State::Closed(end) => Some(end),
            _ => None,
        }
    }
    /// Counters of what this end sends.
    pub fn sent(&self) -> Option<SenderStats> {
        self.outgoing.as_ref().map(Outgoing::stats)
    }
    /// Counters of what this end receives.
    pub fn received(&self) -> Option<ReceiverStats> {
        self.incoming.as_ref().map(Incoming::stats)
    }
    /// The sender of this end's data.
    pub fn sender(&self) -> Option<&Sender> {
        self.outgoing.as_ref().map(Outgoing::sender)
    }
    /// From now on, keeps this end's packets that are declared lost for
    /// [`Connection::drain_losses`].
    pub fn log_losses(&mut self) {
        if let Some(outgoing) = &mut self.outgoing {
            outgoing.sender_mut().log_losses();
        }
    }
    /// This end's packets that were declared lost since the last call.
    pub fn drain_losses(&mut self) -> impl Iterator<Item = Loss> + '_ {
        self.outgoing.iter_mut().flat_map(|outgoing| outgoing.sender_mut().drain_losses())
    }
    /// The acknowledgement that this end has written last.
    pub fn latest_ack(&self) -> Option<&Ack> {
        self.latest_ack.as_ref()
    }
    /// How often the keys were changed.
    pub fn key_changes(&self) -> u64 {
        self.keys.changes()
    }
    /// Packets that were forged, came twice, or meant nothing.
    pub fn ignored(&self) -> u64 {
        self.ignored
    }
    /// Bytes that have come and wait for those before them.
    pub fn buffered_bytes(&self) -> u64 {
        self.incoming.as_ref().map_or(0, Incoming::buffered_bytes)
    }

    /// Reports that the application has worked off `bytes` more of what [`Sink::on_stream`](super::Sink::on_stream)
    /// handed to it, so that the other end may send as many more. Without effect unless
    /// [`Limits::reads_later`](super::Limits::reads_later) is set. Call [`Server::reschedule`](crate::Server::reschedule)
    /// afterwards.
    pub fn consume(&mut self, bytes: u64) {
        if let Some(incoming) = &mut self.incoming {
            incoming.consume(bytes);
        }
    }
    /// Returns the bytes of the stream that the application has got and not reported as consumed; never more than the
    /// window. 0 unless it reports.
    pub fn unread_bytes(&self) -> u64 {
        self.incoming.as_ref().map_or(0, Incoming::unread)
    }

    /// Takes bytes of the stream to be sent, as many as there is room for.
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        self.outgoing.as_mut().map_or(0, |outgoing| outgoing.write(bytes))
    }
    /// Bytes of the stream that have left at least once.
    pub fn stream_sent(&self) -> u64 {
        self.outgoing.as_ref().map_or(0, Outgoing::stream_sent)
    }
    /// Bytes of the stream that were written and have arrived, without a gap.
    pub fn stream_acknowledged(&self) -> u64 {
        self.outgoing.as_ref().map_or(0, Outgoing::acknowledged)
    }
    /// How many bytes of the stream can be written.
    pub fn room(&self) -> usize {
        self.outgoing.as_ref().map_or(0, Outgoing::room)
    }
    /// Takes a datagram to be sent; false if too many wait, or if it is longer than
    /// [`Connection::longest_datagram`].
    pub fn write_datagram(&mut self, bytes: &[u8]) -> bool {
        self.outgoing.as_mut().is_some_and(|outgoing| outgoing.write_datagram(bytes))
    }
    /// Takes a datagram to be sent that may be longer than [`Connection::longest_datagram`]: it is then
    /// carried in parts, one in each packet, and arrives whole or, if a part is lost, not at all. False
    /// if too many wait, or if it would need more than 64 parts.
    pub fn write_long_datagram(&mut self, bytes: &[u8]) -> bool {
        self.outgoing.as_mut().is_some_and(|outgoing| outgoing.write_long_datagram(bytes))
    }
    /// The most bytes of a datagram that one packet carries.
    pub fn longest_datagram(&self) -> usize {
        self.outgoing.as_ref().map_or(0, Outgoing::longest_datagram)
    }
    /// Says how many bytes of datagrams the application holds back. It hands over the next one when
    /// the last one has left, and may choose or drop until then; the scheme is still told which
    /// packet is the last one of a flight.
    pub fn announce_datagrams(&mut self, bytes: u64) {
        if let Some(outgoing) = &mut self.outgoing {
            outgoing.announce_datagrams(bytes);
        }
    }
    /// How many datagrams wait to be sent.
    pub fn waiting_datagrams(&self) -> usize {
        self.outgoing.as_ref().map_or(0, Outgoing::waiting_datagrams)
    }
    /// True if all that was written has arrived.
    pub fn is_drained(&self) -> bool {
        self.messages.is_drained() && self.outgoing.as_ref().is_none_or(Outgoing::is_drained)
    }
    /// Lets this end's data leave at no more than this rate, IP and UDP headers included, whatever its scheme wants;
    /// `None` lifts the limit.
    pub fn set_limit(&mut self, limit: Option<Rate>) {
        if let Some(outgoing) = &mut self.outgoing {
            outgoing.sender_mut().set_limit(limit);
        }
    }
    /// Sends no more data.
    pub fn stop(&mut self) {
        if let Some(outgoing) = &mut self.outgoing {
            outgoing.stop();
        }
    }
    /// Takes a message to be sent; false if it is too long or too many wait.
    pub fn send_message(&mut self, bytes: Vec<u8>) -> bool {
        self.messages.send(bytes)
    }
    /// The oldest message that has come.
    pub fn receive_message(&mut self) -> Option<Vec<u8>> {
        self.messages.receive()
    }
}
