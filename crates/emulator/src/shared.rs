//! A path that both directions share with simulated flows, such as a radio medium at which a program's packets contend
//! with those of simulated stations.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use paceline_cc::{Packet, Time};

use super::summary::{Direction, SimulatedFlow};

/// A path that packets of both directions and of simulated flows pass. Time never goes back.
pub trait SharedPath: Send {
    /// Takes in a packet of this direction.
    fn push(&mut self, now: Time, direction: Direction, packet: &Packet);
    /// Simulates up to `now`.
    fn advance(&mut self, now: Time);
    /// Pops the next packet of this direction that has passed, with the time at which it left.
    fn pop(&mut self, direction: Direction) -> Option<(Time, Packet)>;
    /// Pops a packet of this direction that was dropped or lost.
    fn take_lost(&mut self, direction: Direction) -> Option<Packet>;
    /// Returns when [`SharedPath::advance`] is next worth calling for this direction.
    fn wake(&self, direction: Direction) -> Time;
    /// Returns the figures of the simulated flows.
    fn flows(&self) -> Vec<SimulatedFlow>;
}

/// One direction of a shared path.
#[derive(Clone)]
pub struct SharedLane {
    direction: Direction,
    path: Arc<Mutex<dyn SharedPath>>,
}

impl SharedLane {
    /// Returns both directions of a path: up, then down.
    pub fn both(path: impl SharedPath + 'static) -> (SharedLane, SharedLane) {
        let path: Arc<Mutex<dyn SharedPath>> = Arc::new(Mutex::new(path));
        let lane = |direction| SharedLane { direction, path: Arc::clone(&path) };
        (lane(Direction::Up), lane(Direction::Down))
    }

    /// Returns the figures of the simulated flows.
    pub fn flows(&self) -> Vec<SimulatedFlow> {
        self.lock().flows()
    }

    fn lock(&self) -> MutexGuard<'_, dyn SharedPath + 'static> {
        self.path.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn push(&mut self, now: Time, packet: &Packet) {
        self.lock().push(now, self.direction, packet);
    }

    /// Pops a packet that has passed by `now`, with the time at which it left.
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
