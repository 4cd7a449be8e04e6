//! A queue of plain values in a ring whose size is a power of two.
//!
//! Packets pass through such queues by the million. An index is a mask away here, and a value is
//! written and read in place, where the standard library's deque costs three times as many
//! instructions.

/// A first-in, first-out queue of values that are copied.
#[derive(Clone, Debug)]
pub(crate) struct Ring<T> {
    /// Empty, or a power of two of places.
    places: Vec<T>,
    /// Values taken and values put since the start; wrapping.
    head: usize,
    tail: usize,
}

impl<T: Copy> Ring<T> {
    /// An empty queue, which allocates nothing.
    pub(crate) fn new() -> Ring<T> {
        Ring { places: Vec::new(), head: 0, tail: 0 }
    }

    /// Takes the memory of a queue that is not needed any more; this one must be empty.
    pub(crate) fn take_memory(&mut self, other: &mut Ring<T>) {
        std::mem::swap(&mut self.places, &mut other.places);
        (self.head, self.tail) = (0, 0);
        (other.head, other.tail) = (0, 0);
    }

    /// Values held.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.tail.wrapping_sub(self.head)
    }

    /// True if none is held.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    #[inline]
    fn place(&self, at: usize) -> usize {
        at & self.places.len().wrapping_sub(1)
    }

    /// The value `index` places behind the oldest.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        if index >= self.len() {
            return None;
        }
        self.places.get(self.place(self.head.wrapping_add(index)))
    }

    /// The oldest value.
    #[inline]
    pub(crate) fn front(&self) -> Option<&T> {
        if self.is_empty() { None } else { self.places.get(self.place(self.head)) }
    }

    /// Changes each value, from the oldest on.
    pub(crate) fn for_each_mut(&mut self, mut change: impl FnMut(&mut T)) {
        for index in 0..self.len() {
            let at = self.place(self.head.wrapping_add(index));
            if let Some(value) = self.places.get_mut(at) {
                change(value);
            }
        }
    }

    /// Takes the oldest value; returns it, where it still stands, and the one that is the oldest now.
    #[inline(always)]
    pub(crate) fn take_front(&mut self) -> Option<(&T, Option<&T>)> {
        if self.is_empty() {
            return None;
        }
        let at = self.place(self.head);
        self.head = self.head.wrapping_add(1);
        Some((self.places.get(at)?, self.front()))
    }

    /// Adds a value: `write` writes it into its place, which holds `filler` or an old value. A value
    /// that is built first and then copied costs twice.
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

    /// Doubles the places; `filler` stands in the new ones.
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
