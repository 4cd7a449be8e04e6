//! The chain of one direction: the simulator's links and pipes, one after the other.
//!
//! A packet enters each element at the very time at which it left the one before, whenever the
//! emulator got round to it. Delays of the emulator therefore do not add up, and the elements see
//! exactly what they would see in the simulator.

use paceline_cc::{Packet, Time};
use paceline_ip::marks::Marks;
use paceline_path::LinkEvent;

use super::element::{Element, LoggedElement};
use super::pool::Pool;
use super::summary::{ElementKind, StageSummary};

/// A packet that has passed all elements.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Release {
    /// When it left the last element.
    pub due: Time,
    /// Its bytes.
    pub handle: u32,
    /// Its length in bytes.
    pub size: u32,
    /// What routers and queues have written into it.
    pub marks: Marks,
}

/// The elements of one direction.
pub struct Chain {
    places: Vec<LoggedElement>,
    moving: Packet,
}

impl Chain {
    /// Creates a chain of elements in the order in which packets pass. Without elements, packets pass at once.
    pub fn new(elements: Vec<Element>) -> Chain {
        let mut places: Vec<_> = elements.into_iter().map(LoggedElement::new).collect();
        if places.is_empty() {
            places.push(LoggedElement::new(Element::meter()));
        }
        Chain { places, moving: Packet::opaque(0) }
    }

    /// Returns the elements.
    pub fn elements(&self) -> impl Iterator<Item = &Element> {
        self.places.iter().map(|place| &place.element)
    }

    /// Starts or stops the logs of all elements.
    pub(super) fn record(&mut self, on: bool) {
        self.places.iter_mut().for_each(|place| place.record(on));
    }

    /// Takes in a packet.
    #[inline]
    pub fn push(&mut self, now: Time, packet: &Packet, pool: &mut Pool) {
        if let Some(first) = self.places.first_mut() {
            first.push(now, packet, pool);
        }
    }

    /// Moves all packets on that are due by `now`. Those that have left the last element go to `out`.
    pub fn advance(&mut self, now: Time, pool: &mut Pool, out: &mut impl Extend<Release>) {
        let mut rest = &mut self.places[..];
        while let Some((place, after)) = rest.split_first_mut() {
            while let Some(due) = place.pop(now, &mut self.moving) {
                let packet = &self.moving;
                match after.first_mut() {
                    Some(next) => next.push(due, packet, pool),
                    None => out.extend([Release {
                        due,
                        handle: packet.number() as u32,
                        size: packet.size,
                        marks: Marks::of(packet),
                    }]),
                }
            }
            rest = after;
        }
    }

    /// Returns when there is something to do next; [`Time::NEVER`] when idle.
    #[inline]
    pub fn wake(&self) -> Time {
        self.places.iter().map(LoggedElement::wake).min().unwrap_or(Time::NEVER)
    }

    /// Takes the logs of all elements, and passes each event on: element by element, in the order of their times.
    pub(super) fn tell(&mut self, mut event: impl FnMut(usize, ElementKind, bool, LinkEvent)) {
        let last = self.places.len() - 1;
        for (stage, place) in self.places.iter_mut().enumerate() {
            let kind = place.kind();
            let mut tell = |what| event(stage, kind, stage == last, what);
            if place.element.has_ports() {
                place.element.each_log(|log| log.drain_events().for_each(&mut tell));
                continue;
            }
            loop {
                let departure = place.departures.front().map(|event| event.time);
                let what = match place.arrivals.front().map(|event| event.time) {
                    Some(arrival) if departure.is_none_or(|departure| arrival <= departure) => {
                        place.arrivals.pop_front()
                    }
                    _ => place.departures.pop_front(),
                };
                match what {
                    Some(what) => tell(what),
                    None => break,
                }
            }
        }
    }

    /// Gives the bytes of lost packets back to the pool.
    pub(super) fn give_back(&mut self, pool: &mut Pool) {
        self.places.iter_mut().for_each(|place| place.give_back(pool));
    }

    /// Returns the counters of the elements up to `end`.
    pub fn summaries(&self, end: Time) -> Vec<StageSummary> {
        self.places.iter().map(|place| place.summary(end)).collect()
    }
}
