//! The receiver's half (RFC 8698 §5.1): what it knows of the packets of the last `logwin`. The sender
//! keeps it, from acknowledgements.

use std::collections::VecDeque;

use paceline_cc::{Fate, Span, Time};

use super::NadaParams;
use crate::parts::WindowedMin;

/// Number of newest packets of which the smallest delay and RTT count (RFC 8698 §5.1.1).
const TAPS: usize = 15;
/// Number of packets from which on shares mean something (ns3-rmcat `MIN_PACKET_LOGLEN`), and the rate between the first
/// and the last of them.
const LEAST_PACKETS: usize = 5;

#[derive(Copy, Clone, Debug)]
struct Arrival {
    /// When the sender heard of it, and its time until then.
    heard: Time,
    rtt: Span,
    /// When it arrived, by the receiver's clock.
    received: Time,
    /// Time between departure and arrival in nanoseconds, with the offset of the clocks; `None` if the
    /// acknowledgement had the arrival time of another packet.
    transit: Option<i64>,
    size: u32,
}

/// Statistics of the packets of the last `logwin`.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Summary {
    /// Queueing delay in milliseconds: the smallest of the newest packets; `None` if none is known.
    pub(super) d_queue: Option<f64>,
    /// RTT in milliseconds: the smallest of the newest packets.
    pub(super) rtt: f64,
    /// Received rate in bits per second; `None` if it is not known yet.
    pub(super) r_recv: Option<f64>,
    /// Shares of packets lost and marked.
    pub(super) loss: f64,
    pub(super) marks: f64,
    /// True if no packet was lost, and no queueing delay reached `qeps`.
    pub(super) is_underused: bool,
}

/// The packets of the last `logwin`.
#[derive(Clone, Debug)]
pub(super) struct Log {
    logwin: Span,
    qeps: Span,
    arrivals: VecDeque<Arrival>,
    /// When the newest packet before these arrived.
    received_before: Option<Time>,
    /// When the sender heard of each loss.
    losses: VecDeque<Time>,
    /// When the sender heard of marks, and their number.
    marks: VecDeque<(Time, u32)>,
    /// The smallest transit time of the last `base_time`.
    base: WindowedMin<i64>,
}

impl Log {
    pub(super) fn new(params: &NadaParams) -> Log {
        Log {
            logwin: params.logwin,
            qeps: params.qeps,
            arrivals: VecDeque::with_capacity(128),
            received_before: None,
            losses: VecDeque::with_capacity(16),
            marks: VecDeque::with_capacity(16),
            base: WindowedMin::new(params.base_time.as_nanos()),
        }
    }

    /// Takes in a packet of which the sender hears at `now` that it has arrived, at `received` or before.
    pub(super) fn on_arrival(&mut self, now: Time, fate: &Fate, received: Time) {
        self.forget(now);
        let is_timed = fate.received != Time::NEVER;
        let transit = is_timed.then(|| {
            let nanos = i128::from(received.as_nanos()) - i128::from(fate.sent.as_nanos());
            nanos.clamp(i64::MIN.into(), i64::MAX.into()) as i64
        });
        if let Some(transit) = transit {
            self.base.update(now.as_nanos(), transit);
        }
        let rtt = now.since(fate.sent);
        self.arrivals.push_back(Arrival { heard: now, rtt, received, transit, size: fate.size });
    }

    /// Takes in the loss of a packet.
    pub(super) fn on_loss(&mut self, now: Time) {
        self.losses.push_back(now);
    }

    /// Takes in that `packets` packets were marked.
    pub(super) fn on_marks(&mut self, now: Time, packets: u32) {
        if packets > 0 {
            self.marks.push_back((now, packets));
        }
    }

    fn forget(&mut self, now: Time) {
        let logwin = self.logwin;
        let is_old = |heard: Time| now.since(heard) > logwin;
        while let Some(arrival) = self.arrivals.front().filter(|arrival| is_old(arrival.heard)) {
            self.received_before = Some(arrival.received);
            self.arrivals.pop_front();
        }
        while self.losses.front().is_some_and(|&heard| is_old(heard)) {
            self.losses.pop_front();
        }
        while self.marks.front().is_some_and(|&(heard, _)| is_old(heard)) {
            self.marks.pop_front();
        }
    }

    /// Returns the queueing delay of an arrival in nanoseconds.
    fn queueing(&self, arrival: &Arrival) -> Option<u64> {
        let base = self.base.get()?;
        let over = i128::from(arrival.transit?) - i128::from(base);
        Some(u64::try_from(over.max(0)).unwrap_or(u64::MAX))
    }

    /// Sums up the packets of the last `logwin` at `now`.
    pub(super) fn summary(&mut self, now: Time) -> Summary {
        self.forget(now);
        let newest = || self.arrivals.iter().rev();
        let delays = newest().filter_map(|arrival| self.queueing(arrival));
        let d_queue = delays.take(TAPS).min().map(|nanos| nanos as f64 / 1e6);
        let rtt = newest().take(TAPS).map(|arrival| arrival.rtt).min().unwrap_or(Span::ZERO);
        let (arrived, lost) = (self.arrivals.len(), self.losses.len());
        let marked: u64 = self.marks.iter().map(|&(_, packets)| u64::from(packets)).sum();
        let share = |count: f64, of: usize| {
            if of < LEAST_PACKETS { 0.0 } else { (count / of as f64).min(1.0) }
        };
        let most = self.qeps.as_nanos();
        let is_short = |arrival| self.queueing(arrival).is_none_or(|nanos| nanos < most);
        Summary {
            d_queue,
            rtt: rtt.as_millis_f64(),
            r_recv: self.received_rate(),
            loss: share(lost as f64, arrived + lost),
            marks: share(marked as f64, arrived),
            is_underused: lost == 0 && self.arrivals.iter().all(is_short),
        }
    }

    /// Returns the received rate in bits per second. The first packet is only the start of the time. If few packets have
    /// arrived, that is the last one before `logwin`: RFC 8698 §5.1.3 has no least number of packets, and between a few that
    /// arrived at once the rate would be the link's.
    fn received_rate(&self) -> Option<f64> {
        let (first, last) = (self.arrivals.front()?, self.arrivals.back()?);
        let is_enough = self.arrivals.len() >= LEAST_PACKETS;
        let (start, skipped) =
            if is_enough { (first.received, 1) } else { (self.received_before?, 0) };
        let time = last.received.since(start).as_secs_f64();
        let sizes = self.arrivals.iter().skip(skipped).map(|arrival| u64::from(arrival.size));
        let bytes: u64 = sizes.sum();
        (time > 0.0).then(|| bytes as f64 * 8.0 / time)
    }
}
