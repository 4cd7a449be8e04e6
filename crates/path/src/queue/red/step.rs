//! Marks packets above a threshold of the queue length, as DCTCP's switches do.
//!
//! # What it does
//! First in, first out. A packet that makes the queue longer than `k` is marked CE on arrival, by
//! the current length, without averaging. This is RED with both thresholds at `k` and a weight of
//! one.
//!
//! # Signals it needs
//! None; the senders must react to the fraction of marks, as DCTCP does.
//!
//! # Parameters
//! Those of [`StepParams`]. DCTCP's paper has a `k` of 20 packets at 1 Gbit/s and of 65 at 10
//! Gbit/s. The arriving packet counts, the one in transmission does not. `drop` drops packets that
//! cannot be marked, as switches do whose RED treats all packets alike; without it such packets
//! fill the buffer. With `at=departure` a packet is marked if the queue is longer than `k` when its
//! transmission begins, the packet included, as in htsim: its flow learns of the queue earlier by
//! the time that packets wait.
//!
//! # Where it fails
//! Senders that halve on a mark; packets that cannot be marked: either all above `k` are dropped,
//! or none. ABC's packets look ECN-capable, and would be marked.
//!
//! # Source
//! Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010; RFC 8257 §3.1.

use paceline_cc::params::Params;
use paceline_cc::{Packet, Time};

use super::QueueLength;
use crate::queue::{DropReason, DroppedPacket, Fifo, Limit, Queue, QueueEntry, mark};

paceline_cc::choices! {
    /// Which packets are marked.
    pub enum StepAt {
        /// Packets that arrive at a long queue (the paper).
        Arrival = "arrival",
        /// Packets that leave a long queue (htsim).
        Departure = "departure",
    }
}

paceline_cc::params! {
    /// Parameters of the step.
    pub struct StepParams {
        /// Length above which packets are marked: packets (`20`) or bytes (`30kB`).
        k: QueueLength = QueueLength::Packets(20), source "DCTCP: at 1 Gbit/s";
        /// Drops packets that cannot be marked.
        drop: bool = false, source "ours";
        /// Which packets are marked: those that arrive at a queue longer than k, or those that
        /// leave one, which are never dropped.
        at: StepAt = StepAt::Arrival, source "RFC 8257 §3.1; htsim: departure";
    }
}

/// The queue's entry in the registry.
pub(in crate::queue) const QUEUE: QueueEntry = QueueEntry::builtin(
    "step",
    "Marks arrivals when the queue is longer than k, as DCTCP's switches do",
    "DCTCP (SIGCOMM 2010); RFC 8257",
    StepParams::infos,
    |spec, limit, _stream| Ok(Box::new(Step::new(spec.params()?, limit))),
);

/// A FIFO queue with a step of marks.
#[derive(Clone, Debug)]
pub struct Step {
    params: StepParams,
    fifo: Fifo,
    marks: u64,
}

impl Step {
    /// Creates an empty queue.
    pub fn new(params: StepParams, limit: Limit) -> Step {
        Step { params, fifo: Fifo::new(limit), marks: 0 }
    }

    /// Returns true if the queue is longer than `k` with this packet.
    fn beyond(&self, packet: &Packet) -> bool {
        match self.params.k {
            QueueLength::Packets(packets) => self.fifo.packets() as u64 >= packets,
            QueueLength::Bytes(bytes) => self.fifo.bytes() + u64::from(packet.size) > bytes,
        }
    }
}

impl Queue for Step {
    fn set_limit(&mut self, limit: Limit) -> bool {
        self.fifo.set_limit(limit)
    }

    fn push(&mut self, now: Time, packet: &Packet, drops: &mut Vec<DroppedPacket>) {
        let mut packet = *packet;
        if self.params.at == StepAt::Arrival
            && self.fifo.fits(packet.size)
            && self.beyond(&packet)
            && !mark(&mut packet, &mut self.marks)
            && self.params.drop
        {
            drops.push(DroppedPacket { packet, reason: DropReason::Aqm });
        } else {
            self.fifo.push(now, &packet, drops);
        }
    }

    fn pop(&mut self, now: Time, drops: &mut Vec<DroppedPacket>) -> Option<Packet> {
        let (packets, bytes) = (self.fifo.packets() as u64, self.fifo.bytes());
        let mut packet = self.fifo.pop(now, drops)?;
        let long = match self.params.k {
            QueueLength::Packets(most) => packets > most,
            QueueLength::Bytes(most) => bytes > most,
        };
        if self.params.at == StepAt::Departure && long {
            mark(&mut packet, &mut self.marks);
        }
        Some(packet)
    }

    fn packets(&self) -> usize {
        self.fifo.packets()
    }

    fn bytes(&self) -> u64 {
        self.fifo.bytes()
    }

    fn marks(&self) -> u64 {
        self.marks
    }
}

#[cfg(test)]
mod tests {
    use paceline_cc::{Ecn, Spec, Stream};

    use super::*;
    use crate::queue::build;
    use crate::queue::testing::{open_loop, packet, stream};

    fn queue(text: &str) -> Box<dyn Queue> {
        build(&Spec::parse(text).expect("legal"), Limit::packets(50), stream()).expect("known")
    }

    #[test]
    fn the_packet_beyond_k_is_marked() {
        for (text, first) in [("step[k=20]", 20), ("step[k=3kB]", 3)] {
            let (mut queue, mut drops) = (queue(text), Vec::new());
            for number in 0..60 {
                let packet = Packet { ecn: Ecn::Ect0, ..packet(number, 1000, Time::ZERO) };
                queue.push(Time::ZERO, &packet, &mut drops);
            }
            assert_eq!((queue.marks(), drops.len()), (50 - first, 10), "{text}");
            for number in 0..50 {
                let packet = queue.pop(Time::ZERO, &mut drops).expect("held");
                assert_eq!(packet.ecn == Ecn::Ce, number >= first, "{text}");
            }
        }
    }

    #[test]
    fn packets_may_be_marked_when_they_leave_a_long_queue() {
        for text in ["step[k=20,at=departure]", "step[k=20kB,at=departure]"] {
            let (mut queue, mut drops) = (queue(text), Vec::new());
            for number in 0..50 {
                let packet = Packet { ecn: Ecn::Ect0, ..packet(number, 1000, Time::ZERO) };
                queue.push(Time::ZERO, &packet, &mut drops);
            }
            assert_eq!(queue.marks(), 0, "{text}");
            for number in 0..50 {
                let packet = queue.pop(Time::ZERO, &mut drops).expect("held");
                // With 20 packets left, including itself, it is not marked.
                assert_eq!(packet.ecn == Ecn::Ce, number < 30, "{text}");
            }
        }
    }

    #[test]
    fn what_cannot_be_marked_may_be_dropped() {
        for (text, held) in [("step[k=20,drop=true]", 20), ("step[k=20]", 30)] {
            let (mut queue, mut drops) = (queue(text), Vec::new());
            for number in 0..30 {
                queue.push(Time::ZERO, &packet(number, 1000, Time::ZERO), &mut drops);
            }
            assert_eq!((queue.packets(), queue.marks()), (held, 0), "{text}");
        }
    }

    #[test]
    fn under_constant_overload_it_is_droptail_with_marks() {
        let capable = |packet: &Packet| Packet { ecn: Ecn::Ect1, ..*packet };
        let outcome = open_loop(&mut *queue("step"), 800, 1000, 10_000, capable);
        assert!((outcome.loss() - 0.2).abs() < 0.01, "{outcome:?}");
        assert!(outcome.marking() > 0.999, "{outcome:?}");
        assert!((outcome.delay_ms - 49.0).abs() < 2.0, "{outcome:?}");
    }

    #[test]
    fn red_with_equal_thresholds_is_a_step() {
        let red = "red[min=20,max=20,w=1,ecn=true,gentle=false,hard_drop=false]";
        let (mut red, mut step) = (queue(red), queue("step[k=20]"));
        let (mut stream, mut drops) = (Stream::new(3, "test"), Vec::new());
        for number in 0..5000 {
            let now = Time::from_millis(number);
            let packet = Packet { ecn: Ecn::Ect0, ..packet(number, 1500, now) };
            if stream.chance(0.52) {
                red.push(now, &packet, &mut drops);
                step.push(now, &packet, &mut drops);
            } else {
                let marks = [&mut red, &mut step].map(|q| q.pop(now, &mut drops).map(|p| p.ecn));
                assert_eq!(marks[0], marks[1]);
            }
        }
        assert!(red.marks() > 100);
        assert_eq!(red.marks(), step.marks());
    }
}
