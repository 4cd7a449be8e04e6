//! Parts of links: services, queues, and their random streams.

use paceline_cc::{Capacity as _, Rate, RouterSetup, Span, Stream, Time};
use paceline_path::{Limit, OpportunityOptions, Queue, Service};
use paceline_wifi::AccessPoint;

use crate::access_point::access_point;
use crate::error::BuildError;
use crate::scenario::{Capacity, LinkSpec, QueueChoice, Scenario};
use paceline_scenario::Lookup;

/// Builds a queue for a link.
pub(crate) fn queue(
    choice: &QueueChoice,
    limit: Limit,
    stream: Stream,
    names: Lookup<'_>,
) -> Result<Box<dyn Queue>, BuildError> {
    match choice {
        QueueChoice::Auto => queue(&QueueChoice::droptail(), limit, stream, names),
        QueueChoice::Named(spec) => Ok(names.queue(spec, limit, stream)?),
        QueueChoice::Custom(made) => Ok(made.make(limit, stream)),
    }
}

/// Returns the random stream of a link's queue.
pub fn queue_stream(scenario: &Scenario, link: &str) -> Stream {
    Stream::new(scenario.seed, &format!("queue of link {link}"))
}

/// Returns what the router of a link is made with, as [`queue_stream`] is what its queue draws from.
pub fn router_setup(scenario: &Scenario, link: &str) -> RouterSetup {
    RouterSetup::new(scenario.seed, link).with(|setup| setup.mss = scenario.mss)
}

/// The transmitter of a link.
#[derive(Clone, Debug)]
pub enum Transmitter {
    /// The link's own service.
    Service(Service),
    /// An access point at a medium.
    AccessPoint(Box<AccessPoint>),
}

impl Transmitter {
    /// Returns the capacity over time. For an access point it is the capacity while all stations
    /// are backlogged.
    pub fn capacity(&self) -> &Service {
        match self {
            Transmitter::Service(service) => service,
            Transmitter::AccessPoint(access_point) => access_point.capacity(),
        }
    }
}

/// Builds the transmitter of a link. The stations of an 802.11 link are those of the scenario's
/// flows that use it.
///
/// # Errors
/// [`BuildError::Service`].
pub fn transmitter(scenario: &Scenario, link: &LinkSpec) -> Result<Transmitter, BuildError> {
    let made = match &link.capacity {
        Capacity::Constant(rate) => Ok(Service::constant(*rate)),
        Capacity::Schedule { steps, period } => Service::schedule(steps, *period),
        Capacity::Trace { trace, opportunity, overhead, repeat } => {
            let options = OpportunityOptions {
                opportunity: *opportunity,
                overhead: *overhead,
                repeat: *repeat,
            };
            Service::trace(trace.clone(), options)
        }
        Capacity::Wifi(wifi) => {
            let made = access_point(scenario, link, wifi);
            let made = made.map(|made| Transmitter::AccessPoint(Box::new(made)));
            return made.map_err(BuildError::service(&link.name));
        }
    };
    made.map(Transmitter::Service).map_err(BuildError::service(&link.name))
}

/// Returns the mean rate of a link, for buffers given in time or in bandwidth-delay products: over
/// a period if its capacity has one, otherwise over the time from zero to `duration`.
pub fn mean_rate(capacity: &Capacity, service: &Service, duration: Span) -> Rate {
    let over = match capacity {
        Capacity::Constant(rate) => return *rate,
        Capacity::Trace { trace, opportunity, .. } => {
            let bytes = trace.len() as u64 * u64::from(*opportunity);
            return Rate::from_bytes_in(bytes, trace.period());
        }
        Capacity::Schedule { period, .. } => period.unwrap_or(duration),
        Capacity::Wifi(_) => duration,
    };
    match capacity {
        Capacity::Schedule { steps, .. } if over.is_zero() => {
            steps.first().map_or(Rate::ZERO, |(_, rate)| *rate)
        }
        _ => Rate::from_bytes_in(service.offered(Time::ZERO, Time::ZERO + over), over),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_without_a_period_has_its_mean_over_the_duration() {
        let second = Span::from_secs(1);
        let steps = vec![(Span::ZERO, Rate::from_mbps(1.0)), (second, Rate::from_mbps(100.0))];
        let mean = |period: Option<Span>, duration: Span| {
            let capacity = Capacity::Schedule { steps: steps.clone(), period };
            let link = LinkSpec::new("link", capacity.clone());
            let made = transmitter(&Scenario::new("schedule"), &link).expect("a schedule");
            mean_rate(&capacity, made.capacity(), duration)
        };
        assert_eq!(mean(None, second * 10), Rate::from_mbps(90.1));
        assert_eq!(mean(None, second), Rate::from_mbps(1.0));
        assert_eq!(mean(None, Span::ZERO), Rate::from_mbps(1.0));
        assert_eq!(mean(Some(second * 2), second * 9), Rate::from_mbps(50.5));
    }
}
