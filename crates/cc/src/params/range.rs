//! The values that a parameter may have: intervals with or without their end points.

use std::ops::{Bound, Range, RangeFrom, RangeInclusive, RangeToInclusive};

use super::ParamValue;
use crate::units::{Rate, Span};

/// A parameter type whose values are ordered, so that they can have a range.
pub trait RangedValue: ParamValue + PartialOrd + Clone {
    /// Returns the smallest larger value that users can write; `None` if there is none.
    fn next_up(&self) -> Option<Self>;
    /// Returns the largest smaller value that users can write; `None` if there is none.
    fn next_down(&self) -> Option<Self>;
}

impl RangedValue for f64 {
    fn next_up(&self) -> Option<f64> {
        Some(f64::next_up(*self)).filter(|next| next.is_finite())
    }
    fn next_down(&self) -> Option<f64> {
        Some(f64::next_down(*self)).filter(|next| next.is_finite())
    }
}

macro_rules! whole_numbers {
    ($($type:ty),*) => { $(
        impl RangedValue for $type {
            fn next_up(&self) -> Option<$type> {
                self.checked_add(1)
            }
            fn next_down(&self) -> Option<$type> {
                self.checked_sub(1)
            }
        }
    )* };
}
whole_numbers!(u32, u64);

impl RangedValue for Span {
    fn next_up(&self) -> Option<Span> {
        self.as_nanos().checked_add(1).map(Span::from_nanos)
    }
    fn next_down(&self) -> Option<Span> {
        self.as_nanos().checked_sub(1).map(Span::from_nanos)
    }
}

impl RangedValue for Rate {
    fn next_up(&self) -> Option<Rate> {
        self.as_bps().checked_add(1).map(Rate::from_bps)
    }
    fn next_down(&self) -> Option<Rate> {
        self.as_bps().checked_sub(1).map(Rate::from_bps)
    }
}

/// The values that a parameter may have: one interval, or several ([`ParamRange::or`]).
///
/// Rust's ranges convert into such ranges: `1..=10_000`, `0.0..1.0`, `64..`. An interval without
/// its lower end point begins with [`above`].
#[derive(Clone, Debug, PartialEq)]
pub struct ParamRange<T> {
    intervals: Vec<(Bound<T>, Bound<T>)>,
}

/// Returns the values above `low`, excluding `low`.
pub fn above<T>(low: T) -> ParamRange<T> {
    ParamRange { intervals: vec![(Bound::Excluded(low), Bound::Unbounded)] }
}

/// Returns the values of a Rust range, for use with [`ParamRange::or`].
pub fn within<T>(range: impl Into<ParamRange<T>>) -> ParamRange<T> {
    range.into()
}

impl<T> ParamRange<T> {
    /// Ends the last interval at `high`, inclusive.
    #[must_use]
    pub fn up_to(mut self, high: T) -> ParamRange<T> {
        if let Some((_, end)) = self.intervals.last_mut() {
            *end = Bound::Included(high);
        }
        self
    }

    /// Ends the last interval before `high`, exclusive.
    #[must_use]
    pub fn below(mut self, high: T) -> ParamRange<T> {
        if let Some((_, end)) = self.intervals.last_mut() {
            *end = Bound::Excluded(high);
        }
        self
    }

    /// Adds the values of another range.
    #[must_use]
    pub fn or(mut self, other: impl Into<ParamRange<T>>) -> ParamRange<T> {
        self.intervals.extend(other.into().intervals);
        self
    }
}

impl<T: RangedValue> ParamRange<T> {
    /// Returns true if the parameter may have this value.
    pub fn contains(&self, value: &T) -> bool {
        self.intervals.iter().any(|(low, high)| {
            let above_low = match low {
                Bound::Included(low) => value >= low,
                Bound::Excluded(low) => value > low,
                Bound::Unbounded => true,
            };
            let below_high = match high {
                Bound::Included(high) => value <= high,
                Bound::Excluded(high) => value < high,
                Bound::Unbounded => true,
            };
            above_low && below_high
        })
    }

    /// Returns the range in words, with the unit: `1 to 10000 packets`, `64 or more bytes`.
    pub fn describe(&self, unit: &str) -> String {
        let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
        let words: Vec<String> =
            self.intervals.iter().map(|(low, high)| describe_interval(low, high, &unit)).collect();
        words.join(", or ")
    }

    /// Returns the values at the ends of the intervals, and their neighbours outside the range.
    pub fn edges(&self) -> Edges {
        let mut edges = Edges::default();
        for (low, high) in &self.intervals {
            self.note(&mut edges, low, T::next_up, T::next_down);
            self.note(&mut edges, high, T::next_down, T::next_up);
        }
        edges
    }

    /// Adds one end of an interval to `edges`; `inwards` and `outwards` return its neighbours.
    fn note(
        &self,
        edges: &mut Edges,
        end: &Bound<T>,
        inwards: impl Fn(&T) -> Option<T>,
        outwards: impl Fn(&T) -> Option<T>,
    ) {
        let (inside, outside) = match end {
            Bound::Included(end) => (Some(end.clone()), outwards(end)),
            Bound::Excluded(end) => (inwards(end), Some(end.clone())),
            Bound::Unbounded => (None, None),
        };
        edges.inside.extend(inside.map(|value| value.show()));
        let outside = outside.filter(|value| !self.contains(value));
        edges.outside.extend(outside.map(|value| value.show()));
    }
}

fn describe_interval<T: RangedValue>(low: &Bound<T>, high: &Bound<T>, unit: &str) -> String {
    match (low, high) {
        (Bound::Included(low), Bound::Included(high)) if low == high => {
            format!("{}{unit}", low.show())
        }
        (Bound::Included(low), Bound::Included(high)) => {
            format!("{} to {}{unit}", low.show(), high.show())
        }
        (Bound::Included(low), Bound::Excluded(high)) => {
            format!("{} to less than {}{unit}", low.show(), high.show())
        }
        (Bound::Included(low), Bound::Unbounded) => format!("{} or more{unit}", low.show()),
        (Bound::Excluded(low), Bound::Included(high)) => {
            format!("more than {}, up to {}{unit}", low.show(), high.show())
        }
        (Bound::Excluded(low), Bound::Excluded(high)) => {
            format!("more than {}, less than {}{unit}", low.show(), high.show())
        }
        (Bound::Excluded(low), Bound::Unbounded) => format!("more than {}{unit}", low.show()),
        (Bound::Unbounded, Bound::Included(high)) => format!("up to {}{unit}", high.show()),
        (Bound::Unbounded, Bound::Excluded(high)) => format!("less than {}{unit}", high.show()),
        (Bound::Unbounded, Bound::Unbounded) => format!("any {}", T::KIND),
    }
}

/// Values at the edges of a range, as users write them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edges {
    /// The outermost allowed values.
    pub inside: Vec<String>,
    /// The nearest refused values.
    pub outside: Vec<String>,
}

impl<T> From<RangeInclusive<T>> for ParamRange<T> {
    fn from(range: RangeInclusive<T>) -> ParamRange<T> {
        let (low, high) = range.into_inner();
        ParamRange { intervals: vec![(Bound::Included(low), Bound::Included(high))] }
    }
}

impl<T> From<Range<T>> for ParamRange<T> {
    fn from(range: Range<T>) -> ParamRange<T> {
        ParamRange { intervals: vec![(Bound::Included(range.start), Bound::Excluded(range.end))] }
    }
}

impl<T> From<RangeFrom<T>> for ParamRange<T> {
    fn from(range: RangeFrom<T>) -> ParamRange<T> {
        ParamRange { intervals: vec![(Bound::Included(range.start), Bound::Unbounded)] }
    }
}

impl<T> From<RangeToInclusive<T>> for ParamRange<T> {
    fn from(range: RangeToInclusive<T>) -> ParamRange<T> {
        ParamRange { intervals: vec![(Bound::Unbounded, Bound::Included(range.end))] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(inside: &[&str], outside: &[&str]) -> Edges {
        let texts = |list: &[&str]| list.iter().map(|text| (*text).to_string()).collect();
        Edges { inside: texts(inside), outside: texts(outside) }
    }

    #[test]
    fn closed_ranges_have_both_ends() {
        let range = ParamRange::from(1..=10_000u32);
        assert!(range.contains(&1) && range.contains(&10_000));
        assert!(!range.contains(&0) && !range.contains(&10_001));
        assert_eq!(range.describe("packets"), "1 to 10000 packets");
        assert_eq!(range.edges(), edges(&["1", "10000"], &["0", "10001"]));
    }

    #[test]
    fn open_ends_do_not_belong_to_a_range() {
        let range = above(0.0).below(1.0);
        assert!(range.contains(&f64::MIN_POSITIVE) && range.contains(&0.999));
        assert!(!range.contains(&0.0) && !range.contains(&1.0));
        assert_eq!(range.describe(""), "more than 0, less than 1");
        assert_eq!(range.edges().outside, ["0", "1"]);
        assert_eq!(above(0.0).up_to(1.5).describe(""), "more than 0, up to 1.5");
        assert_eq!(ParamRange::from(0.0..1.0).describe(""), "0 to less than 1");
    }

    #[test]
    fn ranges_without_an_end_say_so() {
        assert_eq!(ParamRange::from(64u32..).describe("bytes"), "64 or more bytes");
        assert_eq!(ParamRange::from(..=Span::from_secs(1)).describe(""), "up to 1s");
        assert_eq!(above(Span::ZERO).describe(""), "more than 0s");
        // No value below 0 or above the largest number can be written by users.
        assert_eq!(ParamRange::from(0..=u32::MAX).edges(), edges(&["0", "4294967295"], &[]));
    }

    #[test]
    fn several_intervals_are_one_range() {
        let off = Span::ZERO..=Span::ZERO;
        let range = within(Span::from_millis(1)..=Span::from_secs(10)).or(off);
        assert!(range.contains(&Span::ZERO) && range.contains(&Span::from_secs(10)));
        assert!(!range.contains(&Span::from_micros(999)));
        assert_eq!(range.describe(""), "1ms to 10s, or 0s");
        let outside = ["999999ns", "10000000001ns", "1ns"];
        assert_eq!(range.edges(), edges(&["1ms", "10s", "0s", "0s"], &outside));
    }

    #[test]
    fn values_that_are_no_numbers_are_in_no_range() {
        assert!(!ParamRange::from(0.0..=1.0).contains(&f64::NAN));
    }
}
