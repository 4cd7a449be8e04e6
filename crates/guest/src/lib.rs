//! Linux itself as the ends of simulated flows: a User-Mode Linux kernel for each host, whose clock
//! and whose network device are the simulator's. `crates/guest/PROTOCOL.md` has what both say to each
//! other.

pub mod build;
pub mod frames;
