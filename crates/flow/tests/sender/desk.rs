//! A sender whose acknowledgements the test writes.

use std::sync::{Arc, Mutex};

use paceline_cc::{
    Ack, Body, Congestion, Controller, Feedback, MakeController, Outgoing, Packet, Plan, Rate,
    RateSample, Setup, Signals, Span, Spec, Stage, Time,
};
use paceline_flow::{SENDER_SIGNALS, Sender, SenderConfig};
use paceline_schemes::registry;

/// A call of the controller.
#[derive(Clone, Debug)]
pub(crate) enum ControllerCall {
    Feedback {
        now: Time,
        congestion: Option<Congestion>,
        in_recovery: bool,
        cwnd_limited: bool,
        sample: Option<RateSample>,
    },
    Idle,
}

/// A controller with a fixed plan that records its calls.
struct Recorder {
    plan: Plan,
    told: Arc<Mutex<Vec<ControllerCall>>>,
}

impl Controller for Recorder {
    fn needs(&self) -> Signals {
        Signals::DELIVERY_RATE
    }
    fn on_send(&mut self, _now: Time, packet: &mut Outgoing) -> u64 {
        packet.number
    }
    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        self.told.lock().expect("no panic under the lock").push(ControllerCall::Feedback {
            now: feedback.now,
            congestion: feedback.congestion,
            in_recovery: feedback.in_recovery,
            cwnd_limited: feedback.cwnd_limited,
            sample: feedback.sample,
        });
    }
    fn on_idle(&mut self, _now: Time, _idle: Span, _rto: Span) {
        self.told.lock().expect("no panic under the lock").push(ControllerCall::Idle);
    }
    fn plan(&self) -> Plan {
        self.plan
    }
}

/// Returns a bulk flow of packets of 1500 bytes.
pub(crate) fn bulk() -> SenderConfig {
    SenderConfig::bulk(Setup::default())
}

/// A sender with a recording controller. Times are in milliseconds.
pub(crate) struct Desk {
    sender: Sender,
    told: Arc<Mutex<Vec<ControllerCall>>>,
    now: Time,
    /// The packet sent last.
    pub(crate) last: Packet,
}

impl Desk {
    pub(crate) fn new(config: SenderConfig, plan: Plan) -> Desk {
        let told = Arc::new(Mutex::new(Vec::new()));
        let to_controller = told.clone();
        let make = Arc::new(move |_: &Setup| {
            let recorder = Recorder { plan, told: to_controller.clone() };
            Box::new(recorder) as Box<dyn Controller>
        });
        Desk { told, ..Desk::with(config, make) }
    }

    /// Returns a sender with a scheme, by name.
    pub(crate) fn under(scheme: &str, config: SenderConfig) -> Desk {
        let spec = Spec::parse(scheme).expect("a spec");
        let halves = registry::build(&spec).expect("a scheme");
        Desk::with(config, halves.controller.clone())
    }

    fn with(config: SenderConfig, make: MakeController) -> Desk {
        let sender = Sender::new(config, make, SENDER_SIGNALS).expect("all signals");
        Desk { sender, told: Arc::default(), now: Time::ZERO, last: Packet::opaque(0) }
    }

    /// Lets the application write `packets` further packets of 1500 bytes.
    pub(crate) fn write(&mut self, packets: u64) {
        self.sender.set_ready(packets * 1500);
    }

    /// Limits the rate.
    pub(crate) fn limit(&mut self, mbps: f64) {
        self.sender.set_limit(Some(Rate::from_mbps(mbps)));
    }

    /// Advances time; returns when each packet left, with its number.
    pub(crate) fn until(&mut self, millis: u64) -> Vec<(u64, u64)> {
        let end = Time::from_millis(millis);
        let mut left = Vec::new();
        loop {
            let now = self.sender.wake().max(self.now);
            if now > end {
                self.now = end;
                return left;
            }
            self.now = now;
            while self.sender.pop_into(now, &mut self.last) {
                left.push((now.as_nanos() / 1_000_000, self.last.number()));
            }
        }
    }

    /// Acknowledges these numbers now: blocks, the newest first.
    pub(crate) fn ack(&mut self, cumulative: u64, blocks: &[(u64, u64)]) {
        let mut ack = Ack { largest: blocks[0].1, cumulative, ..Ack::default() };
        for (i, (first, last)) in blocks.iter().enumerate() {
            ack.lengths[i] = (last - first + 1) as u32;
            if i > 0 {
                ack.gaps[i - 1] = (blocks[i - 1].0 - 1 - last) as u32;
            }
        }
        self.push(ack);
    }

    /// Passes any acknowledgement to the sender now.
    pub(crate) fn push(&mut self, ack: Ack) {
        let packet = Packet { body: Body::Ack(ack), ..Packet::opaque(64) };
        self.sender.push(self.now, &packet);
    }

    /// Returns the scheme's window in whole packets.
    pub(crate) fn cwnd(&self) -> u64 {
        self.sender.plan().cwnd / 1500
    }

    /// Returns a value of the scheme's inner state.
    pub(crate) fn inspect(&self, wanted: &str) -> Option<f64> {
        let mut found = None;
        self.sender.inspect(&mut |name, value| {
            if name == wanted {
                found = Some(value);
            }
        });
        found
    }

    /// Returns the bytes in flight.
    pub(crate) fn in_flight(&self) -> u64 {
        self.sender.in_flight()
    }

    /// Returns the bytes delivered since the start.
    pub(crate) fn delivered(&self) -> u64 {
        self.sender.delivered()
    }

    /// Returns the calls of the controller since the last query.
    pub(crate) fn told(&mut self) -> Vec<ControllerCall> {
        std::mem::take(&mut *self.told.lock().expect("no panic under the lock"))
    }

    /// Returns the congestion signals to the controller since the last query.
    pub(crate) fn reactions(&mut self) -> Vec<Congestion> {
        let congestion = |told: ControllerCall| match told {
            ControllerCall::Feedback { congestion, .. } => congestion,
            ControllerCall::Idle => None,
        };
        self.told().into_iter().filter_map(congestion).collect()
    }
}
