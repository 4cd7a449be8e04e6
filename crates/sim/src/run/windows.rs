//! Fairness in windows of one second.

use paceline_cc::{Span, Time};

use crate::metrics::jain;

/// The length of a window.
const WINDOW: Span = Span::from_secs(1);

/// The time in which a flow is meant to be active.
#[derive(Copy, Clone, Debug)]
pub(super) struct ActiveTime {
    pub(super) start: Time,
    pub(super) stop: Time,
    /// True if it sends a transfer of a given size and then ends.
    pub(super) finite: bool,
}

/// Jain's index over windows of a second, which begin at the end of the warm-up. In a window, those
/// flows count that are meant to be active during all of it: they have begun before, stop later,
/// and have not finished a transfer of a given size. Windows with fewer than two such flows do not
/// count, nor windows in which none of them receives data.
#[derive(Debug)]
pub(super) struct Windows {
    flows: Vec<ActiveTime>,
    /// Start of the current window; `None` during the warm-up.
    begin: Option<Time>,
    /// Each flow's goodput until then.
    before: Vec<u64>,
    /// Shares in the current window; the memory is reused.
    shares: Vec<f64>,
    sum: f64,
    count: u32,
}

impl Windows {
    /// Creates the windows of these flows, in the scenario's order.
    pub(super) fn new(flows: Vec<ActiveTime>) -> Windows {
        let count = flows.len();
        Windows {
            flows,
            begin: None,
            before: vec![0; count],
            shares: Vec::with_capacity(count),
            sum: 0.0,
            count: 0,
        }
    }

    /// Begins the first window at `now`, the end of the warm-up. `of` returns a flow's goodput so
    /// far, by its number.
    pub(super) fn open(&mut self, now: Time, of: impl Fn(usize) -> u64) {
        if self.flows.len() >= 2 {
            self.begin = Some(now);
            self.before.iter_mut().enumerate().for_each(|(flow, before)| *before = of(flow));
        }
    }

    /// Returns the end of the current window, if there is one.
    pub(super) fn edge(&self) -> Option<Time> {
        self.begin.map(|begin| begin + WINDOW)
    }

    /// Ends the current window. `of` returns a flow's goodput so far, and whether it has finished a
    /// transfer.
    pub(super) fn close(&mut self, of: impl Fn(usize) -> (u64, bool)) {
        let Some(begin) = self.begin else { return };
        let end = begin + WINDOW;
        self.shares.clear();
        for (number, (flow, before)) in self.flows.iter().zip(&mut self.before).enumerate() {
            let (goodput, finished) = of(number);
            let share = goodput.saturating_sub(*before) as f64;
            *before = goodput;
            let active = flow.start <= begin && flow.stop >= end;
            if active && !(flow.finite && finished) {
                self.shares.push(share);
            }
        }
        if self.shares.len() >= 2 && self.shares.iter().any(|share| *share > 0.0) {
            self.sum += jain(&self.shares);
            self.count += 1;
        }
        self.begin = Some(end);
    }

    /// Returns the mean over the windows that count; `None` if there are none.
    pub(super) fn jain(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three flows: the second starts at 1.5 s, the third stops at 3 s.
    fn three() -> Vec<ActiveTime> {
        let flow = |start, stop| ActiveTime { start, stop, finite: false };
        vec![
            flow(Time::ZERO, Time::NEVER),
            flow(Time::from_millis(1500), Time::NEVER),
            flow(Time::ZERO, Time::from_secs(3)),
        ]
    }

    #[test]
    fn only_flows_active_throughout_count() {
        let mut windows = Windows::new(three());
        assert_eq!(windows.edge(), None);
        windows.open(Time::ZERO, |_| 100);
        let goodputs = [[200, 100, 200], [300, 400, 500], [400, 500, 500], [500, 500, 900]];
        let mut means = Vec::new();
        for goodput in goodputs {
            windows.close(|flow| (goodput[flow], false));
            means.push(windows.jain());
        }
        // Jain's index of the shares (100, -, 100), (100, -, 300), (100, 100, 0) and (100, 0, -).
        let each = [1.0, 0.8, 2.0 / 3.0, 0.5];
        for (at, mean) in means.into_iter().enumerate() {
            let expected = each[..=at].iter().sum::<f64>() / (at + 1) as f64;
            assert!((mean.expect("a mean") - expected).abs() < 1e-12, "{at}: {mean:?}");
        }
        assert_eq!(windows.edge(), Some(Time::from_secs(5)));
    }

    #[test]
    fn windows_without_rivals_or_goodput_do_not_count() {
        let mut windows = Windows::new(three());
        windows.open(Time::ZERO, |_| 0);
        windows.close(|_| (0, false));
        assert_eq!(windows.jain(), None);
        let mut alone = Windows::new(three()[..1].to_vec());
        alone.open(Time::ZERO, |_| 0);
        assert_eq!(alone.edge(), None);
        let mut flows = three();
        flows[2].finite = true;
        let mut finished = Windows::new(flows);
        finished.open(Time::ZERO, |_| 0);
        finished.close(|flow| (100, flow == 2));
        assert_eq!(finished.jain(), None);
    }
}
