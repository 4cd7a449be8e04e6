//! Scenarios: links, flows and how long; as Rust values or as TOML files.
//!
//! `spec` has the values, which know nothing of files; `file` reads and writes them.

mod file;
mod spec;
mod wifi;

pub use file::{
    ScenarioError, check_router, check_scheme, load, load_with, parse, parse_with, to_toml,
    to_toml_with,
};
pub use spec::{
    Arrivals, Capacity, CustomQueue, CustomRouter, CustomScheme, Direction, FlowSpec, Layer,
    LinkSpec, LossRecovery, MakeQueue, MediumSpec, PortSpec, QueueChoice, Record, RouterChoice,
    RttSamples, Scenario, SchemeChoice, StationPort, StationUse, Stretch, Video, Workload,
};
pub use wifi::{McsSpec, StationSpec, WifiSpec};
