//! Tests, a module for each subject, in one executable: each executable takes 1.5 s or more to build.

mod common;
mod loss_after_mark;
mod model_fuzz;
mod router_fuzz;
