//! The laboratory of QUIC stacks for C: `include/paceline_quic.h` describes the functions.
//!
//! `machine` has a stack's functions as a [`Machine`](paceline_quic_sim::Machine), `stack` makes
//! flows of them, `border` keeps panics inside and hands texts over, `exports` has the functions
//! that C calls. Unsafe code stands in these files only: a C caller's pointers cannot be checked.

mod border;
mod exports;
mod machine;
mod stack;

pub use exports::{
    SuiteOptions, paceline_free, paceline_run_scenario, paceline_run_suite, paceline_version,
};
pub use machine::{CStats, CTransmission, MachineCalls};
pub use stack::{CSetup, CStack};
