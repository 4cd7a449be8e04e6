//! The functions of a connection for its application.

use core::net::SocketAddr;

use paceline_cc::{Ack, Rate, Span, Time};
use paceline_flow::{Loss, ReceiverStats, Sender, SenderStats};

use super::incoming::Incoming;
use super::outgoing::Outgoing;
use super::{CloseState, Connection, End};
use crate::terms::Service;

impl Connection {
    /// Returns the identifier by which the other end addresses this one.
    pub fn local(&self) -> u32 {
        self.local
    }
    /// Returns the identifiers of this end and of the other.
    pub(crate) fn ids(&self) -> (u32, u32) {
        (self.local, self.remote)
    }
    /// Returns the address of the other end, and the number of times that it has changed.
    pub fn remote(&self) -> (SocketAddr, u64) {
        (self.path.current(), self.path.changes())
    }
    /// Returns the size of the largest packets that this end sends, IP and UDP headers included. It
    /// decreases when the path no longer carries this size, and may increase again up to the
    /// initial size.
    pub fn mtu(&self) -> u16 {
        self.black_hole.mtu()
    }
    /// Returns the connection's idle time: the longer of those that the two ends asked for.
    pub fn idle(&self) -> Span {
        self.idle
    }
    /// Handles the system's report that a packet was too large for the path.
    pub fn on_too_large(&mut self, now: Time) {
        if self.outgoing.is_some() {
            self.black_hole.on_too_large(now, self.rtt(), self.pings.wrapping_add(1));
        }
    }
    /// Returns the scheme of the other end's data; empty if it sends none.
    pub fn peer_scheme(&self) -> &str {
        &self.peer_scheme
    }
    /// Returns the scheme of this end's data; empty if it sends none.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }
    /// Returns the kind of data that the connection carries.
    pub fn service(&self) -> Service {
        self.service
    }
    /// Returns true until either end closes the connection.
    pub fn is_open(&self) -> bool {
        self.state == CloseState::Open
    }
    /// Returns how the connection ended; `None` before.
    pub fn ended(&self) -> Option<&End> {
        match &self.state {
            CloseState::Closed(end) => Some(end),
            _ => None,
        }
    }
    /// Returns the counters of the data that this end sends.
    pub fn sent(&self) -> Option<SenderStats> {
        self.outgoing.as_ref().map(Outgoing::stats)
    }
    /// Returns the counters of the data that this end receives.
    pub fn received(&self) -> Option<ReceiverStats> {
        self.incoming.as_ref().map(Incoming::stats)
    }
    /// Returns the sender of this end's data.
    pub fn sender(&self) -> Option<&Sender> {
        self.outgoing.as_ref().map(Outgoing::sender)
    }
    /// Starts to log this end's packets that are declared lost, for [`Connection::drain_losses`].
    pub fn log_losses(&mut self) {
        if let Some(outgoing) = &mut self.outgoing {
            outgoing.sender_mut().log_losses();
        }
    }
    /// Drains this end's packets declared lost since the last call.
    pub fn drain_losses(&mut self) -> impl Iterator<Item = Loss> + '_ {
        self.outgoing.iter_mut().flat_map(|outgoing| outgoing.sender_mut().drain_losses())
    }
    /// Returns the acknowledgement that this end wrote last.
    pub fn latest_ack(&self) -> Option<&Ack> {
        self.latest_ack.as_ref()
    }
    /// Returns the number of key changes. For tests.
    pub fn key_changes(&self) -> u64 {
        self.keys.changes()
    }
    /// Returns the number of packets ignored because they were forged, repeated or invalid.
    pub fn ignored(&self) -> u64 {
        self.ignored
    }
    /// Returns the number of bytes that have arrived and wait for earlier ones.
    pub fn buffered_bytes(&self) -> u64 {
        self.incoming.as_ref().map_or(0, Incoming::buffered_bytes)
    }

    /// Reports that the application has consumed `bytes` more of the bytes that
    /// [`Sink::on_stream`](super::Sink::on_stream) passed to it, so that the other end may send as
    /// many more. Has an effect only with [`Limits::reads_later`](super::Limits::reads_later). Call
    /// [`Server::reschedule`](crate::Server::reschedule) afterwards.
    pub fn consume(&mut self, bytes: u64) {
        if let Some(incoming) = &mut self.incoming {
            incoming.consume(bytes);
        }
    }
    /// Returns the bytes of the stream that the application has received and not yet consumed, at
    /// most the window. 0 without [`Limits::reads_later`](super::Limits::reads_later). For tests.
    pub fn unread_bytes(&self) -> u64 {
        self.incoming.as_ref().map_or(0, Incoming::unread)
    }

    /// Takes bytes of the stream to be sent, as many as there is room for. Returns their number.
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        self.outgoing.as_mut().map_or(0, |outgoing| outgoing.write(bytes))
    }
    /// Returns the number of bytes of the stream sent at least once.
    pub fn stream_sent(&self) -> u64 {
        self.outgoing.as_ref().map_or(0, Outgoing::stream_sent)
    }
    /// Returns the number of bytes of the stream that have arrived without a gap.
    pub fn stream_acknowledged(&self) -> u64 {
        self.outgoing.as_ref().map_or(0, Outgoing::acknowledged)
    }
    /// Returns the number of bytes of the stream that can be written.
    pub fn room(&self) -> usize {
        self.outgoing.as_ref().map_or(0, Outgoing::room)
    }
    /// Takes a datagram to be sent. Returns false if too many wait, or if it is longer than
    /// [`Connection::longest_datagram`].
    pub fn write_datagram(&mut self, bytes: &[u8]) -> bool {
        self.outgoing.as_mut().is_some_and(|outgoing| outgoing.write_datagram(bytes))
    }
    /// Takes a datagram to be sent that may be longer than [`Connection::longest_datagram`]. A
    /// longer one is sent in parts, one per packet, and arrives whole or, if a part is lost, not at
    /// all. Returns false if too many wait, or if it would need more than 64 parts.
    pub fn write_long_datagram(&mut self, bytes: &[u8]) -> bool {
        self.outgoing.as_mut().is_some_and(|outgoing| outgoing.write_long_datagram(bytes))
    }
    /// Returns the length in bytes of the longest datagram that one packet carries.
    pub fn longest_datagram(&self) -> usize {
        self.outgoing.as_ref().map_or(0, Outgoing::longest_datagram)
    }
    /// Sets the number of bytes of datagrams that the application holds back. The application
    /// passes the next datagram when the last one has left, and may choose or drop until then; the
    /// scheme still learns which packet is the last one of a flight.
    pub fn announce_datagrams(&mut self, bytes: u64) {
        if let Some(outgoing) = &mut self.outgoing {
            outgoing.announce_datagrams(bytes);
        }
    }
    /// Returns the number of datagrams that wait to be sent.
    pub fn waiting_datagrams(&self) -> usize {
        self.outgoing.as_ref().map_or(0, Outgoing::waiting_datagrams)
    }
    /// Returns true if all data written has arrived.
    pub fn is_drained(&self) -> bool {
        self.messages.is_drained() && self.outgoing.as_ref().is_none_or(Outgoing::is_drained)
    }
    /// Limits the rate of this end's data, IP and UDP headers included, in addition to its scheme;
    /// `None` lifts the limit.
    pub fn set_limit(&mut self, limit: Option<Rate>) {
        if let Some(outgoing) = &mut self.outgoing {
            outgoing.sender_mut().set_limit(limit);
        }
    }
    /// Stops sending data.
    pub fn stop(&mut self) {
        if let Some(outgoing) = &mut self.outgoing {
            outgoing.stop();
        }
    }
    /// Takes a message to be sent. Returns false if it is too long or too many wait.
    pub fn send_message(&mut self, bytes: Vec<u8>) -> bool {
        self.messages.send(bytes)
    }
    /// Takes the oldest message that has arrived.
    pub fn receive_message(&mut self) -> Option<Vec<u8>> {
        self.messages.receive()
    }
}
