//! Abc.

use crate::control::{Controller, Feedback, Plan};
use crate::params::Params;
use crate::registry::{Halves, Scheme};

crate::params! {
    /// Parameters of Abc.
    pub struct AbcParams {
        /// Initial window in packets (RFC 6928).
        initial_window: f64 = 10.0,
    }
}

/// The line of the registry.
pub const SCHEME: Scheme = Scheme {
    name: "abc",
    summary: "Being written",
    source: "ABC, NSDI 2020",
    params: AbcParams::infos,
    build: |spec| {
        let params: AbcParams = spec.params()?;
        Ok(Halves::sender(move |setup| Abc { cwnd: params.initial_window * setup.mss as f64 }))
    },
};

struct Abc {
    cwnd: f64,
}

impl Controller for Abc {
    fn on_feedback(&mut self, _feedback: &Feedback<'_>) {}
    fn plan(&self) -> Plan {
        Plan::window(self.cwnd as u64)
    }
}
