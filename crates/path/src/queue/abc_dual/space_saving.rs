//! Space-Saving: the largest flows of a stream, with a fixed number of counters.

/// A counter of one flow.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Counter {
    flow: u32,
    /// Bytes of the flow, overestimated by at most `error`.
    bytes: u64,
    error: u64,
}

/// Counts the bytes of flows. A flow without a counter takes over the smallest one, with its count.
/// So no flow's count is too small, and each flow with more than the total divided by the number of
/// counters has a counter (Metwally et al., 2005).
#[derive(Clone, Debug)]
pub(super) struct SpaceSaving {
    /// Largest first.
    counters: Vec<Counter>,
    most: usize,
}

impl SpaceSaving {
    /// Creates an empty set of at most `most` counters.
    pub(super) fn new(most: u32) -> SpaceSaving {
        let most = most as usize;
        SpaceSaving { counters: Vec::with_capacity(most), most }
    }

    /// Counts bytes of a flow.
    pub(super) fn count(&mut self, flow: u32, bytes: u64) {
        let known = self.counters.iter().position(|counter| counter.flow == flow);
        let place = known.unwrap_or_else(|| self.take_over(flow));
        let Some(counter) = self.counters.get_mut(place) else { return };
        counter.bytes += bytes;
        let counter = *counter;
        // Move it before all smaller ones, which are adjacent.
        let to = self.counters.iter().take(place).rposition(|above| above.bytes >= counter.bytes);
        let to = to.map_or(0, |above| above + 1);
        if let Some(passed) = self.counters.get_mut(to..=place) {
            passed.rotate_right(1);
        }
    }

    /// Assigns a counter to a flow that has none. Returns its index.
    fn take_over(&mut self, flow: u32) -> usize {
        if self.counters.len() < self.most {
            self.counters.push(Counter { flow, bytes: 0, error: 0 });
        } else if let Some(smallest) = self.counters.last_mut() {
            *smallest = Counter { flow, bytes: smallest.bytes, error: smallest.bytes };
        }
        self.counters.len().saturating_sub(1)
    }

    /// Returns a lower bound on the bytes of each of the `k` largest flows, in falling order of
    /// their counts.
    pub(super) fn top(&self, k: usize) -> impl Iterator<Item = u64> + '_ {
        self.counters.iter().take(k).map(|counter| counter.bytes - counter.error)
    }

    /// Multiplies all counts by `keep`.
    pub(super) fn age(&mut self, keep: f64) {
        if keep <= 0.0 {
            self.counters.clear();
        }
        for counter in &mut self.counters {
            let sure = ((counter.bytes - counter.error) as f64 * keep) as u64;
            counter.error = (counter.error as f64 * keep) as u64;
            counter.bytes = counter.error + sure;
        }
        // Rounding may have changed the order of almost equal counts.
        self.counters.sort_unstable_by_key(|counter| std::cmp::Reverse(counter.bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_cc::Stream;

    #[test]
    fn counts_are_exact_while_counters_last() {
        let mut counts = SpaceSaving::new(3);
        for (flow, bytes) in [(7, 100), (8, 300), (7, 250), (9, 10)] {
            counts.count(flow, bytes);
        }
        let order: Vec<_> = counts.counters.iter().map(|c| (c.flow, c.bytes, c.error)).collect();
        assert_eq!(order, [(7, 350, 0), (8, 300, 0), (9, 10, 0)]);
        assert_eq!(counts.top(2).collect::<Vec<_>>(), [350, 300]);
    }

    #[test]
    fn a_new_flow_takes_over_the_smallest_counter_with_its_count() {
        let mut counts = SpaceSaving::new(2);
        for (flow, bytes) in [(1, 500), (2, 200), (3, 50), (3, 300)] {
            counts.count(flow, bytes);
        }
        let order: Vec<_> = counts.counters.iter().map(|c| (c.flow, c.bytes, c.error)).collect();
        assert_eq!(order, [(3, 550, 200), (1, 500, 0)]);
        assert_eq!(counts.top(2).collect::<Vec<_>>(), [350, 500]);
    }

    /// Checks the paper's bounds on a stream of three large flows among thousands of small ones.
    #[test]
    fn bounds_hold_and_large_flows_are_found() {
        let mut random = Stream::new(3, "space saving");
        let (mut counts, mut truth) = (SpaceSaving::new(20), vec![0u64; 5000]);
        for _ in 0..50_000 {
            let flow = match random.below(10) {
                0..2 => 0,
                2..4 => 1,
                4 => 2,
                _ => 3 + random.below(4997),
            };
            let bytes = 40 + random.below(1460);
            truth[flow as usize] += bytes;
            counts.count(flow as u32, bytes);
        }
        let total: u64 = truth.iter().sum();
        assert_eq!(counts.counters.iter().map(|c| c.bytes).sum::<u64>(), total);
        assert!(counts.counters.is_sorted_by(|a, b| a.bytes >= b.bytes));
        for counter in &counts.counters {
            let bytes = truth[counter.flow as usize];
            assert!(counter.bytes >= bytes && counter.bytes - counter.error <= bytes);
            assert!(counter.error <= total / 20);
        }
        for (flow, &bytes) in truth.iter().enumerate().filter(|(_, bytes)| **bytes > total / 20) {
            let sure = counts.counters.iter().find(|c| c.flow as usize == flow);
            assert!(sure.is_some_and(|c| (c.bytes - c.error) as f64 > 0.95 * bytes as f64));
        }
    }

    #[test]
    fn ageing_keeps_a_part() {
        let mut counts = SpaceSaving::new(4);
        counts.count(1, 1000);
        counts.count(2, 400);
        counts.age(0.5);
        assert_eq!(counts.top(4).collect::<Vec<_>>(), [500, 200]);
        counts.age(0.0);
        assert_eq!(counts.top(4).count(), 0);
    }
}
