//! Shared by the tests of the arithmetic.

pub(crate) mod host;
pub(crate) mod record;
