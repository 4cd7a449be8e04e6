//! The link of a network, which computes a packet's departure time when the packet enters.

use std::collections::VecDeque;

use paceline_cc::{Rate, Stream, Time};
use paceline_path::Constant;
use paceline_trace::{Cursor, Trace};

use crate::network::PACKET;

/// A link with a droptail buffer, and random losses after it.
#[derive(Clone)]
pub(super) struct FastLink {
    service: FastService,
    /// Departure time of the packet that entered last.
    last_departure: Time,
    buffer: Option<LimitedBuffer>,
    losses: Option<RandomLosses>,
}

#[derive(Clone)]
enum FastService {
    Constant(Constant),
    Trace(TraceService),
}

/// Delivery opportunities of a trace that repeats for ever.
#[derive(Clone)]
struct TraceService {
    /// The next unused opportunity.
    cursor: Cursor,
    /// Bytes per opportunity, and bytes that a packet needs.
    opportunity: u64,
    packet: u64,
    /// Bytes left of the last opportunity, and its time.
    credit: u64,
    at: Time,
}

/// A buffer for a number of packets, without the one in transmission.
#[derive(Clone)]
struct LimitedBuffer {
    limit: u64,
    /// Start of transmission of each packet that may still wait.
    begins: VecDeque<Time>,
}

#[derive(Clone)]
struct RandomLosses {
    probability: f64,
    stream: Stream,
}

/// What happens to a packet.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) enum Passage {
    /// The buffer is full.
    Dropped,
    /// It leaves the link at this time, and is lost after it.
    Lost(Time),
    /// It leaves the link at this time.
    Carried(Time),
}

impl FastLink {
    /// Creates a link of constant rate.
    pub(super) fn constant(rate: Rate) -> FastLink {
        FastLink::new(FastService::Constant(Constant::new(rate)))
    }

    /// Creates a link that follows a trace. Each opportunity has `opportunity` bytes; each packet
    /// needs `overhead` bytes in addition to its own.
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

    /// Sets the capacity of the buffer in packets; `None` for no limit.
    pub(super) fn with_buffer(mut self, packets: Option<u64>) -> FastLink {
        self.buffer = packets.map(|limit| LimitedBuffer { limit, begins: VecDeque::new() });
        self
    }

    /// Sets the probability of losses after the link, drawn from `stream`.
    pub(super) fn with_losses(mut self, probability: f64, stream: Stream) -> FastLink {
        self.losses = Some(RandomLosses { probability, stream });
        self
    }

    /// Passes a packet that enters at `now`.
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
        // Draw here: packets leave in the order in which they enter.
        let losses = self.losses.as_mut();
        match losses.is_some_and(|losses| losses.stream.chance(losses.probability)) {
            true => Passage::Lost(departure),
            false => Passage::Carried(departure),
        }
    }
}

impl LimitedBuffer {
    /// Returns true if the buffer is full at `now`.
    #[inline]
    fn is_full(&mut self, now: Time) -> bool {
        while self.begins.front().is_some_and(|&begin| begin <= now) {
            self.begins.pop_front();
        }
        self.begins.len() as u64 >= self.limit
    }
}

impl TraceService {
    /// Schedules a packet that enters at `now`; `idle` if all packets before it have left. Returns
    /// the start and the end of its transmission.
    fn pass(&mut self, now: Time, idle: bool) -> (Time, Time) {
        if idle {
            // Bytes left over are lost, and so are opportunities up to now.
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
