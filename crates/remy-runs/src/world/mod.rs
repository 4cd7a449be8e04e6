//! A specialised world for training. On the networks for which tables are trained it gives the same
//! results as the general world of `paceline-sim`, bit by bit, several times as fast.
//!
//! Senders of tables that retransmit nothing, over one link with a droptail buffer and a constant
//! delay, need only these parts of a simulator: a line of packets in the order of their arrival
//! ([`mod@line`]), a link that knows each packet's departure ([`link`]), for each sender the
//! memory, the window, the pacing and three numbers ([`sender`]), and a line of acknowledgements if
//! these take time ([`acks`]). Retransmission timers and losses declared by an account play no
//! part: such a sender reacts only to acknowledgements, a late packet is still acknowledged, and
//! packets are not reordered.
//!
//! Of events at the same nanosecond, arrivals come first, then acknowledgements, then senders, the
//! last two in the order of the senders' numbers, as in the general world.

mod acks;
mod fits;
mod line;
mod link;
mod sender;
mod wakeups;

use std::sync::Arc;

use paceline_cc::{Span, Time};
use paceline_path::Impairments;
use paceline_schemes::remy::{Memory, RemyParams, RuleTable};
use paceline_sim::scenario::Capacity;

use self::acks::AckPaths;
use self::fits::{ack_paths, fits};
use self::line::{Line, Packet};
use self::link::{FastLink, Passage};
use self::sender::{FastSender, FollowedTable, RuleUses};
use self::wakeups::Wakeups;
use crate::network::{Network, PACKET};
use crate::score::{self, BoundedRun, Overload, SenderFigures};
use crate::usage::UsageCounts;

/// The senders of a network: those of the table being tried, and those of another.
#[derive(Copy, Clone)]
pub struct TableSenders<'a> {
    /// The table being tried.
    pub table: &'a Arc<RuleTable>,
    /// The table of the senders of the other kind, if the network has such senders and their table
    /// is known.
    pub others: Option<&'a Arc<RuleTable>>,
    /// Parameters of all senders.
    pub params: &'a RemyParams,
}

/// A network that the specialised world can run, at time zero.
pub struct FastRun<'a> {
    network: &'a Network,
    tables: Vec<FollowedTable<'a>>,
    periods: Vec<Vec<(Time, Time)>>,
    duration: Span,
    world: World,
}

/// The state of a run.
#[derive(Clone)]
struct World {
    now: Time,
    link: FastLink,
    /// Delay after the link.
    delay: Span,
    line: Line,
    senders: Vec<FastSender>,
    wakeups: Wakeups,
    /// Return paths of acknowledgements, if they take time.
    acks: Option<AckPaths>,
    counts: HandOverCounts,
}

/// Counters of what the general world counts as hand-overs between its stages.
#[derive(Copy, Clone, Debug, Default)]
struct HandOverCounts {
    /// Packets that were sent, that entered the link, and that are lost after it.
    sent: u64,
    entered: u64,
    lost: u64,
    /// Packets and acknowledgements that arrived.
    arrived: u64,
    acked: u64,
    /// True if the general world has a stage for the delay after the link, which it needs where it
    /// cannot compute departures when packets enter; true if it has one for losses; true if it has
    /// one for acknowledgements.
    has_delay_stage: bool,
    has_loss_stage: bool,
    has_ack_stage: bool,
}

impl<'a> FastRun<'a> {
    /// Creates the run of a network, if `fits` allows it.
    pub fn new(
        network: &'a Network,
        senders: TableSenders<'a>,
        duration: Span,
        seed: u64,
    ) -> Option<FastRun<'a>> {
        let link = fits(network, &senders, duration, seed)?;
        let mut tables = vec![FollowedTable::new(senders.table, senders.params, true)];
        let own = network.own() as usize;
        if let Some(table) = senders.others.filter(|_| own < network.senders as usize) {
            tables.push(FollowedTable::new(table, senders.params, false));
        }
        let periods = network.periods(duration, seed)?;
        let mut world = World {
            now: Time::ZERO,
            link,
            delay: network.rtt,
            line: Line::new(),
            senders: Vec::with_capacity(periods.len()),
            wakeups: Wakeups::new(periods.len()),
            acks: ack_paths(network, seed),
            counts: HandOverCounts::of(network),
        };
        for (number, periods) in periods.iter().enumerate() {
            let table = if number < own { 0 } else { tables.len() - 1 };
            let mut sender = FastSender::new(table, &tables[table]);
            sender.switch = periods.first().map_or(Time::NEVER, |&(on, _)| on);
            sender.wake = sender.switch;
            world.wakeups.set(number, sender.wake);
            world.senders.push(sender);
        }
        Some(FastRun { network, tables, periods, duration, world })
    }

    /// Runs to the end.
    pub fn run(mut self, uses: Option<&mut UsageCounts>) -> Vec<SenderFigures> {
        self.advance(Time::ZERO + self.duration, uses);
        self.figures()
    }

    /// Runs to the end, or until senders have sent many times what the link carries (`carried`
    /// packets per millisecond): see [`score::run_within_reason`].
    pub fn run_within_reason(
        mut self,
        carried: f64,
        mut uses: Option<&mut UsageCounts>,
    ) -> BoundedRun {
        let overload = Overload::new(carried, self.duration);
        for part in overload.parts() {
            self.advance(Time::ZERO + part, uses.as_deref_mut());
            if overload.is_reached(part, self.world.hand_overs(Time::ZERO + part)) {
                return BoundedRun { senders: None, simulated: part };
            }
        }
        BoundedRun::whole(self.figures(), self.duration)
    }

    fn advance(&mut self, end: Time, uses: Option<&mut UsageCounts>) {
        let FastRun { tables, periods, world, .. } = self;
        match uses {
            Some(uses) => world.advance(tables, periods, end, uses),
            None => world.advance(tables, periods, end, &mut ()),
        }
    }

    fn figures(&self) -> Vec<SenderFigures> {
        let end = Time::ZERO + self.duration;
        let sums = self.world.senders.iter().zip(&self.periods).map(|(sender, periods)| {
            let on = |all: Span, &(on, off): &(Time, Time)| all + off.min(end).since(on);
            let mut sums = paceline_sim::FlowSums::default();
            sums.bytes = sender.packets * u64::from(PACKET);
            sums.packets = sender.packets;
            sums.delay_s = sender.delay.as_secs_f64();
            sums.on_s = periods.iter().fold(Span::ZERO, on).as_secs_f64();
            sums
        });
        score::figures_of(self.network, Some(&score::shares_of(&self.periods, end)), sums)
    }
}

impl World {
    /// Handles all events before `end`.
    fn advance(
        &mut self,
        tables: &[FollowedTable<'_>],
        periods: &[Vec<(Time, Time)>],
        end: Time,
        uses: &mut impl RuleUses,
    ) {
        // Two functions, so that without acknowledgement delays no time is spent on looking for
        // acknowledgements.
        match self.acks {
            None => self.run::<false>(tables, periods, end, uses),
            Some(_) => self.run::<true>(tables, periods, end, uses),
        }
    }

    fn run<const DELAYED_ACKS: bool>(
        &mut self,
        tables: &[FollowedTable<'_>],
        periods: &[Vec<(Time, Time)>],
        end: Time,
        uses: &mut impl RuleUses,
    ) {
        loop {
            let (arrival, wakeup) = (self.line.due(), self.wakeups.earliest());
            let ack = match &self.acks {
                Some(acks) if DELAYED_ACKS => acks.due(),
                _ => Time::NEVER,
            };
            let due = arrival.min(ack).min(wakeup);
            if due >= end {
                return;
            }
            self.now = due;
            let acked = if arrival == due {
                let Packet { sent, number, sender, lost, .. } = self.line.pop();
                if lost {
                    continue;
                }
                let sender = sender as usize;
                self.counts.arrived += 1;
                let place = &mut self.senders[sender];
                place.packets += 1;
                place.delay += due.since(sent);
                if DELAYED_ACKS && let Some(acks) = &mut self.acks {
                    acks.push(due, sender, (number, sent));
                    continue;
                }
                Some((sender, number, sent))
            } else if DELAYED_ACKS && ack == due {
                let popped = self.acks.as_mut().and_then(AckPaths::pop);
                popped.map(|(sender, ack)| (sender, ack.number, ack.sent))
            } else {
                None
            };
            let sender = match acked {
                Some((sender, number, sent)) => {
                    self.counts.acked += 1;
                    let place = &mut self.senders[sender];
                    place.on_ack(due, (number, sent), &tables[place.table], uses);
                    sender
                }
                None => self.wakeups.first(),
            };
            if self.senders[sender].switch <= due {
                self.switch(sender, tables, &periods[sender]);
            }
            let place = &mut self.senders[sender];
            if place.next_tick() <= due {
                place.on_tick(due, &tables[place.table], uses);
            }
            self.send(sender);
        }
    }

    /// Switches a sender on or off.
    #[cold]
    #[inline(never)]
    fn switch(&mut self, number: usize, tables: &[FollowedTable<'_>], periods: &[(Time, Time)]) {
        let sender = &mut self.senders[number];
        while sender.switch <= self.now {
            sender.is_on = !sender.is_on;
            sender.switch = if sender.is_on {
                sender.connect(&tables[sender.table]);
                sender.periods += 1;
                periods[sender.periods - 1].1
            } else {
                periods.get(sender.periods).map_or(Time::NEVER, |&(on, _)| on)
            };
        }
    }

    /// Sends the packets that a sender may send at this time.
    #[inline(always)]
    fn send(&mut self, number: usize) {
        let World { now, link, delay, line, senders, wakeups, counts, .. } = self;
        let sender = &mut senders[number];
        let mut wake = sender.switch.min(sender.next_tick());
        while sender.is_on && sender.has_window() {
            if sender.next_send() > *now {
                wake = wake.min(sender.next_send());
                break;
            }
            let packet = Packet {
                due: Time::NEVER,
                sent: *now,
                number: sender.on_send(*now),
                sender: number as u32,
                lost: false,
            };
            counts.sent += 1;
            match link.enter(*now) {
                Passage::Carried(departure) => {
                    line.push(Packet { due: departure + *delay, ..packet })
                }
                Passage::Lost(departure) => {
                    counts.lost += 1;
                    line.push(Packet { due: departure + *delay, lost: true, ..packet });
                }
                Passage::Dropped => continue,
            }
            counts.entered += 1;
        }
        if wake != sender.wake {
            sender.wake = wake;
            wakeups.set(number, wake);
        }
    }

    /// Returns how many hand-overs the general world would have made before `end`, the time up to
    /// which this world has run.
    fn hand_overs(&self, end: Time) -> u64 {
        let HandOverCounts { sent, entered, lost, arrived, acked, .. } = self.counts;
        let HandOverCounts { has_delay_stage, has_loss_stage, has_ack_stage, .. } = self.counts;
        // Into the link, to the receiver, and back to the sender.
        let mut all = sent + arrived + acked;
        all += arrived * u64::from(has_ack_stage);
        if has_delay_stage || has_loss_stage {
            let inside =
                self.line.newest_first().take_while(|packet| packet.due - self.delay >= end);
            let (inside, inside_lost) =
                inside.fold((0, 0), |(all, lost), packet| (all + 1, lost + u64::from(packet.lost)));
            all += (entered - inside) * u64::from(has_loss_stage);
            all += (entered - lost - (inside - inside_lost)) * u64::from(has_delay_stage);
        }
        all
    }
}

/// Counts the uses of rules.
impl RuleUses for UsageCounts {
    #[inline]
    fn on_use(&mut self, rule: usize, memory: &Memory) {
        self.count(rule, memory);
    }
}

impl HandOverCounts {
    fn of(network: &Network) -> HandOverCounts {
        let is_constant = matches!(network.link, Capacity::Constant(_));
        let has_loss_stage = network.loss > 0.0;
        HandOverCounts {
            has_delay_stage: has_loss_stage || !is_constant,
            has_loss_stage,
            has_ack_stage: network.ack_impairments() != Impairments::default(),
            ..HandOverCounts::default()
        }
    }
}

#[cfg(test)]
mod tests;
