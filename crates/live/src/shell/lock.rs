//! A lock under which shells choose addresses and change settings of a network namespace.
//!
//! The lock belongs to a file that only those may open who may change the network namespace: a
//! setting that is write-only, which nobody writes here. Other users can therefore not take it, a
//! namespace has exactly one, and it goes with its process.

use std::fs::{File, OpenOptions, TryLockError};
use std::time::{Duration, Instant};

use crate::linux::{Tun, TunOptions};

/// Writing to it would empty the cache of routes. It has the mode 0200, and the kernel takes
/// CAP_NET_ADMIN for root.
const FILE: &str = "/proc/sys/net/ipv4/route/flush";
/// Where settings cannot be written, as in some containers, a device of this name is the lock.
const DEVICE: &str = "paceline-lock";
/// Whoever holds the lock needs milliseconds. A process that was stopped meanwhile must not keep
/// others from starting for ever.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is held.
#[derive(Debug)]
enum Held {
    File(#[expect(dead_code, reason = "closing it gives the lock back")] File),
    Device(#[expect(dead_code, reason = "closing it gives the lock back")] Tun),
}

/// Keeps other shells of the same network namespace waiting for as long as it lives.
#[derive(Debug)]
pub(crate) struct Lock {
    held: Option<Held>,
}

impl Lock {
    /// Waits for its turn, but not for ever: see [`Lock::is_held`].
    pub(crate) fn take() -> Lock {
        let deadline = Instant::now() + PATIENCE;
        let file = OpenOptions::new().write(true).open(FILE).ok();
        loop {
            let held = match &file {
                Some(file) => match file.try_lock() {
                    Ok(()) => file.try_clone().ok().map(Held::File),
                    Err(TryLockError::WouldBlock) => None,
                    // Locks do not work here: that is no reason not to start.
                    Err(TryLockError::Error(_)) => return Lock { held: None },
                },
                None => Tun::open(&TunOptions::new(DEVICE)).ok().map(Held::Device),
            };
            if held.is_some() || Instant::now() >= deadline {
                return Lock { held };
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// False if another process has held the lock for so long that this one goes on without.
    pub(crate) fn is_held(&self) -> bool {
        self.held.is_some()
    }
}
