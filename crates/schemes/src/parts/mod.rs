//! Parts that several schemes use. A scheme may use these, but not another scheme, unless it is a
//! variant of it.

mod ack_aggregation;
mod bbr_pacing;
mod deadlock;
mod delayed_ack;
mod idle_capacity;
mod limits;
mod mark_echo;
mod mark_share;
mod newest_header;
mod rate_meter;
mod reno_window;
mod reports;
mod round_trips;
mod self_limited;
mod windowed_filter;

pub use ack_aggregation::{AckAggregation, HALF_WINDOW};
pub(crate) use bbr_pacing::BbrPacing;
pub(crate) use deadlock::DeadlockTimer;
pub(crate) use delayed_ack::is_ack_delayed;
pub use idle_capacity::IdleCapacity;
pub use limits::{INITIAL_WINDOW, MEDIA_DELAYS, MEDIA_RATES, ROUTER_TIMES, WINDOWS};
pub use mark_echo::MarkEcho;
pub use mark_share::MarkShare;
pub use newest_header::NewestHeader;
pub use rate_meter::RateMeter;
pub use reno_window::RenoWindow;
pub(crate) use reports::Reports;
pub use round_trips::RoundTrips;
pub use self_limited::SelfLimited;
pub use windowed_filter::{Windowed, WindowedMax, WindowedMin};
