//! A lock under which shells choose addresses and change settings of a network namespace.
//!
//! The lock is `flock` on a write-only setting, which is not written to. Only processes that may change the network
//! namespace can open it, so that other users cannot take the lock. A namespace has exactly one, and the kernel
//! releases it when its process ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use crate::route::Links;
use crate::{Tun, TunOptions};

/// The file. A write would empty the cache of routes. Its mode is 0200, and the kernel treats CAP_NET_ADMIN as root.
const FILE: &str = "/proc/sys/net/ipv4/route/flush";
/// Where settings cannot be written, as in some containers, a device of this name is the lock.
const DEVICE: &str = "paceline-lock";
/// How long to wait for the lock while addresses neither come nor go. A holder needs milliseconds; one that was stopped
/// meanwhile must not keep others from starting for ever.
const PATIENCE: Duration = Duration::from_secs(10);

/// Returns all addresses of this network, which change as shells come and go.
fn addresses() -> Vec<(u32, IpAddr)> {
    Links::open().and_then(|mut links| links.addresses()).unwrap_or_default()
}

/// The file or device that is the lock.
#[derive(Debug)]
enum HeldLock {
    File(#[expect(dead_code, reason = "closing it gives the lock back")] File),
    Device(#[expect(dead_code, reason = "closing it gives the lock back")] Tun),
}

/// Keeps other shells of the same network namespace waiting for as long as it lives.
#[derive(Debug)]
pub struct Lock {
    held: Option<HeldLock>,
}

impl Lock {
    /// Takes the lock, or gives up after 10 s in which no address came or went: see [`Lock::is_held`].
    pub fn take() -> Lock {
        let mut deadline = Instant::now() + PATIENCE;
        let mut seen = addresses();
        let file = OpenOptions::new().write(true).open(FILE).ok();
        loop {
            let held = match &file {
                Some(file) => match file.try_lock() {
                    Ok(()) => file.try_clone().ok().map(HeldLock::File),
                    Err(TryLockError::WouldBlock) => None,
                    // Locks do not work here: that is no reason not to start.
                    Err(TryLockError::Error(_)) => return Lock { held: None },
                },
                None => Tun::open(&TunOptions::new(DEVICE)).ok().map(HeldLock::Device),
            };
            if held.is_some() {
                return Lock { held };
            }
            if Instant::now() >= deadline {
                let now = addresses();
                if now == seen {
                    return Lock { held: None };
                }
                (seen, deadline) = (now, Instant::now() + PATIENCE);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Returns false if this process goes on without the lock: another process has held it for too long, or there are
    /// no locks here.
    pub fn is_held(&self) -> bool {
        self.held.is_some()
    }
}
