//! The ends of a flow: sender and receiver.

use std::sync::Arc;

use paceline_cc::{Halves, Setup, Span, Stream, Time, without_counting};
use paceline_flow::{
    Receiver, ReceiverConfig, RtoBounds, SENDER_SIGNALS, Sender, SenderConfig, Workload,
};

use crate::choose::Ends;
use crate::error::BuildError;
use crate::scenario::{FlowSpec, Scenario};

/// One flow to be made: one of several alike, or one of random arrivals.
pub(crate) struct OneFlow<'a> {
    pub(crate) spec: &'a FlowSpec,
    pub(crate) ends: &'a Ends,
    pub(crate) scheme: &'a Arc<str>,
    pub(crate) name: String,
    pub(crate) workload: Workload,
    pub(crate) start: Time,
    pub(crate) stop: Time,
}

/// The sender of a flow; numbers of the flow and of its packets' route.
pub(crate) fn make_sender(
    scenario: &Scenario,
    one: &OneFlow<'_>,
    halves: &Halves,
    (flow, route): (u32, u32),
) -> Result<Sender, BuildError> {
    let spec = one.spec;
    let setup = Setup::new(scenario.seed, flow).with(|setup| setup.mss = scenario.mss);
    let config = SenderConfig::of(halves, setup).with(|config| {
        config.route = route;
        config.handshake = spec.handshake && halves.handshake;
        config.receive_window = spec.receive_window.unwrap_or(u64::MAX);
        config.workload = one.workload.clone();
        (config.start, config.stop) = (one.start, one.stop);
        config.ecn = spec.ecn;
        config.recovery = spec.recovery;
        if !spec.recovery.is_selective() {
            config.rto = RtoBounds::SHORT;
        }
    });
    Sender::new(config, halves.controller.clone(), SENDER_SIGNALS)
        .map_err(|source| BuildError::Signals { flow: one.name.clone(), source })
}

/// The receiver of a flow; numbers of the flow and of its acknowledgements' route.
pub(crate) fn make_receiver(
    scenario: &Scenario,
    one: &OneFlow<'_>,
    halves: &Halves,
    (flow, route): (u32, u32),
) -> Receiver {
    let OneFlow { spec, name, .. } = one;
    // Clocks disagree: a scheme that subtracts across them fails in tests. They decide nothing.
    let clock =
        without_counting(|| Stream::new(scenario.seed, &format!("clock of {name}")).uniform());
    Receiver::new(ReceiverConfig::of(halves, flow).with(|config| {
        config.route = route;
        config.ack = spec.ack.unwrap_or(halves.ack);
        config.ecn = spec.ecn;
        config.clock_offset = Span::from_secs_f64(1000.0 * clock);
    }))
}
