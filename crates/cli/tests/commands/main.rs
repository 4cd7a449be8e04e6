//! Tests of commands that run and end, a module for each subject, in one executable: each executable takes 1.5 s or more to
//! build. Tests that make networks, kill emulators or rewrite pages have executables of their own.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/pcapng.rs"]
mod pcapng;
#[path = "../common/receiver.rs"]
mod receiver;

mod cluster;
mod common_options;
mod compare;
mod completions;
mod contest;
mod doctor;
mod edges;
mod evaluate;
mod former;
mod install;
mod keys;
mod medium;
mod mistakes;
mod new;
mod plot;
mod python;
mod quic_flows;
mod readme;
mod remy;
mod rights;
mod runs;
mod scenarios;
mod studies;
mod sweep;
mod wrong_lines;
