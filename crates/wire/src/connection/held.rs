//! A memory budget, shared by many connections, for bytes that wait for missing ones before them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of bytes that each connection may hold in any case.
const OWN: u64 = 64 << 10;

/// Budget for all connections together: clones share it.
#[derive(Clone, Debug)]
pub struct HeldBudget {
    held: Arc<AtomicU64>,
    most: u64,
}

impl Default for HeldBudget {
    /// Returns a budget of 256 MiB.
    fn default() -> HeldBudget {
        HeldBudget::new(256 << 20)
    }
}

impl HeldBudget {
    /// Returns a budget of `most` bytes. Each connection may hold 64 KiB beyond it.
    pub fn new(most: u64) -> HeldBudget {
        HeldBudget { held: Arc::default(), most }
    }
    /// Returns the number of bytes held.
    pub fn held(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }
}

/// One connection's share of the budget, which dropping it frees.
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

    /// Sets the number of bytes that this connection holds.
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
