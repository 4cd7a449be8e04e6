//! Tests, a module for each subject, in one executable: each executable takes 1.5 s or more to build.

#[path = "../../examples/suite/page.rs"]
mod page;
#[path = "../../examples/suite/stacks.rs"]
mod stacks;

mod baselines;
mod impaired;
mod noq;
mod quinn;
mod suite;
mod support;
mod thread;
