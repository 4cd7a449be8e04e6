//! Remy's model of a network, as a scenario: senders that switch on and off, over a link.

use std::fmt;

use paceline_cc::{Rate, Span};
use paceline_sim::flow::{Amount, On, Workload};
use paceline_sim::path::{BufferSize, Impairments, Loss};
use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, Record, Scenario, SchemeChoice};
use paceline_sim::{BuildError, mean_rate, service};

/// Bytes of a packet. One per millisecond is 10 Mbit/s, the convention of the published tools.
pub const PACKET: u32 = 1250;

impl fmt::Display for Network {
    /// The network in a few words: `2 senders over 15Mbps, 150ms, on 5s, off 5s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let senders = if self.senders == 1 { "sender" } else { "senders" };
        write!(f, "{} {senders} over ", self.senders)?;
        match &self.link {
            Capacity::Constant(rate) => write!(f, "{rate}")?,
            Capacity::Trace { trace, .. } => write!(f, "{}", trace.name())?,
            Capacity::Schedule { .. } => write!(f, "a schedule of rates")?,
            Capacity::Wifi(_) => write!(f, "Wi-Fi")?,
        }
        write!(f, ", {}, on ", self.rtt)?;
        match self.on {
            On::Time(time) => write!(f, "{}", seconds(&time))?,
            On::Bytes(bytes) => write!(f, "{} bytes", size(&bytes))?,
        }
        write!(f, ", off {}", seconds(&self.off))?;
        if self.buffer != BufferSize::Unlimited {
            write!(f, ", buffer {}", self.buffer)?;
        }
        if self.loss > 0.0 {
            write!(f, ", loss {:.3} %", 100.0 * self.loss)?;
        }
        Ok(())
    }
}

/// An amount: its mean, or its least value if it is Pareto's.
fn size(amount: &Amount) -> f64 {
    match *amount {
        Amount::Fixed(value) | Amount::Exponential(value) => value,
        Amount::Pareto { scale, .. } => scale,
    }
}

fn seconds(amount: &Amount) -> Span {
    Span::from_secs_f64(size(amount))
}

/// Senders over one link, which begin off and switch on and off.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Network {
    /// The link.
    pub link: Capacity,
    /// The RTT without a queue, and without the time that a packet takes on the link.
    pub rtt: Span,
    /// How many senders.
    pub senders: u32,
    /// How long they are on, or how much they send then.
    pub on: On,
    /// How long they are off, in seconds.
    pub off: Amount,
    /// How many packets may wait at the link, beside the one that is on it.
    pub buffer: BufferSize,
    /// The share of packets that get lost behind the link.
    pub loss: f64,
}

impl Network {
    /// Two senders, on and off for 5 s in the mean, over a link of constant rate with an unlimited
    /// buffer.
    pub fn new(rate: Rate, rtt: Span) -> Network {
        Network {
            link: Capacity::Constant(rate),
            rtt,
            senders: 2,
            on: On::Time(Amount::Exponential(5.0)),
            off: Amount::Exponential(5.0),
            buffer: BufferSize::Unlimited,
            loss: 0.0,
        }
    }

    /// The same with a change: `network.with(|network| network.senders = 8)`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Network)) -> Network {
        change(&mut self);
        self
    }

    /// What each sender sends. Every on-period is a connection of its own.
    pub fn workload(&self) -> Workload {
        Workload::OnOff { on: self.on, off: self.off, starts_off: true, fresh: true }
    }

    /// The link's mean rate in packets per millisecond.
    ///
    /// # Errors
    /// If the link makes no sense.
    pub fn packets_per_ms(&self, duration: Span) -> Result<f64, BuildError> {
        let link = LinkSpec::new("link", self.link.clone());
        let scenario = Scenario::new("remy").with(|scenario| scenario.links.push(link.clone()));
        let rate = mean_rate(&self.link, &service(&scenario, &link)?, duration);
        Ok(rate.as_bps() as f64 / (8e3 * f64::from(PACKET)))
    }

    /// The scenario of senders of `scheme`. As in the published simulator the whole RTT lies between
    /// the link and the receiver, acknowledgements take no time, and losses happen between link
    /// and delay. Only sums are recorded.
    pub fn scenario(&self, scheme: SchemeChoice, duration: Span, seed: u64) -> Scenario {
        let mut scenario = Scenario::new("remy");
        (scenario.mss, scenario.seed, scenario.duration) = (PACKET, seed, duration);
        (scenario.record, scenario.digest) = (Record::Sums, false);
        let link = LinkSpec::new("link", self.link.clone()).with(|link| {
            link.buffer = self.buffer;
            link.rtt = Some(self.rtt);
            if self.loss > 0.0 {
                let loss = Loss::Bernoulli(self.loss);
                link.after.impairments = Impairments { loss, ..Impairments::default() };
            }
        });
        scenario.links.push(link);
        let flow = FlowSpec::bulk(scheme, &["link"]).with(|flow| {
            flow.count = self.senders;
            flow.rtt = Span::ZERO;
            flow.data.delay = self.rtt;
            flow.workload = self.workload();
        });
        scenario.flows.push(flow);
        scenario
    }
}
