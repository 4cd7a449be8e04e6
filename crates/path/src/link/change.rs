//! Changes of a link while packets pass it: its rate, its buffer's limit, its router.

use paceline_cc::{Rate, Router, Time};

use super::Link;
use crate::queue::Limit;
use crate::service::Service;

impl Link {
    /// From `now` on the link transmits at `rate`. The packet in transmission continues at it. The
    /// capacity of the time before stays what it was.
    ///
    /// False, and nothing is changed, if the link has no constant rate from the start on or if `rate`
    /// is zero. The rate of a link that had this call before can be changed again. `now` is not before
    /// the last call of this link.
    pub fn set_rate(&mut self, now: Time, rate: Rate) -> bool {
        if !self.service.can_set_rate() || rate == Rate::ZERO {
            return false;
        }
        if self.due <= now {
            self.catch_up(now);
        }
        let end = self.service.set_rate(now, rate);
        if self.busy {
            self.due = end;
        }
        true
    }

    /// The buffer has this limit from now on. Packets that it holds already stay; packets that come
    /// are dropped, or push others out, until the buffer is within its limit.
    ///
    /// False, and nothing is changed, if the queue cannot do this.
    pub fn set_limit(&mut self, limit: Limit) -> bool {
        self.port.set_limit(limit)
    }

    /// Replaces the router, or removes it. The state of the old router is lost; its marks stay on their
    /// packets.
    pub fn set_router(&mut self, router: Option<Box<dyn Router>>) {
        self.port.set_router(router);
    }

    /// True if the rate is one that [`Link::set_rate`] can change.
    pub fn has_rate(&self) -> bool {
        self.service.can_set_rate()
    }
}

impl Service {
    /// True if it is a constant rate, or has become a schedule by [`Service::set_rate`].
    fn can_set_rate(&self) -> bool {
        match self {
            Service::Constant(constant) => constant.rate() != Rate::ZERO,
            Service::Schedule(schedule) => schedule.is_open(),
            Service::Trace(_) => false,
        }
    }

    /// Another rate from `now` on; when the packet in transmission, if there is one, is through.
    fn set_rate(&mut self, now: Time, rate: Rate) -> Time {
        if let Service::Constant(constant) = self {
            *self = Service::Schedule(constant.to_schedule());
        }
        match self {
            Service::Schedule(schedule) => schedule.set_rate(now, rate),
            _ => Time::NEVER,
        }
    }
}

#[cfg(test)]
mod tests {
    use paceline_cc::{Capacity as _, Packet, Span, Stage as _, Stream};

    use super::*;
    use crate::queue::Fifo;

    fn link(mbps: f64) -> Link {
        let queue = Fifo::new(Limit::NONE);
        Link::new(Box::new(queue), Service::constant(Rate::from_mbps(mbps)))
    }

    fn micros(at: u64) -> Time {
        Time::ZERO + Span::from_micros(at)
    }

    #[test]
    fn the_packet_in_transmission_continues_at_the_new_rate() {
        // 1500 bytes take 1 ms at 12 Mbit/s. Half of the first is through when the rate halves.
        let mut link = link(12.0);
        link.push(Time::ZERO, &Packet::opaque(1500));
        link.push(Time::ZERO, &Packet::opaque(1500));
        assert!(link.set_rate(micros(500), Rate::from_mbps(6.0)));
        assert_eq!(link.wake(), micros(1500));
        assert!(link.pop(micros(1500)).is_some());
        assert_eq!(link.wake(), micros(3500));
        // Back, twice at one moment, of which the last holds.
        assert!(link.set_rate(micros(2500), Rate::from_mbps(1.0)));
        assert!(link.set_rate(micros(2500), Rate::from_mbps(12.0)));
        assert_eq!(link.wake(), micros(3000));
        // The past is as it was.
        assert_eq!(link.service().offered(Time::ZERO, micros(500)), 750);
        assert_eq!(link.service().offered(micros(500), micros(2500)), 1500);
        assert_eq!(link.service().offered(micros(2500), micros(3500)), 1500);
    }

    /// However often the rate changes, what is transmitted is what was offered.
    #[test]
    fn nothing_is_lost_or_won_by_changes() {
        let mut link = link(12.0);
        let mut random = Stream::new(1, "rates");
        for _ in 0..2000 {
            link.push(Time::ZERO, &Packet::opaque(1500));
        }
        let (mut now, mut through) = (Time::ZERO, 0u64);
        while link.wake() != Time::NEVER {
            now += Span::from_nanos(1 + random.below(3_000_000));
            while link.wake() <= now {
                let at = link.wake();
                through += u64::from(link.pop(at).is_some());
                assert_eq!(link.service().offered(Time::ZERO, at), through * 1500);
            }
            let offered = link.service().offered(Time::ZERO, now);
            assert!(link.wake() == Time::NEVER || offered < (through + 1) * 1500);
            let rate = Rate::from_bps(300_000 + random.below(300_000_000));
            assert!(link.set_rate(now, rate));
        }
        assert_eq!(through, 2000);
    }

    #[test]
    fn links_without_a_rate_of_their_own_refuse() {
        let steps = [(Span::ZERO, Rate::from_mbps(1.0)), (Span::from_secs(1), Rate::ZERO)];
        let schedule = Service::schedule(&steps, None).expect("valid");
        let mut link_of_steps = Link::new(Box::new(Fifo::new(Limit::NONE)), schedule);
        assert!(!link_of_steps.set_rate(Time::ZERO, Rate::from_mbps(2.0)));
        assert!(!link(12.0).set_rate(Time::ZERO, Rate::ZERO));
    }
}
