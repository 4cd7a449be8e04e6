//! The two accounts side by side.

use paceline_cc::{Congestion, Signals, Stream, Time};
use paceline_flow::{
    Account, AccountConfig, Expired, LossRecovery, Repair, RtoBounds, SenderStats, Sent,
};

use super::judge::{compare, judge};
use super::path::{Path, Receipt};
use super::plain::Plain;

/// The controller's window in bytes.
const WINDOW: u64 = 15_000;

/// The account, the plain account, and a path.
pub(super) struct World {
    account: Account,
    plain: Plain,
    path: Path,
    now: Time,
    /// Probability of a hostile acknowledgement in each step.
    hostile: f64,
    /// `in_recovery` of the last feedback.
    in_recovery: bool,
    /// True if the present recovery began with a mark, and no loss was declared since.
    only_marked: bool,
    /// Number and segment that were next at the last reaction.
    reacted: Option<(u64, u64)>,
    /// The segment that was next when the present repair began, or the last reaction to a mark.
    began: u64,
    /// Number of reactions undone.
    pub(super) undone: u64,
}

impl World {
    pub(super) fn new(seed: u64, hostile: f64) -> World {
        let mut random = Stream::new(seed, "account model");
        let mut config = AccountConfig::stream(1500);
        config.reliable = random.chance(0.6);
        config.probes = random.chance(0.7);
        config.signals = Signals::FATES.and(Signals::DELIVERY_RATE);
        if random.chance(0.5) {
            config.recovery = LossRecovery::Rfc9002;
        }
        config.rto = if random.chance(0.5) { RtoBounds::LINUX } else { RtoBounds::RFC6298 };
        World {
            path: Path::new(random, config.reliable),
            account: Account::new(config.clone()),
            plain: Plain::new(config),
            now: Time::from_millis(1),
            hostile,
            in_recovery: false,
            only_marked: false,
            reacted: None,
            began: 0,
            undone: 0,
        }
    }

    pub(super) fn stats(&self) -> SenderStats {
        self.account.stats()
    }

    /// Does one random step.
    pub(super) fn step(&mut self) {
        self.now += self.path.pause(self.now);
        for receipt in self.path.arrivals(self.now) {
            self.acknowledge(&receipt);
        }
        // A driver may be late.
        if self.path.random.chance(0.8) {
            self.expire();
        }
        if self.path.random.chance(0.6) && self.plain.in_flight() < 60_000 {
            self.send();
        }
        if self.path.random.chance(self.hostile) {
            let receipt = self.path.hostile_ack();
            self.acknowledge(&receipt);
        }
        if self.path.random.chance(0.001) {
            let segment = (self.plain.next_segment / 10_000 + 1) * 10_000;
            self.account.reconnect(segment);
            self.plain.reconnect(segment);
            (self.in_recovery, self.only_marked, self.reacted) = (false, false, None);
        }
        compare(&self.account, &self.plain, self.probe_wanted());
    }

    /// Sends a repair, the newest packet again, new data, or a packet without data.
    fn send(&mut self) {
        let size = 100 + self.path.random.below(1401) as u32;
        let fresh = Sent::segment(self.plain.next_segment, size);
        let sent = match self.path.random.below(10) {
            0 => Sent::empty(64),
            1 => self.account.newest().map_or(fresh, Sent::retransmission),
            2..5 => self.account.take_repair().map_or(fresh, |repair| self.take(repair)),
            _ => fresh,
        };
        self.transmit(sent);
    }

    /// Checks that a repair was lost, and was not retransmitted yet.
    fn take(&mut self, repair: Repair) -> Sent {
        let at = self.plain.repairs.iter().position(|number| *number == repair.number);
        self.plain.repairs.remove(at.expect("a repair of a lost packet"));
        self.plain.head_is_due = false;
        let packet = &self.plain.packets[repair.number as usize];
        assert_eq!((repair.segment, repair.size), (packet.segment, packet.size));
        Sent::retransmission(repair)
    }

    fn transmit(&mut self, sent: Sent) {
        let number = self.plain.on_sent(self.now, sent, self.is_repairing());
        assert_eq!(self.account.on_sent(self.now, sent.tagged(number ^ 0xfeed)), number);
        self.path.send(self.now, number, sent.segment);
    }

    fn acknowledge(&mut self, Receipt { ack, older }: &Receipt) {
        // On Linux an acknowledgement that ends the repair is judged as if none was going on.
        let repairs_end = match self.is_repairing() {
            true if self.plain.linux() => self.began,
            repairing => u64::from(repairing) * u64::MAX,
        };
        let feedback = self.account.on_ack_with_older(self.now, ack, older.iter().copied());
        let said = self.plain.on_ack(self.now, ack, older, repairs_end);
        judge(&feedback, &said, &self.plain);
        let (congestion, in_recovery) = (feedback.congestion, feedback.in_recovery);
        self.hear(congestion, in_recovery);
    }

    /// Handles all deadlines that have passed.
    fn expire(&mut self) {
        loop {
            let (wanted, repairing) = (self.probe_wanted(), self.is_repairing());
            let (expected, said) = self.plain.on_deadline(self.now, wanted, repairing);
            let (brought, feedback) = match self.account.on_deadline(self.now) {
                Expired::Nothing => ("nothing", None),
                Expired::Probe => ("probe", None),
                Expired::Losses(feedback) => ("losses", Some(feedback)),
                Expired::Timeout(feedback) => ("timeout", Some(feedback)),
            };
            assert_eq!(brought, expected);
            if let Some(feedback) = feedback {
                judge(&feedback, &said, &self.plain);
                let (congestion, in_recovery) = (feedback.congestion, feedback.in_recovery);
                self.hear(congestion, in_recovery);
            }
            match brought {
                "nothing" => return,
                "probe" => self.transmit(Sent::segment(self.plain.next_segment, 1500)),
                _ => {}
            }
        }
    }

    /// Takes in the conclusion of recovery's state machine. The plain account has none and adopts
    /// it, but checks that reactions are a window apart.
    fn hear(&mut self, congestion: Option<Congestion>, in_recovery: bool) {
        let was_repairing = self.is_repairing();
        self.in_recovery = in_recovery;
        let was_only_marked = self.only_marked;
        self.only_marked = match congestion {
            Some(congestion) => congestion == Congestion::Ecn,
            None => self.only_marked && in_recovery,
        };
        if congestion.is_some() {
            self.plain.probe_out = false;
        }
        if matches!(congestion, Some(Congestion::Loss | Congestion::Ecn | Congestion::Timeout)) {
            self.began = self.plain.next_segment;
        }
        match congestion {
            Some(Congestion::Undo) => {
                self.plain.undo(self.is_repairing());
                self.undone += 1;
                self.reacted = None;
            }
            Some(Congestion::Timeout) => self.reacted = None,
            // It may follow the reaction to the mark at once. On Linux it prolongs nothing.
            Some(Congestion::LossAfterMark) => {
                assert!(in_recovery && was_only_marked);
                if !self.plain.linux() {
                    self.reacted = Some((self.account.next_number(), self.plain.next_segment));
                }
            }
            Some(Congestion::Loss | Congestion::Ecn) => {
                assert!(in_recovery);
                if let (Some((number, segment)), true) = (self.reacted, self.hostile == 0.0) {
                    let repaired = self.plain.cumulative >= segment;
                    assert!(repaired || self.plain.largest_acked() >= Some(number));
                }
                self.reacted = Some((self.account.next_number(), self.plain.next_segment));
            }
            None => {}
        }
        if was_repairing && !self.is_repairing() && congestion != Some(Congestion::Undo) {
            self.plain.rack.on_repaired();
        }
        self.account.on_window(WINDOW);
    }

    fn probe_wanted(&self) -> bool {
        self.account.next_repair().is_none() && !self.is_repairing()
    }

    fn is_repairing(&self) -> bool {
        self.in_recovery && !self.only_marked
    }
}
