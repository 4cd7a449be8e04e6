//! The loss-based window that C2TCP builds on.

use paceline_cc::{Congestion, Feedback, Span, Time};

use super::{Base, C2tcpParams};
use crate::cubic::{CubicParams, CubicWindow, Growth};
use crate::parts::RenoWindow;

/// A loss-based window, which C2TCP opens and closes in addition to the window's own growth.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)] // One per flow, and never moved.
pub(super) enum Window {
    Cubic(CubicWindow),
    NewReno(RenoWindow),
}

impl Window {
    pub(super) fn new(params: &C2tcpParams) -> Window {
        let initial_window = params.initial_window;
        match params.base {
            Base::Cubic => {
                // As in the kernel's program (crates/kernel/bpf/cubic.h).
                let (growth, whole_packets) = (Growth::Rfc9438, false);
                let cubic =
                    CubicParams { initial_window, growth, whole_packets, ..Default::default() };
                Window::Cubic(CubicWindow::new(&cubic))
            }
            Base::NewReno => Window::NewReno(RenoWindow::new(initial_window)),
        }
    }

    pub(super) fn cwnd(&self) -> f64 {
        match self {
            Window::Cubic(window) => window.cwnd(),
            Window::NewReno(window) => window.cwnd(),
        }
    }
    pub(super) fn ssthresh(&self) -> f64 {
        match self {
            Window::Cubic(window) => window.ssthresh(),
            Window::NewReno(window) => window.ssthresh(),
        }
    }
    pub(super) fn in_slow_start(&self) -> bool {
        self.cwnd() < self.ssthresh()
    }
    pub(super) fn bytes(&self, mss: u32) -> u64 {
        match self {
            Window::Cubic(window) => window.bytes(mss),
            Window::NewReno(window) => window.bytes(mss),
        }
    }

    /// Takes the loss-based scheme's own step.
    pub(super) fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        match self {
            Window::Cubic(window) => window.on_feedback(feedback),
            Window::NewReno(window) => reno(window, feedback),
        }
    }

    /// Opens the window by `packets` more.
    pub(super) fn add(&mut self, packets: f64) {
        match self {
            Window::Cubic(window) => window.add(packets),
            Window::NewReno(window) => window.set_cwnd(window.cwnd() + packets),
        }
    }

    /// Sets the threshold to its value after a loss, and the window to one packet.
    pub(super) fn back_off(&mut self) {
        match self {
            Window::Cubic(window) => window.back_off(1.0),
            Window::NewReno(window) => {
                window.reduce(halved(window));
                window.commit();
                window.set_cwnd(1.0);
            }
        }
    }

    pub(super) fn on_idle(&mut self, now: Time, idle: Span, rto: Span, initial: f64) {
        match self {
            Window::Cubic(window) => window.on_idle(now, idle, rto),
            Window::NewReno(window) => {
                window.restart(initial, idle, rto);
            }
        }
    }
}

fn halved(window: &RenoWindow) -> f64 {
    libm::floor(window.cwnd() / 2.0)
}

/// Takes NewReno's step.
fn reno(window: &mut RenoWindow, feedback: &Feedback<'_>) {
    match feedback.congestion {
        None | Some(Congestion::LossAfterMark) => {}
        Some(Congestion::Loss | Congestion::Ecn) => {
            window.reduce(halved(window));
            window.may_grow(feedback);
            return;
        }
        Some(Congestion::Timeout) => {
            window.time_out(halved(window));
            return;
        }
        Some(Congestion::Undo) => {
            window.undo();
        }
    }
    if window.may_grow(feedback) {
        let rest = window.slow_start(RenoWindow::acked(feedback));
        window.avoid_congestion(rest);
    }
}
