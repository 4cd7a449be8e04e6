//! Cubic.

use crate::control::{Controller, Feedback, Plan};
use crate::params::Params;
use crate::registry::{Halves, Scheme};

crate::params! {
    /// Parameters of Cubic.
    pub struct CubicParams {
        /// Initial window in packets (RFC 6928).
        initial_window: f64 = 10.0,
    }
}

/// The line of the registry.
pub const SCHEME: Scheme = Scheme {
    name: "cubic",
    summary: "Being written",
    source: "RFC 9438",
    params: CubicParams::infos,
    build: |spec| {
        let params: CubicParams = spec.params()?;
        Ok(Halves::sender(move |setup| Cubic { cwnd: params.initial_window * setup.mss as f64 }))
    },
};

struct Cubic {
    cwnd: f64,
}

impl Controller for Cubic {
    fn on_feedback(&mut self, _feedback: &Feedback<'_>) {}
    fn plan(&self) -> Plan {
        Plan::window(self.cwnd as u64)
    }
}
