//! What was sent, what became of it, and what that tells about the path.

pub(crate) mod ledger;
pub(crate) mod rate;
pub(crate) mod recovery;
pub(crate) mod rtt;
