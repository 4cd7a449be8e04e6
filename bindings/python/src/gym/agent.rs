//! The controller whose rate an agent sets, and what it sees meanwhile.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use paceline_cc::{Controller, Feedback, Outgoing, Plan, Rate, Span, Time};

/// The RTT that a window is for before the first sample.
const INITIAL_RTT: Span = Span::from_millis(100);
/// How many bandwidth-delay products of the chosen rate may be in flight.
const WINDOW_BDPS: f64 = 2.0;

/// What a sender has seen within a step.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct StepCounters {
    /// Packets sent.
    pub(super) sent: u32,
    /// Packets acknowledged.
    pub(super) acked: u32,
    /// Bytes of them.
    pub(super) acked_bytes: u64,
    /// Packets declared lost.
    pub(super) lost: u32,
    /// The sum of the RTTs in milliseconds.
    pub(super) rtt_ms: f64,
    /// How many RTTs.
    pub(super) rtts: u32,
}

/// What agent and controller share.
#[derive(Debug)]
pub(super) struct AgentState {
    /// The pacing rate that the agent has chosen.
    pub(super) rate: Rate,
    /// What was seen since the agent looked last.
    pub(super) seen: StepCounters,
    /// The smallest RTT in milliseconds; zero before the first.
    pub(super) min_rtt_ms: f64,
}

/// A handle on what agent and controller share.
#[derive(Clone)]
pub(super) struct Agent(Arc<Mutex<AgentState>>);

impl Agent {
    /// An agent that begins with a rate.
    pub(super) fn new(rate: Rate) -> Agent {
        Agent(Arc::new(Mutex::new(AgentState {
            rate,
            seen: StepCounters::default(),
            min_rtt_ms: 0.0,
        })))
    }

    /// What is shared, for as long as nobody else looks.
    pub(super) fn lock(&self) -> MutexGuard<'_, AgentState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The controller of this agent, for packets of `mss` bytes.
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
