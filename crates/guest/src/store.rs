//! Frames on their way between two hosts.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Frames that are kept after younger ones have arrived: how far a frame may be overtaken, or its copy come later.
const REORDERING: u64 = 4096;

/// Frames on their way in one direction, by handle. A frame is forgotten, whether it has arrived or was dropped,
/// once much younger ones have arrived.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frames(Arc<Mutex<Store>>);

#[derive(Debug, Default)]
struct Store {
    next: u64,
    kept: BTreeMap<u32, (u64, Vec<u8>)>,
    /// Number and handle of each, oldest first.
    order: VecDeque<(u64, u32)>,
}

impl Frames {
    /// Keeps a frame; returns its handle, a hash of its bytes: digests of runs cover handles, and with them what
    /// the guests have sent.
    pub(crate) fn put(&self, frame: Vec<u8>) -> u32 {
        let mut store = self.lock();
        let number = store.next;
        store.next += 1;
        let mut handle = hash(&frame);
        while store.kept.contains_key(&handle) {
            handle = handle.wrapping_add(1);
        }
        store.kept.insert(handle, (number, frame));
        store.order.push_back((number, handle));
        handle
    }

    /// A frame that arrives; `None` for a copy that comes very much later.
    pub(crate) fn get(&self, handle: u32) -> Option<Vec<u8>> {
        let mut store = self.lock();
        let (number, frame) = store.kept.get(&handle)?.clone();
        while let Some(&(oldest, old)) = store.order.front()
            && oldest + REORDERING < number
        {
            store.order.pop_front();
            store.kept.remove(&old);
        }
        Some(frame)
    }

    fn lock(&self) -> MutexGuard<'_, Store> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// FNV-1a, of 32 bits.
fn hash(bytes: &[u8]) -> u32 {
    let fold = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    bytes.iter().fold(0x811c_9dc5, fold)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_arrive_twice_and_old_ones_are_forgotten() {
        let frames = Frames::default();
        // Equal frames have handles of their own.
        let handles: Vec<u32> =
            (0..10_000u32).map(|i| frames.put((i / 2).to_le_bytes().to_vec())).collect();
        assert_eq!(handles[0], hash(&0u32.to_le_bytes()));
        assert_ne!(handles[0], handles[1]);
        for _ in 0..2 {
            assert_eq!(frames.get(handles[1]).as_deref(), Some(&0u32.to_le_bytes()[..]));
        }
        assert!(frames.get(handles[9_999]).is_some());
        assert_eq!(frames.get(handles[0]), None);
        assert!(frames.get(handles[6_000]).is_some());
        let store = frames.lock();
        assert_eq!(store.kept.len(), store.order.len());
    }
}
