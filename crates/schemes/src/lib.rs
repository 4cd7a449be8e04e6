//! The congestion-control schemes, and the table of them by name.
//!
//! What a scheme is, its three halves and what they are told, is in [`paceline_cc`]. Here is one
//! folder for each scheme, and [`SCHEMES`], from which command line, documentation and checks come.
//! [`registry::build`] makes a scheme from what a user wrote:
//!
//! ```
//! use paceline_cc::{Setup, Spec};
//! use paceline_schemes::registry;
//!
//! let halves = registry::build(&Spec::parse("cubic[hystart=off]")?)?;
//! let controller = (halves.controller)(&Setup::default());
//! assert_eq!(controller.plan().cwnd, 15_000); // ten packets
//! # Ok::<(), paceline_cc::SpecError>(())
//! ```
//!
//! # Where things are
//! Each scheme has a module of its name. [`parts`] has what several schemes are built from, such as
//! Reno's window, and [`registry`] the table; users add schemes of their own to [`Schemes`]. [`PlotStyle`] is how figures draw a scheme.

pub mod abc;
pub mod bbr;
pub mod bbr3;
pub mod c2tcp;
pub mod compound;
pub mod copa;
pub mod cubic;
pub mod dctcp;
pub mod gcc;
mod host_pacing;
pub mod ledbat;
pub mod newreno;
pub mod parts;
mod plot_style;
pub mod prague;
pub mod rcp;
pub mod registry;
pub mod remy;
mod scheme;
pub mod sprout;
pub mod sprout_ewma;
#[cfg(test)]
pub(crate) mod testing;
pub mod vcp;
pub mod vegas;
pub mod verus;
pub mod vivace;
pub mod xcp;
pub mod xcpb;
pub mod xcpw;

pub use plot_style::{Dash, Hue, PlotStyle, Shape};
pub use registry::{SCHEMES, SchemeEntry, Schemes};
pub use scheme::{BulkSetting, Scheme};
