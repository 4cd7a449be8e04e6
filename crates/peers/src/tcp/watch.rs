//! A controller that wraps another one and derives Linux' congestion state from the calls.

use std::sync::{Arc, Mutex};

use paceline_cc::{
    Congestion, Controller, Established, Feedback, Outgoing, Plan, Rate, Report, Signals, Span,
    Time,
};

/// The states of Linux' congestion machine, as `tcpi_ca_state` numbers them.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum CaState {
    #[default]
    Open = 0,
    Disorder = 1,
    Cwr = 2,
    Recovery = 3,
    Loss = 4,
}

/// Congestion state derived from the calls to a controller.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Watched {
    pub(super) state: CaState,
    /// True from an undo of the last reaction until the next reading of the state.
    pub(super) undone: bool,
}

/// A wrapped controller.
pub(super) struct Watch {
    inner: Box<dyn Controller>,
    watched: Arc<Mutex<Watched>>,
}

impl Watch {
    pub(super) fn new(inner: Box<dyn Controller>, watched: Arc<Mutex<Watched>>) -> Watch {
        Watch { inner, watched }
    }
}

/// Returns the state after `feedback`.
fn next_state(state: CaState, feedback: &Feedback<'_>) -> CaState {
    match feedback.congestion {
        Some(Congestion::Loss | Congestion::LossAfterMark) => CaState::Recovery,
        Some(Congestion::Ecn) => CaState::Cwr,
        Some(Congestion::Timeout) => CaState::Loss,
        Some(Congestion::Undo) => CaState::Open,
        None if !feedback.in_recovery => CaState::Open,
        None if state == CaState::Cwr && feedback.lost_packets > 0 => CaState::Recovery,
        None => state,
    }
}

impl Controller for Watch {
    fn needs(&self) -> Signals {
        self.inner.needs()
    }
    fn on_send(&mut self, now: Time, packet: &mut Outgoing) -> u64 {
        self.inner.on_send(now, packet)
    }
    fn on_established(&mut self, established: &Established) {
        self.inner.on_established(established);
    }
    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        if let Ok(mut watched) = self.watched.lock() {
            watched.state = next_state(watched.state, feedback);
            watched.undone |= feedback.congestion == Some(Congestion::Undo);
        }
        self.inner.on_feedback(feedback);
    }
    fn on_report(&mut self, now: Time, report: &Report) {
        self.inner.on_report(now, report);
    }
    fn on_timer(&mut self, now: Time) {
        self.inner.on_timer(now);
    }
    fn on_idle(&mut self, now: Time, idle: Span, rto: Span) {
        self.inner.on_idle(now, idle, rto);
    }
    fn plan(&self) -> Plan {
        self.inner.plan()
    }
    fn target(&self) -> Option<Rate> {
        self.inner.target()
    }
    fn forecast(&self) -> Option<u64> {
        self.inner.forecast()
    }
    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.inner.inspect(see);
    }
}
