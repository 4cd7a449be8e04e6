//! Settings of this machine that shells and tunnels change and put back. Several may run at the same time.

pub mod firewall;
pub mod forwarding;
pub mod lock;
pub mod run_folders;
