//! Datagrams on the way between the two ends of a flow.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Number of younger datagrams that may arrive before a datagram is forgotten: the limit of
/// reordering.
const REORDERING: u32 = 4096;

/// The bytes of datagrams on the way in one direction, by handle. A datagram that a link drops is
/// forgotten when [`REORDERING`] younger ones have arrived.
#[derive(Clone, Debug, Default)]
pub(crate) struct Datagrams(Arc<Mutex<Store>>);

#[derive(Debug, Default)]
struct Store {
    next: u32,
    kept: BTreeMap<u32, Vec<u8>>,
}

impl Datagrams {
    /// Stores a datagram; returns its handle.
    pub(crate) fn put(&self, bytes: &[u8]) -> u32 {
        let mut store = self.lock();
        let handle = store.next;
        store.next = store.next.wrapping_add(1);
        store.kept.insert(handle, bytes.to_vec());
        handle
    }

    /// Returns a datagram that arrives. A second copy of it is empty.
    pub(crate) fn take(&self, handle: u32) -> Vec<u8> {
        let mut store = self.lock();
        let bytes = store.kept.remove(&handle).unwrap_or_default();
        while let Some(oldest) = store.kept.first_entry()
            && handle.saturating_sub(*oldest.key()) > REORDERING
        {
            oldest.remove();
        }
        bytes
    }

    fn lock(&self) -> MutexGuard<'_, Store> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_datagrams_are_forgotten() {
        let datagrams = Datagrams::default();
        let handles: Vec<u32> = (0..10_000).map(|i| datagrams.put(&[i as u8])).collect();
        assert_eq!(datagrams.take(handles[1]), [1]);
        assert!(datagrams.take(handles[1]).is_empty());
        assert_eq!(datagrams.take(handles[9_999]), [9_999u32 as u8]);
        assert!(datagrams.take(handles[0]).is_empty());
        assert_eq!(datagrams.take(handles[9_000]), [9_000u32 as u8]);
    }
}
