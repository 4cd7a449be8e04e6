//! What a client records of its connection: RTTs and, if requested, the qlog and the time series.

use paceline_cc::{Ack, Span, Time};
use paceline_wire::{Arrival, Connection, Sink};

use crate::udp::arrivals::{Arrivals, RttSamples};
use crate::udp::course::SentCourse;
use crate::udp::qlog::Qlog;

/// RTTs and, if requested, the qlog and the time series.
pub(super) struct Rtts {
    pub(super) rtts: RttSamples,
    /// Arrivals, if the server sends.
    pub(super) arrivals: Option<Arrivals>,
    /// Bytes of these packets, with IP and UDP headers.
    pub(super) arrived: u64,
    pub(super) qlog: Option<Qlog>,
    pub(super) course: Option<SentCourse>,
    /// Time of the latest acknowledgement.
    pub(super) now: Time,
}

impl Sink for Rtts {
    fn on_ack(&mut self, _connection: u32, now: Time, packet: (u64, u32), ack: &Ack) {
        self.now = now;
        if let Some(qlog) = &mut self.qlog {
            qlog.on_ack(now, packet, ack, true);
        }
    }
    fn on_packet(&mut self, _connection: u32, now: Time, arrival: &Arrival) {
        self.arrived += u64::from(arrival.size);
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.on_packet(now, arrival.sent, arrival.size);
        }
    }
    fn on_rtt(&mut self, _connection: u32, rtt: Span) {
        self.rtts.push(rtt);
        if let Some(course) = &mut self.course {
            course.on_rtt(self.now, rtt);
        }
    }
}

impl Rtts {
    /// Notes that data has left in a datagram of `length` bytes.
    pub(super) fn on_sent(&mut self, now: Time, number: u64, length: usize, ip_udp: usize) {
        if let Some(qlog) = &mut self.qlog {
            qlog.on_data(now, number, length as u32, false);
        }
        if let Some(course) = &mut self.course {
            course.on_sent(now, (length + ip_udp) as u64);
        }
    }

    /// Notes the connection's state after events until `now`.
    pub(super) fn on_change(&mut self, now: Time, connection: &mut Connection) {
        if let Some(qlog) = &mut self.qlog {
            connection.drain_losses().for_each(|loss| qlog.on_loss(now, &loss));
        }
        let Some(sender) = connection.sender() else { return };
        if let Some(qlog) = &mut self.qlog {
            qlog.on_state(now, sender);
        }
        if let Some(course) = &mut self.course {
            course.on_state(now, sender);
        }
    }

    /// Returns true if each packet is to be noted.
    pub(super) fn is_watching(&self) -> bool {
        self.qlog.is_some() || self.course.is_some()
    }
}
