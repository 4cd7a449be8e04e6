//! When each sender next acts without an acknowledgement.

use paceline_cc::Time;

/// Number of senders per group. The minimum of a group is computed without a loop.
const GROUP: usize = 8;

/// The wake-up times of senders. Of equal times, the sender with the lowest number comes first.
#[derive(Clone)]
pub(super) struct Wakeups {
    groups: Vec<Group>,
    earliest: Time,
}

#[derive(Copy, Clone)]
struct Group {
    times: [Time; GROUP],
    earliest: Time,
}

impl Wakeups {
    /// Creates wake-ups for `senders` senders, all at [`Time::NEVER`].
    pub(super) fn new(senders: usize) -> Wakeups {
        let idle = Group { times: [Time::NEVER; GROUP], earliest: Time::NEVER };
        Wakeups { groups: vec![idle; senders.div_ceil(GROUP).max(1)], earliest: Time::NEVER }
    }

    /// Returns the earliest wake-up; [`Time::NEVER`] if there is none.
    #[inline(always)]
    pub(super) fn earliest(&self) -> Time {
        self.earliest
    }

    /// Returns the sender with the earliest wake-up.
    #[inline]
    pub(super) fn first(&self) -> usize {
        let is_earliest = |group: &Group| group.earliest == self.earliest;
        let group = self.groups.iter().position(is_earliest).unwrap_or(0);
        let times = &self.groups[group].times;
        let place = times.iter().position(|&time| time == self.earliest).unwrap_or(0);
        group * GROUP + place
    }

    /// Sets the wake-up of a sender.
    #[inline]
    pub(super) fn set(&mut self, sender: usize, time: Time) {
        let group = &mut self.groups[sender / GROUP];
        group.times[sender % GROUP] = time;
        let [a, b, c, d, e, f, g, h] = group.times;
        group.earliest = a.min(b).min(c.min(d)).min(e.min(f).min(g.min(h)));
        self.earliest =
            self.groups.iter().fold(Time::NEVER, |earliest, group| earliest.min(group.earliest));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_a_plain_minimum() {
        let mut random = paceline_cc::Stream::new(1, "wakeups");
        for senders in [1usize, 2, 7, 8, 9, 16, 33] {
            let mut wakeups = Wakeups::new(senders);
            let mut plain = vec![Time::NEVER; senders];
            for _ in 0..3000 {
                let sender = random.below(senders as u64) as usize;
                let time = match random.below(4) {
                    0 => Time::NEVER,
                    _ => Time::from_nanos(random.below(50)),
                };
                wakeups.set(sender, time);
                plain[sender] = time;
                let earliest = plain.iter().copied().min().unwrap_or(Time::NEVER);
                assert_eq!(wakeups.earliest(), earliest);
                if earliest != Time::NEVER {
                    assert_eq!(plain.iter().position(|&at| at == earliest), Some(wakeups.first()));
                }
            }
        }
    }
}
