//! The largest or smallest of the recent values of a signal.

use std::marker::PhantomData;

/// Which of two values a filter prefers.
pub trait Preference {
    /// Returns true if `new` is at least as good as `old`.
    fn prefers<V: PartialOrd>(new: &V, old: &V) -> bool;
}

/// Prefers larger values.
#[derive(Copy, Clone, Debug)]
pub struct Largest;

/// Prefers smaller values.
#[derive(Copy, Clone, Debug)]
pub struct Smallest;

impl Preference for Largest {
    fn prefers<V: PartialOrd>(new: &V, old: &V) -> bool {
        new >= old
    }
}

impl Preference for Smallest {
    fn prefers<V: PartialOrd>(new: &V, old: &V) -> bool {
        new <= old
    }
}

/// The best value of a sliding window, in constant space and time: Kathleen Nichols' filter, which
/// keeps the best value and the best later ones from later parts of the window. When the best value
/// leaves the window, the next one is a value of the window, though not always its best.
///
/// The caller chooses the unit of time: round trips, nanoseconds, cycles. Time must not run
/// backwards.
#[derive(Clone, Debug)]
pub struct Windowed<V, P> {
    window: u64,
    /// The best and oldest value first, the newest last, each with its time.
    kept: Option<[(u64, V); 3]>,
    preference: PhantomData<P>,
}

/// The largest value of a sliding window.
pub type WindowedMax<V> = Windowed<V, Largest>;
/// The smallest value of a sliding window.
pub type WindowedMin<V> = Windowed<V, Smallest>;

impl<V: Copy + PartialOrd, P: Preference> Windowed<V, P> {
    /// Returns an empty filter; values older than `window` expire.
    pub fn new(window: u64) -> Windowed<V, P> {
        Windowed { window, kept: None, preference: PhantomData }
    }

    /// Returns the best value; `None` before the first.
    #[inline]
    pub fn get(&self) -> Option<V> {
        self.kept.map(|kept| kept[0].1)
    }

    /// Removes all values.
    pub fn clear(&mut self) {
        self.kept = None;
    }

    /// Adds a value, and returns the best of the window.
    pub fn update(&mut self, now: u64, value: V) -> V {
        let new = (now, value);
        let window = self.window;
        let old = |at: u64| now.saturating_sub(at);
        let kept = match &mut self.kept {
            Some(kept) if !P::prefers(&value, &kept[0].1) && old(kept[2].0) <= window => kept,
            restart => {
                *restart = Some([new; 3]);
                return value;
            }
        };
        if P::prefers(&value, &kept[1].1) {
            kept[1] = new;
            kept[2] = new;
        } else if P::prefers(&value, &kept[2].1) {
            kept[2] = new;
        }
        let age = old(kept[0].0);
        if age > window {
            // The next values move up.
            while old(kept[0].0) > window {
                *kept = [kept[1], kept[2], new];
            }
        } else if age > window / 4 && kept[1].0 == kept[0].0 {
            // No value from the window's later parts is kept yet.
            kept[1] = new;
            kept[2] = new;
        } else if age > window / 2 && kept[2].0 == kept[1].0 {
            kept[2] = new;
        }
        kept[0].1
    }
}

#[cfg(test)]
mod tests {
    use paceline_cc::Stream;

    use super::*;

    #[test]
    fn a_peak_is_remembered_for_the_window() {
        let mut filter = WindowedMax::new(10);
        filter.update(0, 100);
        for now in 1..=10 {
            assert_eq!(filter.update(now, 50), 100);
        }
        assert_eq!(filter.update(11, 50), 50);
        assert_eq!(filter.update(12, 60), 60);
        filter.clear();
        assert_eq!(filter.get(), None);
    }

    #[test]
    fn a_silence_longer_than_the_window_forgets_all() {
        let mut filter = WindowedMin::new(10);
        filter.update(0, 1);
        assert_eq!(filter.update(5, 2), 1);
        assert_eq!(filter.update(100, 9), 9);
    }

    #[test]
    fn the_result_is_between_the_newest_and_the_exact_best() {
        let mut random = Stream::new(3, "filter");
        let mut filter = WindowedMax::new(20);
        let mut all: Vec<(u64, u64)> = Vec::new();
        let mut now = 0;
        for _ in 0..5_000 {
            now += random.below(4);
            let value = random.below(1000);
            all.push((now, value));
            let best = filter.update(now, value);
            let exact = all.iter().filter(|(at, _)| now - at <= 20).map(|(_, value)| *value).max();
            assert!(best >= value && Some(best) <= exact, "{now}");
        }
    }
}
