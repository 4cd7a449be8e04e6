//! Tests, a module for each subject, in one executable: each executable takes 1.5 s or more to build.
//! `golden`, which compares with files of another program, is run by name.

#[path = "../support/mod.rs"]
mod support;

mod files;
mod hostile;
mod scores;
mod specification;
mod train;
mod tune;
