//! The simulator: moves packets through stages in virtual time, and measures what happens.

mod bins;
mod build;
mod census;
mod digest;
pub mod metrics;
pub mod outcome;
mod recorder;
mod routes;
mod run;
pub mod scenario;
mod stations;
mod timetable;
mod world;

pub use bins::LinkBins;
pub use build::{BuildError, mean_rate, queue_stream, service};
pub use census::Census;
pub use outcome::Outcome;
pub use run::{Simulation, run};
pub use scenario::{Scenario, ScenarioError};
pub use world::World;
