//! Outputs of an emulation: logs, captures, summaries, meters, reports. Each is an [`Observer`](crate::Observer).

pub mod account;
mod flow_rows;
mod log_graph;
pub mod mahimahi_log;
pub mod meter;
mod opportunities;
mod page;
pub mod pcapng;
pub mod releases;
mod series;
mod sink;
pub mod summary;
#[cfg(test)]
mod testing;
mod watched;

pub use account::{DirectionReport, EmulationReport, LinkRow, MeasuredPackets};
pub use flow_rows::{FlowFigures, FlowRow};
pub use log_graph::{LogError, LogGraph};
pub use mahimahi_log::{LogHead, MahimahiLog};
pub use meter::Meter;
pub use page::PageFacts;
pub use pcapng::{HostCapture, Pcapng};
pub use releases::Releases;
pub use summary::{ReportObserver, SharedReport};
pub use watched::{WatchedElement, word};
