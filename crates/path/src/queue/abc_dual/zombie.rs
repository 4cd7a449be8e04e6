//! Estimates numbers of flows by zombie lists.

use paceline_cc::Stream;

use super::{AbcDualParams, Side};

/// A list of recent flows, and the frequency with which arrivals hit it.
#[derive(Clone, Debug)]
struct ZombieList {
    flows: Vec<u32>,
    most: usize,
    /// Estimated probability that an arrival belongs to the same flow as a random entry: the sum of
    /// the squares of the flows' shares, 1/N for N equal flows.
    p: f64,
}

/// A list for each queue.
#[derive(Clone, Debug)]
pub(super) struct ZombieLists {
    lists: [ZombieList; 2],
    random: Stream,
    gain: f64,
    replace: f64,
}

impl ZombieLists {
    pub(super) fn new(params: &AbcDualParams, random: Stream) -> ZombieLists {
        let most = params.list as usize;
        let list = || ZombieList { flows: Vec::with_capacity(most), most, p: 0.0 };
        ZombieLists { lists: [list(), list()], random, gain: params.gain, replace: params.replace }
    }

    /// Notes that a packet of a flow has arrived at a queue.
    pub(super) fn arrived(&mut self, side: Side, flow: u32) {
        let list = &mut self.lists[side.index()];
        list.p *= 1.0 - self.gain;
        if list.flows.len() < list.most {
            list.flows.push(flow);
            list.p += self.gain;
            return;
        }
        let place = self.random.below(list.flows.len() as u64) as usize;
        let Some(entry) = list.flows.get_mut(place) else { return };
        if *entry == flow {
            list.p += self.gain;
        } else if self.random.chance(self.replace) {
            *entry = flow;
        }
    }

    /// Returns the estimated frequency of hits.
    pub(super) fn frequency(&self, side: Side) -> f64 {
        self.lists[side.index()].p
    }

    /// Returns the estimated number of flows of a queue, at least 1.
    pub(super) fn flows(&self, side: Side) -> f64 {
        let p = self.frequency(side);
        // A list that is empty or was never hit gives no estimate.
        if p > 1e-9 { (1.0 / p).max(1.0) } else { 1.0 }
    }

    /// Returns ABC's weight, at which average flows of both queues get equal rates.
    pub(super) fn weight(&self) -> f64 {
        let (abc, other) = (self.flows(Side::Abc), self.flows(Side::Other));
        abc / (abc + other)
    }
}
