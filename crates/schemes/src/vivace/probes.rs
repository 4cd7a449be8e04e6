//! The probes of the program of the paper's evaluation: pairs of intervals above and below a rate.

use paceline_cc::Stream;

use super::monitor::Summary;

/// What an interval at a rate has shown.
#[derive(Copy, Clone, Debug)]
pub(super) struct IntervalResult {
    /// Megabits (2²⁰) per second that were sent.
    pub(super) sent: f64,
    pub(super) gradient: f64,
    /// Packets with a known fate, and of these lost ones.
    pub(super) total: f64,
    pub(super) lost: f64,
    /// The utility.
    pub(super) worth: f64,
}

/// An interval at a rate above or below the base.
#[derive(Copy, Clone, Debug)]
pub(super) struct Probe {
    pub(super) rate: f64,
    up: bool,
    number: Option<u64>,
    result: Option<IntervalResult>,
}

/// One or two pairs of probes; the members of a pair lie equally far above and below the base.
#[derive(Clone, Debug, Default)]
pub(super) struct Probes {
    pub(super) all: [Option<Probe>; 4],
    /// How many of them have begun.
    begun: usize,
}

/// What the results of all probes say together.
#[derive(Copy, Clone, Debug)]
pub(super) struct Comparison {
    /// Pairs whose upper probe was worth more, less those whose lower one was.
    pub(super) vote: i32,
    /// Rate and mean utility of the probes above, and of those below.
    pub(super) up: (f64, f64),
    pub(super) down: (f64, f64),
    /// Packets lost above and below, and the share of lost packets in all.
    pub(super) lost_up: f64,
    pub(super) lost_down: f64,
    pub(super) loss: f64,
}

impl Probes {
    /// Draws `pairs` pairs around `base`, a share of `epsilon` above and below, each in random
    /// order.
    pub(super) fn draw(&mut self, base: f64, epsilon: f64, pairs: usize, random: &mut Stream) {
        self.all = [None; 4];
        for at in 0..pairs {
            let up = random.chance(0.5);
            for (at, up) in [(2 * at, up), (2 * at + 1, !up)] {
                let share = if up { 1.0 + epsilon } else { 1.0 - epsilon };
                self.all[at] = Some(Probe { rate: base * share, up, number: None, result: None });
            }
        }
        self.begun = 0;
    }

    /// Interval `number` begins: the rate of the next probe, if there is one.
    pub(super) fn begin(&mut self, number: u64) -> Option<f64> {
        let probe = self.all.get_mut(self.begun).and_then(Option::as_mut)?;
        probe.number = Some(number);
        self.begun += 1;
        Some(probe.rate)
    }

    /// The result of an interval. Returns whether that was a probe.
    pub(super) fn record(&mut self, summary: &Summary, result: IntervalResult) -> bool {
        let number = Some(summary.number);
        match self.all.iter_mut().flatten().find(|probe| probe.number == number) {
            Some(probe) => {
                probe.result = Some(result);
                true
            }
            None => false,
        }
    }

    /// Compares the probes, if the results of all are known. `worth` gives the utility of a result
    /// with the share of lost packets of all probes.
    pub(super) fn compare(
        &self,
        worth: impl Fn(&IntervalResult, f64) -> f64,
    ) -> Option<Comparison> {
        let mut results = [(0.0, false, None); 4];
        let mut count = 0;
        for probe in self.all.iter().flatten() {
            results[count] = (probe.rate, probe.up, probe.result);
            count += 1;
        }
        let (mut lost, mut total) = (0.0, 0.0);
        let (mut lost_up, mut lost_down) = (0.0, 0.0);
        for (_, up, result) in &results[..count] {
            let result = (*result)?;
            lost += result.lost;
            total += result.total;
            *(if *up { &mut lost_up } else { &mut lost_down }) += result.lost;
        }
        let loss = lost / total.max(1.0);
        let worth = |at: usize| results[at].2.map_or(0.0, |result| worth(&result, loss));
        let (mut vote, mut up, mut down) = (0, (0.0, 0.0), (0.0, 0.0));
        for pair in 0..count / 2 {
            let (a, b) = (2 * pair, 2 * pair + 1);
            if worth(a) != worth(b) {
                vote += if (worth(a) > worth(b)) == results[a].1 { 1 } else { -1 };
            }
            for at in [a, b] {
                let side = if results[at].1 { &mut up } else { &mut down };
                *side = (results[at].0, side.1 + worth(at) * 2.0 / count as f64);
            }
        }
        Some(Comparison { vote, up, down, lost_up, lost_down, loss })
    }
}
