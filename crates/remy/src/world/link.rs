//! The link of a network: when each packet leaves it is known as soon as the packet enters.

use std::collections::VecDeque;

use paceline_cc::{Rate, Stream, Time};
use paceline_sim::path::Constant;
use paceline_sim::trace::{Cursor, Trace};

use crate::network::PACKET;

/// A link with a droptail buffer, and the random losses behind it.
#[derive(Clone)]
pub(super) struct FastLink {
    service: FastService,
    /// When the packet that entered last leaves.
    last_departure: Time,
    buffer: Option<LimitedBuffer>,
    losses: Option<RandomLosses>,
}

#[derive(Clone)]
enum FastService {
    Constant(Constant),
    Trace(TraceService),
}

/// Bytes at the instants of a trace that repeats for ever.
#[derive(Clone)]
struct TraceService {
    /// The next opportunity that is not used.
    cursor: Cursor,
    /// Bytes that each opportunity offers, and what a packet takes of them.
    opportunity: u64,
    packet: u64,
    /// Bytes that the last opportunity has left, and its time.
    credit: u64,
    at: Time,
}

/// A buffer that holds a number of packets, beside the one that is in transmission.
#[derive(Clone)]
struct LimitedBuffer {
    limit: u64,
    /// When the transmission begins of each packet that may still wait.
    begins: VecDeque<Time>,
}

#[derive(Clone)]
struct RandomLosses {
    probability: f64,
    stream: Stream,
}

/// What becomes of a packet that is sent.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) enum Passage {
    /// The buffer is full.
    Dropped,
    /// It leaves the link at this time, and gets lost behind it.
    Lost(Time),
    /// It leaves the link at this time.
    Carried(Time),
}

impl FastLink {
    /// A link of constant rate.
    pub(super) fn constant(rate: Rate) -> FastLink {
        FastLink::new(FastService::Constant(Constant::new(rate)))
    }

    /// A link that follows a trace: each opportunity offers so many bytes, and each packet costs
    /// `overhead` bytes beside its own.
    pub(super) fn trace(trace: &Trace, opportunity: u32, overhead: u32) -> FastLink {
        FastLink::new(FastService::Trace(TraceService {
            cursor: trace.cursor(),
            opportunity: opportunity.into(),
            packet: u64::from(PACKET) + u64::from(overhead),
            credit: 0,
            at: Time::ZERO,
        }))
    }

    fn new(service: FastService) -> FastLink {
        FastLink { service, last_departure: Time::ZERO, buffer: None, losses: None }
    }

    /// The same with a buffer for so many packets; `None` for any number.
    pub(super) fn with_buffer(mut self, packets: Option<u64>) -> FastLink {
        self.buffer = packets.map(|limit| LimitedBuffer { limit, begins: VecDeque::new() });
        self
    }

    /// The same with a share of packets that get lost behind it, drawn from `stream`.
    pub(super) fn with_losses(mut self, probability: f64, stream: Stream) -> FastLink {
        self.losses = Some(RandomLosses { probability, stream });
        self
    }

    /// A packet enters at `now`.
    #[inline(always)]
    pub(super) fn enter(&mut self, now: Time) -> Passage {
        if let Some(buffer) = &mut self.buffer
            && buffer.is_full(now)
        {
            return Passage::Dropped;
        }
        let idle = self.last_departure <= now;
        let (begin, departure) = match &mut self.service {
            FastService::Constant(constant) => {
                let begin = self.last_departure.max(now);
                (begin, constant.finish(begin, PACKET))
            }
            FastService::Trace(trace) => trace.pass(now, idle),
        };
        self.last_departure = departure;
        if let Some(buffer) = &mut self.buffer {
            buffer.begins.push_back(begin);
        }
        // Packets leave in the order in which they enter, so that they may be drawn for here.
        let losses = self.losses.as_mut();
        match losses.is_some_and(|losses| losses.stream.chance(losses.probability)) {
            true => Passage::Lost(departure),
            false => Passage::Carried(departure),
        }
    }
}

impl LimitedBuffer {
    /// True if so many packets wait at `now` as there is room for.
    #[inline]
    fn is_full(&mut self, now: Time) -> bool {
        while self.begins.front().is_some_and(|&begin| begin <= now) {
            self.begins.pop_front();
        }
        self.begins.len() as u64 >= self.limit
    }
}

impl TraceService {
    /// A packet enters at `now`; `idle` if all before it have left by then. Returns when its transmission
    /// begins, and when it has left.
    fn pass(&mut self, now: Time, idle: bool) -> (Time, Time) {
        if idle {
            // What nobody has used is lost, and so are opportunities up to now.
            self.credit = 0;
            if self.cursor.peek() <= now {
                self.cursor.seek(now);
            }
        }
        let mut owed = self.packet;
        let mut begin = if self.credit > 0 { Some(self.at) } else { None };
        loop {
            if self.credit == 0 {
                self.at = self.cursor.peek();
                self.cursor.advance();
                self.credit = self.opportunity;
            }
            let begin = *begin.get_or_insert(self.at);
            let used = self.credit.min(owed);
            self.credit -= used;
            owed -= used;
            if owed == 0 {
                return (begin, self.at);
            }
        }
    }
}
