//! Tests, a module for each subject, in one executable: each executable takes 1.5 s to build. `golden`, `gcc_calls`,
//! `scenario_docs` and `threads` are run by name, to write files or in other builds, and have executables of their own.

mod abc;
mod bbr;
mod buffers;
mod coexistence;
mod conflicts;
mod conservation;
mod delay_based;
mod delay_trace;
mod ecn;
mod edges;
mod explicit;
mod gateway;
mod interactive;
mod lockstep;
mod lost_acks;
mod many_flows;
mod media;
mod medium;
mod open;
mod outages;
mod parameters;
mod random;
mod rate;
mod rate_based;
mod receive_window;
mod recordings;
mod runs;
mod scenario_errors;
mod scenario_write;
mod seeds;
mod short_flows;
mod sums;
mod undone;
mod wifi;
mod without_sack;
