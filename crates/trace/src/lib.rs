//! Traces of link capacity: formats, statistics, generators.
//!
//! A [`Trace`] lists the milliseconds at which a link may deliver one packet of [`PACKET_BYTES`]
//! bytes, and repeats for ever. Traces come from files ([`load`], [`mahimahi`], [`csv`]), from
//! rates ([`constant`], [`square_wave`], [`steps`]) or from a stochastic model of a
//! cellular link ([`synthetic()`]). [`Stats`] are the statistics of a trace.
//!
//! Everything is deterministic: a synthetic trace depends only on its name, seed and length.
//! Nothing here panics on outside input; only [`file`](mod@file) uses the file system.

pub mod csv;
mod csv_header;
mod cursor;
pub mod delays;
mod error;
pub mod file;
mod generate;
mod kind;
pub mod mahimahi;
mod rates;
mod stats;
mod synthetic;
mod trace;

pub use cursor::Cursor;
pub use delays::{DelayStats, Delays, steps_starting_at};
pub use error::TraceError;
pub use file::{load, load_delays, warning};
pub use generate::{constant, square_wave, steps};
pub use kind::FileKind;
pub use rates::rates;
pub use stats::Stats;
pub use synthetic::{
    DEFAULT_SEED, Target, default_length, delay_target, names, nearest, synthetic,
    synthetic_delays, target,
};
pub use trace::{MAX_OPPORTUNITIES, PACKET_BYTES, Trace};
