//! The controller whose rate an agent sets, and the counters that the agent observes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use paceline_cc::{Controller, Feedback, Outgoing, Plan, Rate, Span, Time};

/// RTT assumed for the window before the first sample.
const INITIAL_RTT: Span = Span::from_millis(100);
/// Bandwidth-delay products of the chosen rate that may be in flight.
const WINDOW_BDPS: f64 = 2.0;

/// Counters of a sender within a step.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct StepCounters {
    /// Packets sent.
    pub(super) sent: u32,
    /// Packets acknowledged.
    pub(super) acked: u32,
    /// Bytes acknowledged.
    pub(super) acked_bytes: u64,
    /// Packets declared lost.
    pub(super) lost: u32,
    /// Sum of the RTT samples in milliseconds.
    pub(super) rtt_ms: f64,
    /// Number of RTT samples.
    pub(super) rtts: u32,
}

/// State shared by agent and controller.
#[derive(Debug)]
pub(super) struct AgentState {
    /// Pacing rate that the agent has chosen.
    pub(super) rate: Rate,
    /// Counters since the agent's last observation.
    pub(super) seen: StepCounters,
    /// Minimum RTT in milliseconds; zero before the first sample.
    pub(super) min_rtt_ms: f64,
}

/// A handle to the state shared by agent and controller.
#[derive(Clone)]
pub(super) struct Agent(Arc<Mutex<AgentState>>);

impl Agent {
    /// Returns an agent with an initial rate.
    pub(super) fn new(rate: Rate) -> Agent {
        Agent(Arc::new(Mutex::new(AgentState {
            rate,
            seen: StepCounters::default(),
            min_rtt_ms: 0.0,
        })))
    }

    /// Locks the shared state.
    pub(super) fn lock(&self) -> MutexGuard<'_, AgentState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the controller of this agent, for packets of `mss` bytes.
    pub(super) fn controller(&self, mss: u32) -> impl Controller + use<> {
        AgentController { agent: self.clone(), mss, srtt: INITIAL_RTT }
    }
}

/// Paces at the agent's rate, and keeps at most twice the rate times the RTT in flight.
struct AgentController {
    agent: Agent,
    mss: u32,
    srtt: Span,
}

impl Controller for AgentController {
    fn on_send(&mut self, _: Time, _: &mut Outgoing) -> u64 {
        self.agent.lock().seen.sent += 1;
        0
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        let mut shared = self.agent.lock();
        let seen = &mut shared.seen;
        seen.acked += feedback.acked_packets;
        seen.acked_bytes += feedback.acked;
        seen.lost += feedback.lost_packets;
        if let Some(rtt) = feedback.rtt {
            seen.rtt_ms += rtt.as_millis_f64();
            seen.rtts += 1;
        }
        shared.min_rtt_ms = feedback.min_rtt.as_millis_f64();
        if !feedback.srtt.is_zero() {
            self.srtt = feedback.srtt;
        }
    }

    fn plan(&self) -> Plan {
        let rate = self.agent.lock().rate;
        let window = rate.bytes_in(self.srtt) as f64 * WINDOW_BDPS;
        let window = (window as u64).max(4 * u64::from(self.mss));
        Plan::window(window).paced(rate, 0).without_prr()
    }
}
