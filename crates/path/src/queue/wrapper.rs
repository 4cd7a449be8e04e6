//! Queues around other queues.

use paceline_cc::{Packet, Time, TrafficClass};

use super::{DroppedPacket, DroptailLimit, Limit, Queue};

/// A queue around another queue.
///
/// Implement this trait instead of [`Queue`] for a queue that contains one queue and changes part
/// of its behaviour. Every method that you leave out forwards to the inner queue; the default
/// methods of [`Queue`] do not.
///
/// A wrapper that holds packets itself also overrides [`packets`](QueueWrapper::packets),
/// [`bytes`](QueueWrapper::bytes) and [`backlog_for`](QueueWrapper::backlog_for).
pub trait QueueWrapper: Send {
    /// Type of the inner queue.
    type Inner: Queue + ?Sized;

    /// Returns the inner queue.
    fn inner(&self) -> &Self::Inner;
    /// Returns the inner queue for changes.
    fn inner_mut(&mut self) -> &mut Self::Inner;
    /// Returns the limits like [`Queue::droptail_limit`]. It has no default: a wrapper that drops,
    /// marks, delays or reorders packets must return `None`, because a link that computes
    /// departures ahead never calls its other methods. Any other wrapper asks the inner queue.
    fn droptail_limit(&self) -> Option<DroptailLimit>;

    /// Pushes like [`Queue::push`].
    #[inline]
    fn push(&mut self, now: Time, packet: &Packet, drops: &mut Vec<DroppedPacket>) {
        self.inner_mut().push(now, packet, drops);
    }
    /// Pops like [`Queue::pop_into`]; the wrapper's [`Queue::pop`] calls it too.
    #[inline]
    fn pop_into(&mut self, now: Time, drops: &mut Vec<DroppedPacket>, place: &mut Packet) -> bool {
        self.inner_mut().pop_into(now, drops, place)
    }
    /// Returns the packets held, like [`Queue::packets`].
    #[inline]
    fn packets(&self) -> usize {
        self.inner().packets()
    }
    /// Returns the bytes held, like [`Queue::bytes`].
    #[inline]
    fn bytes(&self) -> u64 {
        self.inner().bytes()
    }
    /// Returns the marks, like [`Queue::marks`].
    #[inline]
    fn marks(&self) -> u64 {
        self.inner().marks()
    }
    /// Returns the backlog, like [`Queue::backlog_for`].
    fn backlog_for(&self, class: TrafficClass, flow: u32) -> (usize, u64) {
        self.inner().backlog_for(class, flow)
    }
    /// Returns the unused bytes, like [`Queue::take_unused_share`].
    fn take_unused_share(&mut self) -> u32 {
        self.inner_mut().take_unused_share()
    }
    /// Sets the limit, like [`Queue::set_limit`].
    fn set_limit(&mut self, limit: Limit) -> bool {
        self.inner_mut().set_limit(limit)
    }
    /// Passes internal state, like [`Queue::inspect`].
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

    /// Returns from each method a value that differs from the default, and counts calls that change
    /// it.
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

    /// A wrapper with only the required methods.
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

    /// Calls every method of a queue. Returns all results.
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
        // `pop` may pass its own buffer, whose contents do not matter, to `pop_into`.
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
