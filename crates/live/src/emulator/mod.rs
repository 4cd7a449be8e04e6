//! Moves packets between two devices through the links of the simulator, in real time.
//!
//! One thread. It waits for packets and for the next release (`reactor`), reads packets into
//! buffers that stay where they are (`pool`), lets stand-ins pass through the simulator's links
//! and pipes (`chain`), and writes those that are through (`lane`). What the kernel hands over
//! in one piece is accounted for as the packets that it stands for ([`offload`]). Where simulated
//! flows share the path, somebody else's simulation takes the place of links and pipes (`shared`).

mod chain;
mod clock;
pub mod coalesce;
mod element;
pub mod icmp;
mod lane;
mod lateness;
mod marks;
pub mod mss;
pub mod observe;
pub mod offload;
pub mod onoff;
pub mod packet;
mod pool;
mod port;
mod reactor;
mod run;
mod shared;
#[cfg(test)]
mod testing;
mod watch;

pub use chain::{Chain, Release};
pub use element::Element;
pub use lateness::Lateness;
pub use marks::Marks;
pub use observe::{
    Direction, DirectionSummary, ElementKind, EndReason, LatenessSummary, LiveEvent, Observer,
    StageSummary, Summary, View,
};
pub use pool::Pool;
pub use port::{Port, SocketPort};
pub use run::{Control, Emulator, EmulatorOptions};
pub use shared::{SharedLane, SharedPath, SimulatedFlow};
