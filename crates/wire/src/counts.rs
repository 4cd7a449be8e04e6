//! How many connections there are, at one server or at several that share their limits.
//!
//! Handshakes and ends of connections change the counts; packets of connections do not touch them. Nobody
//! waits for anybody: a count is one atomic number.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The counts of one server, or of several that share their limits: clones count together.
#[derive(Clone, Debug, Default)]
pub struct ConnectionCounts {
    open: Arc<AtomicUsize>,
    half_open: Arc<AtomicUsize>,
}

impl ConnectionCounts {
    /// No connections yet.
    pub fn new() -> ConnectionCounts {
        ConnectionCounts::default()
    }
    /// Connections that there are, half open ones among them.
    pub fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }
    /// Connections from which nothing has come since the handshake.
    pub fn half_open(&self) -> usize {
        self.half_open.load(Ordering::Relaxed)
    }
    /// Counts one more connection, if there are fewer than `limit`.
    pub(crate) fn count_open(&self, limit: usize) -> Option<CountGuard> {
        CountGuard::new(&self.open, limit)
    }
    /// Counts one more half-open connection, if there are fewer than `limit`.
    pub(crate) fn count_half_open(&self, limit: usize) -> Option<CountGuard> {
        CountGuard::new(&self.half_open, limit)
    }
}

/// One connection in a count, until this is dropped: with the connection, or with its server.
#[derive(Debug)]
pub(crate) struct CountGuard(Arc<AtomicUsize>);

impl CountGuard {
    fn new(count: &Arc<AtomicUsize>, limit: usize) -> Option<CountGuard> {
        let more = |count| (count < limit).then_some(count + 1);
        // The number alone matters: no other memory is read or written because of it.
        count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(CountGuard(Arc::clone(count)))
    }
}

impl Drop for CountGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_count_together_never_exceed_the_limit() {
        let counts = ConnectionCounts::new();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                let counts = counts.clone();
                scope.spawn(move || {
                    let mut mine = Vec::new();
                    for round in 0..10_000 {
                        mine.extend(counts.count_open(100));
                        assert!(counts.open() <= 100);
                        if round % 7 == 0 {
                            mine.clear();
                        }
                    }
                });
            }
        });
        assert_eq!((counts.open(), counts.half_open()), (0, 0));
        let all: Vec<_> = std::iter::from_fn(|| counts.count_open(100)).collect();
        assert_eq!((all.len(), counts.open()), (100, 100));
    }
}
