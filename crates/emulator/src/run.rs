//! The emulator's loop.

use std::os::fd::BorrowedFd;
use std::time::SystemTime;

use paceline_cc::{Span, Time};
use paceline_ip::offload::HEADER;
use paceline_os::RealTimeError;

use super::chain::Chain;
use super::clock::{Clock, Monotonic, cpu_time};
use super::element::Element;
use super::lane::{DeviceState, Lane};
use super::observe::{Observer, View};
use super::port::Port;
use super::prelude::{Early, Prelude, Trigger};
use super::reactor::Reactor;
use super::summary::{Direction, EndReason, LatenessSummary, Summary};
use super::watch::Watchers;

/// The numbers of the devices among the files that are watched; others follow.
const INNER: u64 = 0;
const OUTER: u64 = 1;
const OTHERS: u64 = 2;
/// How long to wait before writing again to a device that takes no packets.
pub(super) const RETRY: Span = Span::from_micros(100);

/// Settings of an emulator.
#[derive(Clone, Debug)]
pub struct EmulatorOptions {
    /// How long before a release the thread wakes, to be awake in time.
    pub lead: Span,
    /// The most pieces that are read from one device before others have their turn.
    pub batch: usize,
    /// The 99th percentile of release errors above which a run counts as late.
    pub bound: Span,
    /// Bytes of memory for packets, in each direction.
    pub memory: usize,
    /// When the run ends, unless it is stopped before.
    pub end: Time,
}

impl Default for EmulatorOptions {
    fn default() -> EmulatorOptions {
        EmulatorOptions {
            lead: Span::from_micros(25),
            batch: 32,
            bound: Span::from_millis(1),
            memory: 512 << 20,
            end: Time::NEVER,
        }
    }
}

/// Whether an emulation goes on after a file that the caller watches was ready.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Control {
    /// The emulation goes on.
    Continue,
    /// It ends. Packets in queues are counted and not sent.
    Stop,
}

/// Carries packets between two devices.
pub struct Emulator<P: Port, Q: Port> {
    inner: P,
    outer: Q,
    up: Lane,
    down: Lane,
    options: EmulatorOptions,
    watchers: Watchers,
    prelude: Option<Prelude>,
}

/// The beginning of a run: its clock, the wall clock's time at zero, and the processor time used before.
struct Beginning {
    clock: Monotonic,
    started: SystemTime,
    cpu: Span,
    /// How long it waited for its trigger.
    waited: Option<Span>,
}

/// Returns what observers see of both ways.
fn view<'a>(up: &'a Lane, down: &'a Lane, lateness: LatenessSummary) -> View<'a> {
    let (up_flows, down_flows) = (&up.counts.flows, &down.counts.flows);
    View { up: &up.chain, down: &down.chain, up_flows, down_flows, lateness }
}

impl<P: Port, Q: Port> Emulator<P, Q> {
    /// Creates an emulator: packets from `inner` pass `up` to `outer`, and packets from `outer` pass `down` to `inner`.
    pub fn new(inner: P, outer: Q, up: Chain, down: Chain, options: EmulatorOptions) -> Self {
        Emulator {
            inner,
            outer,
            up: Lane::new(Direction::Up, up, options.memory),
            down: Lane::new(Direction::Down, down, options.memory),
            options,
            watchers: Watchers::default(),
            prelude: None,
        }
    }

    /// Lets the run begin with a trigger. Until then packets pass `up` and `down`, a path equal to the emulator's.
    /// Schedules, observers and the end count from the trigger.
    pub fn begin_on(&mut self, trigger: Trigger, up: Chain, down: Chain) {
        self.prelude = Some(Prelude::new(trigger, up, down, self.options.memory));
    }

    /// Adds an observer.
    pub fn watch(&mut self, observer: Box<dyn Observer>) {
        self.watchers.add(observer);
    }

    /// Runs until its time is over, until a device closes, or until `on_ready`, which is called with
    /// the index of each file of `watched` that has something to read, says stop. It is called again
    /// as long as there is something to read.
    ///
    /// Time zero is the whole millisecond of the wall clock before the start, or before the
    /// [trigger](Emulator::begin_on). If the trigger never comes, the run has no length, and the summary says so.
    ///
    /// # Errors
    /// The system refuses to wait. Errors of packets and observers are in the summary instead.
    pub fn run(
        mut self,
        watched: &[BorrowedFd<'_>],
        on_ready: &mut dyn FnMut(usize) -> Control,
    ) -> Result<Summary, RealTimeError> {
        let mut reactor = Reactor::new(self.options.lead)?;
        reactor.watch(self.inner.as_fd(), INNER)?;
        reactor.watch(self.outer.as_fd(), OUTER)?;
        for (&file, number) in watched.iter().zip(OTHERS..) {
            reactor.watch(file, number)?;
        }
        let mut prelude = self.prelude.take();
        prelude.iter_mut().for_each(Prelude::begin);
        let mut beginning = match prelude {
            None => Some(self.begin(None)),
            Some(_) => None,
        };
        let ended = loop {
            if let Some(early) = &mut prelude {
                if let Some(closed) = early.release(&mut self.inner, &mut self.outer) {
                    break EndReason::Closed(closed);
                }
                if beginning.is_none() && early.is_triggered() {
                    beginning = Some(self.begin(Some(&early.clock)));
                }
            }
            if beginning.is_some() {
                prelude = prelude.filter(|early| !early.is_empty());
            }
            match &beginning {
                Some(Beginning { clock, .. }) => {
                    let now = clock.now();
                    if let Some(closed) = self.release(now, clock) {
                        break EndReason::Closed(closed);
                    }
                    if now >= self.options.end {
                        break EndReason::Over;
                    }
                    let early = prelude.as_ref();
                    let early = early.map(|it| clock.convert(&it.clock, it.wake(false)));
                    reactor.wait(self.wake(now).min(early.unwrap_or(Time::NEVER)), clock)?;
                }
                None => {
                    let Some(early) = &prelude else { break EndReason::Stopped };
                    reactor.wait(early.wake(true), &early.clock)?;
                }
            }
            let (mut inner, mut outer, mut stop) = (false, false, false);
            for number in reactor.ready() {
                match number {
                    INNER => inner = true,
                    OUTER => outer = true,
                    other => stop |= on_ready((other - OTHERS) as usize) == Control::Stop,
                }
            }
            if stop {
                break EndReason::Stopped;
            }
            let closed = match (&beginning, &mut prelude) {
                (Some(Beginning { clock, .. }), _) => self.receive(inner, outer, clock),
                (None, None) => None,
                (None, Some(early)) => {
                    let (from, to) = ((&mut self.inner, inner), (&mut self.outer, outer));
                    match early.receive(from, to, self.options.batch) {
                        Early::Waits => None,
                        Early::Closed(direction) => Some(direction),
                        Early::Begins { direction, length } => {
                            let begun = self.begin(Some(&early.clock));
                            self.let_in(early, direction, length, begun.clock.now());
                            beginning = Some(begun);
                            None
                        }
                    }
                }
            };
            if let Some(closed) = closed {
                break EndReason::Closed(closed);
            }
        };
        let never_began = beginning.is_none();
        let beginning = match (beginning, &prelude) {
            (Some(beginning), _) => beginning,
            (None, early) => self.begin(early.as_ref().map(|early| &early.clock)),
        };
        let mut summary = self.end(&beginning, ended, never_began);
        if let Some(Prelude { trigger, .. }) = prelude.filter(|_| never_began) {
            summary.errors.push(format!(
                "the trigger {trigger} has not come, so that nothing was counted and no schedule began"
            ));
        }
        Ok(self.watchers.finish(summary))
    }

    /// Begins the run now, and turns the logs on if an observer wants events. `waiting` is the clock that has run since
    /// the emulator's start, if it waited for a trigger.
    fn begin(&mut self, waiting: Option<&Monotonic>) -> Beginning {
        let waited = waiting.map(|clock| clock.now().since(Time::ZERO));
        let ((clock, started), cpu) = (Monotonic::start(), cpu_time());
        let events = self.watchers.want_events();
        self.up.record(events);
        self.down.record(events);
        let view = view(&self.up, &self.down, LatenessSummary::default());
        self.watchers.start(started, &view);
        Beginning { clock, started, cpu, waited }
    }

    /// Lets the piece enter that has met the trigger.
    fn let_in(&mut self, early: &mut Prelude, direction: Direction, length: usize, now: Time) {
        let (reader, lane, has_header) = match direction {
            Direction::Up => (&mut early.up, &mut self.up, self.inner.has_header()),
            Direction::Down => (&mut early.down, &mut self.down, self.outer.has_header()),
        };
        lane.enter_from(reader, now, length, if has_header { HEADER } else { 0 });
    }

    /// Writes the packets that are due by `now`, and passes events to observers. Returns the direction whose device has
    /// gone.
    fn release(&mut self, now: Time, clock: &impl Clock) -> Option<Direction> {
        let up = self.up.release(now, &mut self.outer, clock);
        let down = self.down.release(now, &mut self.inner, clock);
        self.up.settle(now, &mut self.watchers);
        self.down.settle(now, &mut self.watchers);
        if self.watchers.wake() <= now {
            let lateness = self.lateness();
            let view = view(&self.up, &self.down, lateness);
            self.watchers.tick(now, &view);
        }
        match (up, down) {
            (DeviceState::Closed, _) => Some(Direction::Down),
            (_, DeviceState::Closed) => Some(Direction::Up),
            _ => None,
        }
    }

    /// Reads from the devices that are ready, in turn, until they have no more packets, [`EmulatorOptions::batch`]
    /// pieces are read, or a packet is due. Returns the direction whose device has gone.
    fn receive(&mut self, inner: bool, outer: bool, clock: &impl Clock) -> Option<Direction> {
        let (mut inner, mut outer) = (inner, outer);
        for _ in 0..self.options.batch {
            let mut due = false;
            for (ready, direction) in [(&mut inner, Direction::Up), (&mut outer, Direction::Down)] {
                if !*ready {
                    continue;
                }
                let (health, now) = match direction {
                    Direction::Up => self.up.receive(&mut self.inner, clock),
                    Direction::Down => self.down.receive(&mut self.outer, clock),
                };
                *ready = health == DeviceState::Open;
                if health == DeviceState::Closed {
                    return Some(direction);
                }
                due |= self.up.wake().min(self.down.wake()) <= now;
            }
            if due || !(inner || outer) {
                break;
            }
        }
        None
    }

    /// Returns when the next packet or tick is due.
    fn wake(&self, now: Time) -> Time {
        let next = self.up.wake().min(self.down.wake()).min(self.watchers.wake());
        let next = next.min(self.options.end);
        match self.up.is_blocked() || self.down.is_blocked() {
            true => next.min(now + RETRY),
            false => next,
        }
    }

    fn lateness(&self) -> LatenessSummary {
        self.up.lateness.summary_with(&self.down.lateness)
    }

    fn end(&self, beginning: &Beginning, ended: EndReason, never_began: bool) -> Summary {
        // A run that never began has no length.
        let end = if never_began { Time::ZERO } else { beginning.clock.now() };
        let lateness = self.lateness();
        let bound = self.options.bound;
        let late = self.up.lateness.exceeds(bound) || self.down.lateness.exceeds(bound);
        let (up, down) = (self.up.summary(end, bound), self.down.summary(end, bound));
        let simulated = self.up.chain.elements().flat_map(|element| match element {
            Element::Shared(lane) => lane.flows(),
            _ => Vec::new(),
        });
        Summary {
            started: beginning.started,
            duration: end.since(Time::ZERO),
            waited: beginning.waited,
            never_began,
            ended,
            lateness,
            bound,
            late,
            cpu: cpu_time() - beginning.cpu,
            up,
            down,
            simulated: simulated.collect(),
            errors: Vec::new(),
        }
    }
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
