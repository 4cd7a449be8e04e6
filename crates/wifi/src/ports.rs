//! The ports of a station: one, or at an access point one per receiver.

use paceline_path::{Counters, Port};

/// The ports of a station.
pub struct StationPorts {
    ports: Vec<Port>,
    /// True if each receiver has its own port.
    is_per_receiver: bool,
}

impl StationPorts {
    /// Creates one port for all receivers.
    pub fn shared(port: Port) -> StationPorts {
        StationPorts { ports: vec![port], is_per_receiver: false }
    }

    /// Creates the ports of an access point, one per station. The first is that of station 1.
    /// Packets for further stations use the last port; without any ports, packets are lost and not
    /// counted.
    pub fn per_receiver(ports: Vec<Port>) -> StationPorts {
        StationPorts { ports, is_per_receiver: true }
    }

    pub(super) fn is_per_receiver(&self) -> bool {
        self.is_per_receiver
    }

    /// Returns all ports.
    pub(super) fn all(&self) -> &[Port] {
        &self.ports
    }

    pub(super) fn all_mut(&mut self) -> &mut [Port] {
        &mut self.ports
    }

    /// Returns the port of packets for a receiver, counted from 0.
    pub(super) fn to_receiver_mut(&mut self, receiver: usize) -> Option<&mut Port> {
        let ports = self.all_mut();
        let last = ports.len().checked_sub(1)?;
        ports.get_mut(receiver.min(last))
    }

    /// Returns the counters of all ports together since the start.
    pub(super) fn counters(&self) -> Counters {
        let mut sum = Counters::default();
        self.all().iter().for_each(|port| sum.add(&port.counters()));
        sum
    }
}

impl From<Port> for StationPorts {
    fn from(port: Port) -> StationPorts {
        StationPorts::shared(port)
    }
}
