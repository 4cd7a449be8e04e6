//! The results of links, and of stations at media.

use paceline_cc::{Span, Time};
use paceline_path::{Counters, Service};

use super::Simulation;
use crate::bins::LinkBins;
use crate::metrics::mbps;
use crate::nodes::{Carrier, SharedMedium};
use crate::outcome::{LinkOutcome, LinkSeries, MediumOutcome, StationOutcome};

/// The capacity of a link or of a station.
enum Offered<'a> {
    /// What the link offers over time.
    Service(&'a Service),
    /// A station at a medium, which offers what it carries while it has packets to send.
    Turns {
        /// The time until now in which it had packets to send.
        busy: Span,
        /// The part of this time since the end of the warm-up.
        measured: Span,
        /// Beginning of its present turn.
        open: Option<Time>,
    },
}

impl Offered<'_> {
    /// Returns the time series of a link or of a station until `end`.
    fn series(&self, bins: &LinkBins, end: Time) -> LinkSeries {
        match self {
            Offered::Service(service) => bins.series(end, service),
            Offered::Turns { open, .. } => bins.station_series(end, *open),
        }
    }
}

impl Simulation {
    pub(super) fn link(&self, index: usize) -> LinkOutcome {
        let stage = self.places.links[index];
        let name = self.scenario.links[index].name.clone();
        match self.world.carrier(stage) {
            Some(Carrier::Link(link)) => {
                self.link_outcome(name, &Offered::Service(link.service()), link.counters(), stage)
            }
            Some(Carrier::LookAhead(link)) => {
                let service = link.service();
                self.link_outcome(name, &Offered::Service(&service), link.counters(), stage)
            }
            Some(Carrier::Medium(shared)) => {
                let SharedMedium { medium, first_record } = &**shared;
                match medium.capacity(0) {
                    Some(capacity) => {
                        let offered = Offered::Service(capacity);
                        self.link_outcome(name, &offered, medium.counters(0), *first_record)
                    }
                    None => LinkOutcome { name, ..LinkOutcome::default() },
                }
            }
            Some(Carrier::Pipe(_)) | None => LinkOutcome { name, ..LinkOutcome::default() },
        }
    }

    /// Returns the time until now in which each station of a medium had packets to send.
    pub(super) fn busy(&self, index: usize) -> Vec<Span> {
        let Some(Carrier::Medium(shared)) = self.world.carrier(self.places.media[index]) else {
            return Vec::new();
        };
        let (medium, now) = (&shared.medium, self.world.now());
        (0..medium.len()).map(|number| medium.busy_time(number, now).unwrap_or_default()).collect()
    }

    pub(super) fn medium(&self, index: usize) -> MediumOutcome {
        let name = self.scenario.media[index].name.clone();
        let mut outcome = MediumOutcome { name, ..MediumOutcome::default() };
        let Some(Carrier::Medium(shared)) = self.world.carrier(self.places.media[index]) else {
            return outcome;
        };
        let medium = &shared.medium;
        let spec = &self.scenario.media[index];
        let since_start = self.world.now().as_secs_f64().max(1e-9);
        for (number, busy) in self.busy(index).into_iter().enumerate() {
            let stats = medium.stats(number);
            let place = shared.first_record + number;
            let warm = self.warm_busy.get(index).and_then(|all| all.get(number));
            // Nothing is measured during the warm-up.
            let measured = busy - warm.copied().unwrap_or(busy);
            let offered = Offered::Turns { busy, measured, open: medium.open_turn(number) };
            let counters = medium.counters(number);
            let link = self.link_outcome(spec.port_name(number), &offered, counters, place);
            let records = self.world.recorder.as_ref().map(|all| &all.links);
            let record = records.and_then(|all| all.get(place)?.as_ref());
            let delivered = record.map_or(0, |record| record.sojourn.len()) as f64;
            // No packet, no delay: the mean of none is NaN.
            let delays_s =
                if delivered > 0.0 { delivered * link.queue_delay_ms.mean / 1e3 } else { 0.0 };
            outcome.throughput_mbps += link.throughput_mbps;
            outcome.stations.push(StationOutcome {
                link,
                waiting_packets: delays_s / self.measured().as_secs_f64().max(1e-9),
                transmissions: stats.transmissions,
                collisions: stats.collisions,
                airtime: stats.airtime.as_secs_f64() / since_start,
            });
        }
        outcome.collision_probability = medium.collision_probability();
        outcome
    }

    /// Returns the results of a link, or of a station at a medium, whose record is at `place`.
    fn link_outcome(
        &self,
        name: String,
        offered: &Offered<'_>,
        counters: Counters,
        place: usize,
    ) -> LinkOutcome {
        let mut outcome = LinkOutcome { name, ..LinkOutcome::default() };
        let now = self.world.now();
        let records = self.world.recorder.as_ref().map(|all| &all.links);
        let record = records.and_then(|all| all.get(place)?.as_ref());
        // Counters alone do not distinguish the warm-up.
        let (delivered, over) = match record {
            Some(record) => (record.delivered, self.measured()),
            None => (counters.delivered_bytes, now.since(Time::ZERO)),
        };
        outcome.throughput_mbps = mbps(delivered, over);
        match *offered {
            Offered::Service(service) => {
                let bytes = service.offered_in(self.warmup_end()..now);
                outcome.capacity_mbps = mbps(bytes, self.measured());
                outcome.utilization = match record {
                    _ if bytes == 0 => f64::NAN,
                    Some(_) => delivered as f64 / bytes as f64,
                    None => outcome.throughput_mbps / outcome.capacity_mbps,
                };
            }
            Offered::Turns { busy, measured, .. } => {
                let busy = if record.is_some() { measured } else { busy };
                outcome.capacity_mbps = mbps(delivered, busy);
                if delivered > 0 && !over.is_zero() {
                    outcome.utilization = busy.as_secs_f64() / over.as_secs_f64();
                }
            }
        }
        let Some(record) = record else {
            outcome.queue_delay_ms.mean = counters.mean_sojourn().as_millis_f64();
            outcome.drops = counters.dropped_packets();
            outcome.marks = counters.marks + counters.ect0_marks;
            return outcome;
        };
        outcome.queue_delay_ms = record.sojourn.quantiles();
        outcome.drops = record.drops;
        outcome.marks = record.marks;
        outcome.series = record.bins.as_ref().map(|bins| offered.series(bins, now));
        outcome
    }
}
