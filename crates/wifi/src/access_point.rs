//! Access points that only send: downloads for several stations, next to stations of other
//! networks.
//!
//! The stations' acknowledgements do not use the medium. If that matters, use a medium whose
//! stations also send.

use paceline_cc::{Packet, Stream};
use paceline_path::queue::Fifo;
use paceline_path::{Limit, Port, Service, ServiceError};

use super::{Addresses, Medium, MediumConfig, StationPorts};

/// A medium of 802.11n on which only the access point sends, without ports.
#[derive(Clone, Debug)]
pub struct AccessPoint {
    config: MediumConfig,
    addresses: Addresses,
    random: Stream,
    capacity: Service,
}

impl AccessPoint {
    /// Creates an access point. `station_of` has, for each flow by its number, the station to which
    /// its packets go, counted from 0 without the access point; flows beyond its end use the last
    /// station. `random` is the medium's own random stream.
    ///
    /// # Errors
    /// The steps of a station are not a valid schedule.
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

    /// Returns the mean capacity while all stations are backlogged with packets of
    /// [`packet`](MediumConfig::packet) bytes.
    pub fn capacity(&self) -> &Service {
        &self.capacity
    }

    /// Returns the number of stations, without the access point.
    pub fn stations(&self) -> usize {
        self.config.stations.len().saturating_sub(1)
    }

    /// Returns the station to which a flow's packets go, counted from 0.
    pub fn station_of(&self, flow: u32) -> u32 {
        self.addresses.hop(&Packet { flow, ..Packet::opaque(0) }).to.saturating_sub(1)
    }

    /// Returns the medium, whose access point, station 0, has these ports.
    ///
    /// # Errors
    /// Those of [`AccessPoint::new`].
    pub fn medium(&self, ports: StationPorts) -> Result<Medium, ServiceError> {
        let mut all = vec![ports];
        // No packet enters the ports of the other stations.
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
