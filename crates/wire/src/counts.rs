//! The number of connections at one server, or at several servers that share their limits.
//!
//! Only handshakes and ends of connections change the counts; packets of connections do not touch
//! them. Each count is one atomic number; only the half-open connections of each address are a
//! table, behind a lock.

use core::net::{IpAddr, Ipv6Addr};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Counts of one server, or of several that share their limits: all clones share the counts.
#[derive(Clone, Debug, Default)]
pub struct ConnectionCounts {
    open: Arc<AtomicUsize>,
    half_open: Arc<AtomicUsize>,
    /// Number of half-open connections of each address that has some. Only handshakes with a valid
    /// cookie get here.
    by_address: Arc<Mutex<BTreeMap<IpAddr, usize>>>,
    /// Number of handshakes answered.
    handshakes: Arc<AtomicU64>,
}

impl ConnectionCounts {
    /// Returns counts of zero connections.
    pub fn new() -> ConnectionCounts {
        ConnectionCounts::default()
    }
    /// Returns the number of connections, including half-open ones.
    pub fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }
    /// Returns the number of connections from which no packet has arrived since the handshake.
    pub fn half_open(&self) -> usize {
        self.half_open.load(Ordering::Relaxed)
    }
    /// Returns the number of the next handshake to be answered, larger than all before.
    pub(crate) fn next_handshake(&self) -> u64 {
        self.handshakes.fetch_add(1, Ordering::Relaxed)
    }
    /// Counts one more connection; returns `None` if there are `limit` already.
    pub(crate) fn count_open(&self, limit: usize) -> Option<CountGuard> {
        CountGuard::new(&self.open, limit)
    }
    /// Counts one more half-open connection. Returns `None` if there are as many as the first
    /// limit, or as many from this address as the second limit; an IPv6 address stands for its
    /// 64-bit network.
    pub(crate) fn count_half_open(
        &self,
        from: IpAddr,
        (limit, per_address): (usize, usize),
    ) -> Option<HalfOpenGuard> {
        let network = network(from);
        let mut all = self.by_address.lock().unwrap_or_else(PoisonError::into_inner);
        let count = all.get(&network).copied().unwrap_or(0);
        if count >= per_address {
            return None;
        }
        let guard = CountGuard::new(&self.half_open, limit)?;
        all.insert(network, count + 1);
        Some(HalfOpenGuard { _all: guard, network, by_address: Arc::clone(&self.by_address) })
    }
}

/// Returns the address, or for IPv6 its 64-bit network, since one host may have all of its
/// addresses.
fn network(from: IpAddr) -> IpAddr {
    match from.to_canonical() {
        IpAddr::V6(ip) => IpAddr::V6(Ipv6Addr::from(u128::from(ip) & !u128::from(u64::MAX))),
        v4 => v4,
    }
}

/// One half-open connection in the counts; dropping it decreases the counts.
#[derive(Debug)]
pub(crate) struct HalfOpenGuard {
    _all: CountGuard,
    network: IpAddr,
    by_address: Arc<Mutex<BTreeMap<IpAddr, usize>>>,
}

impl Drop for HalfOpenGuard {
    fn drop(&mut self) {
        let mut all = self.by_address.lock().unwrap_or_else(PoisonError::into_inner);
        match all.get_mut(&self.network) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(all.remove(&self.network)),
        }
    }
}

/// One connection in a count; dropping it decreases the count. It is dropped with the connection or
/// its server.
#[derive(Debug)]
pub(crate) struct CountGuard(Arc<AtomicUsize>);

impl CountGuard {
    fn new(count: &Arc<AtomicUsize>, limit: usize) -> Option<CountGuard> {
        let more = |count| (count < limit).then_some(count + 1);
        // Relaxed ordering suffices, since no other memory depends on the number.
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
