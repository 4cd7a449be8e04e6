//! Tests, a module for each subject, in one executable: each takes 1.5 s or more to build. `columns`, which writes
//! a page of the documentation, is run by name.

mod compare;
mod equal_runs;
mod evaluation;
mod scenario_changes;
