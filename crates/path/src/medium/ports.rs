//! The ports of a station: one, or at an access point one for each receiver.

use crate::port::{Counters, Port};

/// Where a station's packets wait.
pub struct StationPorts(Layout);

enum Layout {
    /// One port for all receivers.
    Shared(Port),
    /// A port for each receiver.
    PerReceiver(Vec<Port>),
}

impl StationPorts {
    /// One port for all receivers.
    pub fn shared(port: Port) -> StationPorts {
        StationPorts(Layout::Shared(port))
    }

    /// Of an access point: a port for each station. The first is that of station 1. Packets for a
    /// station beyond go to the last port; without any ports, packets are lost uncounted.
    pub fn per_receiver(ports: Vec<Port>) -> StationPorts {
        StationPorts(Layout::PerReceiver(ports))
    }

    pub(super) fn is_per_receiver(&self) -> bool {
        matches!(self.0, Layout::PerReceiver(_))
    }

    /// All ports.
    pub(super) fn all(&self) -> &[Port] {
        match &self.0 {
            Layout::Shared(port) => std::slice::from_ref(port),
            Layout::PerReceiver(ports) => ports,
        }
    }

    pub(super) fn all_mut(&mut self) -> &mut [Port] {
        match &mut self.0 {
            Layout::Shared(port) => std::slice::from_mut(port),
            Layout::PerReceiver(ports) => ports,
        }
    }

    /// The port of packets for a receiver, the first of which is 0.
    pub(super) fn to_receiver_mut(&mut self, receiver: usize) -> Option<&mut Port> {
        let ports = self.all_mut();
        let last = ports.len().checked_sub(1)?;
        ports.get_mut(receiver.min(last))
    }

    /// What all ports have done since the start.
    pub(super) fn counters(&self) -> Counters {
        let mut sum = Counters::default();
        self.all().iter().for_each(|port| sum.add(&port.counters()));
        sum
    }

    pub(super) fn take_memory(&mut self, other: &mut StationPorts) {
        let ports = self.all_mut().iter_mut().zip(other.all_mut());
        ports.for_each(|(new, old)| new.take_memory(old));
    }
}

impl From<Port> for StationPorts {
    fn from(port: Port) -> StationPorts {
        StationPorts::shared(port)
    }
}
