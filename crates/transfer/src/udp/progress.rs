//! The progress of transfers: counters that an event loop or the threads that write files update
//! and another thread reads. That thread can also end a client.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use paceline_wire::Connection;

/// Counters of one client, or of all transfers that a receiver takes in, shared with a display.
/// Updating them never blocks.
#[derive(Debug, Default)]
pub struct Progress {
    connected: AtomicBool,
    stopped: AtomicBool,
    total: AtomicU64,
    before: AtomicU64,
    stream: AtomicU64,
    files: AtomicU64,
    files_done: AtomicU64,
    bytes: AtomicU64,
    sent: AtomicU64,
    lost: AtomicU64,
    retransmits: AtomicU64,
    rtt_nanos: AtomicU64,
    window: AtomicU64,
    /// At a receiver: transfers in progress, and those of them of unknown length.
    transfers: AtomicU64,
    unknown: AtomicU64,
}

/// A transfer that a receiver takes in, counted in a [`Progress`] until it is dropped.
pub(super) struct CountedTransfer {
    progress: Arc<Progress>,
    total: Option<u64>,
    arrived: u64,
}

impl CountedTransfer {
    /// Counts a transfer with this many bytes of files (`None` if unknown), of which the receiver
    /// already has `before`.
    pub(super) fn new(
        progress: &Arc<Progress>,
        total: Option<u64>,
        before: u64,
    ) -> CountedTransfer {
        progress.total.fetch_add(total.unwrap_or(0), Ordering::Relaxed);
        progress.unknown.fetch_add(u64::from(total.is_none()), Ordering::Relaxed);
        progress.transfers.fetch_add(1, Ordering::Relaxed);
        let progress = Arc::clone(progress);
        let mut counted = CountedTransfer { progress, total, arrived: 0 };
        counted.add(before);
        counted
    }

    /// Adds bytes of files that have arrived.
    pub(super) fn add(&mut self, bytes: u64) {
        self.arrived += bytes;
        self.progress.before.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl Drop for CountedTransfer {
    fn drop(&mut self) {
        self.progress.transfers.fetch_sub(1, Ordering::Relaxed);
        self.progress.unknown.fetch_sub(u64::from(self.total.is_none()), Ordering::Relaxed);
        self.progress.before.fetch_sub(self.arrived, Ordering::Relaxed);
        self.progress.total.fetch_sub(self.total.unwrap_or(0), Ordering::Relaxed);
    }
}

/// The counters of a [`Progress`] at one moment.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// True once a connection is established; at a receiver, while it takes in a transfer.
    pub connected: bool,
    /// Number of transfers that a receiver is taking in.
    pub transfers: u64,
    /// Bytes of all files; 0 if unknown.
    pub total: u64,
    /// Bytes of files that have arrived, with those of earlier transfers.
    pub arrived: u64,
    /// Number of files to send.
    pub files: u64,
    /// Number of files that the receiver has reported as kept or failed.
    pub files_done: u64,
    /// Bytes on the wire that were acknowledged, or that have arrived if the other end sends.
    pub bytes: u64,
    /// Data packets sent.
    pub sent: u64,
    /// Data packets declared lost.
    pub lost: u64,
    /// Data packets that retransmitted lost data.
    pub retransmits: u64,
    /// srtt in nanoseconds; 0 if unknown.
    pub rtt_nanos: u64,
    /// cwnd in bytes; 0 at an end that sends no data.
    pub window: u64,
}

impl Progress {
    /// Reads all counters. They are not read atomically as a group.
    pub fn snapshot(&self) -> Snapshot {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let transfers = read(&self.transfers);
        let total = if read(&self.unknown) > 0 { 0 } else { read(&self.total) };
        let arrived = read(&self.before) + read(&self.stream);
        Snapshot {
            connected: self.connected.load(Ordering::Relaxed) || transfers > 0,
            transfers,
            total,
            // The stream also carries names and hashes.
            arrived: if total == 0 { arrived } else { arrived.min(total) },
            files: read(&self.files),
            files_done: read(&self.files_done),
            bytes: read(&self.bytes),
            sent: read(&self.sent),
            lost: read(&self.lost),
            retransmits: read(&self.retransmits),
            rtt_nanos: read(&self.rtt_nanos),
            window: read(&self.window),
        }
    }

    /// Asks the loop to end as on an interrupt.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Sets how much there is to send, in bytes (0 if unknown) and files.
    pub(super) fn set_total(&self, bytes: u64, files: u64) {
        self.total.store(bytes, Ordering::Relaxed);
        self.files.store(files, Ordering::Relaxed);
    }

    /// Notes that a new connection is established whose receiver already has `before` bytes of the
    /// files.
    pub(super) fn on_connected(&self, before: u64) {
        self.before.store(before, Ordering::Relaxed);
        self.stream.store(0, Ordering::Relaxed);
        self.connected.store(true, Ordering::Relaxed);
    }

    pub(super) fn set_files_done(&self, count: u64) {
        self.files_done.store(count, Ordering::Relaxed);
    }

    /// Updates the counters of a connection; `arrived` bytes on the wire have come from the other
    /// end.
    #[inline]
    pub(super) fn update(&self, connection: &Connection, arrived: u64) {
        let write = |counter: &AtomicU64, value| counter.store(value, Ordering::Relaxed);
        write(&self.stream, connection.stream_acknowledged());
        let Some(sender) = connection.sender() else { return write(&self.bytes, arrived) };
        let stats = sender.stats();
        write(&self.bytes, sender.delivered());
        write(&self.sent, stats.sent);
        write(&self.lost, stats.lost);
        write(&self.retransmits, stats.retransmits);
        write(&self.rtt_nanos, sender.rtt().smoothed().as_nanos());
        write(&self.window, sender.window());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfers_of_a_receiver_are_added_up_and_leave_nothing_behind() {
        let progress = Arc::new(Progress::default());
        let mut first = CountedTransfer::new(&progress, Some(1000), 400);
        let second = CountedTransfer::new(&progress, Some(500), 0);
        first.add(100);
        let seen = progress.snapshot();
        assert_eq!((seen.transfers, seen.total, seen.arrived), (2, 1500, 500));
        let unknown = CountedTransfer::new(&progress, None, 7);
        let seen = progress.snapshot();
        assert_eq!((seen.transfers, seen.total, seen.arrived), (3, 0, 507));
        drop((first, second, unknown));
        assert_eq!(progress.snapshot(), Snapshot::default());
    }

    #[test]
    fn no_more_arrives_than_there_is() {
        let progress = Progress::default();
        progress.set_total(1000, 2);
        progress.on_connected(400);
        progress.stream.store(700, Ordering::Relaxed);
        let seen = progress.snapshot();
        assert!((seen.connected, seen.total, seen.arrived, seen.files) == (true, 1000, 1000, 2));
        // A stream of unknown length, over a new connection.
        progress.set_total(0, 1);
        progress.on_connected(0);
        progress.stream.store(5000, Ordering::Relaxed);
        assert_eq!(progress.snapshot().arrived, 5000);
    }
}
