//! Which client is at which loop of a tunnel's server. Without input or output except wake-ups.
//!
//! Each loop has a full copy of the [`Directory`], which it reads for each packet without a lock.
//! Changes are rare: a client connects, moves, leaves or uses a new address, or the list of clients
//! is read again. All changes stand in one [`ChangeLog`] behind a lock, in one order, and each loop
//! applies all of them. A loop that makes a change first applies those of the others, so that two
//! loops never assign one address twice.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use paceline_cc::Time;
use paceline_ip::packet::ends;
use paceline_os::Waker;
use paceline_wire::ClientPublic;

use super::Peer;
use super::client_list::ClientList;
use super::neighbours::Standing;
use super::owners::{Owners, SourceVerdict};

/// Bits of a place for the connection's index at its loop. The bits above are the loop's number.
const SLOT_BITS: u32 = 16;

/// Returns the place of a connection, which is unique across all loops.
pub(super) fn place_of(number: usize, slot: usize) -> usize {
    number << SLOT_BITS | slot
}
/// Returns the number of the loop that has the connection with this place.
pub(super) fn loop_of(place: usize) -> usize {
    place >> SLOT_BITS
}
/// Returns the connection's index at its loop.
pub(super) fn slot_of(place: usize) -> usize {
    place & ((1 << SLOT_BITS) - 1)
}

/// A change that all loops apply.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// A new connection, from which possibly no packet has come since the handshake.
    Add {
        place: usize,
        key: Option<ClientPublic>,
        /// Number of its handshake, unique across all loops.
        handshake: u64,
        peer: Peer,
    },
    /// The connection has received a packet since its handshake.
    Confirm { place: usize },
    /// The client's outside address has changed.
    Move { place: usize, remote: SocketAddr },
    /// The connection is over.
    Remove { place: usize },
    /// The client has used a new inside address. If it has too many, it loses the address
    /// `evicted`.
    Learn { now: Time, place: usize, address: IpAddr, evicted: Option<IpAddr> },
    /// A new list of clients is in use.
    List(Arc<ClientList>),
}

/// An action of a loop that a change requires.
#[derive(Debug)]
pub(super) enum Effect {
    /// Close the connection at this index, made by this handshake: its client has a newer one at
    /// another loop.
    Replaced { slot: usize, handshake: u64 },
    /// Use this list of clients.
    List(Arc<ClientList>),
}

/// A connection, as all loops know it.
#[derive(Debug)]
struct Entry {
    key: Option<ClientPublic>,
    handshake: u64,
    peer: Peer,
}

/// The log of changes, shared by several loops.
#[derive(Debug)]
pub(super) struct ChangeLog {
    /// Number of changes since the start.
    count: AtomicU64,
    changes: Mutex<Changes>,
    wakers: Vec<Waker>,
}

#[derive(Debug)]
struct Changes {
    /// Changes that some loop has not applied yet.
    log: VecDeque<Change>,
    /// Number of the first of them.
    first: u64,
    /// Number of changes that each loop has applied.
    applied: Vec<u64>,
}

impl ChangeLog {
    /// Creates a log for the loops of these wakers.
    pub(super) fn new(wakers: Vec<Waker>) -> ChangeLog {
        let applied = vec![0; wakers.len()];
        let changes = Mutex::new(Changes { log: VecDeque::new(), first: 0, applied });
        ChangeLog { count: AtomicU64::new(0), changes, wakers }
    }

    fn lock(&self) -> MutexGuard<'_, Changes> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake_others(&self, number: usize) {
        let others = self.wakers.iter().enumerate().filter(|(other, _)| *other != number);
        others.for_each(|(_, waker)| waker.wake());
    }
}

impl Changes {
    fn count(&self) -> u64 {
        self.first + self.log.len() as u64
    }

    /// Notes that a loop has applied all changes, and removes those that all loops have applied.
    fn set_applied(&mut self, number: usize) {
        let count = self.count();
        if let Some(applied) = self.applied.get_mut(number) {
            *applied = count;
        }
        let least = self.applied.iter().copied().min().unwrap_or(count);
        self.log.drain(..least.saturating_sub(self.first) as usize);
        self.first = least;
    }
}

/// One loop's copy of all clients' locations.
#[derive(Debug)]
pub(super) struct Directory {
    owners: Owners,
    entries: BTreeMap<usize, Entry>,
    /// Handshake and place of each client's newest confirmed connection: one that has received a
    /// packet since its handshake.
    newest: BTreeMap<ClientPublic, (u64, usize)>,
    /// This loop's number.
    number: usize,
    /// The changes of all loops; `None` if there is only one loop.
    shared: Option<Arc<ChangeLog>>,
    /// Number of changes that this copy has applied.
    applied: u64,
    effects: Vec<Effect>,
}

impl Directory {
    /// Creates the empty directory of the loop `number`.
    pub(super) fn new(owners: Owners, number: usize, shared: Option<Arc<ChangeLog>>) -> Directory {
        Directory {
            owners,
            entries: BTreeMap::new(),
            newest: BTreeMap::new(),
            number,
            shared,
            applied: 0,
            effects: Vec::new(),
        }
    }

    /// Makes a change, here and at all other loops.
    pub(super) fn publish(&mut self, change: Change) {
        let Some(shared) = self.shared.clone() else {
            self.apply(change);
            return;
        };
        let mut changes = shared.lock();
        self.apply_new(&mut changes);
        self.append(&shared, &mut changes, change);
        drop(changes);
        shared.wake_others(self.number);
    }

    /// Applies the changes of other loops. Takes the lock only if there are any.
    pub(super) fn catch_up(&mut self) {
        let Some(shared) = &self.shared else { return };
        if shared.count.load(Ordering::Acquire) != self.applied {
            let shared = Arc::clone(shared);
            self.apply_new(&mut shared.lock());
        }
    }

    fn apply_new(&mut self, changes: &mut Changes) {
        let skipped = self.applied.saturating_sub(changes.first) as usize;
        for change in changes.log.range(skipped.min(changes.log.len())..) {
            self.apply(change.clone());
        }
        self.applied = changes.count();
        changes.set_applied(self.number);
    }

    /// Applies a change and appends it to the log. This copy must have applied all earlier changes.
    fn append(&mut self, shared: &ChangeLog, changes: &mut Changes, change: Change) {
        self.apply(change.clone());
        changes.log.push_back(change);
        self.applied = changes.count();
        changes.set_applied(self.number);
        shared.count.store(self.applied, Ordering::Release);
    }

    fn apply(&mut self, change: Change) {
        match change {
            Change::Add { place, key, handshake, peer } => {
                self.owners.add(place, key);
                self.entries.insert(place, Entry { key, handshake, peer });
            }
            Change::Confirm { place } => self.confirm(place),
            Change::Move { place, remote } => {
                if let Some(entry) = self.entries.get_mut(&place) {
                    entry.peer.remote = remote;
                }
            }
            Change::Remove { place } => {
                self.owners.remove(place);
                let key = self.entries.remove(&place).and_then(|entry| entry.key);
                if let Some(key) = key
                    && self.newest.get(&key).is_some_and(|(_, newest)| *newest == place)
                {
                    self.newest.remove(&key);
                }
            }
            Change::Learn { now, place, address, evicted } => {
                if let Owners::Learnt(neighbours) = &mut self.owners {
                    neighbours.take(now, address, place, evicted);
                }
            }
            Change::List(list) => {
                if let Owners::Listed(owners) = &mut self.owners {
                    owners.set_list(&list.file);
                }
                for Entry { key, peer, .. } in self.entries.values_mut() {
                    let name = key.and_then(|key| list.name(&key));
                    peer.name = name.or(peer.name.take());
                }
                self.effects.push(Effect::List(list));
            }
        }
    }

    /// Routes packets to a client over its newest confirmed connection. The client's former
    /// connection loses all addresses.
    fn confirm(&mut self, place: usize) {
        let Some(Entry { key, handshake, .. }) = self.entries.get(&place) else { return };
        let (key, handshake) = (*key, *handshake);
        if let Some(key) = key {
            match self.newest.get(&key).copied() {
                Some((number, newer)) if number > handshake => {
                    self.owners.remove(place);
                    self.replace(place, newer);
                    return;
                }
                Some((_, former)) if former != place => {
                    self.owners.remove(former);
                    self.replace(former, place);
                }
                _ => {}
            }
            self.newest.insert(key, (handshake, place));
        }
        self.owners.confirm(place);
    }

    /// Requests that the connection `former` be closed in favour of `newer`. If both are at one
    /// loop, its server does so by itself.
    fn replace(&mut self, former: usize, newer: usize) {
        if loop_of(former) == self.number
            && loop_of(newer) != self.number
            && let Some(entry) = self.entries.get(&former)
        {
            let (slot, handshake) = (slot_of(former), entry.handshake);
            self.effects.push(Effect::Replaced { slot, handshake });
        }
    }

    /// Returns the actions that changes since the last call require of this loop.
    pub(super) fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// Judges a packet with this inside source address, received over this loop's connection at
    /// `place`. The first packet from an address that no other client has makes it the sender's.
    #[inline]
    pub(super) fn judge(&mut self, now: Time, source: IpAddr, place: usize) -> SourceVerdict {
        match &mut self.owners {
            Owners::Learnt(neighbours) if self.shared.is_some() => {
                match neighbours.look(now, source, place) {
                    Standing::Own | Standing::Untracked => SourceVerdict::Own,
                    Standing::OwnedBy(owner) => SourceVerdict::OwnedBy(owner),
                    Standing::Free { .. } => self.claim(now, source, place),
                }
            }
            owners => owners.judge(now, source, place),
        }
    }

    /// Assigns a free address to the connection at this place, if it is still free after all
    /// changes were applied.
    #[cold]
    fn claim(&mut self, now: Time, address: IpAddr, place: usize) -> SourceVerdict {
        let Some(shared) = self.shared.clone() else { return SourceVerdict::Own };
        let mut changes = shared.lock();
        self.apply_new(&mut changes);
        let Owners::Learnt(neighbours) = &mut self.owners else { return SourceVerdict::NotListed };
        match neighbours.look(now, address, place) {
            Standing::Own | Standing::Untracked => SourceVerdict::Own,
            Standing::OwnedBy(owner) => SourceVerdict::OwnedBy(owner),
            Standing::Free { evicted } => {
                let learn = Change::Learn { now, place, address, evicted };
                self.append(&shared, &mut changes, learn);
                drop(changes);
                shared.wake_others(self.number);
                SourceVerdict::Own
            }
        }
    }

    /// Returns the place of the connection that gets packets to this address: [`Owners::find`].
    #[inline]
    pub(super) fn find(&self, address: IpAddr) -> Option<usize> {
        self.owners.find(address)
    }

    /// Returns the queue of the device to which a packet from this loop's client is written: this
    /// loop's queue. For a packet to another loop's client, it is the queue of the lower number of
    /// both loops. The kernel sends a flow's packets to the queue that last wrote to the flow, so
    /// that both directions of a flow between two clients use one queue.
    #[inline]
    pub(super) fn queue_for(&self, packet: &[u8]) -> usize {
        if self.shared.is_none() {
            return self.number;
        }
        let to = ends(packet).and_then(|(_, to)| self.find(to));
        to.map_or(self.number, |place| self.number.min(loop_of(place)))
    }

    /// Returns the client whose connection has this place, at any loop.
    pub(super) fn peer(&self, place: usize) -> Option<Peer> {
        self.entries.get(&place).map(|entry| entry.peer.clone())
    }

    /// Returns the addresses that the connection at this place has used. With a list of clients
    /// there are none, because clients have listed networks.
    pub(super) fn learnt_of(&self, place: usize) -> Vec<IpAddr> {
        self.owners.learnt_of(place)
    }
}

#[cfg(test)]
#[path = "directory_tests.rs"]
mod tests;
