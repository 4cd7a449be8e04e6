//! Changes of a running link: its rate, its buffer's limit, its router.

use paceline_cc::{Rate, Router, Time};

use super::Link;
use crate::queue::Limit;
use crate::service::Service;

impl Link {
    /// Sets the rate from `now` on, also for the rest of the packet in transmission. The offered
    /// capacity before `now` does not change.
    ///
    /// Returns false, without a change, if the link did not start with a constant rate, or if
    /// `rate` is zero. Repeated calls are possible. `now` must not be before the last call of this
    /// link.
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

    /// Sets the buffer's limit from now on. Packets in the buffer stay; arriving packets are
    /// dropped, or displace others, until the buffer is within its limit.
    ///
    /// Returns false, without a change, if the queue does not support this.
    pub fn set_limit(&mut self, limit: Limit) -> bool {
        self.port.set_limit(limit)
    }

    /// Replaces or removes the router. The old router's state is lost; its marks on packets stay.
    pub fn set_router(&mut self, router: Option<Box<dyn Router>>) {
        self.port.set_router(router);
    }

    /// Returns true if [`Link::set_rate`] can change the rate.
    pub fn has_rate(&self) -> bool {
        self.service.can_set_rate()
    }
}

impl Service {
    /// Returns true for a constant rate, and for a schedule made by [`Service::set_rate`].
    fn can_set_rate(&self) -> bool {
        match self {
            Service::Constant(constant) => constant.rate() != Rate::ZERO,
            Service::Schedule(schedule) => schedule.is_open(),
            Service::Trace(_) => false,
        }
    }

    /// Sets the rate from `now` on. Returns when the packet in transmission, if there is one, will
    /// have been sent.
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
        // 1500 bytes take 1 ms at 12 Mbit/s. Half of the first packet is sent when the rate halves.
        let mut link = link(12.0);
        link.push(Time::ZERO, &Packet::opaque(1500));
        link.push(Time::ZERO, &Packet::opaque(1500));
        assert!(link.set_rate(micros(500), Rate::from_mbps(6.0)));
        assert_eq!(link.wake(), micros(1500));
        assert!(link.pop(micros(1500)).is_some());
        assert_eq!(link.wake(), micros(3500));
        // Back to the old rate; of two changes at one moment the last one applies.
        assert!(link.set_rate(micros(2500), Rate::from_mbps(1.0)));
        assert!(link.set_rate(micros(2500), Rate::from_mbps(12.0)));
        assert_eq!(link.wake(), micros(3000));
        // The capacity of the past has not changed.
        assert_eq!(link.service().offered(Time::ZERO, micros(500)), 750);
        assert_eq!(link.service().offered(micros(500), micros(2500)), 1500);
        assert_eq!(link.service().offered(micros(2500), micros(3500)), 1500);
    }

    /// With any number of rate changes, all offered bytes are transmitted and no others.
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
