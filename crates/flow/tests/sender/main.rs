//! Tests of the sender: a workload and an account with a controller that records its calls.

mod desk;

mod controller_calls;
mod handshake;
mod hostile;
mod limit;
mod linux;
mod padding;
