//! The bytes that connections hold because something is missing before them: a budget for many connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a connection may hold whatever others do.
const OWN: u64 = 64 << 10;

/// What connections may hold together: clones share it.
#[derive(Clone, Debug)]
pub struct HeldBudget {
    held: Arc<AtomicU64>,
    most: u64,
}

impl Default for HeldBudget {
    /// 256 MiB.
    fn default() -> HeldBudget {
        HeldBudget::new(256 << 20)
    }
}

impl HeldBudget {
    /// A budget of `most` bytes. Each connection may hold 64 KiB beyond it.
    pub fn new(most: u64) -> HeldBudget {
        HeldBudget { held: Arc::default(), most }
    }
    /// How many bytes are held.
    pub fn held(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }
}

/// What one connection holds of the budget, until this is dropped.
#[derive(Debug)]
pub(crate) struct HeldBytes {
    budget: HeldBudget,
    mine: u64,
}

impl HeldBytes {
    pub(crate) fn new(budget: HeldBudget) -> HeldBytes {
        HeldBytes { budget, mine: 0 }
    }

    /// Returns true if this connection may hold `more` bytes.
    #[inline]
    pub(super) fn has_room(&self, more: u64) -> bool {
        self.mine + more <= OWN || self.budget.held() + more <= self.budget.most
    }

    /// Notes how many bytes this connection holds.
    #[inline]
    pub(super) fn set(&mut self, mine: u64) {
        if mine > self.mine {
            self.budget.held.fetch_add(mine - self.mine, Ordering::Relaxed);
        } else if mine < self.mine {
            self.budget.held.fetch_sub(self.mine - mine, Ordering::Relaxed);
        }
        self.mine = mine;
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        self.set(0);
    }
}
