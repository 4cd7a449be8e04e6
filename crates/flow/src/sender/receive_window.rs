//! The receiver's window: the most bytes beyond the last in-order one that it accepts.

use std::collections::VecDeque;

use super::Sender;
use crate::account::Sent;

/// A limited receive window, and the sizes of the segments that may be beyond the in-order data.
#[derive(Debug)]
pub(super) struct ReceiveWindow {
    bytes: u64,
    /// The segment after those that `ends` no longer has, and the bytes up to it.
    first: u64,
    start: u64,
    /// For each segment from `first` on, the bytes up to its end.
    ends: VecDeque<u64>,
}

impl ReceiveWindow {
    /// Returns a window of `bytes` bytes; `None` if that is no limit.
    pub(super) fn of(bytes: u64) -> Option<Box<ReceiveWindow>> {
        let ends = VecDeque::new();
        (bytes != u64::MAX).then(|| Box::new(ReceiveWindow { bytes, first: 0, start: 0, ends }))
    }

    fn end(&self) -> u64 {
        self.ends.back().copied().unwrap_or(self.start)
    }

    /// Returns true if a packet of `size` bytes fits into the window while all segments below
    /// `cumulative` have arrived. The first packet beyond them always fits.
    fn fits(&self, size: u64, cumulative: u64) -> bool {
        let end = self.end();
        let in_order = match cumulative.checked_sub(self.first + 1) {
            None => self.start,
            Some(at) => self.ends.get(at as usize).copied().unwrap_or(end),
        };
        end == in_order || end - in_order + size <= self.bytes
    }

    /// Notes a new segment of `size` bytes.
    fn on_new(&mut self, segment: u64, size: u64, cumulative: u64) {
        while self.first < cumulative
            && let Some(end) = self.ends.pop_front()
        {
            (self.first, self.start) = (self.first + 1, end);
        }
        if segment != self.first + self.ends.len() as u64 {
            // The first one of a connection.
            self.ends.clear();
            (self.first, self.start) = (segment, 0);
        }
        self.ends.push_back(self.end() + size);
    }
}

impl Sender {
    /// Returns true if the receiver accepts a further segment.
    #[inline]
    pub(super) fn is_taken(&self) -> bool {
        self.receive_window.is_none() || self.has_room()
    }

    #[inline(never)]
    fn has_room(&self) -> bool {
        let next = self.source.packet_bytes(self.source.ready().min(self.largest));
        let cumulative = self.account.cumulative();
        self.receive_window.as_ref().is_none_or(|window| window.fits(next, cumulative))
    }

    /// Takes the next `size` bytes of the workload.
    #[inline]
    pub(super) fn take_new(&mut self, size: u32) -> Sent {
        self.source.take(u64::from(size));
        let segment = self.account.next_segment();
        if let Some(window) = &mut self.receive_window {
            window.on_new(segment, u64::from(size), self.account.cumulative());
        }
        Sent::segment(segment, size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_count_with_their_sizes() {
        let mut window = ReceiveWindow::of(3000).expect("a limit");
        assert!(window.fits(9000, 0), "the first one fits always");
        for segment in 0..10 {
            assert!(window.fits(200, 0));
            window.on_new(segment, 200, 0);
        }
        assert!(window.fits(1000, 0) && !window.fits(1001, 0));
        window.on_new(10, 1000, 0);
        assert!(!window.fits(1, 0));
        // Five of 200 bytes have arrived.
        assert!(window.fits(1000, 5) && !window.fits(1001, 5));
        window.on_new(11, 1000, 5);
        assert_eq!((window.first, window.ends.len()), (5, 7));
        assert!(!window.fits(1, 5) && window.fits(1000, 10) && window.fits(9000, 12));
        // The next connection.
        let base = 1 << 40;
        assert!(window.fits(3000, base));
        window.on_new(base, 2000, base);
        assert!(window.fits(1000, base) && !window.fits(1001, base));
        assert!(ReceiveWindow::of(u64::MAX).is_none());
    }
}
