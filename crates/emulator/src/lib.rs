//! Moves packets between two devices through the links of the simulator, in real time.
//!
//! One thread. It waits for packets and for the next release (`reactor`), reads packets into
//! buffers that stay where they are (`pool`), lets packets of the simulator, which stand for them, pass through the
//! simulator's links and pipes (`chain`), and writes the packets that have passed (`lane`). A piece of several segments
//! counts as the packets that it stands for ([`paceline_ip::offload`]). Where simulated flows share the path, a
//! simulation of the caller's takes the place of links and pipes (`shared`). An emulation may begin by a trigger; until
//! then packets pass an equal path (`prelude`).
//!
//! [`shell`] runs a program inside of an emulation, [`router`] lets the packets of a device of this machine pass
//! through one, and [`output`] says what happened.

mod chain;
mod clock;
mod element;
mod flows;
mod lane;
mod lateness;
mod observe;
pub mod onoff;
pub mod output;
mod pool;
mod port;
mod prelude;
mod reactor;
mod rest;
pub mod router;
mod run;
mod shared;
pub mod shell;
mod summary;
#[cfg(test)]
mod testing;
mod wakeups;
mod watch;

pub use chain::{Chain, Release};
pub use element::Element;
pub use flows::{FlowId, FlowNames, MAX_FLOWS};
pub use lateness::Lateness;
pub use observe::{LiveEvent, Observer, View};
pub use pool::Pool;
pub use port::{Port, SocketPort};
pub use prelude::Trigger;
pub use run::{Control, Emulator, EmulatorOptions};
pub use shared::{SharedLane, SharedPath};
pub use summary::{
    Direction, DirectionSummary, ElementKind, EndReason, LatenessSummary, SimulatedFlow,
    StageSummary, Summary,
};
pub use wakeups::measure_wakeups;
