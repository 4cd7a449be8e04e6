//! Frames on the way between two hosts.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Number of younger frames that may arrive before a frame is forgotten: the limit of reordering
/// and of late copies.
const REORDERING: u64 = 4096;

/// Frames on the way in one direction, by handle. A frame is forgotten [`REORDERING`] frames later,
/// whether it has arrived or was dropped.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frames(Arc<Mutex<Store>>);

#[derive(Debug, Default)]
struct Store {
    next: u64,
    kept: BTreeMap<u32, (u64, Vec<u8>)>,
    /// Number and handle of each frame, oldest first.
    order: VecDeque<(u64, u32)>,
}

impl Frames {
    /// Stores a frame; returns its handle, a hash of its bytes. Digests of runs cover handles, and
    /// thereby the frames that guests have sent.
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

    /// Returns a frame that arrives; `None` for a copy that comes more than [`REORDERING`] frames
    /// late.
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

/// Returns the 32-bit FNV-1a hash.
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
        // Two equal frames have two handles.
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
