//! What the event loops of a tunnel's server share: who is where, packets for each other, and their end.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use paceline_os::{LiveError, WakeUps, Waker};
use paceline_wire::ConnectionCounts;

use super::directory::ChangeLog;
use super::handover::{Mailbox, Parcel};

/// All loops of a server that has several.
#[derive(Debug)]
pub(super) struct Loops {
    pub(super) changes: Arc<ChangeLog>,
    pub(super) counts: ConnectionCounts,
    wakers: Vec<Waker>,
    mailboxes: Vec<Mailbox>,
    is_ending: AtomicBool,
    /// The reason for the end is a signal, so that clients are to be told.
    is_interrupted: AtomicBool,
    reading_list: Mutex<()>,
}

impl Loops {
    /// What `count` loops share, and what makes each of them one of these, in the order of their numbers.
    ///
    /// # Errors
    /// There are too many open files.
    pub(super) fn new(count: usize) -> Result<(Arc<Loops>, Vec<Member>), LiveError> {
        let wake_ups = (0..count).map(|_| WakeUps::new());
        let wake_ups = wake_ups.collect::<Result<Vec<WakeUps>, LiveError>>()?;
        let wakers: Vec<Waker> = wake_ups.iter().map(WakeUps::waker).collect();
        let loops = Arc::new(Loops {
            changes: Arc::new(ChangeLog::new(wakers.clone())),
            counts: ConnectionCounts::new(),
            wakers,
            mailboxes: (0..count).map(|_| Mailbox::default()).collect(),
            is_ending: AtomicBool::new(false),
            is_interrupted: AtomicBool::new(false),
            reading_list: Mutex::new(()),
        });
        let member = |(number, wake_ups)| Member {
            loops: Arc::clone(&loops),
            number,
            wake_ups,
            outgoing: (0..count).map(|_| Parcel::default()).collect(),
            incoming: Vec::new(),
        };
        let members = wake_ups.into_iter().enumerate().map(member).collect();
        Ok((loops, members))
    }

    /// Asks all loops to end.
    pub(super) fn end(&self, is_interrupted: bool) {
        self.is_interrupted.fetch_or(is_interrupted, Ordering::AcqRel);
        self.is_ending.store(true, Ordering::Release);
        self.wakers.iter().for_each(Waker::wake);
    }
}

/// Asks all loops to end when it is dropped, also by a panic.
pub(super) struct EndWithLoop(pub(super) Arc<Loops>);

impl Drop for EndWithLoop {
    fn drop(&mut self) {
        self.0.end(false);
    }
}

/// One of several loops.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) loops: Arc<Loops>,
    pub(super) number: usize,
    wake_ups: WakeUps,
    /// What this loop has read in this turn for each other loop.
    outgoing: Vec<Parcel>,
    /// What other loops have left for this one.
    incoming: Vec<Parcel>,
}

impl Member {
    /// Returns what wakes this loop.
    pub(super) fn waker(&self) -> Waker {
        self.wake_ups.waker()
    }
    /// Takes wake-ups back, before it is looked for what they are for.
    pub(super) fn clear_wake_ups(&self) {
        self.wake_ups.clear();
    }
    /// Returns whether all loops are to end and, if so, whether a signal is the reason.
    pub(super) fn ending(&self) -> Option<bool> {
        let is_ending = self.loops.is_ending.load(Ordering::Acquire);
        is_ending.then(|| self.loops.is_interrupted.load(Ordering::Acquire))
    }
    /// Keeps other loops from reading the list of clients at the same time, so that the newest one counts at the end.
    pub(super) fn reading_list(&self) -> MutexGuard<'_, ()> {
        self.loops.reading_list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a packet for another loop until [`Member::send`].
    pub(super) fn hand_over(&mut self, number: usize, raw: &[u8]) {
        if let Some(parcel) = self.outgoing.get_mut(number) {
            parcel.push(raw);
        }
    }

    /// Leaves what this loop has for others in their mailboxes, and wakes them. Returns how many packets there were, and how
    /// many of them were dropped.
    pub(super) fn send(&mut self) -> (u64, u64) {
        let (mut sent, mut dropped) = (0, 0);
        for (number, parcel) in self.outgoing.iter_mut().enumerate() {
            let Some(mailbox) = self.loops.mailboxes.get(number) else { continue };
            if parcel.is_empty() {
                continue;
            }
            sent += parcel.len() as u64;
            let left = mailbox.leave(parcel);
            dropped += left.dropped as u64;
            if left.is_first
                && let Some(waker) = self.loops.wakers.get(number)
            {
                waker.wake();
            }
        }
        (sent, dropped)
    }

    /// Shows each packet that other loops have left for this one.
    pub(super) fn receive(&mut self, see: impl FnMut(&[u8])) {
        let Some(mailbox) = self.loops.mailboxes.get(self.number) else { return };
        mailbox.take(&mut self.incoming);
        if !self.incoming.is_empty() {
            self.incoming.iter().flat_map(Parcel::iter).for_each(see);
            mailbox.recycle(&mut self.incoming);
        }
    }
}

impl AsFd for Member {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake_ups.as_fd()
    }
}
