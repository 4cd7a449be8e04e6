//! First in, first out, without any limit.
//!
//! # What it does
//! Holds every packet until it is sent. The buffer's limit does not apply.
//!
//! # Signals it needs
//! None.
//!
//! # Parameters
//! None.
//!
//! # Where it fails
//! With every sender that waits for loss: the delay grows without bound. It is for measuring
//! senders that must not depend on loss, as Sprout's evaluation did.
//!
//! # Source
//! The default of Mahimahi's `mm-link`, and the queue of Sprout's Cellsim.

use paceline_cc::params::Params;

use super::{DroptailLimit, Fifo, Limit, Queue as _, QueueEntry, QueueWrapper};

paceline_cc::params! {
    /// Parameters of the unlimited queue: none.
    pub struct InfiniteParams {}
}

/// The queue's entry in the registry.
pub(super) const QUEUE: QueueEntry = QueueEntry::builtin(
    "infinite",
    "First in, first out, without limit, whatever the buffer's size",
    "Mahimahi and Cellsim",
    InfiniteParams::infos,
    |spec, _limit, _stream| {
        let InfiniteParams {} = spec.params()?;
        Ok(Box::new(Infinite(Fifo::new(Limit::NONE))))
    },
);

/// A buffer whose limit cannot be set.
struct Infinite(Fifo);

impl QueueWrapper for Infinite {
    type Inner = Fifo;

    #[inline]
    fn inner(&self) -> &Fifo {
        &self.0
    }
    #[inline]
    fn inner_mut(&mut self) -> &mut Fifo {
        &mut self.0
    }
    fn droptail_limit(&self) -> Option<DroptailLimit> {
        self.0.droptail_limit()
    }
    fn set_limit(&mut self, _limit: Limit) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use paceline_cc::{Spec, Time};

    use crate::queue::testing::{packet, stream};
    use crate::queue::{Limit, build};

    #[test]
    fn nothing_is_ever_dropped() {
        let spec = Spec::parse("infinite").expect("legal");
        let mut queue = build(&spec, Limit::packets(1), stream()).expect("known");
        let mut drops = Vec::new();
        for number in 0..10_000 {
            queue.push(Time::ZERO, &packet(number, 1500, Time::ZERO), &mut drops);
        }
        assert!(queue.pop(Time::from_secs(1_000_000), &mut drops).is_some());
        assert_eq!((queue.packets(), queue.bytes(), drops.len()), (9_999, 14_998_500, 0));
        assert!(!queue.set_limit(Limit::packets(1)), "its limit cannot be changed");
    }
}
