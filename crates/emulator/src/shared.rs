//! A path that both directions share with others, such as a radio medium at which a program's
//! packets contend with those of simulated stations.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use paceline_cc::{Packet, Time};
use paceline_measure::Quantiles;
use serde::Serialize;

use super::observe::Direction;

/// A flow that is simulated beside the program's packets.
#[derive(Clone, Debug, Serialize)]
pub struct SimulatedFlow {
    /// Its name.
    pub name: String,
    /// Its scheme, as written.
    pub scheme: String,
    /// Bytes of packets that arrived for the first time, as a rate.
    pub goodput_mbps: f64,
    /// Per packet, from its sending to its arrival.
    pub one_way_delay_ms: Quantiles,
}

/// What packets of both directions pass together, and others with them. Time never goes back.
pub trait SharedPath: Send {
    /// A packet of this direction comes in.
    fn push(&mut self, now: Time, direction: Direction, packet: &Packet);
    /// Lets everything happen that is due by `now`.
    fn advance(&mut self, now: Time);
    /// The next packet of this direction that is through, and when it was.
    fn pop(&mut self, direction: Direction) -> Option<(Time, Packet)>;
    /// A packet of this direction that was dropped or lost on its way.
    fn take_lost(&mut self, direction: Direction) -> Option<Packet>;
    /// When there is something to do next for this direction: a packet is through, or something
    /// happens on the path.
    fn wake(&self, direction: Direction) -> Time;
    /// What the flows beside the program's have done.
    fn flows(&self) -> Vec<SimulatedFlow>;
}

/// One direction of a shared path.
#[derive(Clone)]
pub struct SharedLane {
    direction: Direction,
    path: Arc<Mutex<dyn SharedPath>>,
}

impl SharedLane {
    /// The way up and the way down over a path.
    pub fn both(path: impl SharedPath + 'static) -> (SharedLane, SharedLane) {
        let path: Arc<Mutex<dyn SharedPath>> = Arc::new(Mutex::new(path));
        let lane = |direction| SharedLane { direction, path: Arc::clone(&path) };
        (lane(Direction::Up), lane(Direction::Down))
    }

    /// What the flows beside the program's have done.
    pub fn flows(&self) -> Vec<SimulatedFlow> {
        self.lock().flows()
    }

    fn lock(&self) -> MutexGuard<'_, dyn SharedPath + 'static> {
        self.path.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn push(&mut self, now: Time, packet: &Packet) {
        self.lock().push(now, self.direction, packet);
    }

    /// A packet that is through by `now`.
    pub(super) fn pop(&mut self, now: Time) -> Option<(Time, Packet)> {
        let mut path = self.lock();
        path.advance(now);
        path.pop(self.direction)
    }

    pub(super) fn take_lost(&mut self) -> Option<Packet> {
        self.lock().take_lost(self.direction)
    }

    pub(super) fn wake(&self) -> Time {
        self.lock().wake(self.direction)
    }
}
