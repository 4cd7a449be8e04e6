//! Builds access points from the 802.11 links of a scenario.

use paceline_cc::{Rate, Span, Stream};
use paceline_path::ServiceError;
use paceline_wifi::{AccessPoint, Ht, MediumConfig, Phy, StationConfig};

use crate::arrivals;
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
    let random_flows = scenario.arrivals.iter().map(|arrivals| &arrivals.flow);
    let flows: Vec<(&FlowSpec, Option<usize>)> =
        scenario.flows.iter().chain(random_flows).map(|flow| (flow, of(flow))).collect();
    // A named station that no flow uses takes no turns, and is not counted in the capacity.
    let mut used = vec![None; spec.stations.len()];
    for (flow, named) in &flows {
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
    for (number, (flow, named)) in flows.into_iter().enumerate() {
        let station = named.and_then(|named| used[named]).unwrap_or_else(|| {
            if passes(flow) {
                stations.push(alike.clone());
            }
            stations.len().saturating_sub(1)
        });
        // The numbers of random flows follow those of all others.
        let count = match number.checked_sub(scenario.flows.len()) {
            None => flow.count as usize,
            Some(index) => arrivals::drawn(scenario, index).count(),
        };
        station_of.extend(std::iter::repeat_n(station as u32, count));
    }
    if stations.is_empty() {
        stations.push(alike);
    }
    let mut config = MediumConfig::new(Phy::ht(Ht::default()), 0, Rate::ZERO);
    config.stations.extend(stations);
    config.packet = scenario.mss;
    config.rts_threshold = spec.rts.then_some(0);
    config.aggregation.transmissions = spec.retries.saturating_add(1);
    spec.channel.apply(&mut config, 1);
    (config, station_of)
}

#[cfg(test)]
mod tests {
    use paceline_wifi::Mcs;

    use super::*;
    use crate::scenario::{Arrivals, Capacity, McsSpec, StationSpec, check_scheme};

    #[test]
    fn each_entry_of_short_flows_is_a_station_whichever_way_it_passes() {
        let wifi = WifiSpec::new(McsSpec::constant(Mcs::LOWEST));
        let mut scenario = Scenario::new("stations");
        scenario.links.push(LinkSpec::new("ap", Capacity::Wifi(Box::new(wifi.clone()))));
        let flow = |path: &[&str]| FlowSpec::bulk(check_scheme("cubic").expect("known"), path);
        scenario.flows.push(flow(&["ap"]));
        let access_point = |scenario: &Scenario, wifi: &WifiSpec| {
            access_point(scenario, &scenario.links[0], wifi).expect("legal")
        };
        let stations = |scenario: &Scenario| access_point(scenario, &wifi).stations();
        assert_eq!(stations(&scenario), 1);
        let bytes = paceline_flow::Amount::Fixed(30_000.0);
        let elsewhere = Arrivals { flow: flow(&["lan"]), per_second: 1.0, bytes };
        let mut back = elsewhere.clone();
        back.flow.back = vec!["ap".to_string()];
        back.flow.name = "back".to_string();
        for (arrivals, count) in
            [(vec![&elsewhere], 1), (vec![&back], 2), (vec![&back, &elsewhere, &back], 3)]
        {
            scenario.arrivals = arrivals.into_iter().cloned().collect();
            assert_eq!(stations(&scenario), count);
        }
        // Numbers of flows: the long one, then those of each entry.
        let counts = [0, 1, 2].map(|index| arrivals::drawn(&scenario, index).count() as u32);
        let made = access_point(&scenario, &wifi);
        let last = counts[0] + counts[1] + counts[2];
        assert!(counts.iter().all(|count| *count > 10), "{counts:?}");
        let of = [0, 1, counts[0], last].map(|flow| made.station_of(flow));
        assert_eq!(of, [0, 1, 1, 2]);
        // A station can name them.
        let mut named = wifi.clone();
        let own = StationSpec { flows: vec!["back".to_string()], ..StationSpec::default() };
        named.stations.push(StationSpec { mcs: Mcs::new(7), ..own });
        let made = access_point(&scenario, &named);
        assert_eq!(made.stations(), 2);
        assert_eq!([0, 1, last].map(|flow| made.station_of(flow)), [1, 0, 0]);
    }
}
