//! The wake-up times of all stages.

use paceline_cc::Time;

/// Maximum number of carriers in the row, which is searched linearly. For a few, that is faster
/// than a tree.
const FEW: usize = 8;

/// Length of the row: a few carriers, the minimum of the other carriers' tree, and that of the
/// endpoints' tree.
const ROW: usize = FEW + 2;

/// The wake-up times of all stages. Of equal times, the stage with the lower number comes first.
///
/// The first stages are carriers, whose wake-ups change with every packet. The first few of them
/// have places in a row, the others are in a tree of minima. A second tree has the endpoints, whose
/// timers rarely change. The minimum of each tree is also in the row, after the carriers.
#[derive(Debug)]
pub(crate) struct Timetable {
    row: [Time; ROW],
    /// Number of used places of the row; the others are [`Time::NEVER`].
    used: usize,
    carriers: Tree,
    endpoints: Tree,
    /// Number of the first endpoint.
    border: usize,
    /// Number of carriers in the row: all, or [`FEW`].
    row_carriers: usize,
}

impl Timetable {
    /// Creates a timetable of idle stages: first the carriers, then the endpoints.
    pub(crate) fn new(carriers: usize, endpoints: usize) -> Timetable {
        Timetable {
            row: [Time::NEVER; ROW],
            used: if carriers > FEW { ROW } else { carriers + 1 },
            carriers: Tree::new(carriers.saturating_sub(FEW)),
            endpoints: Tree::new(endpoints),
            border: carriers,
            row_carriers: carriers.min(FEW),
        }
    }

    /// Adds `more` idle endpoints.
    pub(crate) fn add_endpoints(&mut self, endpoints: usize, more: usize) {
        let mut tree = Tree::new(endpoints + more);
        for stage in 0..endpoints {
            tree.set(stage, self.endpoints.get(stage));
        }
        self.endpoints = tree;
    }

    /// Returns the earliest wake-up and its stage.
    #[inline(always)]
    pub(crate) fn first(&self) -> (Time, usize) {
        // Unused places are never due, so that a fixed number of places is compared: the compiler
        // unrolls these comparisons.
        let (earliest, first) = match self.used {
            // A link, a delay and the tree of endpoints, as in most scenarios with one bottleneck.
            // One comparison costs 5 instructions, twice per packet.
            ..=3 => least::<3>(&self.row),
            4 => least::<4>(&self.row),
            _ => least::<ROW>(&self.row),
        };
        if first < self.row_carriers {
            return (earliest, first);
        }
        (earliest, self.first_of_trees(first))
    }

    /// Returns the first stage of the tree whose minimum has this place in the row.
    #[inline(never)]
    fn first_of_trees(&self, place: usize) -> usize {
        if place + 1 == self.used {
            self.border + self.endpoints.first()
        } else {
            FEW + self.carriers.first()
        }
    }

    /// Sets the wake-up of a carrier.
    #[inline]
    pub(crate) fn set_carrier(&mut self, stage: usize, time: Time) {
        if stage < FEW {
            self.row[stage] = time;
        } else {
            self.carriers.set(stage - FEW, time);
            self.row[FEW] = self.carriers.earliest();
        }
    }

    /// Sets the wake-up of an endpoint.
    #[inline]
    pub(crate) fn set_endpoint(&mut self, stage: usize, time: Time) {
        self.endpoints.set(stage - self.border, time);
        self.row[self.used - 1] = self.endpoints.earliest();
    }
}

/// Returns the earliest of the first `N` times, and its index.
#[inline(always)]
fn least<const N: usize>(row: &[Time; ROW]) -> (Time, usize) {
    let (mut earliest, mut first) = (row[0], 0);
    for (at, &time) in row[..N].iter().enumerate().skip(1) {
        if time < earliest {
            (earliest, first) = (time, at);
        }
    }
    (earliest, first)
}

/// A binary tree: entry 1 is the root, the children of `n` are `2 n` and `2 n + 1`, and the second
/// half are the stages. Every inner entry is the minimum of its children.
#[derive(Debug)]
struct Tree {
    times: Vec<Time>,
}

impl Tree {
    fn new(stages: usize) -> Tree {
        Tree { times: vec![Time::NEVER; 2 * stages.next_power_of_two().max(2)] }
    }

    #[inline]
    fn earliest(&self) -> Time {
        self.times[1]
    }

    fn get(&self, stage: usize) -> Time {
        self.times.get(self.times.len() / 2 + stage).copied().unwrap_or(Time::NEVER)
    }

    #[inline]
    fn first(&self) -> usize {
        let times = &self.times[..];
        let leaves = times.len() / 2;
        let earliest = times[1];
        let mut at = 1;
        while at < leaves {
            at *= 2;
            at += usize::from(times[at] != earliest);
        }
        at - leaves
    }

    #[inline]
    fn set(&mut self, stage: usize, time: Time) {
        let times = &mut self.times[..];
        let mut at = times.len() / 2 + stage;
        if at >= times.len() || times[at] == time {
            return;
        }
        times[at] = time;
        let mut earlier = time;
        while at > 1 {
            earlier = earlier.min(times[at ^ 1]);
            at /= 2;
            if times[at] == earlier {
                return;
            }
            times[at] = earlier;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(table: &mut Timetable, stage: usize, time: Time) {
        match stage < table.border {
            true => table.set_carrier(stage, time),
            false => table.set_endpoint(stage, time),
        }
    }

    #[test]
    fn matches_a_plain_minimum() {
        let mut random = paceline_cc::Stream::new(1, "timetable");
        for stages in [1usize, 2, 3, 7, 12, 64, 100] {
            let carriers = random.below(stages as u64 + 1) as usize;
            let mut table = Timetable::new(carriers, stages - carriers);
            let mut plain = vec![Time::NEVER; stages];
            for _ in 0..5000 {
                let stage = random.below(stages as u64) as usize;
                let time = match random.below(4) {
                    0 => Time::NEVER,
                    _ => Time::from_nanos(random.below(50)),
                };
                set(&mut table, stage, time);
                plain[stage] = time;
                let earliest = plain.iter().copied().min().unwrap_or(Time::NEVER);
                assert_eq!(table.first().0, earliest);
                if earliest != Time::NEVER {
                    let first = plain.iter().position(|time| *time == earliest);
                    assert_eq!(first, Some(table.first().1));
                }
            }
        }
    }
}
