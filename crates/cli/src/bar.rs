//! The bar on the terminal, and messages beside it.

use std::sync::{Mutex, PoisonError};

use indicatif::ProgressBar;

/// The bar that is shown.
static BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Makes `bar` the bar that steps aside for messages; `None` once it is gone.
pub(crate) fn set(bar: Option<ProgressBar>) {
    *BAR.lock().unwrap_or_else(PoisonError::into_inner) = bar;
}

/// Hides the bar, if one is shown, while `write` writes to standard error.
pub(crate) fn beside(write: impl FnOnce()) {
    let bar = BAR.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match bar {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}
