//! What the tests of the arithmetic share.

pub(crate) mod host;
pub(crate) mod record;
