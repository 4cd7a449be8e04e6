//! Random inputs for senders: trials that are drawn from seeds, played against this machine's
//! kernel, and compared with Paceline's sender under equal inputs.

mod files;
pub mod kernel;
mod path;
mod receiver;
mod segment;
mod shrink;
mod ticks;
mod trial;

pub use files::Files;
pub use trial::{Control, Fate, Trial};
