//! Scenario files (TOML).
//!
//! Each section is a table of keys (`keys.rs`) in its own file (`run`, `link`, `flow`, ...), which
//! uses the values of `spec`; `read` and `write` use the sections.

mod channel;
mod document;
mod error;
mod flow;
mod hosts;
mod keys;
mod limits;
mod link;
mod medium;
mod named;
mod programs;
mod read;
mod reader;
mod remedies;
mod run;
mod station;
mod stretch;
mod table;
mod text;
mod value;
mod wifi;
mod workload;
mod write;

pub use error::ScenarioError;
pub use keys::{Key, KeyTable};
pub use limits::{FASTEST, check_size};
pub use named::named_files;
pub use read::{load, load_with, parse, parse_with};
pub use value::{check_router, check_scheme};
pub use write::{to_toml, to_toml_with};

use keys::Section;

/// Returns the keys of scenario files, section by section.
pub fn keys() -> Vec<KeyTable> {
    vec![
        run::FileScenario::table(),
        link::FileLink::table(),
        link::RateStep::table(),
        wifi::FileWifi::table(),
        wifi::FileWifiStation::table(),
        medium::FileMedium::table(),
        medium::FilePort::table(),
        station::FileStation::table(),
        flow::FileFlow::table(),
        workload::FileLimited::table(),
        workload::FileOnOff::table(),
        workload::FileVideo::table(),
        workload::FileAudio::table(),
        programs::FilePrograms::table(),
        workload::FileCall::table(),
        workload::FileArrivals::table(),
        stretch::FileStretch::table(),
    ]
}
