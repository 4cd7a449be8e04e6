//! Requests for lost packets, as a receiver of RTP makes them (RTCP's NACK, RFC 4585 §6.2.1, by libwebrtc's
//! `nack_requester.cc`).
//!
//! A request arrives together with the acknowledgement that shows a later packet, and again an RTT after each repair
//! that has not arrived. So the sender makes the requests itself. Nothing is sent again because a retransmission timer
//! has expired: the receiver cannot ask for the last packets before it has received a later one.

use std::collections::VecDeque;

use paceline_cc::{NO_SEGMENT, Span, Time};

use super::entry::Entry;
use super::gaps::queue_repair;
use super::{Account, Repair};

/// How long the receiver waits for a packet before it asks for a key frame instead (libwebrtc's
/// `video_receive_stream2.cc`, kMaxWaitForFrame).
const LONGEST_WAIT: Span = Span::from_secs(3);
/// RTT that is assumed before one is measured (libwebrtc's `nack_requester.cc`, kDefaultRtt).
const FIRST_RTT: Span = Span::from_millis(100);
/// Packets that may be missing; with more, the receiver asks for a key frame instead (kMaxNackPackets).
const MOST_MISSING: usize = 1000;

/// A packet that was declared lost and whose data has not arrived.
#[derive(Copy, Clone, Debug)]
struct Missing {
    /// Its data, and the number under which that was sent last.
    repair: Repair,
    /// When the receiver noticed that it is missing; [`Time::NEVER`] until a later packet has arrived.
    noticed: Time,
    /// Number of repairs sent.
    repairs: u32,
    /// When the next request arrives; [`Time::NEVER`] while a repair waits to be sent, and after the last one.
    due: Time,
}

/// The packets that the receiver asks for.
#[derive(Debug)]
pub(super) struct Requests {
    /// Number of requests for a packet.
    most: u32,
    /// In the order of their segments.
    missing: VecDeque<Missing>,
    /// Before this time no request arrives and no packet is given up.
    next: Time,
    /// True if the receiver has not noticed some of them.
    has_unnoticed: bool,
}

impl Requests {
    /// Returns the requests of a receiver that asks `most` times for a packet; `None` if it asks for none.
    pub(super) fn new(most: u32) -> Option<Box<Requests>> {
        let requests =
            Requests { most, missing: VecDeque::new(), next: Time::NEVER, has_unnoticed: false };
        (most > 0).then(|| Box::new(requests))
    }

    /// Returns the requests of the same receiver, which misses nothing.
    pub(super) fn anew(&self) -> Option<Box<Requests>> {
        Requests::new(self.most)
    }

    /// Returns the place of a segment among the missing ones, or where it is to be inserted.
    fn place(&self, segment: u64) -> Result<usize, usize> {
        self.missing.binary_search_by_key(&segment, |missing| missing.repair.segment)
    }

    /// Notes that a packet was declared lost.
    pub(super) fn on_lost(&mut self, number: u64, entry: &Entry) {
        // A repair that is lost, too, is asked for by time.
        if entry.segment != NO_SEGMENT
            && let Err(at) = self.place(entry.segment)
        {
            let repair = entry.repair(number);
            let (noticed, due) = (Time::NEVER, Time::NEVER);
            self.missing.insert(at, Missing { repair, noticed, repairs: 0, due });
            (self.has_unnoticed, self.next) = (true, Time::ZERO);
        }
    }

    /// Notes that the data of `segment` has arrived.
    #[inline]
    pub(super) fn on_arrival(&mut self, segment: u64, repairs: &mut VecDeque<Repair>) {
        if !self.missing.is_empty()
            && let Ok(at) = self.place(segment)
        {
            self.missing.remove(at);
            if self.missing.is_empty() {
                self.next = Time::NEVER;
            }
            drop_repair(repairs, segment);
        }
    }

    /// Notes that the data of `segment` is sent again, under a new number. The next request for it would arrive an
    /// `rtt` later.
    fn on_sent(&mut self, now: Time, (number, segment): (u64, u64), rtt: Span) {
        let Ok(at) = self.place(segment) else { return };
        let missing = &mut self.missing[at];
        missing.repair.number = number;
        missing.repairs += 1;
        missing.due = if missing.repairs < self.most { now + rtt } else { Time::NEVER };
        self.next = self.next.min(missing.due);
    }

    /// Queues the repairs whose requests have arrived by `now`, when all numbers below `seen` have arrived or are
    /// missing. Returns one more than the largest segment that was given up, or zero.
    fn ask(&mut self, now: Time, seen: u64, repairs: &mut VecDeque<Repair>) -> u64 {
        let mut given_up = 0;
        if self.missing.len() > MOST_MISSING {
            given_up = self.missing.back().map_or(0, |newest| newest.repair.segment + 1);
            self.missing.clear();
            repairs.clear();
        }
        let (mut next, mut has_unnoticed) = (Time::NEVER, false);
        self.missing.retain_mut(|missing| {
            if missing.noticed == Time::NEVER {
                if missing.repair.number >= seen {
                    has_unnoticed = true;
                    return true;
                }
                (missing.noticed, missing.due) = (now, now);
            }
            let end = missing.noticed + LONGEST_WAIT;
            if end <= now {
                given_up = given_up.max(missing.repair.segment + 1);
                drop_repair(repairs, missing.repair.segment);
                return false;
            }
            if missing.due <= now {
                missing.due = Time::NEVER;
                queue_repair(repairs, missing.repair);
            }
            next = next.min(missing.due).min(end);
            true
        });
        (self.next, self.has_unnoticed) = (next, has_unnoticed);
        given_up
    }
}

/// Drops the queued repair of `segment`. Returns false if there is none.
pub(super) fn drop_repair(repairs: &mut VecDeque<Repair>, segment: u64) -> bool {
    let found = repairs.binary_search_by_key(&segment, |repair| repair.segment);
    found.is_ok_and(|at| repairs.remove(at).is_some())
}

impl Account {
    /// Queues repairs that the receiver has asked for by `now`, if it may have asked for any.
    #[inline]
    pub(super) fn hear_requests(&mut self, now: Time) {
        if let Some(requests) = &self.requests
            && (requests.has_unnoticed || requests.next <= now)
        {
            self.take_requests(now);
        }
    }

    #[cold]
    fn take_requests(&mut self, now: Time) {
        let seen = self.ledger.acked_end();
        let Some(requests) = &mut self.requests else { return };
        self.lost_end = self.lost_end.max(requests.ask(now, seen, &mut self.repairs));
    }

    /// Returns a time before which no request arrives without an acknowledgement.
    #[inline]
    pub(super) fn next_request(&self) -> Time {
        self.requests.as_ref().map_or(Time::NEVER, |requests| requests.next)
    }

    /// Notes that the data of `segment` is sent again as packet `number`.
    pub(super) fn note_requested(&mut self, now: Time, number: u64, segment: u64) {
        let Some(requests) = &mut self.requests else { return };
        let rtt = self.rtt.smoothed().max(self.rtt.latest());
        requests.on_sent(now, (number, segment), if rtt.is_zero() { FIRST_RTT } else { rtt });
    }
}
