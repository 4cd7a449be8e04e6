//! The networks of a specification.

use std::sync::Arc;

use paceline_cc::schemes::remy::RuleTable;
use paceline_cc::{Rate, Span, Stream};
use paceline_sim::flow::{Amount, On};
use paceline_sim::scenario::Capacity;

use super::{OnUnit, Range, Scale, Specification};
use crate::evaluate;
use crate::network::{Network, Others};

/// One network of a specification, with its seed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Specimen {
    /// The network.
    pub network: Network,
    /// How long it is simulated.
    pub duration: Span,
    /// The seed of the run.
    pub seed: u64,
    /// True if senders of a table send again what was lost.
    pub repairs: bool,
    /// Where it comes from, for those who try tables elsewhere.
    pub origin: Origin,
}

/// How a network follows from its specification.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Origin {
    /// The seed that [`Specification::specimens`] was given.
    pub draw: u64,
    /// Its number among those.
    pub index: usize,
    /// The table of the senders of the other kind, if it is trained too, and whether the network is
    /// seen from these: see `Specimen::beside`.
    pub beside: Option<(Arc<RuleTable>, bool)>,
}

impl Specimen {
    /// The same with a table for the senders of the other kind; if `swapped`, seen from these: they
    /// are now those of the scheme that is tried.
    pub(crate) fn beside(mut self, table: &Arc<RuleTable>, swapped: bool) -> Specimen {
        let scheme = evaluate::scheme(table, self.repairs, None);
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
    /// The ranges, in the order in which their values are combined and drawn.
    pub(super) fn ranges(&self) -> [Range; 8] {
        let nothing = Range::one(0.0);
        let link = match self.traces.len() {
            0 => self.link_mbps,
            // The number of the trace.
            count => {
                let steps = count as u32;
                Range { from: 0.0, to: (count - 1) as f64, steps, scale: Scale::Linear }
            }
        };
        let others = self.others.as_ref().map_or(nothing, |others| others.senders);
        [
            link,
            self.rtt_ms,
            self.senders,
            self.on_s,
            self.off_s,
            self.loss,
            self.second_mbps.unwrap_or(nothing),
            others,
        ]
    }

    /// The network of values of [`Specification::ranges`].
    fn network(&self, values: [f64; 8]) -> Network {
        let [link, rtt, senders, on, off, loss, second, others] = values;
        Network::new(Rate::from_mbps(link), Span::from_secs_f64(rtt / 1e3)).with(|network| {
            if let Some(trace) = self.traces.get(link.round() as usize) {
                network.link = Capacity::trace(trace.clone());
            }
            network.second = self.second_mbps.map(|_| Capacity::Constant(Rate::from_mbps(second)));
            network.senders = senders.round() as u32;
            // Of two tables that are trained each may be alone.
            let least = u32::from(!self.trains_two());
            network.others = self.others.as_ref().map(|known| Others {
                scheme: known.scheme.clone(),
                senders: (others.round() as u32).min(network.senders.saturating_sub(least)),
            });
            network.on = match self.on_unit {
                OnUnit::Seconds => On::Time(Amount::Exponential(on)),
                OnUnit::Bytes => On::Bytes(Amount::Exponential(on)),
                OnUnit::Icsi => On::Bytes(Amount::Icsi { plus: on }),
            };
            network.off = Amount::Exponential(off);
            (network.buffer, network.loss) = (self.buffer, loss);
            network.router = self.router.clone();
        })
    }

    /// The networks, with seeds that follow from `seed`. Equal seeds give equal networks, so that
    /// tables can be compared on the same ones.
    pub fn specimens(&self, seed: u64) -> Vec<Specimen> {
        let ranges = self.ranges();
        let counts = ranges.map(|range| range.count());
        let all = counts.iter().product::<usize>() * self.draws.max(1) as usize;
        let specimen = |index: usize| {
            let mut random = Stream::new(seed, &format!("specimen {index}"));
            let mut rest = index / self.draws.max(1) as usize;
            let mut values = [0.0; 8];
            for ((value, range), count) in values.iter_mut().zip(ranges).zip(counts) {
                *value = range.value(rest % count, &mut random);
                rest /= count;
            }
            let network = self.network(values);
            let (duration, repairs) = (self.duration, self.repairs());
            let origin = Origin { draw: seed, index, beside: None };
            Specimen { network, duration, seed: random.next_u64(), repairs, origin }
        };
        (0..all).map(specimen).collect()
    }
}
