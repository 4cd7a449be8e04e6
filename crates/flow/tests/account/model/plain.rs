//! A slow and simple account: a plain list of packets, from which everything is computed anew at
//! each event.

use paceline_cc::NO_SEGMENT;
use paceline_cc::{Ack, Span, Time};
use paceline_flow::{AccountConfig, SenderStats, Sent};

use super::rack::Rack;

use super::rtt::Rtt;

/// The state of a packet.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    InFlight,
    /// Declared lost when this number was next; it may still arrive.
    Lost(u64),
    /// Declared lost; its acknowledgement would be ignored.
    Forgotten,
    Acked,
}

pub(super) struct Packet {
    pub(super) sent: Time,
    pub(super) size: u32,
    pub(super) segment: u64,
    pub(super) fate: Fate,
    /// Total bytes delivered before it was sent.
    pub(super) delivered_before: u64,
    /// True if it retransmits data.
    pub(super) again: bool,
    /// True if RACK may declare it lost.
    pub(super) watched: bool,
}

/// The expected feedback of an acknowledgement or a deadline.
#[derive(Default)]
pub(super) struct ExpectedFeedback {
    pub(super) acked: Vec<u64>,
    pub(super) lost: Vec<u64>,
    pub(super) rtt: Option<Span>,
    pub(super) marked: u32,
    pub(super) round_start: bool,
    /// Bytes delivered before the newest of the packets was sent.
    pub(super) prior_delivered: Option<u64>,
}

pub(super) struct Plain {
    pub(super) config: AccountConfig,
    pub(super) packets: Vec<Packet>,
    /// Packets below belong to earlier connections.
    pub(super) first: usize,
    /// A packet is lost when one this many numbers later has been acknowledged.
    pub(super) reordering: u64,
    pub(super) next_segment: u64,
    pub(super) cumulative: u64,
    pub(super) delivered: u64,
    pub(super) stats: SenderStats,
    /// Numbers of lost packets whose data has not been retransmitted.
    pub(super) repairs: Vec<u64>,
    /// Segments whose retransmission was in flight at the last undo; those of them that were lost
    /// again; and the number of copies that count without existing.
    pub(super) on_their_way: Vec<u64>,
    pub(super) held: Vec<u64>,
    pub(super) leaked: usize,
    /// True if the timer has expired and no repair was sent since.
    pub(super) head_is_due: bool,
    pub(super) round: u64,
    round_end: u64,
    pub(super) rtt: Rtt,
    /// The counter of marked packets in the newest acknowledgement.
    ce_packets: u32,
    /// When the retransmission timer was started, the number that was next then, and whether the
    /// tail was probed since.
    pub(super) progress: Time,
    pub(super) progress_next: u64,
    pub(super) probed: bool,
    /// Number of the last probe, and whether no congestion was reacted to since.
    pub(super) probe: u64,
    pub(super) probe_out: bool,
    /// When the oldest missing segment was last retransmitted during a repair.
    pub(super) repaired: Time,
    pub(super) repaired_segment: u64,
    /// RACK's state.
    pub(super) rack: Rack,
    /// When the time threshold declares the next packet lost.
    pub(super) loss_at: Time,
}

impl Plain {
    pub(super) fn new(config: AccountConfig) -> Plain {
        Plain {
            packets: Vec::new(),
            first: 0,
            reordering: 3,
            next_segment: 0,
            cumulative: 0,
            delivered: 0,
            stats: SenderStats::default(),
            repairs: Vec::new(),
            on_their_way: Vec::new(),
            held: Vec::new(),
            leaked: 0,
            head_is_due: false,
            round: 0,
            round_end: 0,
            rtt: Rtt::new(config.rto),
            ce_packets: 0,
            progress: Time::ZERO,
            progress_next: 0,
            probed: false,
            probe: 0,
            probe_out: false,
            repaired: Time::ZERO,
            repaired_segment: u64::MAX,
            rack: Rack::default(),
            loss_at: Time::NEVER,
            config,
        }
    }

    pub(super) fn in_flight(&self) -> u64 {
        let in_flight = self.packets.iter().filter(|packet| packet.fate == Fate::InFlight);
        in_flight.map(|packet| u64::from(packet.size)).sum()
    }

    /// Returns the packets of this connection with their numbers.
    pub(super) fn present(&self) -> impl DoubleEndedIterator<Item = (u64, &Packet)> {
        self.packets.iter().enumerate().skip(self.first).map(|(i, packet)| (i as u64, packet))
    }

    pub(super) fn largest_acked(&self) -> Option<u64> {
        self.present().rev().find(|(_, packet)| packet.fate == Fate::Acked).map(|(n, _)| n)
    }

    /// Notes a packet sent; `repairing` says that losses are being repaired.
    pub(super) fn on_sent(&mut self, now: Time, sent: Sent, repairing: bool) -> u64 {
        if (self.in_flight() == 0 && !self.holds_repairs()) || self.needs_no_timer() {
            self.restart(now);
        }
        self.stats.sent += 1;
        self.stats.retransmits += u64::from(sent.retransmission);
        if sent.segment != NO_SEGMENT {
            self.next_segment = self.next_segment.max(sent.segment + 1);
        }
        self.packets.push(Packet {
            sent: now,
            size: sent.size,
            segment: sent.segment,
            fate: Fate::InFlight,
            delivered_before: self.delivered,
            again: sent.retransmission,
            watched: true,
        });
        if repairing && sent.retransmission && sent.segment == self.cumulative && self.linux() {
            self.restart(now);
            (self.repaired, self.repaired_segment) = (now, sent.segment);
        }
        self.packets.len() as u64 - 1
    }

    pub(super) fn on_ack(
        &mut self,
        now: Time,
        ack: &Ack,
        older: &[(u64, u64)],
        repairs_end: u64,
    ) -> ExpectedFeedback {
        self.stats.acks += 1;
        self.rack.acked_end = self.largest_acked().map_or(0, |largest| largest + 1);
        self.rack.in_vain = false;
        let mut said = ExpectedFeedback::default();
        let mut newest = None;
        for (first, last) in ack.blocks().chain(older.iter().copied()) {
            for number in first.max(self.first as u64)..=last.min(u64::MAX - 1) {
                if number >= self.packets.len() as u64 {
                    break;
                }
                self.arrives(number, &mut newest, &mut said);
            }
        }
        let cumulative = ack.cumulative.min(self.next_segment);
        let advanced = cumulative > self.cumulative;
        if advanced {
            self.cumulative = cumulative;
            self.settle();
            self.arrives_below(ack, &mut newest, &mut said);
        }
        if let Some(newest) = said.acked.iter().max() {
            let repeats = self.packets[*newest as usize].again && !advanced && self.linux();
            if *newest == ack.largest && !repeats {
                let rtt = now.since(self.packets[*newest as usize].sent);
                let (passed, next) = match self.config.reliable {
                    true => (self.cumulative, self.next_segment),
                    false => (*newest, self.packets.len() as u64),
                };
                self.rtt.measure(rtt.max(Span::from_nanos(1)), passed, next);
                said.rtt = Some(rtt);
            }
            let sent = self.packets[*newest as usize].sent;
            if advanced || !self.linux() || sent < self.repaired {
                self.restart(now);
            }
            let prior = self.packets[*newest as usize].delivered_before;
            let segment = |number: u64| self.packets[number as usize].segment;
            let last = said.acked.iter().max_by_key(|number| {
                (segment(**number) < ack.cumulative, segment(**number), **number)
            });
            let last = last.map_or(sent, |number| self.packets[*number as usize].sent);
            self.rack.on_ack(now.since(last), prior, self.delivered);
        }
        // An older count is behind by less than half of the counter's range.
        if ack.ce_packets.wrapping_sub(self.ce_packets) as i32 > 0 {
            said.marked = ack.ce_packets.wrapping_sub(self.ce_packets);
            self.ce_packets = ack.ce_packets;
            if self.first > 0 {
                // Without those of an earlier connection.
                let numbers = ack.largest.saturating_add(1).saturating_sub(self.first as u64);
                said.marked = said.marked.min(u32::try_from(numbers).unwrap_or(u32::MAX));
            }
        }
        said.prior_delivered = newest.map(|(prior, _)| prior);
        if said.prior_delivered.is_some_and(|prior| prior >= self.round_end) {
            said.round_start = true;
            self.round += 1;
            self.round_end = self.delivered;
        }
        said.lost = self.detect(now, self.cumulative < repairs_end);
        said
    }

    /// Notes the arrival of a packet that may have arrived before.
    fn arrives(
        &mut self,
        number: u64,
        newest: &mut Option<(u64, Time)>,
        said: &mut ExpectedFeedback,
    ) {
        let packet = &self.packets[number as usize];
        match packet.fate {
            Fate::Acked | Fate::Forgotten => return,
            Fate::InFlight => {
                *newest = (*newest).max(Some((packet.delivered_before, packet.sent)));
                if !packet.again && number + 1 != self.probe {
                    self.overtaken(number);
                }
            }
            Fate::Lost(_) => self.find(number),
        }
        let packet = &mut self.packets[number as usize];
        packet.fate = Fate::Acked;
        self.delivered += u64::from(packet.size);
        said.acked.push(number);
    }

    /// Marks as arrived the packets below a cumulative point that has advanced: packets in flight
    /// whose numbers the acknowledgement does not cover, and queued repairs.
    fn arrives_below(
        &mut self,
        ack: &Ack,
        newest: &mut Option<(u64, Time)>,
        said: &mut ExpectedFeedback,
    ) {
        let untold = ack.blocks().last().map_or(0, |(first, _)| first);
        let untold = untold.min(self.largest_acked().map_or(0, |largest| largest + 1));
        let in_flight: Vec<u64> = self
            .present()
            .filter(|(number, packet)| *number < untold && packet.fate == Fate::InFlight)
            .map(|(number, _)| number)
            .collect();
        for number in in_flight.into_iter().chain(self.repairs.clone()) {
            if self.packets[number as usize].segment < self.cumulative {
                self.arrives(number, newest, said);
                self.repairs.retain(|repair| *repair != number);
            }
        }
    }

    pub(super) fn reconnect(&mut self, segment: u64) {
        for packet in &mut self.packets[self.first..] {
            if packet.fate != Fate::Acked {
                packet.fate = Fate::Forgotten;
            }
        }
        self.first = self.packets.len();
        (self.next_segment, self.cumulative) = (segment, segment);
        self.reordering = 3;
        self.repairs.clear();
        self.on_their_way.clear();
        self.held.clear();
        (self.leaked, self.head_is_due) = (0, false);
        self.rack = Rack::default();
        self.probe_out = false;
        self.rtt = Rtt::new(self.config.rto);
    }
}
