//! An [`Account`] to which vectors give sends and acknowledgements one by one.

use paceline_cc::{Ack, Congestion, RateSample, Signals, Time};
use paceline_flow::{Account, AccountConfig, LossRecovery, Sent};

use super::{at, ranges};

/// An account of packets of one size.
pub(crate) struct Books {
    pub(crate) account: Account,
    pub(crate) now: Time,
    mss: u32,
}

/// Result of an acknowledgement.
#[derive(Clone, Debug)]
pub(crate) struct Reaction {
    pub(crate) congestion: Option<Congestion>,
    pub(crate) lost: u32,
    pub(crate) sample: Option<RateSample>,
}

impl Books {
    /// Returns an account with RFC 9002's rules, as QUIC stacks have them.
    pub(crate) fn new(mss: u32) -> Books {
        let mut config = AccountConfig::stream(mss);
        config.recovery = LossRecovery::Rfc9002;
        config.signals = Signals::DELIVERY_RATE;
        Books { account: Account::new(config), now: at(0), mss }
    }

    /// Sends new packets.
    pub(crate) fn send(&mut self, packets: u64) {
        for _ in 0..packets {
            let segment = self.account.next_segment();
            self.account.on_sent(self.now, Sent::segment(segment, self.mss));
        }
    }

    /// Retransmits the oldest lost packet; returns false if there is none.
    pub(crate) fn repair(&mut self) -> bool {
        let repair = self.account.take_repair();
        if let Some(repair) = repair {
            self.account.on_sent(self.now, Sent::retransmission(repair));
        }
        repair.is_some()
    }

    /// Processes an acknowledgement after which the window is `window` bytes.
    pub(crate) fn take(&mut self, ack: &Ack, window: u64) -> Reaction {
        let feedback = self.account.on_ack(self.now, ack);
        let (congestion, lost) = (feedback.congestion, feedback.lost_packets);
        let sample = feedback.sample;
        self.account.on_window(window);
        Reaction { congestion, lost, sample }
    }

    /// Processes an acknowledgement whose only new numbers are `first` to `last`.
    pub(crate) fn sack(&mut self, first: u64, last: u64, window: u64) -> Reaction {
        self.take(&ranges(0, &[(first, last)]), window)
    }

    /// Returns the bytes that may be sent now while losses are repaired.
    pub(crate) fn room(&self, window: u64) -> u64 {
        self.account.window(window, true).saturating_sub(self.account.in_flight())
    }

    /// Returns an account with `in_flight` packets in flight. An acknowledgement of `delivered`
    /// packets then reveals that packet 0 is lost, and the window becomes `window` bytes.
    pub(crate) fn reducing(mss: u32, in_flight: u64, delivered: u64, window: u64) -> Books {
        let mut books = Books::new(mss);
        books.send(in_flight + 2);
        books.now = at(100);
        books.sack(1, 1, u64::MAX);
        books.sack(1, 2, u64::MAX);
        books.sack(1, 2 + delivered, window);
        books
    }
}
