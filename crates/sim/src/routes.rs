//! Where packets go from each stage.

use paceline_cc::Packet;

/// For each stage and route, the next stage.
#[derive(Debug)]
pub(crate) struct Routes {
    /// A row for each stage: where it starts in `next`, and a mask that is zero for endpoints,
    /// from which all packets go the same way.
    rows: Vec<(u32, u32)>,
    next: Vec<u32>,
}

/// One route: from an endpoint over carriers to the other endpoint.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    pub(crate) from: usize,
    pub(crate) over: Vec<usize>,
    pub(crate) to: usize,
}

impl Routes {
    /// The table of `routes`, whose numbers are their places, among `stages` stages, of which the
    /// first `carriers` carry packets.
    pub(crate) fn new(routes: &[Route], carriers: usize, stages: usize) -> Routes {
        let width = routes.len();
        let mut next = vec![u32::MAX; carriers * width + stages - carriers];
        let mut rows: Vec<(u32, u32)> =
            (0..carriers).map(|stage| ((stage * width) as u32, u32::MAX)).collect();
        rows.extend(
            (carriers..stages).map(|stage| ((carriers * width + stage - carriers) as u32, 0)),
        );
        for (number, route) in routes.iter().enumerate() {
            let mut at = route.from;
            for &stage in route.over.iter().chain([&route.to]) {
                let (row, mask) = rows[at];
                next[(row + (number as u32 & mask)) as usize] = stage as u32;
                at = stage;
            }
        }
        Routes { rows, next }
    }

    /// Where a packet goes from stage `id`.
    #[inline]
    pub(crate) fn next(&self, id: usize, packet: &Packet) -> usize {
        let (row, mask) = self.rows[id];
        self.next[(row + (packet.route & mask)) as usize] as usize
    }
}
