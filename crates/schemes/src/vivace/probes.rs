//! The probes of the program of the paper's evaluation: pairs of intervals, one above and one below
//! a rate.

use paceline_cc::Stream;

use super::monitor::Summary;

/// The result of an interval at a rate.
#[derive(Copy, Clone, Debug)]
pub(super) struct IntervalResult {
    /// Sending rate in megabits (2²⁰) per second.
    pub(super) sent: f64,
    pub(super) gradient: f64,
    /// Number of packets with a known fate, and number of lost packets among these.
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

/// One or two pairs of probes; the two rates of a pair are equally far above and below the base.
#[derive(Clone, Debug, Default)]
pub(super) struct Probes {
    pub(super) all: [Option<Probe>; 4],
    /// Number of probes that have begun.
    begun: usize,
}

/// The combined results of all probes.
#[derive(Copy, Clone, Debug)]
pub(super) struct Comparison {
    /// Number of pairs whose upper probe had the higher utility, minus the number of the other
    /// pairs.
    pub(super) vote: i32,
    /// Rate and mean utility of the upper probes, and of the lower ones.
    pub(super) up: (f64, f64),
    pub(super) down: (f64, f64),
    /// Numbers of packets lost in upper and in lower probes, and the total share of lost packets.
    pub(super) lost_up: f64,
    pub(super) lost_down: f64,
    pub(super) loss: f64,
}

impl Probes {
    /// Draws `pairs` pairs around `base`, a share of `epsilon` above and below it, each pair in
    /// random order.
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

    /// Begins interval `number`. Returns the rate of the next probe, if there is one.
    pub(super) fn begin(&mut self, number: u64) -> Option<f64> {
        let probe = self.all.get_mut(self.begun).and_then(Option::as_mut)?;
        probe.number = Some(number);
        self.begun += 1;
        Some(probe.rate)
    }

    /// Takes in the result of an interval. Returns whether that was a probe.
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

    /// Compares the probes, once the results of all are known. `worth` returns the utility of a
    /// result, given the share of lost packets of all probes.
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
