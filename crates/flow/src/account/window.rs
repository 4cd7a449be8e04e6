//! The bytes that may be in flight: the controller's window, during recovery and without selective
//! acknowledgements.

use super::{Account, Reduction};

impl Account {
    /// Returns the bytes that may be in flight under a congestion window of `cwnd` bytes. While the
    /// window is being reduced and if `reduces_by_prr`, that is what proportional rate reduction
    /// allows (RFC 6937).
    #[inline]
    pub fn window(&self, cwnd: u64, reduces_by_prr: bool) -> u64 {
        let window = self.window_without_inflation(cwnd, reduces_by_prr);
        match &self.cumulative_only {
            None => window,
            Some(_) => window.saturating_add(self.inflation()),
        }
    }

    /// Returns [`Account::window`] without the inflation by duplicate acknowledgements.
    #[inline]
    pub(crate) fn window_without_inflation(&self, cwnd: u64, reduces_by_prr: bool) -> u64 {
        if self.recovery.is_open() && self.undone.leaked() == 0 {
            return cwnd;
        }
        self.window_in_recovery(cwnd, reduces_by_prr)
    }

    /// Does [`Account::window_without_inflation`] in recovery, or after an undo that left traces.
    #[inline(never)]
    fn window_in_recovery(&self, cwnd: u64, reduces_by_prr: bool) -> u64 {
        let window = match reduces_by_prr && self.recovery.is_reducing() {
            true => self.recovery.allowance(),
            false => cwnd,
        };
        match self.undone.leaked() {
            0 => window,
            _ if self.recovery.is_after_timeout() || self.recovery.is_reducing() => window,
            _ => self.undone.without_leaked(window, self.config.mss),
        }
    }

    /// Returns true if `bytes` in flight fit into `window` plus its inflation by duplicates, or a fast
    /// retransmission is to leave whether there is room or not.
    #[inline(always)]
    pub(crate) fn fits_inflated(&self, window: u64, bytes: u64) -> bool {
        self.cumulative_only.is_some() && self.fits_without_sack(window, bytes)
    }

    /// Notes that the controller has handled the last feedback and that its window is now `cwnd`
    /// bytes, which proportional rate reduction works towards.
    #[inline]
    pub fn on_window(&mut self, cwnd: u64) {
        self.window = cwnd;
        if let Some(reduction) = self.reduction.take() {
            self.reduce(cwnd, reduction);
        }
    }

    /// Goes on with the reduction of the window to `cwnd` bytes.
    #[inline(never)]
    fn reduce(&mut self, cwnd: u64, reduction: Reduction) {
        let in_flight = self.ledger.in_flight();
        let mss = u64::from(self.config.mss);
        let cwnd = cwnd.saturating_sub(u64::from(self.undone.leaked()) * mss).max(mss);
        self.recovery.reduce(cwnd, in_flight, reduction.delivered, reduction.safe, mss);
    }
}
