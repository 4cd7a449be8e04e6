//! Sweeps: a scenario under every combination of values of its keys, in shards that several machines
//! can make, with results in Parquet.
//!
//! - [`Grid`] reads the file of a sweep: the scenario, the swept keys and their values.
//! - [`Shard`] says which of the runs one machine makes; [`sweep()`] makes them, and continues where
//!   an earlier one was stopped.
//! - [`with_values`] and [`table_of_runs`] are for sweeps that the caller distributes.
//! - [`Table`] has the rows of all links and flows; [`merge()`] joins the tables of all shards.

mod grid;
mod journal;
mod keys;
mod merge;
mod parquet_file;
mod rows;
mod shard;
mod sweep;
mod table;

pub use grid::{Grid, GridError, with_values};
pub use merge::{MergeError, merge};
pub use parquet_file::{read_parquet, write_parquet};
pub use rows::table_of_runs;
pub use shard::Shard;
pub use sweep::{Progress, SweepError, Swept, sweep};
pub use table::{Column, Table, Values};
