//! Helpers of this crate's tests.

mod acks;
mod one_flow_link;
mod router_link;

pub(crate) use acks::{Acks, MSS};
pub(crate) use one_flow_link::{OneFlowLink, add_sample};
pub(crate) use router_link::{Constant, RouterLink, asking, feedback, packet};
