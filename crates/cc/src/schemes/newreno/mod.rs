//! NewReno.

use crate::control::{Controller, Feedback, Plan};
use crate::params::Params;
use crate::registry::{Halves, Scheme};

crate::params! {
    /// Parameters of NewReno.
    pub struct NewRenoParams {
        /// Initial window in packets (RFC 6928).
        initial_window: f64 = 10.0,
    }
}

/// The line of the registry.
pub const SCHEME: Scheme = Scheme {
    name: "newreno",
    summary: "Being written",
    source: "RFC 5681, RFC 6582",
    params: NewRenoParams::infos,
    build: |spec| {
        let params: NewRenoParams = spec.params()?;
        Ok(Halves::sender(move |setup| NewReno { cwnd: params.initial_window * setup.mss as f64 }))
    },
};

struct NewReno {
    cwnd: f64,
}

impl Controller for NewReno {
    fn on_feedback(&mut self, _feedback: &Feedback<'_>) {}
    fn plan(&self) -> Plan {
        Plan::window(self.cwnd as u64)
    }
}
