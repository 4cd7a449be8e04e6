//! Access points that only send: downloads for several stations, beside stations of other networks.
//!
//! The stations' acknowledgements do not pass the medium. Where that matters, put the flows over a
//! medium whose stations send, too.

use paceline_cc::{Packet, Stream};
use paceline_path::queue::Fifo;
use paceline_path::{Limit, Port, Service, ServiceError};

use super::{Addresses, Medium, MediumConfig, StationPorts};

/// A medium of 802.11n on which the access point alone sends, before it has ports.
#[derive(Clone, Debug)]
pub struct AccessPoint {
    config: MediumConfig,
    addresses: Addresses,
    random: Stream,
    capacity: Service,
}

impl AccessPoint {
    /// `station_of` has for each flow, by its number, the station that its packets go to, where the
    /// first station beside the access point is 0; flows beyond belong to the last one. `random` is
    /// the medium's own random stream.
    ///
    /// # Errors
    /// Steps of a station that make no legal schedule.
    pub fn new(
        config: MediumConfig,
        station_of: Vec<u32>,
        random: &Stream,
    ) -> Result<AccessPoint, ServiceError> {
        let mut random = random.clone();
        let capacity = Service::Schedule(config.downlink_capacity(&random.split("capacity"))?);
        let count = config.stations.len().saturating_sub(1) as u32;
        Ok(AccessPoint { config, addresses: Addresses::Flows(station_of, count), random, capacity })
    }

    /// The mean capacity for stations that always have packets of 1500 bytes waiting.
    pub fn capacity(&self) -> &Service {
        &self.capacity
    }

    /// How many stations there are, the access point excepted.
    pub fn stations(&self) -> usize {
        self.config.stations.len().saturating_sub(1)
    }

    /// The station that packets of a flow go to; the first one is 0.
    pub fn station_of(&self, flow: u32) -> u32 {
        self.addresses.hop(&Packet { flow, ..Packet::opaque(0) }).to.saturating_sub(1)
    }

    /// The medium, whose access point, station 0, has these ports.
    ///
    /// # Errors
    /// As of [`AccessPoint::new`].
    pub fn medium(&self, ports: StationPorts) -> Result<Medium, ServiceError> {
        let mut all = vec![ports];
        // Nothing enters the ports of the others.
        let idle = || StationPorts::shared(Port::new(Box::new(Fifo::new(Limit::NONE))));
        all.resize_with(self.config.stations.len(), idle);
        let mut medium = Medium::new(self.config.clone(), all, &self.random)?;
        medium.addresses = self.addresses.clone();
        if let Some(access_point) = medium.stations.first_mut() {
            access_point.set_capacity(self.capacity.clone());
        }
        Ok(medium)
    }
}
