//! The networks of a specification.

use std::sync::Arc;

use paceline_cc::{Rate, Span, Stream};
use paceline_flow::{Amount, On};
use paceline_schemes::remy::{RemyParams, RuleObserver, RuleTable, halves};
use paceline_sim::scenario::{Capacity, CustomScheme, SchemeChoice};
use rayon::prelude::*;

use super::{OnUnit, Range, Specification};
use crate::{Measures, Network, Others};

/// One network of a specification, with its seed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Specimen {
    /// The network.
    pub network: Network,
    /// Duration of its simulation.
    pub duration: Span,
    /// Seed of the run.
    pub seed: u64,
    /// True if senders of a table retransmit lost packets.
    pub repairs: bool,
    /// Resolution of the senders' clocks, 0 for the table's: [`Specification::resolution`].
    pub resolution: Span,
    /// How the network follows from its specification, so that other machines can build it.
    pub origin: Origin,
}

/// How a network follows from its specification.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Origin {
    /// The seed passed to [`Specification::specimens`].
    pub draw: u64,
    /// Index of the network among those.
    pub index: usize,
    /// The table of the senders of the other kind, if it is trained too, and true if the network is
    /// seen from those: see `Specimen::beside`.
    pub beside: Option<(Arc<RuleTable>, bool)>,
}

/// Number of ranges in a specification.
const RANGES: usize = 15;

impl Specimen {
    /// Returns the parameters of senders that follow a table.
    pub(crate) fn params(&self) -> RemyParams {
        RemyParams {
            as_published: !self.repairs,
            resolution: self.resolution,
            ..RemyParams::default()
        }
    }

    /// Returns senders that follow a table on this network. Their rule uses are reported to
    /// `observer`.
    pub fn scheme(
        &self,
        table: &Arc<RuleTable>,
        observer: Option<Arc<dyn RuleObserver>>,
    ) -> SchemeChoice {
        CustomScheme::new("remy", halves(self.params(), Arc::clone(table), observer)).into()
    }

    /// Returns the network with a table for the senders of the other kind. If `swapped`, these
    /// become the senders being tried.
    pub(crate) fn beside(mut self, table: &Arc<RuleTable>, swapped: bool) -> Specimen {
        let scheme = self.scheme(table, None);
        self.origin.beside = Some((Arc::clone(table), swapped));
        let own = self.network.own();
        if let Some(others) = &mut self.network.others {
            others.scheme = Some(scheme);
            if swapped {
                others.senders = own;
            }
        }
        self
    }
}

impl Specification {
    /// Returns the ranges, in the order in which their values are combined and drawn. New ranges go
    /// to the end, so that older specifications keep their networks.
    pub(super) fn ranges(&self) -> [&Range; RANGES] {
        const NOTHING: &Range = &Range::one(0.0);
        let others = self.others.as_ref().map_or(NOTHING, |others| &others.senders);
        [
            &self.link_mbps,
            &self.rtt_ms,
            &self.senders,
            &self.on_s,
            &self.off_s,
            &self.loss,
            self.second_mbps.as_ref().unwrap_or(NOTHING),
            others,
            &self.jitter_ms,
            &self.acked_packets,
            &self.ack_slot_ms,
            &self.starts_ms,
            &self.queue,
            &self.buffer.range,
            self.others.as_ref().map_or(NOTHING, |others| &others.scheme),
        ]
    }

    /// Returns the network with these values of [`Specification::ranges`].
    fn network(&self, values: [f64; RANGES]) -> Network {
        let [link, rtt, senders, on, off, loss, second, others, more @ ..] = values;
        let [jitter, acked_packets, ack_slot, starts, queue, buffer, scheme] = more;
        let span = |millis: f64| Span::from_secs_f64(millis / 1e3);
        Network::new(Rate::from_mbps(link), span(rtt)).with(|network| {
            network.second =
                self.second_mbps.as_ref().map(|_| Capacity::Constant(Rate::from_mbps(second)));
            network.senders = senders.round() as u32;
            network.others = self.others.as_ref().map(|known| {
                let mut senders = others.round() as u32;
                if known.are_beside {
                    network.senders += senders;
                } else {
                    // If both kinds are scored or trained, either kind may be alone.
                    let both = self.trains_two() || self.objective.others_delta.is_some();
                    let least = u32::from(!both);
                    senders = senders.min(network.senders.saturating_sub(least));
                }
                Others { scheme: known.schemes.get(scheme.round() as usize).cloned(), senders }
            });
            network.on = match self.on_unit {
                OnUnit::Seconds => On::Time(Amount::Exponential(on)),
                OnUnit::Bytes => On::Bytes(Amount::Exponential(on)),
                OnUnit::Icsi => On::Bytes(Amount::Icsi { plus: on }),
            };
            network.off = Amount::Exponential(off);
            (network.buffer, network.loss) = (self.buffer.size(buffer), loss);
            network.router = self.router.clone();
            (network.jitter, network.ack_slot) = (span(jitter), span(ack_slot));
            network.acked_packets = acked_packets.round() as u32;
            network.starts = span(starts);
            network.measures =
                Measures { delay: self.objective.delay, repeats: self.objective.repeats > 0.0 };
            if let Some(queue) = self.queues.get(queue.round() as usize) {
                network.queue = queue.clone().into();
            }
        })
    }

    /// Returns the number of networks.
    pub fn networks(&self) -> usize {
        let counts = self.ranges().map(Range::count);
        counts.iter().product::<usize>() * self.draws.max(1) as usize
    }

    /// Returns network `index` of those that follow from `seed`: see [`Specification::specimens`].
    pub fn specimen(&self, seed: u64, index: usize) -> Specimen {
        let mut random = Stream::new(seed, &format!("specimen {index}"));
        let mut rest = index / self.draws.max(1) as usize;
        let mut values = [0.0; RANGES];
        for (value, range) in values.iter_mut().zip(self.ranges()) {
            let count = range.count();
            *value = range.value(rest % count, &mut random);
            rest /= count;
        }
        let mut network = self.network(values);
        // Draws only for specifications that have `share`: all others keep the seeds of their
        // networks.
        if let Some(others) = self.others.as_ref().filter(|others| others.share < 1.0)
            && random.uniform() >= others.share
            && let Some(absent) = &mut network.others
        {
            if others.are_beside {
                network.senders -= absent.senders;
            }
            absent.senders = 0;
        }
        let duration = self.duration.of(&network);
        if !self.traces.is_empty() {
            let place = values[0].round() as usize;
            let trace = self.traces.at(place, duration, || random.next_u64());
            // Each index of the range has a trace.
            network.link = trace.map_or(network.link, Capacity::trace);
        }
        if self.random_trace_start
            && let Capacity::Trace { trace, .. } = &network.link
        {
            let start = trace.period().mul_f64(random.uniform());
            network.link = Capacity::trace(trace.starting_at(start));
        }
        Specimen {
            duration,
            network,
            seed: random.next_u64(),
            repairs: self.repairs(),
            resolution: self.resolution(),
            origin: Origin { draw: seed, index, beside: None },
        }
    }

    /// Returns the networks, with seeds that follow from `seed`. Equal seeds give equal networks,
    /// so that tables can be compared on the same ones.
    pub fn specimens(&self, seed: u64) -> Vec<Specimen> {
        let specimen = |index| self.specimen(seed, index);
        match self.traces.models.is_empty() {
            true => (0..self.networks()).map(specimen).collect(),
            // In parallel, because drawing a trace takes up to 0.1 s.
            false => (0..self.networks()).into_par_iter().map(specimen).collect(),
        }
    }
}
