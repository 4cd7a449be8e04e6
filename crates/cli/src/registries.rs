//! The schemes, queues and hosts that this process knows by name.

use std::sync::{Arc, OnceLock};

use paceline_cc::{Halves, Spec, SpecError};
use paceline_guest::FAMILY;
use paceline_requests::written::{self, ComparedSchemes, Schemes};
use paceline_schemes::registry;
use paceline_sim::Names;
use paceline_wire::Limits;

use crate::python::python_part;
use crate::{host, linux_hosts};

/// Names of a process without a host.
static BUILTIN: OnceLock<Names> = OnceLock::new();

/// Returns the names of the host.
pub(crate) fn names() -> &'static Names {
    host::get().map_or_else(|| BUILTIN.get_or_init(builtin), |host| &host.names)
}

/// Returns all schemes and queues of the `paceline` command: the built-in ones, `remy` with tables in
/// files, Linux hosts as `linux:cubic`, and whole QUIC stacks as `quinn:own-cubic` and `noq:bbr3`.
pub fn builtin() -> Names {
    let mut names = paceline_remy::names();
    names.transports.set(FAMILY, |text| paceline_guest::transport(text, linux_hosts::guest));
    paceline_quic_sim::add_families(&mut names);
    names
}

/// Returns the default limits of a connection. Its other end may name each scheme of this process,
/// but `remy` reads no files for it.
pub(crate) fn limits() -> Limits {
    let mut schemes = names().schemes.clone();
    if let Some(remy) = registry::builtin().get("remy") {
        schemes.set(remy.clone()).expect("a built-in name is legal");
    }
    Limits { schemes: Some(Arc::new(schemes)), ..Limits::default() }
}

/// Builds the scheme that `text` names, with the parameters that it sets.
///
/// # Errors
/// The text is no scheme, names an unknown scheme or parameter, or has a value out of range.
pub(crate) fn build(text: &str) -> Result<Halves, SpecError> {
    names().build_scheme(&Spec::parse(text)?)
}

/// Reads a list of schemes.
pub(crate) fn schemes(text: &str) -> Result<Schemes, String> {
    written::schemes(text, names()).map_err(|error| explained(text, error))
}

/// Reads the schemes of a comparison, Linux hosts among them.
pub(crate) fn compared(text: &str) -> Result<ComparedSchemes, String> {
    written::compared(text, names()).map_err(|error| explained(text, error))
}

/// Returns the error about a list of schemes; or what to do if one of them is a controller in Python, which only some
/// commands take.
fn explained(text: &str, error: String) -> String {
    for part in paceline_cc::spec::split_list(text).unwrap_or_default() {
        if let Some(file) = python_part(part)
            && names().expand(file) == [file]
        {
            return format!(
                "`{file}`: compare, contest, evaluate, run and sweep take controllers in Python, and this command does \
                 not; `paceline new controller NAME --rust` begins a program with every command"
            );
        }
    }
    error
}
