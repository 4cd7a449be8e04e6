//! Defaults and ranges that parameters of several schemes share.

use std::ops::RangeInclusive;

use paceline_cc::{Rate, Span};

/// Initial window in packets (RFC 6928 §2).
pub const INITIAL_WINDOW: f64 = 10.0;

/// Range of windows, in packets, for parameters.
pub const WINDOWS: RangeInclusive<f64> = 1.0..=10_000.0;

/// Range of times for parameters of routers: RTTs, and periods of measurements.
pub const ROUTER_TIMES: RangeInclusive<Span> = Span::from_millis(1)..=Span::from_secs(10);

/// Range of rates for parameters of schemes for media.
pub const MEDIA_RATES: RangeInclusive<Rate> =
    Rate::from_bps(1_000)..=Rate::from_bps(100_000_000_000);

/// Range of delays and times of the control for parameters of schemes for media.
pub const MEDIA_DELAYS: RangeInclusive<Span> = Span::from_millis(1)..=Span::from_secs(60);
