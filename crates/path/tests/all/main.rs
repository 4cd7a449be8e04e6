//! Tests, a module for each subject, in one executable: each executable takes 1.5 s or more to build.

mod common;
mod link_model;
mod look_ahead;
mod mahimahi;
mod own_queue;
