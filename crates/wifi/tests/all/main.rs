//! Tests, a module for each subject, in one executable: each executable takes 1.5 s or more to build.

#[path = "../../../path/tests/all/common/mod.rs"]
mod common;

mod access_point_model;
mod estimator;
mod measured_capacity;
mod medium_model;
mod unused_capacity;
