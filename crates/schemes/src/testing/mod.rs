//! Helpers of this crate's tests.

mod acks;
mod one_flow_link;
mod router_link;

pub(crate) use acks::{Acks, MSS};
pub(crate) use one_flow_link::{OneFlowLink, add_sample};
pub(crate) use router_link::{Constant, RouterLink, asking, feedback, packet};

/// Returns why the scheme that `text` names cannot be built; empty if it can.
pub(crate) fn problem(text: &str) -> String {
    let spec = paceline_cc::SchemeSpec::parse(text).expect(text).sender;
    crate::registry::build(&spec).err().map(|error| error.to_string()).unwrap_or_default()
}
