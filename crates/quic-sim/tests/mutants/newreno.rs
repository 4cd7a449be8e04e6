//! NewReno for quinn (RFC 9002, appendix B), with a mistake on request.

use std::any::Any;
use std::sync::Arc;
use std::time::{Duration, Instant};

use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory};

/// A mistake that a maintainer could make.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mistake {
    /// None: the correct controller.
    None,
    /// Losses do not change the window.
    IgnoresLoss,
    /// Marks do not change the window.
    IgnoresMarks,
    /// A loss leaves .95 of the window.
    HardlyReduces,
    /// A loss leaves .1 of the window.
    ReducesTooMuch,
    /// Every report of losses reduces the window, also those of one round trip.
    ReducesForEachLoss,
    /// Congestion avoidance from the first packet on.
    NoSlowStart,
    /// A change of the MTU sets the window to the initial one.
    ResetsAtMtuChange,
    /// A tenth of a packet more per round trip.
    GrowsTooSlowly,
    /// One byte more per round trip.
    GrowsByBytes,
    /// Recovery lasts 10 s.
    RecoversForTenSeconds,
    /// The initial window is 200 packets.
    StartsWithTwoHundred,
    /// The window grows although the application limits sending.
    GrowsUnused,
    /// Four packets more per round trip.
    GrowsByFour,
    /// Persistent congestion is answered like a loss.
    IgnoresPersistentCongestion,
    /// After persistent congestion the window stays at two packets.
    StaysAtTwo,
    /// Every acknowledgement halves the window while the application limits sending.
    HalvesUnused,
}

/// Builds controllers with a mistake.
pub(crate) struct Factory(pub(crate) Mistake);

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        let mtu = u64::from(mtu);
        let packets = if self.0 == Mistake::StartsWithTwoHundred { 200 } else { 10 };
        let initial = packets * mtu;
        Box::new(NewReno {
            mistake: self.0,
            initial,
            mtu,
            cwnd: initial,
            ssthresh: if self.0 == Mistake::NoSlowStart { 0 } else { u64::MAX },
            recovery_start: now,
            acked: 0,
            is_stuck: false,
        })
    }
}

#[derive(Clone)]
struct NewReno {
    mistake: Mistake,
    initial: u64,
    mtu: u64,
    cwnd: u64,
    ssthresh: u64,
    /// Packets sent up to this time belong to the last congestion event.
    recovery_start: Instant,
    /// Bytes acknowledged since the window last grew.
    acked: u64,
    is_stuck: bool,
}

impl NewReno {
    fn least(&self) -> u64 {
        2 * self.mtu
    }

    /// Returns what a window of acknowledged bytes adds.
    fn increase(&self) -> u64 {
        match self.mistake {
            Mistake::GrowsTooSlowly => self.mtu / 10,
            Mistake::GrowsByBytes => 1,
            Mistake::GrowsByFour => 4 * self.mtu,
            _ => self.mtu,
        }
    }

    /// Returns what remains of the window after a loss.
    fn reduced(&self) -> u64 {
        match self.mistake {
            Mistake::HardlyReduces => self.cwnd / 20 * 19,
            Mistake::ReducesTooMuch => self.cwnd / 10,
            _ => self.cwnd / 2,
        }
    }
}

impl Controller for NewReno {
    fn on_ack(
        &mut self,
        _now: Instant,
        sent: Instant,
        bytes: u64,
        app_limited: bool,
        _rtt: &RttEstimator,
    ) {
        if app_limited && self.mistake == Mistake::HalvesUnused {
            self.cwnd = (self.cwnd / 2).max(self.least());
        }
        let unused = app_limited && self.mistake != Mistake::GrowsUnused;
        if unused || self.is_stuck || sent <= self.recovery_start {
            return;
        }
        if self.cwnd < self.ssthresh {
            self.cwnd += bytes;
            return;
        }
        self.acked += bytes;
        if self.acked >= self.cwnd {
            self.acked -= self.cwnd;
            self.cwnd += self.increase();
        }
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, lost: u64) {
        // quinn reports marks as a loss of zero bytes.
        let ignored = match lost {
            0 => self.mistake == Mistake::IgnoresMarks,
            _ => self.mistake == Mistake::IgnoresLoss,
        };
        let old = sent <= self.recovery_start && self.mistake != Mistake::ReducesForEachLoss;
        if ignored || old {
            return;
        }
        self.recovery_start = match self.mistake {
            Mistake::RecoversForTenSeconds => now + Duration::from_secs(10),
            _ => now,
        };
        self.cwnd = self.reduced().max(self.least());
        (self.ssthresh, self.acked) = (self.cwnd, 0);
        if persistent && self.mistake != Mistake::IgnoresPersistentCongestion {
            self.cwnd = self.least();
            self.is_stuck = self.mistake == Mistake::StaysAtTwo;
        }
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.mtu = u64::from(mtu);
        self.cwnd = match self.mistake {
            Mistake::ResetsAtMtuChange => self.initial,
            _ => self.cwnd.max(self.least()),
        };
    }

    fn window(&self) -> u64 {
        self.cwnd
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.initial
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
