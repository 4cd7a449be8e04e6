//! Remy's model of a network, as a scenario: senders that switch on and off, over one or two links.

use std::fmt;

use paceline_cc::{AckPolicy, Rate, Setup, Span, Stream, Time};
use paceline_flow::{Amount, On, Periods, Workload};
use paceline_path::{BufferSize, Impairments, Jitter, JitterShape, Loss};
use paceline_sim::scenario::{
    Capacity, FlowSpec, LinkSpec, QueueChoice, Record, RouterChoice, Scenario, SchemeChoice,
};
use paceline_sim::{BuildError, mean_rate, transmitter};
use serde::Deserialize;

/// Bytes of a packet. One packet per millisecond is 10 Mbit/s, as in the published tools.
pub const PACKET: u32 = 1250;

impl fmt::Display for Network {
    /// Writes the network in a few words: `2 senders over 15Mbps, 150ms, on 5s, off 5s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let senders = if self.senders == 1 { "sender" } else { "senders" };
        write!(f, "{} {senders} over ", self.senders)?;
        match &self.link {
            Capacity::Constant(rate) => write!(f, "{rate}")?,
            Capacity::Trace { trace, .. } => write!(f, "{}", trace.name())?,
            Capacity::Schedule { .. } => write!(f, "a schedule of rates")?,
            Capacity::Wifi(_) => write!(f, "Wi-Fi")?,
        }
        if let Some(Capacity::Constant(rate)) = &self.second {
            write!(f, " and {rate}")?;
        } else if self.second.is_some() {
            write!(f, " and another link")?;
        }
        write!(f, ", {}, on ", self.rtt)?;
        match self.on {
            On::Time(time) => write!(f, "{}", seconds(&time))?,
            On::Bytes(Amount::Icsi { plus }) => write!(f, "ICSI's flow lengths + {plus} bytes")?,
            On::Bytes(bytes) => write!(f, "{} bytes", size(&bytes))?,
        }
        write!(f, ", off {}", seconds(&self.off))?;
        if self.buffer != BufferSize::Unlimited {
            write!(f, ", buffer {}", self.buffer)?;
        }
        if self.loss > 0.0 {
            write!(f, ", loss {:.3} %", 100.0 * self.loss)?;
        }
        if !matches!(self.queue, QueueChoice::Auto) {
            write!(f, ", queue {}", self.queue)?;
        }
        if !self.jitter.is_zero() {
            write!(f, ", jitter {}", self.jitter)?;
        }
        if self.acked_packets > 1 {
            write!(f, ", {} packets per acknowledgement", self.acked_packets)?;
        }
        if !self.ack_slot.is_zero() {
            write!(f, ", acknowledgements every {}", self.ack_slot)?;
        }
        if !self.starts.is_zero() {
            write!(f, ", starts within {}", self.starts)?;
        }
        match &self.router {
            RouterChoice::Auto => {}
            RouterChoice::None => write!(f, ", no router")?,
            RouterChoice::Scheme(scheme) => write!(f, ", router {scheme}")?,
            RouterChoice::Custom(made) => write!(f, ", router {}", made.label())?,
        }
        if let Some(others) = self.others.as_ref().filter(|others| others.senders > 0) {
            match &others.scheme {
                Some(scheme) => write!(f, ", {} of them {scheme}", others.senders)?,
                None => write!(f, ", {} of them with another aim", others.senders)?,
            }
        }
        Ok(())
    }
}

/// Returns the mean of an amount; for Pareto's distribution its minimum.
fn size(amount: &Amount) -> f64 {
    match *amount {
        Amount::Fixed(value) | Amount::Exponential(value) => value,
        Amount::Pareto { scale, .. } => scale,
        Amount::Icsi { plus } => plus,
    }
}

fn seconds(amount: &Amount) -> Span {
    Span::from_secs_f64(size(amount))
}

/// Senders over one or two links, which begin off and switch on and off.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Network {
    /// The link.
    pub link: Capacity,
    /// RTT without queues and without the transmission time on the link.
    pub rtt: Span,
    /// Number of senders.
    pub senders: u32,
    /// Duration of on-periods, or the bytes sent in each.
    pub on: On,
    /// Duration of off-periods in seconds.
    pub off: Amount,
    /// Maximum number of packets waiting at the link, without the one in transmission.
    pub buffer: BufferSize,
    /// Share of packets that are lost after the (first) link.
    pub loss: f64,
    /// Mean of an exponentially distributed delay of each acknowledgement, as in `paceline compare
    /// --jitter`. Acknowledgements are not reordered. Zero for no delay.
    pub jitter: Span,
    /// Packets per acknowledgement. A receiver acknowledges at the latest 40 ms after a packet; 1
    /// acknowledges each packet at once.
    pub acked_packets: u32,
    /// Acknowledgements reach their sender in groups, at multiples of this time, as over links that
    /// grant their uplink in slots. Zero for no grouping.
    pub ack_slot: Span,
    /// Upper end of the uniform distribution from which the start of each sender's first period is
    /// drawn: [`Network::start_of`].
    pub starts: Span,
    /// The queue of each link; by default the one that the senders' scheme names, otherwise
    /// droptail.
    pub queue: QueueChoice,
    /// The router of each link; by default the one that the senders' scheme has, if any.
    pub router: RouterChoice,
    /// A second link behind the first: a parking lot. The senders are divided into three groups as
    /// equal as can be: over both links, over the first, over the second. Behind each link lies half
    /// of the RTT, which is that of the first group.
    pub second: Option<Capacity>,
    /// Senders of another scheme, which are counted in `senders`.
    pub others: Option<Others>,
    /// Values measured in addition to throughput and mean delay.
    pub measures: Measures,
}

/// Which delay of a sender's packets is scored.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DelayMeasure {
    /// The mean.
    #[default]
    Mean,
    /// The median.
    Median,
    /// The 95th percentile.
    P95,
    /// The 99th percentile.
    P99,
}

/// Values measured in addition to throughput and mean delay.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Measures {
    /// Which delay [`crate::score::SenderFigures::delay_quantile_ms`] contains; it is not measured
    /// for the mean. Quantiles need the delays of all packets, and so more time and memory.
    pub delay: DelayMeasure,
    /// True if [`crate::score::SenderFigures::repeats`] is measured.
    pub repeats: bool,
}

/// Senders of another scheme.
#[derive(Clone, Debug, PartialEq)]
pub struct Others {
    /// Their scheme; `None` for the scheme of the other senders.
    pub scheme: Option<SchemeChoice>,
    /// Number of senders in the network that have it.
    pub senders: u32,
}

impl Network {
    /// Creates two senders, on and off for 5 s on average, over a link with constant rate and
    /// unlimited buffer.
    pub fn new(rate: Rate, rtt: Span) -> Network {
        Network {
            link: Capacity::Constant(rate),
            rtt,
            senders: 2,
            on: On::Time(Amount::Exponential(5.0)),
            off: Amount::Exponential(5.0),
            buffer: BufferSize::Unlimited,
            loss: 0.0,
            jitter: Span::ZERO,
            acked_packets: 1,
            ack_slot: Span::ZERO,
            starts: Span::ZERO,
            queue: QueueChoice::Auto,
            router: RouterChoice::Auto,
            second: None,
            others: None,
            measures: Measures::default(),
        }
    }

    /// Returns the network with a change: `network.with(|network| network.senders = 8)`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Network)) -> Network {
        change(&mut self);
        self
    }

    /// Returns the workload of each sender. Every on-period is a connection of its own.
    pub fn workload(&self) -> Workload {
        Workload::OnOff { on: self.on, off: self.off, starts_off: true, fresh: true }
    }

    /// Returns when the first period of a sender begins in a run with this seed.
    pub fn start_of(&self, sender: u32, seed: u64) -> Span {
        match self.starts.is_zero() {
            true => Span::ZERO,
            false => {
                let mut random = Stream::new(seed, &format!("start of sender {sender}"));
                self.starts.mul_f64(random.uniform())
            }
        }
    }

    /// Returns the on-periods of each sender in a run of this duration with this seed: begin and
    /// end of each period that begins before the run ends. `None` if senders do not switch by time.
    pub(crate) fn periods(&self, duration: Span, seed: u64) -> Option<Vec<Vec<(Time, Time)>>> {
        let end = Time::ZERO + duration;
        let periods = |sender| {
            let start = Time::ZERO + self.start_of(sender, seed);
            let periods = Periods::new(self.workload(), start, &Setup::new(seed, sender))?;
            Some(periods.take_while(|(on, _)| *on < end).collect())
        };
        (0..self.senders).map(periods).collect()
    }

    /// Returns the number of senders that have the scheme being tried.
    pub fn own(&self) -> u32 {
        self.senders - self.others.as_ref().map_or(0, |others| others.senders.min(self.senders))
    }

    /// Returns the link's mean rate in packets per millisecond; with two links, that of the slower
    /// one.
    ///
    /// # Errors
    /// The link's rate or trace is invalid.
    pub fn packets_per_ms(&self, duration: Span) -> Result<f64, BuildError> {
        let (first, second) = self.rates(duration)?;
        let rate = second.map_or(first, |second| second.min(first));
        Ok(rate.as_bps() as f64 / (8e3 * f64::from(PACKET)))
    }

    /// Returns the mean rates of the links.
    pub(crate) fn rates(&self, duration: Span) -> Result<(Rate, Option<Rate>), BuildError> {
        let rate = |capacity: &Capacity| -> Result<Rate, BuildError> {
            if let Capacity::Constant(rate) = capacity {
                return Ok(*rate);
            }
            let link = LinkSpec::new("link", capacity.clone());
            let scenario = Scenario::new("remy").with(|scenario| scenario.links.push(link.clone()));
            Ok(mean_rate(capacity, transmitter(&scenario, &link)?.capacity(), duration))
        };
        Ok((rate(&self.link)?, self.second.as_ref().map(rate).transpose()?))
    }

    /// Returns the path of each sender, in the scenario's order: the mean rate of its slowest link
    /// in bytes per second, and its RTT without queues.
    ///
    /// # Errors
    /// A link's rate or trace is invalid.
    pub fn paths(&self, duration: Span) -> Result<Vec<(f64, Span)>, BuildError> {
        let (first, second) = self.rates(duration)?;
        let of = |path: &[&str]| {
            let second = second.filter(|_| path.contains(&"second"));
            let rates = path.contains(&"link").then_some(first).into_iter().chain(second);
            let slowest = rates.min().unwrap_or(first).as_bps() as f64 / 8.0;
            let rtt =
                if self.second.is_some() && path.len() == 1 { self.rtt / 2 } else { self.rtt };
            (slowest, rtt)
        };
        let kinds = [self.own(), self.senders - self.own()];
        let groups = kinds.into_iter().flat_map(|senders| self.groups(senders));
        let paths = groups.flat_map(|(path, count)| std::iter::repeat_n(of(path), count as usize));
        Ok(paths.collect())
    }

    /// Returns the scenario with senders of `scheme`. As in the published simulator, the whole RTT
    /// lies between the link and the receiver, acknowledgements take no time, and losses happen
    /// between link and delay. Only sums are recorded, unless a quantile is measured. Senders of
    /// `scheme` come first, then those of another scheme.
    pub fn scenario(&self, scheme: SchemeChoice, duration: Span, seed: u64) -> Scenario {
        let mut scenario = Scenario::new("remy");
        (scenario.mss, scenario.seed, scenario.duration) = (PACKET, seed, duration);
        let is_mean = self.measures.delay == DelayMeasure::Mean;
        scenario.record = if is_mean { Record::Sums } else { Record::Metrics };
        scenario.digest = false;
        // The published simulator's hosts acknowledge without delay.
        scenario.host_jitter = Some(Span::ZERO);
        let half = self.second.as_ref().map(|_| self.rtt / 2);
        let link = LinkSpec::new("link", self.link.clone()).with(|link| {
            link.buffer = self.buffer;
            link.queue = self.queue.clone();
            link.router = self.router.clone();
            link.rtt = Some(self.rtt);
            link.after.delay = half.unwrap_or_default();
            if self.loss > 0.0 {
                let loss = Loss::Bernoulli(self.loss);
                link.after.impairments = Impairments { loss, ..Impairments::default() };
            }
        });
        scenario.links.push(link);
        if let Some(second) = &self.second {
            scenario.links.push(LinkSpec::new("second", second.clone()).with(|link| {
                link.buffer = self.buffer;
                link.queue = self.queue.clone();
                link.router = self.router.clone();
                link.rtt = Some(self.rtt);
                link.after.delay = half.unwrap_or_default();
            }));
        }
        let acks = self.ack_impairments();
        let ack = AckPolicy { every: self.acked_packets, ..AckPolicy::DELAYED };
        let ack = (self.acked_packets > 1).then_some(ack);
        let mut sender = 0;
        let mut add = |scheme: &SchemeChoice, senders: u32| {
            for (path, count) in self.groups(senders) {
                let flow = FlowSpec::bulk(scheme.clone(), path).with(|flow| {
                    flow.count = count;
                    flow.rtt = Span::ZERO;
                    flow.data.delay = if half.is_some() { Span::ZERO } else { self.rtt };
                    flow.acks.impairments = acks.clone();
                    flow.ack = ack;
                    flow.workload = self.workload();
                    // The published simulator has no handshake: connections begin with data.
                    flow.handshake = false;
                });
                if self.starts.is_zero() {
                    scenario.flows.push(flow);
                    continue;
                }
                for _ in 0..count {
                    let start = self.start_of(sender, seed);
                    let one = flow.clone();
                    scenario.flows.push(one.with(|flow| (flow.count, flow.start) = (1, start)));
                    sender += 1;
                }
            }
        };
        add(&scheme, self.own());
        if let Some(others) = &self.others {
            add(others.scheme.as_ref().unwrap_or(&scheme), self.senders - self.own());
        }
        scenario
    }

    /// Returns the delays of acknowledgements on their way back.
    pub(crate) fn ack_impairments(&self) -> Impairments {
        let shape = JitterShape::Exponential;
        let jitter = Jitter { shape, mean: self.jitter, sd: self.jitter };
        Impairments {
            jitter: (!self.jitter.is_zero()).then_some(jitter),
            slot: (!self.ack_slot.is_zero()).then_some(self.ack_slot),
            ..Impairments::default()
        }
    }

    /// Divides this number of senders into groups, by the links that they use.
    fn groups(&self, senders: u32) -> impl Iterator<Item = (&'static [&'static str], u32)> {
        const ONE: &[&[&str]] = &[&["link"]];
        const TWO: &[&[&str]] = &[&["link", "second"], &["link"], &["second"]];
        let paths = if self.second.is_some() { TWO } else { ONE };
        let groups = paths.len() as u32;
        let counted = (0..groups).zip(paths).map(move |(at, path)| {
            let count = (senders + groups - 1 - at) / groups;
            (*path, count)
        });
        counted.filter(|(_, count)| *count > 0)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::score;
    use paceline_cc::Spec;
    use paceline_schemes::remy::{Action, Domain, RemyParams, Rule, RuleTable, Signal, halves};
    use paceline_sim::scenario::CustomScheme;

    fn network() -> Network {
        Network::new(Rate::from_mbps(10.0), Span::from_millis(150))
    }

    #[test]
    fn a_parking_lot_has_three_groups() {
        let lot = network().with(|network| {
            network.second = Some(Capacity::Constant(Rate::from_mbps(20.0)));
            network.senders = 4;
            (network.on, network.off) = (On::Time(Amount::Fixed(1e6)), Amount::Fixed(0.0));
        });
        let groups: Vec<_> = lot.groups(4).map(|(path, count)| (path.len(), count)).collect();
        assert_eq!(groups, [(2, 2), (1, 1), (1, 1)]);
        assert_eq!(lot.packets_per_ms(Span::from_secs(1)).expect("links"), 1.0);
        let scheme: SchemeChoice = "vegas".parse().expect("built in");
        let figures = score::run(&lot, &scheme, Span::from_secs(60), 1).expect("runs");
        // The RTT over both links is whole, over one link half of it; each link is almost fully
        // used.
        let delays: Vec<f64> = figures.iter().map(|sender| sender.delay_ms).collect();
        assert!(delays[..2].iter().all(|delay| *delay > 150.0), "{delays:?}");
        let paths = lot.paths(Span::from_secs(1)).expect("links");
        let paths: Vec<(f64, u64)> = paths
            .into_iter()
            .map(|(rate, rtt)| (rate * 8e-6, rtt.as_millis_f64() as u64))
            .collect();
        assert_eq!(paths, [(10.0, 150), (10.0, 150), (10.0, 75), (20.0, 75)]);
        assert!(delays[2..].iter().all(|delay| (75.0..150.0).contains(delay)), "{delays:?}");
        let rates: Vec<f64> = figures.iter().map(score::SenderFigures::raw_throughput).collect();
        let (first, second) = (rates[0] + rates[1] + rates[2], rates[0] + rates[1] + rates[3]);
        assert!((0.8..=1.0).contains(&first) && (1.5..=2.0).contains(&second), "{rates:?}");
    }

    #[test]
    fn senders_of_another_scheme_do_not_count() {
        let mixed = network().with(|network| {
            let scheme = Some("newreno".parse().expect("built in"));
            network.others = Some(Others { scheme, senders: 1 });
        });
        let scenario = mixed.scenario("vegas".parse().expect("built in"), Span::from_secs(9), 1);
        let names: Vec<&str> = scenario.flows.iter().map(|flow| flow.scheme.name()).collect();
        assert_eq!(names, ["vegas", "newreno"]);
        let figures =
            score::run(&mixed, &"vegas".parse().expect("built in"), Span::from_secs(9), 1);
        let others: Vec<bool> = figures.expect("runs").iter().map(|one| one.other).collect();
        assert_eq!(others, [false, true]);
        assert!(mixed.to_string().ends_with("1 of them newreno"), "{mixed}");
    }

    #[test]
    fn a_router_marks_for_tables_that_hear_it() {
        // Adds two packets if at least half of the packets say accelerate, otherwise removes one.
        // This keeps the queue short only where a router marks.
        let share = |lower, upper| Domain::WHOLE.between(Signal::AccelShare, lower, upper);
        let rule = |domain, increment| Rule { domain, action: Action::new(1.0, increment, 0.5) };
        let rules = [rule(share(0.0, 0.5), -1), rule(share(0.5, 2.0), 1)];
        let table = Arc::new(RuleTable::flat(rules).expect("a table"));
        let halves = halves(RemyParams::default(), table, None);
        let scheme: SchemeChoice = CustomScheme::new("marks", halves).into();
        let delay = |router: RouterChoice| {
            let network = network().with(|network| {
                (network.router, network.senders) = (router, 1);
                network.on = On::Time(Amount::Fixed(1e6));
            });
            let senders = score::run(&network, &scheme, Span::from_secs(60), 1).expect("runs");
            assert!(senders[0].throughput() > 0.5, "{network}: {senders:?}");
            senders[0].delay_ms
        };
        let abc = Spec::parse("abc[dt=20ms]").expect("legal");
        let (brought, named) = (delay(RouterChoice::Auto), delay(RouterChoice::Scheme(abc)));
        let none = delay(RouterChoice::None);
        assert!(named < brought && brought < 350.0 && none > 1000.0, "{named} {brought} {none}");
    }

    #[test]
    fn the_flow_lengths_of_icsi_and_losses_are_simulated() {
        let icsi = network().with(|network| {
            network.on = On::Bytes(Amount::Icsi { plus: 16_000.0 });
            (network.off, network.loss) = (Amount::Exponential(0.2), 0.01);
        });
        let scheme: SchemeChoice = "cubic".parse().expect("built in");
        let figures = score::run(&icsi, &scheme, Span::from_secs(30), 1).expect("runs");
        assert!(figures.iter().all(|sender| sender.packets > 100.0 && sender.on_s > 1.0));
    }
}
