//! Queues around other queues.

use paceline_cc::{Packet, Time, TrafficClass};

use super::{DroppedPacket, DroptailLimit, Limit, Queue};

/// A queue around another queue.
///
/// Implement this trait, and not [`Queue`], for a queue that holds one queue and changes part of what
/// it does. Every method that you leave out forwards to the queue inside; of a [`Queue`] it would have
/// the default, which knows nothing of that queue.
///
/// A wrapper that holds packets itself also overrides [`packets`](QueueWrapper::packets),
/// [`bytes`](QueueWrapper::bytes) and [`backlog_for`](QueueWrapper::backlog_for).
pub trait QueueWrapper: Send {
    /// The type of the queue inside.
    type Inner: Queue + ?Sized;

    /// The queue inside.
    fn inner(&self) -> &Self::Inner;
    /// The queue inside, to be changed.
    fn inner_mut(&mut self) -> &mut Self::Inner;
    /// As [`Queue::droptail_limit`]. It has no default: a wrapper that drops, marks, delays or reorders
    /// packets returns `None`, as a link that computes departures ahead never calls its other methods.
    /// A wrapper that does none of this asks the queue inside.
    fn droptail_limit(&self) -> Option<DroptailLimit>;

    /// As [`Queue::push`].
    #[inline]
    fn push(&mut self, now: Time, packet: &Packet, drops: &mut Vec<DroppedPacket>) {
        self.inner_mut().push(now, packet, drops);
    }
    /// As [`Queue::pop_into`]; [`Queue::pop`] of the wrapper calls it, too.
    #[inline]
    fn pop_into(&mut self, now: Time, drops: &mut Vec<DroppedPacket>, place: &mut Packet) -> bool {
        self.inner_mut().pop_into(now, drops, place)
    }
    /// As [`Queue::packets`].
    #[inline]
    fn packets(&self) -> usize {
        self.inner().packets()
    }
    /// As [`Queue::bytes`].
    #[inline]
    fn bytes(&self) -> u64 {
        self.inner().bytes()
    }
    /// As [`Queue::marks`].
    #[inline]
    fn marks(&self) -> u64 {
        self.inner().marks()
    }
    /// As [`Queue::backlog_for`].
    fn backlog_for(&self, class: TrafficClass, flow: u32) -> (usize, u64) {
        self.inner().backlog_for(class, flow)
    }
    /// As [`Queue::take_unused_share`].
    fn take_unused_share(&mut self) -> u32 {
        self.inner_mut().take_unused_share()
    }
    /// As [`Queue::set_limit`].
    fn set_limit(&mut self, limit: Limit) -> bool {
        self.inner_mut().set_limit(limit)
    }
    /// As [`Queue::inspect`].
    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.inner().inspect(see);
    }
}

// The lint fails if a method with a default is added to `Queue` and left out here.
#[deny(clippy::missing_trait_methods)]
impl<W: QueueWrapper> Queue for W {
    #[inline]
    fn push(&mut self, now: Time, packet: &Packet, drops: &mut Vec<DroppedPacket>) {
        QueueWrapper::push(self, now, packet, drops);
    }
    #[inline]
    fn pop(&mut self, now: Time, drops: &mut Vec<DroppedPacket>) -> Option<Packet> {
        let mut packet = Packet::opaque(0);
        QueueWrapper::pop_into(self, now, drops, &mut packet).then_some(packet)
    }
    #[inline]
    fn pop_into(&mut self, now: Time, drops: &mut Vec<DroppedPacket>, place: &mut Packet) -> bool {
        QueueWrapper::pop_into(self, now, drops, place)
    }
    #[inline]
    fn packets(&self) -> usize {
        QueueWrapper::packets(self)
    }
    #[inline]
    fn bytes(&self) -> u64 {
        QueueWrapper::bytes(self)
    }
    #[inline]
    fn is_empty(&self) -> bool {
        QueueWrapper::packets(self) == 0
    }
    #[inline]
    fn marks(&self) -> u64 {
        QueueWrapper::marks(self)
    }
    fn backlog_for(&self, class: TrafficClass, flow: u32) -> (usize, u64) {
        QueueWrapper::backlog_for(self, class, flow)
    }
    fn take_unused_share(&mut self) -> u32 {
        QueueWrapper::take_unused_share(self)
    }
    fn set_limit(&mut self, limit: Limit) -> bool {
        QueueWrapper::set_limit(self, limit)
    }
    fn droptail_limit(&self) -> Option<DroptailLimit> {
        QueueWrapper::droptail_limit(self)
    }
    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        QueueWrapper::inspect(self, see);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::DropReason;

    const LIMIT: DroptailLimit = DroptailLimit { packets: 11, bytes: 12 };

    /// Answers each method with a value that no default has, and counts the calls that change it.
    #[derive(Default)]
    struct Probe {
        pushed: u32,
        popped: u32,
        limits: u32,
    }

    impl Queue for Probe {
        fn push(&mut self, now: Time, packet: &Packet, drops: &mut Vec<DroppedPacket>) {
            self.pushed += 1;
            let packet = Packet { queued: now, ..*packet };
            drops.push(DroppedPacket { packet, reason: DropReason::Aqm });
        }
        fn pop(&mut self, now: Time, drops: &mut Vec<DroppedPacket>) -> Option<Packet> {
            let mut packet = Packet::opaque(0);
            self.pop_into(now, drops, &mut packet).then_some(packet)
        }
        fn pop_into(&mut self, at: Time, drops: &mut Vec<DroppedPacket>, to: &mut Packet) -> bool {
            self.popped += 1;
            drops.push(DroppedPacket { packet: *to, reason: DropReason::Stale });
            *to = Packet { queued: at, ..Packet::opaque(self.popped) };
            self.popped < 3
        }
        fn packets(&self) -> usize {
            3
        }
        fn bytes(&self) -> u64 {
            4
        }
        fn marks(&self) -> u64 {
            5
        }
        fn backlog_for(&self, class: TrafficClass, flow: u32) -> (usize, u64) {
            (6 + flow as usize, if class == TrafficClass::EXPLICIT { 7 } else { 8 })
        }
        fn take_unused_share(&mut self) -> u32 {
            10
        }
        fn set_limit(&mut self, limit: Limit) -> bool {
            self.limits += 1;
            limit == Limit::packets(1)
        }
        fn droptail_limit(&self) -> Option<DroptailLimit> {
            Some(LIMIT)
        }
        fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
            let counts = [self.pushed, self.popped, self.limits];
            ["pushed", "popped", "limits"].into_iter().zip(counts).for_each(|(name, count)| {
                see(name, f64::from(count));
            });
        }
    }

    /// A wrapper that says no more than it must.
    struct Bare(Probe);

    impl QueueWrapper for Bare {
        type Inner = Probe;
        fn inner(&self) -> &Probe {
            &self.0
        }
        fn inner_mut(&mut self) -> &mut Probe {
            &mut self.0
        }
        fn droptail_limit(&self) -> Option<DroptailLimit> {
            self.0.droptail_limit()
        }
    }

    /// Calls every method of a queue, and returns all that it answers.
    fn answers(queue: &mut dyn Queue) -> Vec<String> {
        let (now, mut drops, mut place) = (Time::from_millis(7), Vec::new(), Packet::opaque(40));
        queue.push(now, &Packet::opaque(1500), &mut drops);
        let mut answers = vec![
            format!("{:?}", queue.pop(now, &mut drops)),
            format!("{} {place:?}", queue.pop_into(now, &mut drops, &mut place)),
            format!("{:?}", queue.pop(now, &mut drops)),
            format!("{} {} {}", queue.packets(), queue.bytes(), queue.is_empty()),
            format!("{} {:?}", queue.marks(), queue.droptail_limit()),
            format!("{:?}", queue.backlog_for(TrafficClass::EXPLICIT, 2)),
            format!("{:?}", queue.backlog_for(TrafficClass::DEFAULT, 0)),
            format!("{}", queue.take_unused_share()),
            format!("{} {}", queue.set_limit(Limit::packets(1)), queue.set_limit(Limit::NONE)),
        ];
        queue.inspect(&mut |name, value| answers.push(format!("{name} {value}")));
        // `pop` may hand another place in than the caller's, whose contents do not count.
        let drops = drops.iter().map(|drop| (drop.reason, drop.packet.queued));
        answers.push(format!("{:?}", drops.collect::<Vec<_>>()));
        answers
    }

    #[test]
    fn a_wrapper_answers_as_the_queue_inside() {
        let expected = answers(&mut Probe::default());
        assert_eq!(answers(&mut Bare(Probe::default())), expected);
        assert!(expected.iter().any(|line| line == "limits 2"), "{expected:?}");
    }
}
