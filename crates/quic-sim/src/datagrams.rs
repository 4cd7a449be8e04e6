//! Datagrams on the way between the two ends of a flow.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use paceline_cc::{Span, Time};

/// Age at which a datagram that has not arrived is forgotten, counted from its sending to the
/// sending of the datagram that arrives: the limit of reordering. Links do not report dropped
/// datagrams.
pub(crate) const REORDERING: Span = Span::from_secs(10);
/// Age at which a datagram that has arrived is forgotten, counted from its arrival to the arrival of
/// the next one. A later copy is dropped.
const COPIES: Span = Span::from_secs(1);

/// The bytes of datagrams on the way in one direction, by handle. Handles count up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Datagrams(Arc<Mutex<Store>>);

/// What arrives under a handle.
#[derive(Debug, PartialEq)]
pub(crate) enum Arrival {
    /// These bytes, for the first time or as a copy.
    Datagram(Arc<[u8]>),
    /// A copy that comes later than [`COPIES`] allows.
    LateCopy,
    /// A datagram that comes later than [`REORDERING`] allows, or a copy of one that old.
    TooLate,
}

#[derive(Debug, Default)]
struct Store {
    next: u32,
    /// Datagrams that have not arrived, and the times of their sending.
    away: BTreeMap<u32, (Time, Arc<[u8]>)>,
    /// Datagrams that have arrived, of which copies may follow.
    arrived: BTreeMap<u32, Arc<[u8]>>,
    /// Their handles, in the order of their arrival, each with `newest` at that time.
    order: VecDeque<(Time, u32)>,
    /// When the youngest datagram that has arrived was sent.
    newest: Time,
    /// Handle of the youngest datagram that was forgotten before it arrived.
    forgotten: Option<u32>,
    /// Handle of the first datagram that left after the flow's last byte had arrived.
    last_answer: Option<u32>,
}

impl Store {
    /// Drops entries that are older than their limits.
    fn forget(&mut self) {
        while let Some(oldest) = self.away.first_entry()
            && oldest.get().0 < self.newest - REORDERING
        {
            self.forgotten = Some(oldest.remove_entry().0);
        }
        while let Some((_, handle)) = self.order.pop_front_if(|(at, _)| *at < self.newest - COPIES)
        {
            self.arrived.remove(&handle);
        }
    }
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

    /// Returns what arrives under a handle.
    pub(crate) fn get(&self, handle: u32) -> Arrival {
        let mut store = self.lock();
        if let Some((sent, bytes)) = store.away.remove(&handle) {
            store.newest = store.newest.max(sent);
            let arrival = (store.newest, handle);
            store.order.push_back(arrival);
            store.arrived.insert(handle, bytes);
            store.forget();
        }
        match store.arrived.get(&handle) {
            Some(bytes) => Arrival::Datagram(Arc::clone(bytes)),
            None if store.forgotten.is_some_and(|youngest| handle <= youngest) => Arrival::TooLate,
            None => Arrival::LateCopy,
        }
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
        let get = |i: usize| datagrams.get(handles[i]);
        let bytes = |i: u32| Arrival::Datagram(Arc::from(i.to_le_bytes().as_slice()));
        assert_eq!(get(1), bytes(1));
        assert_eq!(get(1), bytes(1));
        // 9998 younger datagrams may overtake one within ten seconds.
        assert_eq!(get(9_999), bytes(9_999));
        assert_eq!(get(0), bytes(0));
        assert_eq!(get(1), Arrival::LateCopy);
        // Copies of a datagram that is late itself.
        assert_eq!(get(10_998), bytes(10_998));
        assert_eq!(get(0), bytes(0));
        assert_eq!(get(11_000), bytes(11_000));
        assert_eq!(get(0), Arrival::TooLate);
        assert_eq!(get(19_999), bytes(19_999));
        assert_eq!(get(9_998), Arrival::TooLate);
        assert_eq!(get(10_000), bytes(10_000));
        let store = datagrams.lock();
        assert_eq!((store.away.len(), store.arrived.len(), store.order.len()), (9_996, 2, 2));
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
