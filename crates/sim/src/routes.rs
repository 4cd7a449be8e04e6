//! The routing tables of stages.

use std::collections::BTreeMap;

use paceline_cc::Packet;

/// The next stage, by stage and route.
#[derive(Debug)]
pub(crate) struct Routes {
    /// A row per stage: its offset in `next`, and a mask, which is zero for stages with a single
    /// route (endpoints, and pipes of one flow).
    rows: Vec<(u32, u32)>,
    next: Vec<u32>,
}

/// A route: from an endpoint over carriers to the other endpoint.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    pub(crate) from: usize,
    /// Number of its list of carriers. Many flows share one.
    pub(crate) carrier_list: usize,
    pub(crate) to: usize,
}

/// The different lists of carriers that routes use.
#[derive(Debug, Default)]
pub(crate) struct CarrierLists {
    pub(crate) lists: Vec<Vec<usize>>,
    numbers: BTreeMap<Vec<usize>, usize>,
}

impl CarrierLists {
    /// Returns the number of a list of carriers.
    pub(crate) fn number(&mut self, list: Vec<usize>) -> usize {
        if let Some(&number) = self.numbers.get(&list) {
            return number;
        }
        self.lists.push(list.clone());
        self.numbers.insert(list, self.lists.len() - 1);
        self.lists.len() - 1
    }
}

impl Routes {
    /// Creates the table of `routes`, whose numbers are their indices, over `carrier_lists`. There
    /// are `stages` stages, of which the first `carriers` are carriers.
    pub(crate) fn new(
        routes: &[Route],
        carrier_lists: &[Vec<usize>],
        carriers: usize,
        stages: usize,
    ) -> Routes {
        let mut users = vec![0u32; stages];
        for route in routes {
            users[route.from] += 1;
            carrier_lists[route.carrier_list].iter().for_each(|&stage| users[stage] += 1);
        }
        let mut rows = Vec::with_capacity(stages);
        let mut size = 0;
        for (stage, &users) in users.iter().enumerate() {
            let shared = stage < carriers && users > 1;
            rows.push((size as u32, if shared { u32::MAX } else { 0 }));
            size += if shared { routes.len() } else { 1 };
        }
        let mut next = vec![u32::MAX; size];
        for (number, route) in routes.iter().enumerate() {
            let mut at = route.from;
            for &stage in carrier_lists[route.carrier_list].iter().chain([&route.to]) {
                let (row, mask) = rows[at];
                next[(row + (number as u32 & mask)) as usize] = stage as u32;
                at = stage;
            }
        }
        Routes { rows, next }
    }

    /// Returns the next stage after stage `id`, which must have a single route: an endpoint.
    pub(crate) fn first(&self, id: usize) -> u32 {
        self.next[self.rows[id].0 as usize]
    }

    /// Returns the next stage of a packet after stage `id`.
    #[inline]
    pub(crate) fn next(&self, id: usize, packet: &Packet) -> usize {
        let (row, mask) = self.rows[id];
        self.next[(row + (packet.route & mask)) as usize] as usize
    }
}
