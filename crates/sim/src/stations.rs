//! From the 802.11 links of a scenario to what they are made of.

use paceline_cc::{Router, Stream};
use paceline_path::wifi::{Mcs, StationConfig, StationQueues, StationRouters, WifiConfig};
use paceline_path::{Queue, Service, ServiceError};

use crate::scenario::{FlowSpec, LinkSpec, Scenario, WifiSpec};

/// The service of an 802.11 link in a scenario.
///
/// # Errors
/// Steps that are none.
pub(crate) fn service(
    scenario: &Scenario,
    link: &LinkSpec,
    config: WifiConfig,
) -> Result<Service, ServiceError> {
    Service::wifi(config, &Stream::new(scenario.seed, &format!("wifi {}", link.name)))
}

/// The settings of an 802.11 link in a scenario.
pub(crate) fn config(scenario: &Scenario, link: &LinkSpec, spec: &WifiSpec) -> WifiConfig {
    let mut random = Stream::new(scenario.seed, &format!("mcs of {}", link.name));
    let (steps, period) = spec.mcs.steps(scenario.duration, &mut random);
    let alike = StationConfig::new(spec.max_frames);
    let mut stations: Vec<StationConfig> = Vec::new();
    let passes = |flow: &FlowSpec| flow.path.contains(&link.name) || flow.back.contains(&link.name);
    let of = |flow: &FlowSpec| spec.stations.iter().position(|own| own.flows.contains(&flow.name));
    let named: Vec<Option<usize>> = scenario.flows.iter().map(of).collect();
    // One that no flow makes use of takes no turns, and is no part of the capacity.
    let mut used = vec![None; spec.stations.len()];
    for (flow, named) in scenario.flows.iter().zip(&named) {
        if let Some(named) = named.filter(|_| passes(flow)) {
            used[named] = Some(0);
        }
    }
    for (own, number) in spec.stations.iter().zip(&mut used) {
        if number.is_some() {
            *number = Some(stations.len());
            let max_frames = own.max_frames.unwrap_or(spec.max_frames);
            let mut station = StationConfig::new(max_frames);
            station.mcs = own.mcs;
            stations.push(station);
        }
    }
    let mut station_of = Vec::new();
    for (flow, named) in scenario.flows.iter().zip(named) {
        let station = named.and_then(|named| used[named]).unwrap_or_else(|| {
            if passes(flow) {
                stations.push(alike.clone());
            }
            stations.len().saturating_sub(1)
        });
        station_of.extend((0..flow.count).map(|_| station as u32));
    }
    // The flows beyond, which have no numbers yet, belong to the last one.
    let random_flows = scenario.arrivals.iter().any(|few| passes(&few.flow));
    if stations.is_empty() || random_flows {
        stations.push(alike);
    }
    let mut config = WifiConfig::new(Mcs::LOWEST);
    (config.steps, config.period) = (steps, period);
    (config.stations, config.station_of) = (stations, station_of);
    config.max_airtime = spec.max_airtime;
    config.rts = spec.rts;
    config.frame_error = spec.frame_error;
    config.retries = spec.retries;
    config.contenders = spec.contenders;
    config.contender_airtime = spec.contender_airtime;
    config.contender_gap = spec.contender_gap;
    config
}

/// A queue for each station, as `make` makes it for the station's number.
///
/// # Errors
/// Those of `make`.
pub(crate) fn queues<E>(
    config: &WifiConfig,
    make: impl Fn(usize) -> Result<Box<dyn Queue>, E>,
) -> Result<Box<dyn Queue>, E> {
    let queues = (0..config.stations.len()).map(make).collect::<Result<_, _>>()?;
    Ok(Box::new(StationQueues::new(queues, config.station_of.clone())))
}

/// A router's half for each station.
pub(crate) fn routers(config: &WifiConfig, make: &dyn Fn() -> Box<dyn Router>) -> Box<dyn Router> {
    let routers = config.stations.iter().map(|_| make()).collect();
    Box::new(StationRouters::new(routers, config.station_of.clone()))
}

#[cfg(test)]
mod tests {
    use paceline_cc::{Body, Packet, Spec, Time};
    use paceline_path::Limit;

    use super::*;
    use crate::scenario::{Arrivals, Capacity, McsSpec, check_scheme};

    #[test]
    fn each_station_has_a_queue_with_a_stream_of_its_own() {
        let wifi = WifiSpec::new(McsSpec::constant(Mcs::LOWEST));
        let scenario = Scenario::new("stations");
        let link = LinkSpec::new("ap", Capacity::Wifi(Box::new(wifi.clone())));
        let mut config = config(&scenario, &link, &wifi);
        config.stations = vec![config.stations[0].clone(); 2];
        config.station_of = vec![0, 1];
        let red = Spec::parse("red[min=1,max=100,max_p=0.5,w=1]").expect("legal");
        let stream = |station| Stream::new(1, &format!("station {station}"));
        let make = |station| paceline_path::queue::build(&red, Limit::NONE, stream(station));
        let mut queues = queues(&config, make).expect("known");
        // Both stations' packets come alike; which of them are dropped is up to the streams.
        let mut drops = Vec::new();
        for number in 0..200 {
            for flow in [0, 1] {
                let body = Body::Opaque(number);
                let packet = Packet { flow, body, ..Packet::opaque(1500) };
                queues.push(Time::ZERO, &packet, &mut drops);
            }
        }
        let of = |flow| -> Vec<u64> {
            let packets = drops.iter().map(|dropped| dropped.packet);
            packets.filter(|packet| packet.flow == flow).map(|packet| packet.number()).collect()
        };
        assert!(!of(0).is_empty());
        assert_ne!(of(0), of(1));
    }

    #[test]
    fn short_flows_are_a_station_whichever_way_they_pass() {
        let wifi = WifiSpec::new(McsSpec::constant(Mcs::LOWEST));
        let mut scenario = Scenario::new("stations");
        scenario.links.push(LinkSpec::new("ap", Capacity::Wifi(Box::new(wifi.clone()))));
        let flow = |path: &[&str]| FlowSpec::bulk(check_scheme("cubic").expect("known"), path);
        scenario.flows.push(flow(&["ap"]));
        let stations = |scenario: &Scenario| config(scenario, &scenario.links[0], &wifi).stations;
        assert_eq!(stations(&scenario).len(), 1);
        let bytes = paceline_flow::Amount::Fixed(30_000.0);
        let elsewhere = Arrivals { flow: flow(&["lan"]), per_second: 1.0, bytes };
        let mut back = elsewhere.clone();
        back.flow.back = vec!["ap".to_string()];
        for (arrivals, count) in [(elsewhere, 1), (back, 2)] {
            scenario.arrivals = vec![arrivals];
            assert_eq!(stations(&scenario).len(), count);
        }
    }
}
