//! What shells and tunnels change on this machine and put back, while others of them run.

pub mod firewall;
pub mod forwarding;
pub mod lock;
pub mod run_folders;
