//! Scores of a run: throughput and delay of each sender, computed as in the published program.
//!
//! Throughput is the number of arrived packets, including those of earlier on-periods, divided by
//! the sender's share of the time. That time runs at full speed while the sender is on alone, at
//! half speed while two are on, and so on. Throughput thus compares a sender with its equal share.
//! The utility of a sender is log2(throughput) minus `delta` times log2(delay).
//!
//! For senders whose flows have a given size, the completion times are measured too.

use paceline_cc::{Span, Time};
use paceline_flow::{On, Transfer};
use paceline_sim::runs::Run;
use paceline_sim::scenario::SchemeChoice;
use paceline_sim::{BuildError, FlowSums, Simulation};

use crate::network::{DelayMeasure, Network, PACKET};

/// Utility of a sender that was on and none of whose packets arrived, as in the published program.
pub const STARVED: f64 = -2_147_483_647.0;

/// Returns true if a score per network contains that of a sender none of whose packets arrived, which outweighs all other
/// senders' scores.
pub fn contains_starved(score_per_network: f64) -> bool {
    // One in a million senders; the scores of others are of the order of ten.
    score_per_network < STARVED / 1e6
}

/// How many times per run [`run_within_reason`] checks the packets sent.
const PARTS: u64 = 20;
/// Maximum number of hand-overs between stages, per packet that the link can carry. A packet that
/// is sent, carried and acknowledged makes about three.
const OVERLOAD: f64 = 16.0;

/// The condition for giving up a run whose senders have sent many times what the link carries. The
/// behaviour of a table on such a network is of no use, and an endless queue takes time and memory.
pub(crate) struct Overload {
    /// Packets per millisecond that the link carries.
    carried: f64,
    duration: Span,
}

impl Overload {
    /// Creates the condition for a link that carries this many packets per millisecond.
    pub(crate) fn new(carried: f64, duration: Span) -> Overload {
        Overload { carried, duration }
    }

    /// Returns the times at which a run is checked; the last one is its end.
    pub(crate) fn parts(&self) -> impl Iterator<Item = Span> + use<> {
        let duration = self.duration;
        (1..=PARTS).map(move |part| match part {
            PARTS => duration,
            _ => Span::from_nanos(duration.as_nanos() / PARTS * part),
        })
    }

    /// Returns true if a run is to be given up whose stages have made this many hand-overs by the
    /// time `part`.
    pub(crate) fn is_reached(&self, part: Span, hand_overs: u64) -> bool {
        let most = OVERLOAD * (self.carried * part.as_millis_f64() + 1000.0);
        part < self.duration && hand_overs as f64 > most
    }
}

/// The result of a run that may be given up.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BoundedRun {
    /// Results of each sender; `None` if the run was given up.
    pub senders: Option<Vec<SenderFigures>>,
    /// Simulated time.
    pub simulated: Span,
}

impl BoundedRun {
    /// Returns the result of a complete run.
    pub fn whole(senders: Vec<SenderFigures>, duration: Span) -> BoundedRun {
        BoundedRun { senders: Some(senders), simulated: duration }
    }
}

/// Results of one sender in a run.
#[derive(Copy, Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct SenderFigures {
    /// Packets that arrived.
    pub packets: f64,
    /// Seconds that it was on.
    pub on_s: f64,
    /// Seconds that it was on, with each moment divided by the number of senders that were on.
    /// Equal to [`SenderFigures::on_s`] for senders that do not switch by time and for networks
    /// with two links.
    pub share_s: f64,
    /// Mean time from sending a packet to its arrival, in milliseconds; zero if none arrived.
    pub delay_ms: f64,
    /// True if it has another scheme than the one being tried.
    pub other: bool,
    /// Number of its flows of a given size: those that have finished, and an unfinished one if it
    /// has already taken longer than it would have alone.
    pub flows: f64,
    /// Mean of log2(slowdown) over these flows. The slowdown is the completion time, from the first
    /// byte that is ready to the last acknowledgement, divided by that of a flow without queues or
    /// other flows: the path's RTT plus the time for the flow's bytes at the mean rate of the
    /// slowest link. An unfinished flow counts with the time so far. Zero without flows.
    pub log2_slowdown: f64,
    /// A quantile of the times from sending a packet to its arrival, in milliseconds; zero if none
    /// arrived, or if [`Measures::delay`](crate::network::Measures::delay) does not request it.
    pub delay_quantile_ms: f64,
    /// Wasted packets per arrived packet: those that the sender declared lost, and those that
    /// arrived again. Zero if none arrived, or if
    /// [`Measures::repeats`](crate::network::Measures::repeats) does not request it.
    pub repeats: f64,
}

impl SenderFigures {
    /// A sender that was on and none of whose packets arrived.
    pub(crate) const STARVED: SenderFigures = SenderFigures {
        packets: 0.0,
        on_s: 1.0,
        share_s: 1.0,
        delay_ms: 0.0,
        other: false,
        flows: 1.0,
        log2_slowdown: -STARVED,
        delay_quantile_ms: 0.0,
        repeats: 0.0,
    };

    /// Returns true if it was on and none of its packets arrived. Its score is then the published
    /// program's for such senders.
    pub fn is_starved(&self) -> bool {
        self.share_s > 0.0 && self.packets == 0.0
    }

    /// Returns packets per millisecond of its equal share of the time.
    pub fn throughput(&self) -> f64 {
        if self.share_s > 0.0 { self.packets / (1e3 * self.share_s) } else { 0.0 }
    }

    /// Returns packets per millisecond of the time that it was on.
    pub fn raw_throughput(&self) -> f64 {
        if self.on_s > 0.0 { self.packets / (1e3 * self.on_s) } else { 0.0 }
    }

    /// Returns log2 of throughput, in units of `packets_per_ms`, minus `delta` times log2 of delay,
    /// in units of `delay_ms`. 0 for a sender that was never on.
    pub fn utility(&self, packets_per_ms: f64, delay_ms: f64, delta: f64) -> f64 {
        if self.share_s == 0.0 {
            0.0
        } else if self.packets == 0.0 {
            STARVED
        } else {
            let throughput = self.throughput() / packets_per_ms;
            throughput.log2() - delta * (self.delay_ms / delay_ms).log2()
        }
    }
}

/// Runs a network of senders of `scheme`, and returns the results of each sender.
///
/// # Errors
/// The scenario cannot be built.
pub fn run(
    network: &Network,
    scheme: &SchemeChoice,
    duration: Span,
    seed: u64,
) -> Result<Vec<SenderFigures>, BuildError> {
    run_from(network, scheme, duration, seed, Span::ZERO)
}

/// Runs like [`run`], with the network's recordings started `start` later: see [`Run::scenario`].
pub fn run_from(
    network: &Network,
    scheme: &SchemeChoice,
    duration: Span,
    seed: u64,
    start: Span,
) -> Result<Vec<SenderFigures>, BuildError> {
    let scenario = network.scenario(scheme.clone(), duration, seed);
    let scenario = Run { number: 1, seed, start }.scenario(&scenario);
    let mut simulation = Simulation::new(scenario)?;
    simulation.advance(Time::ZERO + duration);
    all_figures(network, duration, seed, &simulation)
}

/// Runs like [`run`], and gives up when senders have sent many times what the link carries.
///
/// # Errors
/// Those of [`run`].
pub fn run_within_reason(
    network: &Network,
    scheme: &SchemeChoice,
    duration: Span,
    seed: u64,
) -> Result<BoundedRun, BuildError> {
    let overload = Overload::new(network.packets_per_ms(duration)?, duration);
    let scenario = network.scenario(scheme.clone(), duration, seed);
    let mut simulation = Simulation::new(scenario)?;
    for part in overload.parts() {
        simulation.advance(Time::ZERO + part);
        if overload.is_reached(part, simulation.world().hand_overs()) {
            return Ok(BoundedRun { senders: None, simulated: part });
        }
    }
    Ok(BoundedRun::whole(all_figures(network, duration, seed, &simulation)?, duration))
}

/// Returns the results of the senders of a run that was given up: none of their packets counts as
/// arrived.
pub fn flooded(network: &Network) -> Vec<SenderFigures> {
    let own = network.own() as usize;
    let nothing = |at| SenderFigures { other: at >= own, ..SenderFigures::STARVED };
    (0..network.senders as usize).map(nothing).collect()
}

/// Returns the results of each sender of a run, with the completion times of flows of a given size.
fn all_figures(
    network: &Network,
    duration: Span,
    seed: u64,
    simulation: &Simulation,
) -> Result<Vec<SenderFigures>, BuildError> {
    let mut figures = figures(network, duration, seed, simulation.sums());
    if network.measures.delay != DelayMeasure::Mean {
        let outcome = simulation.outcome()?;
        for (sender, flow) in figures.iter_mut().zip(&outcome.flows) {
            let delays = &flow.one_way_delay_ms;
            sender.delay_quantile_ms = match network.measures.delay {
                DelayMeasure::Mean => delays.mean,
                DelayMeasure::Median => delays.p50,
                DelayMeasure::P95 => delays.p95,
                DelayMeasure::P99 => delays.p99,
            };
        }
    }
    if let On::Bytes(_) = network.on {
        let paths = network.paths(duration)?;
        for ((sender, (bytes_per_s, rtt)), flows) in
            figures.iter_mut().zip(paths).zip(simulation.transfers())
        {
            let slowdown = |flow: &Transfer| {
                let alone = rtt.as_secs_f64() + flow.bytes as f64 / bytes_per_s;
                flow.end.since(flow.start).as_secs_f64() / alone
            };
            let (finished, unfinished) = flows;
            let late = unfinished.as_ref().map(slowdown).filter(|slowdown| *slowdown > 1.0);
            let all = finished.iter().map(slowdown).chain(late);
            let (count, sum) = all.fold((0.0, 0.0), |(count, sum): (f64, f64), slowdown| {
                (count + 1.0, sum + slowdown.log2())
            });
            (sender.flows, sender.log2_slowdown) = (count, sum / count.max(1.0));
        }
    }
    Ok(figures)
}

/// Returns the results of each sender, from the sums of a run.
pub fn figures(
    network: &Network,
    duration: Span,
    seed: u64,
    sums: impl ExactSizeIterator<Item = FlowSums>,
) -> Vec<SenderFigures> {
    // Without periods by time, and over two links, senders have no equal share.
    let periods = match network.second {
        None => network.periods(duration, seed),
        Some(_) => None,
    };
    let shares = periods.map(|periods| shares_of(&periods, Time::ZERO + duration));
    figures_of(network, shares.as_deref(), sums)
}

/// Returns the results of each sender, from the sums of a run. `shares` has the seconds of each
/// sender's equal share, if there is one.
pub(crate) fn figures_of(
    network: &Network,
    shares: Option<&[f64]>,
    sums: impl ExactSizeIterator<Item = FlowSums>,
) -> Vec<SenderFigures> {
    let own = network.own() as usize;
    let figures = |(index, sums): (usize, FlowSums)| SenderFigures {
        other: index >= own,
        packets: sums.bytes as f64 / f64::from(PACKET),
        on_s: sums.on_s,
        share_s: shares.map_or(sums.on_s, |shares| shares[index]),
        delay_ms: if sums.packets > 0 { 1e3 * sums.delay_s / sums.packets as f64 } else { 0.0 },
        repeats: if network.measures.repeats { repeats(&sums) } else { 0.0 },
        ..SenderFigures::default()
    };
    sums.enumerate().map(figures).collect()
}

/// Returns the wasted packets per arrived packet.
fn repeats(sums: &FlowSums) -> f64 {
    let arrived = sums.bytes as f64 / f64::from(PACKET);
    let in_vain = (sums.packets as f64 - arrived).max(0.0) + sums.lost as f64;
    if arrived > 0.0 { in_vain / arrived } else { 0.0 }
}

/// Returns the seconds of each sender's equal share, from the on-periods of each before `end`.
pub(crate) fn shares_of(periods: &[Vec<(Time, Time)>], end: Time) -> Vec<f64> {
    let mut edges: Vec<(Time, usize, bool)> = Vec::new();
    for (sender, periods) in periods.iter().enumerate() {
        for &(on, off) in periods {
            edges.push((on, sender, true));
            edges.push((off.min(end), sender, false));
        }
    }
    edges.sort_unstable();
    // `all` is the share of a sender that has been on from the start. A sender's share in a period
    // is the increase of `all` during that period.
    let mut shares = vec![0.0; periods.len()];
    let mut began = vec![0.0; shares.len()];
    let (mut last, mut active, mut all) = (Time::ZERO, 0u32, 0.0);
    for (at, sender, on) in edges {
        if active > 0 {
            all += at.since(last).as_secs_f64() / f64::from(active);
        }
        last = at;
        if on {
            active += 1;
            began[sender] = all;
        } else {
            active -= 1;
            shares[sender] += all - began[sender];
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_cc::Rate;
    use paceline_flow::{Amount, On};

    fn network() -> Network {
        Network::new(Rate::from_mbps(10.0), Span::from_millis(100))
    }

    fn shares(network: &Network, duration: Span, seed: u64) -> Option<Vec<f64>> {
        Some(shares_of(&network.periods(duration, seed)?, Time::ZERO + duration))
    }

    #[test]
    fn utilities_are_logarithms() {
        let (on_s, share_s, delay_ms) = (2.0, 1.0, 200.0);
        let sender =
            SenderFigures { packets: 500.0, on_s, share_s, delay_ms, ..Default::default() };
        assert_eq!((sender.throughput(), sender.raw_throughput()), (0.5, 0.25));
        assert_eq!(sender.utility(1.0, 100.0, 1.0), -2.0);
        assert_eq!(sender.utility(0.5, 100.0, 0.1), -0.1);
        assert_eq!(SenderFigures::default().utility(1.0, 1.0, 1.0), 0.0);
        let starved = SenderFigures { packets: 0.0, ..sender };
        assert_eq!(starved.utility(1.0, 1.0, 1.0), STARVED);
    }

    #[test]
    fn shares_add_up_to_the_time_that_anybody_was_on() {
        let seconds = 5000;
        let duration = Span::from_secs(seconds);
        for senders in [1, 2, 8] {
            let network = network().with(|network| network.senders = senders);
            let shares = shares(&network, duration, 3).expect("by time");
            let idle = 0.5f64.powi(senders as i32);
            let busy = shares.iter().sum::<f64>() / seconds as f64;
            assert!((busy - (1.0 - idle)).abs() < 0.03, "{senders}: {busy}");
        }
        // Two senders that are always on share the time equally.
        let both = network().with(|network| {
            (network.on, network.off) = (On::Time(Amount::Fixed(1e6)), Amount::Fixed(0.0));
        });
        assert_eq!(shares(&both, duration, 1), Some(vec![2500.0; 2]));
        let bytes = network().with(|network| network.on = On::Bytes(Amount::Fixed(1e6)));
        assert_eq!(shares(&bytes, duration, 1), None);
    }

    #[test]
    fn a_flow_alone_is_slowed_down_by_its_first_window_only() {
        use paceline_schemes::remy::{Action, RemyParams, RuleTable, RuleTree, halves};
        use paceline_sim::scenario::CustomScheme;
        // 125 packets take 125 ms plus the RTT of 100 ms. A window that holds all of them adds no
        // time; a window of 10 packets takes 12 round trips of 101 ms and one of 105 ms.
        let network = network().with(|network| {
            (network.senders, network.off) = (1, Amount::Fixed(1.0));
            network.on = On::Bytes(Amount::Fixed(125.0 * f64::from(PACKET)));
        });
        let flows = |window: i32, ms: u64| {
            let tree = RuleTree::single(Action::new(0.0, window, 0.0));
            let table = std::sync::Arc::new(RuleTable::new(tree).expect("a table"));
            let scheme =
                CustomScheme::new("remy", halves(RemyParams::default(), table, None)).into();
            run(&network, &scheme, Span::from_millis(ms), 1).expect("runs")[0]
        };
        // Each flow and the pause before it take 1.225 s: 81 end before 100.4 s, and the last has
        // run for 0.175 s, less than it would take alone.
        let (quick, slow) = (flows(200, 100_400), flows(10, 100_400));
        assert_eq!(quick.flows, 81.0);
        assert!(quick.log2_slowdown.abs() < 0.01, "{quick:?}");
        let slowdown = slow.log2_slowdown.exp2();
        assert!((slowdown - (12.0 * 0.101 + 0.105) / 0.225).abs() < 0.1, "{slowdown}");
        // An unfinished flow counts with the time so far.
        let late = flows(10, 2000);
        assert_eq!(late.flows, 1.0);
        assert!((late.log2_slowdown.exp2() - 1.0 / 0.225).abs() < 0.01, "{late:?}");
    }

    #[test]
    fn the_periods_are_those_of_the_run() {
        let network = network().with(|network| network.senders = 1);
        let scheme: SchemeChoice = "remy[as_published=true]".parse().expect("built in");
        let figures = run(&network, &scheme, Span::from_secs(500), 7).expect("runs");
        assert!((figures[0].on_s - figures[0].share_s).abs() < 1e-6, "{figures:?}");
        assert!(figures[0].delay_ms > 101.0 && figures[0].throughput() > 0.1, "{figures:?}");
    }
}
