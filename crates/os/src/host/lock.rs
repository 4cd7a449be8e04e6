//! A lock under which shells choose addresses and change settings of a network namespace.
//!
//! The lock belongs to a file that only those may open who may change the network namespace: a
//! setting that is write-only, which nobody writes here. Other users can therefore not take it, a
//! namespace has exactly one, and it goes with its process.

use std::fs::{File, OpenOptions, TryLockError};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use crate::route::Links;
use crate::{Tun, TunOptions};

/// Writing to it would empty the cache of routes. It has the mode 0200, and the kernel takes
/// CAP_NET_ADMIN for root.
const FILE: &str = "/proc/sys/net/ipv4/route/flush";
/// Where settings cannot be written, as in some containers, a device of this name is the lock.
const DEVICE: &str = "paceline-lock";
/// Whoever holds the lock needs milliseconds. A process that was stopped meanwhile must not keep
/// others from starting for ever: if addresses have neither come nor gone for so long, nobody else
/// has had the lock either.
const PATIENCE: Duration = Duration::from_secs(10);

/// All addresses of this network, which change as shells come and go.
fn addresses() -> Vec<(u32, IpAddr)> {
    Links::open().and_then(|mut links| links.addresses()).unwrap_or_default()
}

/// What is held.
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
    /// Waits for its turn, but not for ever: see [`Lock::is_held`].
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

    /// False if another process has held the lock for so long that this one goes on without.
    pub fn is_held(&self) -> bool {
        self.held.is_some()
    }
}
