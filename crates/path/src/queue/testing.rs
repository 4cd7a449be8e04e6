//! Packets and an open-loop sender for unit tests.

use paceline_cc::{Body, Data, Ecn, Packet, Span, Stream, Time};

use super::Queue;

/// Returns a random stream for a queue under test.
pub(crate) fn stream() -> Stream {
    Stream::new(1, "queue under test")
}

/// Returns a data packet that entered the queue at `queued`.
pub(crate) fn packet(number: u64, size: u32, queued: Time) -> Packet {
    let body = Body::Data(Data { number, segment: number, ..Data::default() });
    Packet { sent: queued, queued, body, ..Packet::opaque(size) }
}

/// Results of [`open_loop`], over the second half of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    /// Packets that arrived.
    pub(crate) arrived: u64,
    /// Packets dropped.
    pub(crate) dropped: u64,
    /// Packets delivered.
    pub(crate) delivered: u64,
    /// Of the delivered packets, those marked CE.
    pub(crate) marked: u64,
    /// Mean sojourn time in milliseconds.
    pub(crate) delay_ms: f64,
    /// Packets delivered, by flow.
    pub(crate) by_flow: [u64; 4],
}

impl Outcome {
    /// Returns the fraction of packets dropped.
    pub(crate) fn loss(&self) -> f64 {
        self.dropped as f64 / self.arrived.max(1) as f64
    }
    /// Returns the fraction of delivered packets that are marked.
    pub(crate) fn marking(&self) -> f64 {
        self.marked as f64 / self.delivered.max(1) as f64
    }
}

/// Sends packets of 1500 bytes for `millis` milliseconds. One arrives every `arrival` microseconds
/// and one leaves every `service`, independently of drops and marks; `shape` may change them.
pub(crate) fn open_loop(
    queue: &mut dyn Queue,
    arrival: u64,
    service: u64,
    millis: u64,
    mut shape: impl FnMut(&Packet) -> Packet,
) -> Outcome {
    let (mut outcome, mut drops, mut number) = (Outcome::default(), Vec::new(), 0);
    for micros in (0..millis * 1000).step_by(10) {
        let now = Time::ZERO + Span::from_micros(micros);
        let counted = micros >= millis * 500;
        if micros.is_multiple_of(arrival) {
            queue.push(now, &shape(&packet(number, 1500, now)), &mut drops);
            number += 1;
            outcome.arrived += u64::from(counted);
        }
        if micros.is_multiple_of(service)
            && let Some(packet) = queue.pop(now, &mut drops).filter(|_| counted)
        {
            outcome.delivered += 1;
            outcome.marked += u64::from(packet.ecn == Ecn::Ce);
            outcome.delay_ms += now.since(packet.queued).as_millis_f64();
            outcome.by_flow[packet.flow as usize % 4] += 1;
        }
        outcome.dropped += if counted { drops.len() as u64 } else { 0 };
        drops.clear();
    }
    outcome.delay_ms /= outcome.delivered.max(1) as f64;
    outcome
}
