//! The largest or smallest of the recent values of a signal.

use std::marker::PhantomData;

/// Which of two values a filter prefers.
pub trait Preference {
    /// True if `new` is at least as good as `old`.
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
/// keeps the best value and the best ones after it, from the window's later parts. What it gives
/// when the best value leaves the window is a value of the window, though not always its best.
///
/// Time is whatever the user counts: round trips, nanoseconds, cycles. It must not run backwards.
#[derive(Clone, Debug)]
pub struct Windowed<V, P> {
    window: u64,
    /// From the best and oldest to the newest.
    kept: Option<[(u64, V); 3]>,
    preference: PhantomData<P>,
}

/// The largest value of a sliding window.
pub type WindowedMax<V> = Windowed<V, Largest>;
/// The smallest value of a sliding window.
pub type WindowedMin<V> = Windowed<V, Smallest>;

impl<V: Copy + PartialOrd, P: Preference> Windowed<V, P> {
    /// An empty filter; values older than `window` are forgotten.
    pub fn new(window: u64) -> Windowed<V, P> {
        Windowed { window, kept: None, preference: PhantomData }
    }

    /// The best value, if there was any.
    #[inline]
    pub fn get(&self) -> Option<V> {
        self.kept.map(|kept| kept[0].1)
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.kept = None;
    }

    /// Takes a value in, and returns the best of the window.
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
            // Those that follow move up.
            while old(kept[0].0) > window {
                *kept = [kept[1], kept[2], new];
            }
        } else if age > window / 4 && kept[1].0 == kept[0].0 {
            // Nothing is kept of the window's later parts yet.
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
