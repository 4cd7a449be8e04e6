//! The simulator for the page of `paceline serve`: live runs, comparisons, and single claims.
//!
//! The page's worker loads this crate as WebAssembly. It uses two interfaces: requests and answers
//! in JSON ([`Api::call`]), and rows of numbers for drawings that are updated sixty times per
//! second ([`Api::advance`]). There is no generated code between the two sides: the exported
//! functions ([`exports`]) take and return only numbers. docs/page.md describes the protocol.

mod api;
mod claims;
mod compare;
mod contest;
pub mod exports;
#[cfg(target_arch = "wasm32")]
mod imports;
mod live_rows;
mod maths;
mod messages;
mod play;
mod rules;
mod scenario;
mod script;
mod traces;

pub use api::Api;
pub use script::{Call, FAILED, NUMBERS, PLAN, SENDS, Script};
