//! Tests, a module for each subject, in one executable: each executable takes 1.5 s or more to build.

mod abuse;
mod clients;
mod common;
mod copier;
mod credit;
mod datagrams;
mod hostile_frames;
mod limits;
mod many;
mod own_schemes;
mod pair;
mod path;
mod rekey;
mod reset;
mod rest;
