//! Datagrams on the way between the two ends of a flow.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use paceline_sim::cc::{Span, Time};

/// Age at which a datagram that has not arrived is forgotten, counted from its sending to the
/// sending of the datagram that arrives: the limit of reordering. A link may drop it, and tells
/// nobody.
pub(crate) const REORDERING: Span = Span::from_secs(10);
/// The same for a datagram that has arrived: the limit of late copies.
pub(crate) const COPIES: Span = Span::from_secs(1);

/// The bytes of datagrams on the way in one direction, by handle. Handles count up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Datagrams(Arc<Mutex<Store>>);

/// Datagrams and the times of their sending.
type Kept = BTreeMap<u32, (Time, Arc<[u8]>)>;

#[derive(Debug, Default)]
struct Store {
    next: u32,
    /// Datagrams that have not arrived.
    away: Kept,
    /// Datagrams that have arrived, of which copies may follow.
    arrived: Kept,
    /// Handle of the first datagram that left after the flow's last byte had arrived.
    last_answer: Option<u32>,
}

impl Datagrams {
    /// Stores a datagram that leaves at `now`; returns its handle.
    pub(crate) fn put(&self, now: Time, bytes: &[u8]) -> u32 {
        let mut store = self.lock();
        let handle = store.next;
        store.next = store.next.wrapping_add(1);
        store.away.insert(handle, (now, Arc::from(bytes)));
        handle
    }

    /// Returns a datagram that arrives, or a copy of it; `None` if it comes later than
    /// [`REORDERING`] allows, or the copy later than [`COPIES`].
    pub(crate) fn get(&self, handle: u32) -> Option<Arc<[u8]>> {
        let mut store = self.lock();
        if let Some(datagram) = store.away.remove(&handle) {
            store.arrived.insert(handle, datagram);
        }
        let (sent, bytes) = store.arrived.get(&handle)?.clone();
        forget(&mut store.away, sent - REORDERING);
        forget(&mut store.arrived, sent - COPIES);
        Some(bytes)
    }

    /// Notes that the flow's last byte has arrived at the end that sends these datagrams.
    pub(crate) fn on_complete(&self) {
        let mut store = self.lock();
        let next = store.next;
        store.last_answer.get_or_insert(next);
    }

    /// Returns true if a datagram left after the flow's last byte had arrived.
    pub(crate) fn left_when_complete(&self, handle: u32) -> bool {
        self.lock().last_answer.is_some_and(|first| handle >= first)
    }

    fn lock(&self) -> MutexGuard<'_, Store> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes the datagrams that were sent before `time`.
fn forget(kept: &mut Kept, time: Time) {
    while let Some(oldest) = kept.first_entry()
        && oldest.get().0 < time
    {
        oldest.remove();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stores a datagram each millisecond.
    fn sent(count: u32) -> (Datagrams, Vec<u32>) {
        let datagrams = Datagrams::default();
        let put = |i: u32| datagrams.put(Time::from_millis(u64::from(i)), &i.to_le_bytes());
        let handles = (0..count).map(put).collect();
        (datagrams, handles)
    }

    #[test]
    fn late_datagrams_and_copies_arrive_within_their_limits() {
        let (datagrams, handles) = sent(20_000);
        let get = |i: usize| datagrams.get(handles[i]).map(|bytes| bytes.to_vec());
        let bytes = |i: u32| Some(i.to_le_bytes().to_vec());
        assert_eq!(get(1), bytes(1));
        assert_eq!(get(1), bytes(1));
        // 9998 younger datagrams may overtake one within ten seconds.
        assert_eq!(get(9_999), bytes(9_999));
        assert_eq!(get(0), bytes(0));
        // The copy is more than a second late.
        assert_eq!(get(1), None);
        assert_eq!(get(19_999), bytes(19_999));
        assert_eq!(get(9_998), None);
        assert_eq!(get(10_000), bytes(10_000));
        let store = datagrams.lock();
        assert_eq!((store.away.len(), store.arrived.len()), (9_998, 2));
    }

    #[test]
    fn a_datagram_after_the_last_byte_answers_it() {
        let (datagrams, handles) = sent(2);
        assert!(!datagrams.left_when_complete(handles[1]));
        datagrams.on_complete();
        let after = datagrams.put(Time::from_secs(1), &[7]);
        datagrams.on_complete();
        assert!(!datagrams.left_when_complete(handles[1]));
        assert!(datagrams.left_when_complete(after));
    }
}
