//! A queue of values in a ring whose size is a power of two.
//!
//! Every packet passes through such queues. Here an index needs only a mask, and values are written
//! and read in place; the standard library's deque needs three times as many instructions.

/// A first-in, first-out queue of values that are copied.
#[derive(Clone, Debug)]
pub(crate) struct Ring<T> {
    /// Empty, or a power of two of places.
    places: Vec<T>,
    /// Number of values taken and number of values added since the start; wrapping.
    head: usize,
    tail: usize,
}

impl<T: Copy> Ring<T> {
    /// Creates an empty queue, without an allocation.
    pub(crate) fn new() -> Ring<T> {
        Ring { places: Vec::new(), head: 0, tail: 0 }
    }

    /// Returns the number of values.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.tail.wrapping_sub(self.head)
    }

    /// Returns true if there is no value.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    #[inline]
    fn place(&self, at: usize) -> usize {
        at & self.places.len().wrapping_sub(1)
    }

    /// Returns the value `index` places after the oldest.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        if index >= self.len() {
            return None;
        }
        self.places.get(self.place(self.head.wrapping_add(index)))
    }

    /// Returns the oldest value.
    #[inline]
    pub(crate) fn front(&self) -> Option<&T> {
        if self.is_empty() { None } else { self.places.get(self.place(self.head)) }
    }

    /// Changes each value, oldest first.
    pub(crate) fn for_each_mut(&mut self, mut change: impl FnMut(&mut T)) {
        for index in 0..self.len() {
            let at = self.place(self.head.wrapping_add(index));
            if let Some(value) = self.places.get_mut(at) {
                change(value);
            }
        }
    }

    /// Removes the oldest value. Returns a reference to it in its place, and one to the value that
    /// is now the oldest.
    #[inline(always)]
    pub(crate) fn take_front(&mut self) -> Option<(&T, Option<&T>)> {
        if self.is_empty() {
            return None;
        }
        let at = self.place(self.head);
        self.head = self.head.wrapping_add(1);
        Some((self.places.get(at)?, self.front()))
    }

    /// Adds a value. `write` writes it into its place, which contains `filler` or an old value:
    /// faster than building a value and copying it.
    #[inline(always)]
    pub(crate) fn push_with(&mut self, filler: impl FnOnce() -> T, write: impl FnOnce(&mut T)) {
        if self.len() == self.places.len() {
            self.grow(filler());
        }
        let at = self.place(self.tail);
        if let Some(place) = self.places.get_mut(at) {
            write(place);
            self.tail = self.tail.wrapping_add(1);
        }
    }

    /// Doubles the number of places; the new ones contain `filler`.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, filler: T) {
        let len = self.len();
        let mut places = Vec::with_capacity((2 * len).max(4));
        places.extend((0..len).map(|index| self.get(index).copied().unwrap_or(filler)));
        places.resize((2 * len).max(4), filler);
        self.places = places;
        (self.head, self.tail) = (0, len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    #[test]
    fn matches_a_deque() {
        let mut random = paceline_cc::Stream::new(1, "ring");
        let mut ring = Ring::new();
        let mut deque = VecDeque::new();
        for value in 0..20_000u64 {
            match random.below(8) {
                0..4 => {
                    ring.push_with(|| value, |place| *place = value);
                    deque.push_back(value);
                }
                4..6 => {
                    let taken = ring.take_front().map(|(taken, next)| (*taken, next.copied()));
                    let expected = deque.pop_front().map(|taken| (taken, deque.front().copied()));
                    assert_eq!(taken, expected);
                }
                _ => {}
            }
            assert_eq!((ring.len(), ring.is_empty()), (deque.len(), deque.is_empty()));
            assert_eq!(ring.front(), deque.front());
            let index = random.below(20) as usize;
            assert_eq!(ring.get(index), deque.get(index));
            if value % 1000 == 0 {
                ring.for_each_mut(|value| *value += 7);
                deque.iter_mut().for_each(|value| *value += 7);
            }
        }
    }
}
