//! A link that is an access point at a medium: the medium has its queue, router, counters and log.

use super::Link;
use crate::medium::Medium;
use crate::queue::{Fifo, Limit, Queue};
use crate::service::Service;
use crate::wifi::Wifi;

impl Link {
    /// A link over a medium of its own.
    pub(super) fn over_air(queue: Box<dyn Queue>, wifi: Box<Wifi>) -> Link {
        // Its steps have been checked when the service was made.
        let air = wifi.medium(queue).ok().map(Box::new);
        let nothing = Box::new(Fifo::new(Limit::NONE));
        Link { air, ..Link::served(nothing, Service::Wifi(wifi)) }
    }

    /// The part that has queue, router, counters and log.
    pub(super) fn port(&self) -> &Link {
        self.air.as_deref().and_then(|medium| medium.station(0)).unwrap_or(self)
    }

    /// The same of another link, to be changed; `None` if that is the link itself.
    pub(super) fn port_mut(&mut self) -> Option<&mut Link> {
        self.air.as_deref_mut().and_then(|medium| medium.station_mut(0))
    }

    /// The medium, if there is one.
    #[inline]
    pub(super) fn air(&mut self) -> Option<&mut Medium> {
        self.air.as_deref_mut()
    }
}
