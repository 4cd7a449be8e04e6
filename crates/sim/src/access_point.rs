//! Builds access points from the 802.11 links of a scenario.

use paceline_cc::{Rate, Span, Stream};
use paceline_path::ServiceError;
use paceline_wifi::{AccessPoint, Ht, MediumConfig, Phy, StationConfig};

use crate::scenario::{FlowSpec, LinkSpec, Scenario, WifiSpec};

/// Builds the access point of an 802.11 link, without ports.
///
/// # Errors
/// The steps of a station are not a valid schedule.
pub(crate) fn access_point(
    scenario: &Scenario,
    link: &LinkSpec,
    spec: &WifiSpec,
) -> Result<AccessPoint, ServiceError> {
    let random = Stream::new(scenario.seed, &format!("wifi {}", link.name));
    let (config, station_of) = config(scenario, link, spec);
    AccessPoint::new(config, station_of, &random)
}

/// Returns the settings of an 802.11 link's medium, 20 MHz wide with the long guard interval, and
/// the station of each flow, counted from 0.
fn config(scenario: &Scenario, link: &LinkSpec, spec: &WifiSpec) -> (MediumConfig, Vec<u32>) {
    let mut random = Stream::new(scenario.seed, &format!("mcs of {}", link.name));
    let (steps, period) = spec.mcs.steps(scenario.duration, &mut random);
    let mut alike = StationConfig::new(Rate::ZERO);
    (alike.mcs, alike.mcs_period) = (steps, period);
    alike.frame_error = spec.frame_error;
    let mut stations: Vec<StationConfig> = Vec::new();
    let passes = |flow: &FlowSpec| flow.path.contains(&link.name) || flow.back.contains(&link.name);
    let of = |flow: &FlowSpec| spec.stations.iter().position(|own| own.flows.contains(&flow.name));
    let named: Vec<Option<usize>> = scenario.flows.iter().map(of).collect();
    // A named station that no flow uses takes no turns, and is not counted in the capacity.
    let mut used = vec![None; spec.stations.len()];
    for (flow, named) in scenario.flows.iter().zip(&named) {
        if let Some(named) = named.filter(|_| passes(flow)) {
            used[named] = Some(0);
        }
    }
    for (own, number) in spec.stations.iter().zip(&mut used) {
        if number.is_some() {
            *number = Some(stations.len());
            let mut station = alike.clone();
            station.max_mpdus = own.max_frames;
            if let Some(mcs) = own.mcs {
                (station.mcs, station.mcs_period) = (vec![(Span::ZERO, mcs)], None);
            }
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
    // Flows of random arrivals, whose numbers do not exist yet, belong to the last station.
    let random_flows = scenario.arrivals.iter().any(|few| passes(&few.flow));
    if stations.is_empty() || random_flows {
        stations.push(alike);
    }
    let mut config = MediumConfig::new(Phy::ht(Ht::default()), 0, Rate::ZERO);
    config.stations.extend(stations);
    config.rts_threshold = spec.rts.then_some(0);
    config.aggregation.transmissions = spec.retries.saturating_add(1);
    spec.channel.apply(&mut config, 1);
    (config, station_of)
}

#[cfg(test)]
mod tests {
    use paceline_wifi::Mcs;

    use super::*;
    use crate::scenario::{Arrivals, Capacity, McsSpec, check_scheme};

    #[test]
    fn short_flows_are_a_station_whichever_way_they_pass() {
        let wifi = WifiSpec::new(McsSpec::constant(Mcs::LOWEST));
        let mut scenario = Scenario::new("stations");
        scenario.links.push(LinkSpec::new("ap", Capacity::Wifi(Box::new(wifi.clone()))));
        let flow = |path: &[&str]| FlowSpec::bulk(check_scheme("cubic").expect("known"), path);
        scenario.flows.push(flow(&["ap"]));
        let stations = |scenario: &Scenario| {
            access_point(scenario, &scenario.links[0], &wifi).expect("legal").stations()
        };
        assert_eq!(stations(&scenario), 1);
        let bytes = paceline_flow::Amount::Fixed(30_000.0);
        let elsewhere = Arrivals { flow: flow(&["lan"]), per_second: 1.0, bytes };
        let mut back = elsewhere.clone();
        back.flow.back = vec!["ap".to_string()];
        for (arrivals, count) in [(elsewhere, 1), (back, 2)] {
            scenario.arrivals = vec![arrivals];
            assert_eq!(stations(&scenario), count);
        }
    }
}
