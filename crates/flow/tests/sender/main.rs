//! Tests of the sender: a workload and an account under a controller that notes what it is told.

mod desk;

mod handshake;
mod hostile;
mod limit;
mod linux;
mod told;
