//! The simulator for the page of `paceline serve`: live runs, comparisons, and single claims.
//!
//! The page's worker loads this crate as WebAssembly and talks to it by two ways: requests and
//! answers in JSON ([`Api::call`]), and rows of numbers for what is drawn sixty times a second
//! ([`Api::advance`]). There is no generated code between both sides: the functions that are
//! exported ([`exports`]) take and return numbers only. docs/page.md has the protocol.

mod api;
mod claims;
mod compare;
pub mod exports;
mod play;
mod rules;
mod traces;

pub use api::Api;
