//! The congestion-control schemes, and the table of them by name.
//!
//! The crate [`paceline_cc`] defines what a scheme is, its three halves and their inputs. This
//! crate has one folder for each scheme, and [`SCHEMES`], the table from which command line,
//! documentation and checks are made. [`registry::build`] makes a scheme from a user's text:
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
//! Each scheme has a module of its name. [`parts`] has building blocks of several schemes, such as
//! Reno's window; [`registry`] has the table. Users add schemes of their own to [`Schemes`].
//! [`PlotStyle`] defines how figures draw a scheme.

pub mod abc;
pub mod bbr;
pub mod bbr3;
pub mod c2tcp;
pub mod compound;
pub mod copa;
pub mod cubic;
pub mod dctcp;
mod elsewhere;
pub mod gcc;
mod host_pacing;
pub mod ledbat;
pub mod nada;
pub mod newreno;
pub mod parts;
mod plot_style;
pub mod prague;
pub mod rcp;
pub mod registry;
pub mod remy;
mod scheme;
mod scheme_entry;
pub mod scream;
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

pub use elsewhere::instead_of;
pub use host_pacing::UNPACED;
pub use plot_style::{Dash, Hue, PlotStyle, Shape};
pub use registry::{SCHEMES, Schemes};
pub use scheme::{BulkPath, BulkSetting, Note, Scheme};
pub use scheme_entry::{SchemeEntry, known_elsewhere};
