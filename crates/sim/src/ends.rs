//! The ends of a flow: sender and receiver.

use std::sync::Arc;

use paceline_cc::{AckPolicy, Halves, Setup, Span, Stream, Time, without_counting};
use paceline_flow::{
    LossRecovery, Receiver, ReceiverConfig, RtoBounds, SENDER_SIGNALS, Sender, SenderConfig, Ticks,
    Workload,
};
use paceline_schemes::UNPACED;

use crate::choose::Ends;
use crate::error::BuildError;
use crate::scenario::{FlowSpec, Scenario};

/// A host's uptime is below this. After 4096 ticks, timers expire at the same times as at the
/// start.
const MAX_UPTIME: Span = Span::from_millis(4096 * 4);

/// The fractional parts of its multiples are evenly spread over 0 to 1.
const GOLDEN_RATIO: f64 = 0.618_033_988_749_894_9;

/// One flow to build: one of a specification's `count`, or one of random arrivals.
pub(crate) struct OneFlow<'a> {
    pub(crate) spec: &'a FlowSpec,
    pub(crate) ends: &'a Ends,
    pub(crate) scheme: &'a Arc<str>,
    pub(crate) name: String,
    pub(crate) workload: Workload,
    pub(crate) start: Time,
    pub(crate) stop: Time,
}

impl OneFlow<'_> {
    /// Returns an error if the flow has programs, and its ends run none.
    pub(crate) fn check_programs(&self) -> Result<(), BuildError> {
        let runs_programs = matches!(self.ends, Ends::Transport(made) if made.runs_programs());
        if self.spec.programs.is_none() || runs_programs {
            return Ok(());
        }
        let problem = "only Linux hosts run programs: take a scheme such as linux:cubic".into();
        Err(BuildError::Transport { flow: self.name.clone(), problem })
    }
}

/// Builds the sender of a flow; the numbers are those of the flow and of its packets' route.
pub(crate) fn make_sender(
    scenario: &Scenario,
    one: &OneFlow<'_>,
    halves: &Halves,
    (flow, route): (u32, u32),
) -> Result<Sender, BuildError> {
    let spec = one.spec;
    if !halves.reliable && !spec.recovery.is_selective() {
        let (flow, scheme) = (one.name.clone(), one.scheme.to_string());
        return Err(BuildError::Recovery { flow, scheme });
    }
    if !halves.reliable && spec.receive_window.is_some() {
        let (flow, scheme) = (one.name.clone(), one.scheme.to_string());
        return Err(BuildError::ReceiveWindow { flow, scheme });
    }
    let config = SenderConfig::of(halves, setup(scenario, flow)).with(|config| {
        config.route = route;
        config.handshake = spec.handshake && halves.handshake;
        config.receive_window = spec.receive_window.unwrap_or(u64::MAX);
        config.workload = one.workload.clone();
        (config.start, config.stop) = (one.start, one.stop);
        config.ecn = spec.ecn;
        config.recovery = spec.recovery;
        config.slow_start_after_idle = spec.slow_start_after_idle;
        config.ticks = (spec.recovery == LossRecovery::Sack).then(|| ticks(flow));
        config.unpaced = if is_linux(spec, halves) { UNPACED } else { 0 };
        if !spec.recovery.is_selective() {
            config.rto = RtoBounds::SHORT;
        }
    });
    Sender::new(config, halves.controller.clone(), SENDER_SIGNALS)
        .map_err(|source| BuildError::Signals { flow: one.name.clone(), source })
}

/// Returns the setup of the ends of flow number `flow`.
fn setup(scenario: &Scenario, flow: u32) -> Setup {
    Setup::new(scenario.seed, flow).with(|setup| setup.mss = scenario.mss)
}

/// Returns the clock ticks of the host of flow number `flow`. Hosts have different uptimes, which
/// do not depend on seeds and names because they only affect when timers expire.
fn ticks(flow: u32) -> Ticks {
    Ticks::new(MAX_UPTIME.mul_f64((f64::from(flow) + 1.0) * GOLDEN_RATIO % 1.0))
}

/// Returns true if the flow's ends are stock TCP on Linux hosts: the scenario names no
/// acknowledgement policy, and the scheme has neither a policy nor a receiver's half that decides alone (XCP and
/// others have one).
fn is_linux(spec: &FlowSpec, halves: &Halves) -> bool {
    let is_delayed = spec.ack.is_none() && halves.ack == AckPolicy::DELAYED;
    is_delayed
        && halves.reliable
        && (halves.reporter.is_none() || halves.adds_to_stock_receiver)
        && spec.recovery == LossRecovery::Sack
}

/// Builds the receiver of a flow; the numbers are those of the flow and of its acknowledgements'
/// route.
pub(crate) fn make_receiver(
    scenario: &Scenario,
    one: &OneFlow<'_>,
    halves: &Halves,
    (flow, route): (u32, u32),
) -> Receiver {
    let OneFlow { spec, name, .. } = one;
    // Clocks have different offsets, so that a scheme which subtracts times of both clocks fails in
    // tests. The offsets affect nothing else.
    let clock =
        without_counting(|| Stream::new(scenario.seed, &format!("clock of {name}")).uniform());
    Receiver::new(ReceiverConfig::of(halves, setup(scenario, flow)).with(|config| {
        config.route = route;
        config.ack = spec.ack.unwrap_or(halves.ack);
        config.linux = is_linux(spec, halves);
        config.ecn = spec.ecn;
        config.clock_offset = Span::from_secs_f64(1000.0 * clock);
    }))
}
