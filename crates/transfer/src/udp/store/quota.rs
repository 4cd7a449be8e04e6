//! Limits on a receiver's disk space. A transfer reserves space before its data arrives, and
//! releases the unused rest at its end.
//!
//! There is no ledger. The receiver measures the disk space in use when it starts, and again before
//! it refuses a transfer. So a killed receiver leaves no wrong count, and removing files makes
//! room. Between measurements it adds the reservations.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use super::destination::Destination;
use super::problem::{Problem, transfer_problem};
use super::target::Target;
use super::usage::{self, Usage};

/// Bytes reserved at once when a transfer turns out to be larger than announced.
const STEP: u64 = 4 << 20;
/// Minimum pause between two measurements, in multiples of the duration of the last one.
const COUNT_PAUSE: u32 = 4;

/// Limits on the disk space of received files. A file counts its bytes; each file, folder and link
/// also counts 4096 bytes.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskLimits {
    /// Maximum bytes of everything below the destination folder, including files that were not
    /// received.
    pub quota: Option<u64>,
    /// Maximum bytes received from each client. Each client has its own folder, named as in the
    /// list of clients.
    pub client_quota: Option<u64>,
    /// Minimum free bytes of the file system.
    pub keep_free: Option<u64>,
}

/// Disk space, shared by all transfers.
pub(super) struct Quota {
    limits: DiskLimits,
    folder: PathBuf,
    file: Option<OsString>,
    grants: Mutex<Grants>,
    /// The last measurement. Locked while another one runs.
    count: Mutex<Option<Count>>,
}

/// Begin and end of a measurement.
struct Count {
    began: Instant,
    ended: Instant,
}

/// Disk space in use, and reservations.
#[derive(Default)]
struct Grants {
    /// Bytes on the disk at the last measurement, plus all bytes reserved since.
    committed: Usage,
    /// Reserved bytes that have not arrived yet, per transfer.
    pending: BTreeMap<u64, (Option<Arc<str>>, Arc<AtomicU64>)>,
    /// Number of the last transfer.
    last: u64,
}

impl Grants {
    /// Returns the reserved bytes that have not arrived yet.
    fn pending(&self) -> Usage {
        let mut sum = Usage::default();
        for (client, pending) in self.pending.values() {
            sum.add(client.as_ref(), pending.load(Ordering::Acquire));
        }
        sum
    }
}

impl Usage {
    fn add(&mut self, client: Option<&Arc<str>>, bytes: u64) {
        self.total = self.total.saturating_add(bytes);
        if let Some(client) = client {
            let sum = self.clients.entry(Arc::clone(client)).or_default();
            *sum = sum.saturating_add(bytes);
        }
    }

    fn subtract(&mut self, client: Option<&Arc<str>>, bytes: u64) {
        self.total = self.total.saturating_sub(bytes);
        if let Some(sum) = client.and_then(|client| self.clients.get_mut(client)) {
            *sum = sum.saturating_sub(bytes);
        }
    }

    fn of(&self, client: &Arc<str>) -> u64 {
        self.clients.get(client).copied().unwrap_or(0)
    }
}

/// A limit that leaves too little space.
pub(super) struct Shortage {
    /// The limit, in words.
    limit: String,
    /// Bytes left under the limit.
    left: u64,
    /// Bytes requested.
    needed: u64,
}

impl From<Shortage> for Problem {
    fn from(Shortage { limit, left, needed }: Shortage) -> Problem {
        Problem::Transfer(format!(
            "no room: {limit}, {left} bytes are left, and this transfer needs {needed} more. Send less, or make room \
             at the receiver (what is removed from its folder counts no longer), then send again; what is whole stays"
        ))
    }
}

/// Makes a problem of an error of a measurement.
fn uncounted(error: io::Error) -> Problem {
    transfer_problem("what the receiver keeps cannot be counted for its quota")(error)
}

impl Quota {
    /// Creates the limits of a target; `None` if it has none.
    pub(super) fn new(target: &Target, limits: DiskLimits) -> Option<Quota> {
        let (folder, file) = target.place()?;
        (limits != DiskLimits::default()).then(|| Quota {
            limits,
            folder: folder.to_path_buf(),
            file: file.map(OsString::from),
            grants: Mutex::default(),
            count: Mutex::default(),
        })
    }

    fn grants(&self) -> MutexGuard<'_, Grants> {
        self.grants.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the bytes in use, with reservations, and the quota for all clients.
    pub(super) fn used(&self) -> (u64, Option<u64>) {
        (self.grants().committed.total, self.limits.quota)
    }

    /// Measures the disk space in use. If another thread begins a measurement after this call and
    /// ends it first, uses its result.
    ///
    /// # Errors
    /// The file system returns an error.
    pub(super) fn recount(&self) -> Result<(), Problem> {
        let DiskLimits { quota, client_quota, .. } = self.limits;
        if quota.is_none() && client_quota.is_none() {
            return Ok(());
        }
        let asked = Instant::now();
        let mut last = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = &*last {
            if count.began >= asked {
                return Ok(());
            }
            // Pause, so that senders that request too much do not keep the disk busy.
            let next = count.ended + COUNT_PAUSE * (count.ended - count.began);
            thread::sleep(next.saturating_duration_since(Instant::now()));
        }
        let began = Instant::now();
        let (before, pending) = {
            let grants = self.grants();
            (grants.committed.clone(), grants.pending())
        };
        let has_client_folders = client_quota.is_some();
        let destination = Destination::open(&self.folder, self.file.as_deref());
        let found = destination.and_then(|all| usage::measure(&all, has_client_folders));
        let found = found.map_err(uncounted)?;
        // Bytes that were reserved before and arrived during the measurement may count twice until
        // the next one. No bytes are missed.
        let since = |found: u64, pending: u64, now: u64, before: u64| {
            found.saturating_add(pending).saturating_add(now).saturating_sub(before)
        };
        let mut grants = self.grants();
        let now = &grants.committed;
        let total = since(found.total, pending.total, now.total, before.total);
        let clients = [&found, &pending, now].into_iter().flat_map(|usage| usage.clients.keys());
        let clients = clients.map(|client| {
            let bytes =
                since(found.of(client), pending.of(client), now.of(client), before.of(client));
            (Arc::clone(client), bytes)
        });
        grants.committed = Usage { total, clients: clients.collect() };
        drop(grants);
        *last = Some(Count { began, ended: Instant::now() });
        Ok(())
    }

    /// Creates an empty reservation for a transfer.
    pub(super) fn lease(self: &Arc<Quota>, client: Option<&Arc<str>>) -> Lease {
        let (client, pending) = (client.cloned(), Arc::<AtomicU64>::default());
        let mut grants = self.grants();
        grants.last += 1;
        let number = grants.last;
        grants.pending.insert(number, (client.clone(), Arc::clone(&pending)));
        Lease { quota: Arc::clone(self), number, client, pending, spent: 0 }
    }

    /// Returns the free bytes of the disk; `None` without a limit on them.
    fn free(&self) -> io::Result<Option<u64>> {
        if self.limits.keep_free.is_none() {
            return Ok(None);
        }
        let destination = Destination::open(&self.folder, self.file.as_deref())?;
        destination.folder.free_bytes().map(Some)
    }

    /// Returns the first limit that has no room for these bytes.
    fn shortage(
        &self,
        grants: &Grants,
        client: Option<&Arc<str>>,
        bytes: u64,
        free: Option<u64>,
    ) -> Option<Shortage> {
        let DiskLimits { quota, client_quota, keep_free } = self.limits;
        let left = |limit: u64, used: u64| Some(limit.saturating_sub(used));
        let of_all = quota.and_then(|quota| left(quota, grants.committed.total));
        if let (Some(quota), Some(left)) = (quota, of_all.filter(|left| *left < bytes)) {
            let limit = format!("the receiver's quota for all clients is {quota} bytes (--quota)");
            return Some(Shortage { limit, left, needed: bytes });
        }
        let of_client = client_quota.zip(client);
        let of_client = of_client.and_then(|(quota, one)| left(quota, grants.committed.of(one)));
        if let (Some(quota), Some(left)) = (client_quota, of_client.filter(|left| *left < bytes)) {
            let limit =
                format!("the receiver's quota for this client is {quota} bytes (--client-quota)");
            return Some(Shortage { limit, left, needed: bytes });
        }
        let (keep, free) = keep_free.zip(free)?;
        let taken = grants.pending().total.saturating_add(keep);
        // Even zero bytes are too many if other programs have filled the disk.
        let limit = format!("the receiver keeps {keep} bytes of its disk free (--keep-free)");
        let left = free.saturating_sub(taken);
        (free < taken.saturating_add(bytes)).then_some(Shortage { limit, left, needed: bytes })
    }
}

/// Disk space reserved for a transfer. Dropping it releases the bytes that have not arrived.
pub(super) struct Lease {
    quota: Arc<Quota>,
    number: u64,
    client: Option<Arc<str>>,
    /// Reserved bytes that have not arrived yet.
    pending: Arc<AtomicU64>,
    /// Bytes that have arrived since the free space was last checked.
    spent: u64,
}

impl Lease {
    /// Reserves further bytes, if all limits have room for them.
    ///
    /// # Errors
    /// The file system returns an error.
    pub(super) fn add(&self, bytes: u64) -> Result<Result<(), Shortage>, Problem> {
        let free = self.quota.free().map_err(uncounted)?;
        let mut grants = self.quota.grants();
        let client = self.client.as_ref();
        if let Some(shortage) = self.quota.shortage(&grants, client, bytes, free) {
            return Ok(Err(shortage));
        }
        grants.committed.add(client, bytes);
        self.pending.fetch_add(bytes, Ordering::AcqRel);
        Ok(Ok(()))
    }

    /// Reserves further bytes. Measures the disk space before it refuses.
    fn extend(&self, bytes: u64) -> Result<(), Problem> {
        if self.add(bytes)?.is_ok() {
            return Ok(());
        }
        self.quota.recount()?;
        Ok(self.add(bytes)??)
    }

    /// Makes sure that this many bytes are reserved.
    ///
    /// # Errors
    /// A limit leaves too little space, or the file system returns an error.
    pub(super) fn ensure(&mut self, bytes: u64) -> Result<(), Problem> {
        let pending = self.pending.load(Ordering::Acquire);
        if pending < bytes {
            let missing = bytes - pending;
            if self.add(missing.saturating_add(STEP))?.is_err() {
                self.extend(missing)?;
            }
        }
        self.spent += bytes;
        if self.quota.limits.keep_free.is_some() && self.spent > STEP {
            self.spent = 0;
            // Other programs write to the disk too: check that the reserved space is still free.
            self.extend(0)?;
        }
        Ok(())
    }

    /// Notes that reserved bytes were written.
    pub(super) fn spend(&self, bytes: u64) {
        let less = |pending: u64| Some(pending.saturating_sub(bytes));
        let _ = self.pending.fetch_update(Ordering::AcqRel, Ordering::Acquire, less);
    }

    /// Notes that written bytes were removed again.
    pub(super) fn give_back(&self, bytes: u64) {
        self.pending.fetch_add(bytes, Ordering::AcqRel);
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut grants = self.quota.grants();
        grants.pending.remove(&self.number);
        let pending = self.pending.load(Ordering::Acquire);
        grants.committed.subtract(self.client.as_ref(), pending);
    }
}
