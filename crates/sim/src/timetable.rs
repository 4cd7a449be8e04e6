//! When each stage wants to be called next: a tournament tree over one wake-up time per stage.

use paceline_cc::Time;

/// The wake-up times of all stages. Ties go to the stage with the lower number.
#[derive(Debug)]
pub(crate) struct Timetable {
    /// Wake-up times, padded with `NEVER` to a power of two.
    times: Vec<Time>,
    /// `winners[n]` is the earliest leaf below inner node `n`; node 1 is the root.
    winners: Vec<u32>,
    leaves: usize,
}

impl Timetable {
    /// A table of `stages` stages, all idle.
    pub(crate) fn new(stages: usize) -> Timetable {
        let leaves = stages.next_power_of_two().max(2);
        let mut table =
            Timetable { times: vec![Time::NEVER; leaves], winners: vec![0; leaves], leaves };
        for node in (1..leaves).rev() {
            table.winners[node] = table.leftmost(node);
        }
        table
    }

    fn leftmost(&self, node: usize) -> u32 {
        let mut at = node;
        while at < self.leaves {
            at *= 2;
        }
        (at - self.leaves) as u32
    }

    /// The earliest wake-up and its stage.
    #[inline]
    pub(crate) fn first(&self) -> (Time, usize) {
        let stage = self.winners[1] as usize;
        (self.times[stage], stage)
    }

    /// The wake-up of a stage.
    #[inline]
    pub(crate) fn get(&self, stage: usize) -> Time {
        self.times[stage]
    }

    /// Sets the wake-up of a stage.
    #[inline]
    pub(crate) fn set(&mut self, stage: usize, time: Time) {
        self.times[stage] = time;
        let mut node = (self.leaves + stage) / 2;
        // The bottom level compares two leaves, the others two winners.
        let left = (2 * node - self.leaves) as u32;
        let mut winner = self.earlier(left, left + 1);
        loop {
            let old = std::mem::replace(&mut self.winners[node], winner);
            // If this stage neither won nor wins here, nothing changes above.
            if old == winner && old != stage as u32 {
                return;
            }
            if node == 1 {
                return;
            }
            let sibling = self.winners[node ^ 1];
            winner = if node & 1 == 0 {
                self.earlier(winner, sibling)
            } else {
                self.earlier(sibling, winner)
            };
            node /= 2;
        }
    }

    #[inline]
    fn earlier(&self, left: u32, right: u32) -> u32 {
        if self.times[right as usize] < self.times[left as usize] { right } else { left }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_a_plain_minimum() {
        let mut random = paceline_cc::Stream::new(1, "timetable");
        for stages in [1usize, 2, 3, 7, 64, 100] {
            let mut table = Timetable::new(stages);
            let mut plain = vec![Time::NEVER; stages];
            for _ in 0..5000 {
                let stage = random.below(stages as u64) as usize;
                let time = match random.below(4) {
                    0 => Time::NEVER,
                    _ => Time::from_nanos(random.below(50)),
                };
                table.set(stage, time);
                plain[stage] = time;
                let (time, stage) = table.first();
                let earliest = plain.iter().copied().min().unwrap_or(Time::NEVER);
                assert_eq!(time, earliest);
                if earliest != Time::NEVER {
                    assert_eq!(plain.iter().position(|t| *t == earliest), Some(stage));
                }
                assert_eq!(table.get(stage), time);
            }
        }
    }
}
