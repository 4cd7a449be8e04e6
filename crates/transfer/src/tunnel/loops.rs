//! State that the event loops of a tunnel's server share: directory, mailboxes, and their end.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use paceline_os::{RealTimeError, WakeUps, Waker};
use paceline_wire::ConnectionCounts;

use super::directory::ChangeLog;
use super::handover::{Mailbox, Parcel};

/// The loops of a server that has several.
#[derive(Debug)]
pub(super) struct Loops {
    pub(super) changes: Arc<ChangeLog>,
    pub(super) counts: ConnectionCounts,
    wakers: Vec<Waker>,
    mailboxes: Vec<Mailbox>,
    is_ending: AtomicBool,
    /// True if a signal ends the loops: the server tells its clients that reason.
    is_interrupted: AtomicBool,
    reading_list: Mutex<()>,
}

impl Loops {
    /// Creates the shared state of `count` loops, and a member for each loop, in the order of their
    /// numbers.
    ///
    /// # Errors
    /// The process has too many open files.
    pub(super) fn new(count: usize) -> Result<(Arc<Loops>, Vec<Member>), RealTimeError> {
        let wake_ups = (0..count).map(|_| WakeUps::new());
        let wake_ups = wake_ups.collect::<Result<Vec<WakeUps>, RealTimeError>>()?;
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

/// Asks all loops to end when it is dropped, also during a panic.
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
    /// Parcels that this loop has filled in this turn, one per other loop.
    outgoing: Vec<Parcel>,
    /// Parcels that other loops have left for this one.
    incoming: Vec<Parcel>,
}

impl Member {
    /// Returns the waker of this loop.
    pub(super) fn waker(&self) -> Waker {
        self.wake_ups.waker()
    }
    /// Clears wake-ups. Call it before the work is looked for that they announce.
    pub(super) fn clear_wake_ups(&self) {
        self.wake_ups.clear();
    }
    /// Returns `None` unless all loops are to end; then true if a signal is the reason.
    pub(super) fn ending(&self) -> Option<bool> {
        let is_ending = self.loops.is_ending.load(Ordering::Acquire);
        is_ending.then(|| self.loops.is_interrupted.load(Ordering::Acquire))
    }
    /// Locks out other loops that read the list of clients, so that the newest list is the last one
    /// in use.
    pub(super) fn reading_list(&self) -> MutexGuard<'_, ()> {
        self.loops.reading_list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a packet for another loop until [`Member::send`].
    pub(super) fn hand_over(&mut self, number: usize, raw: &[u8]) {
        if let Some(parcel) = self.outgoing.get_mut(number) {
            parcel.push(raw);
        }
    }

    /// Puts this loop's parcels into the other loops' mailboxes and wakes them. Returns the number
    /// of packets, and how many of them were dropped.
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

    /// Passes each packet that other loops have left for this one to `see`.
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
