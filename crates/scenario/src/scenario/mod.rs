//! Scenarios: links, flows and a duration, as Rust values or as TOML files.
//!
//! `spec` has the values, independent of files; `file` reads and writes files.

mod file;
mod spec;

pub use file::{
    FASTEST, Key, KeyTable, ScenarioError, check_router, check_scheme, check_size, keys, load,
    load_with, named_files, parse, parse_with, to_toml, to_toml_with,
};
pub use spec::{
    Arrivals, Audio, Capacity, ChannelSpec, CustomQueue, CustomRouter, CustomScheme, Direction,
    FlowSpec, Layer, LinkSpec, Listens, LossRecovery, MakeQueue, McsSpec, MediumSpec, PortSpec,
    Programs, QueueChoice, Record, RouterChoice, RttSamples, Scenario, SchemeChoice, StationPort,
    StationSpec, StationUse, Stretch, Video, WifiSpec, Workload,
};
