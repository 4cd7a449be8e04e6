//! The omniscient protocol of Winstein's thesis (§2.4.1): it knows the link's future, and sends
//! each packet just in time for its transmission. It uses the whole link, and no packet waits.

use paceline_cc::{Packet, Span, Stage, Time};
use paceline_path::{DroppedPacket, Link, Queue};
use paceline_sim::metrics::{Age, Samples, mean};
use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, Record, Scenario, Stretch};
use paceline_sim::{BuildError, LinkBins, LinkSeries, Outcome, Transmitter, transmitter};

/// Most packets simulated, which limits time and memory on links that would carry billions.
const MOST: u64 = 10_000_000;
/// Packets simulated on a link of constant rate, where every packet takes equally long.
const ALIKE: u64 = 10_000;

/// Figures of the omniscient protocol on a link, without propagation.
pub(crate) struct Omniscient {
    /// Time of each packet from its sending until it has left the link: its transmission time.
    pub(crate) transmission: Samples,
    /// Bytes delivered, as the link counts them.
    pub(crate) delivered: u64,
    /// Bytes that the link could deliver in this time.
    pub(crate) offered: u64,
    /// False if there were too many packets to reach the end.
    pub(crate) complete: bool,
    /// The link over time, if requested.
    pub(crate) series: Option<LinkSeries>,
    age: Age,
    end: Time,
}

impl Omniscient {
    /// Simulates the protocol over a link, with packets of `mss` bytes, measured from `from` to
    /// `end`, and in bins of length `bin` from time zero on. Returns `None` for links whose future
    /// depends on other traffic (802.11).
    /// future: what a Wi-Fi link carries when depends on who else is on air.
    pub(crate) fn new(
        spec: &LinkSpec,
        mss: u32,
        mut from: Time,
        mut end: Time,
        bin: Option<Span>,
    ) -> Result<Option<Omniscient>, BuildError> {
        if !matches!(
            spec.capacity,
            Capacity::Constant(_) | Capacity::Schedule { .. } | Capacity::Trace { .. }
        ) {
            return Ok(None);
        }
        if let Capacity::Constant(rate) = spec.capacity
            && from < end
            && bin.is_none()
        {
            let enough = Time::ZERO + rate.time_for(u64::from(mss) * ALIKE);
            if enough < end {
                // One nanosecond more than the last packet takes.
                (from, end) = (Time::ZERO, enough + Span::from_nanos(1));
            }
        }
        let alone = Scenario::new("omniscient");
        let Transmitter::Service(service) = transmitter(&alone, spec)? else { return Ok(None) };
        let mut link = Link::new(Box::new(JustInTime { mss }), service);
        let size = u64::from(mss) + u64::from(link.service().overhead());
        let (mut age, mut transmission) = (Age::new(from), Samples::default());
        let (mut delivered, mut left) = (0, MOST);
        let mut bins = bin.map(LinkBins::new);
        // Starts the link, which is never idle from then on.
        link.push(Time::ZERO, &Packet::opaque(mss));
        while link.wake() < end && left > 0 {
            let at = link.wake();
            while left > 0
                && let Some(through) = link.pop(at)
            {
                let sent = running(&spec.capacity, through.sent).min(at);
                age.on_arrival(at, sent);
                if let Some(bins) = &mut bins {
                    bins.on_departure(at, size, at.since(sent));
                }
                if at >= from {
                    transmission.push(at.since(sent));
                    delivered += size;
                }
                left -= 1;
            }
        }
        let complete = left > 0;
        let end = if complete { end } else { end.min(link.wake()) };
        let offered = link.service().offered_in(from..end);
        let series = bins.map(|bins| bins.series(end, link.service()));
        Ok(Some(Omniscient { transmission, delivered, offered, complete, series, age, end }))
    }

    /// Returns the 95th percentile of the age of the newest packet, which is the thesis' end-to-end
    /// delay; `None` if no packet is delivered.
    pub(crate) fn age_p95(&self) -> Option<Span> {
        self.age.quantile(self.end, 0.95)
    }
}

/// Adds the self-inflicted delays to the outcome of a scenario that recorded delays: each flow's 95
/// % end-to-end delay minus the omniscient protocol's on the first link of the flow's path over the
/// measured time, and minus the propagation delay. Flows without an end-to-end delay get none. For
/// links whose future is unknown (802.11), only the propagation delay is subtracted. The omniscient
/// protocol is simulated once per link.
///
/// # Errors
/// A link cannot be built.
pub fn add_self_inflicted(scenario: &Scenario, outcome: &mut Outcome) -> Result<(), BuildError> {
    if matches!(scenario.record, Record::Counters | Record::Sums) {
        return Ok(());
    }
    let from = Time::ZERO + scenario.warmup;
    let end = from + Span::from_secs_f64(outcome.duration_s);
    let mut known: Vec<Option<Option<Span>>> = vec![None; scenario.links.len()];
    let mut flows = outcome.flows.iter_mut();
    for spec in &scenario.flows {
        // The capacity of a shared medium depends on the other stations.
        let first = spec.path.first().filter(|_| spec.station.is_none());
        let link = scenario.links.iter().position(|link| Some(&link.name) == first);
        let age = match link {
            None => None,
            Some(link) => match known[link] {
                Some(age) => age,
                None => {
                    let spec = &scenario.links[link];
                    let best = Omniscient::new(spec, scenario.mss, from, end, None)?;
                    *known[link].insert(best.and_then(|best| best.age_p95()))
                }
            },
        };
        let least = age.unwrap_or(Span::ZERO) + propagation(scenario, spec);
        for flow in flows.by_ref().take(spec.count as usize) {
            flow.self_inflicted_p95_ms = flow.end_to_end_p95_ms.map(|own| {
                // The outcome has whole nanoseconds, written as milliseconds.
                (Span::from_secs_f64(own / 1e3) - least).as_millis_f64()
            });
        }
    }
    let all = outcome.flows.iter().filter_map(|flow| flow.self_inflicted_p95_ms);
    outcome.pooled.self_inflicted_p95_ms = mean(all);
    Ok(())
}

/// Returns the propagation delay of a flow's data, including that of links. For delays that follow
/// a recording, returns their mean.
fn propagation(scenario: &Scenario, flow: &FlowSpec) -> Span {
    let own = |stretch: &Stretch| {
        let recorded = stretch.impairments.delays.as_ref();
        let mean = recorded.map_or(0.0, |delays| delays.stats().mean);
        stretch.delay + Span::from_secs_f64(mean / 1e3)
    };
    let passed = |link: &&LinkSpec| flow.path.contains(&link.name);
    let links = scenario.links.iter().filter(passed).map(|link| own(&link.after));
    links.fold(flow.rtt / 2 + own(&flow.data), |sum, delay| sum + delay)
}

/// The sender as the queue that the link sees: it always has a packet, sent at this moment.
struct JustInTime {
    mss: u32,
}

impl Queue for JustInTime {
    fn push(&mut self, _: Time, _: &Packet, _: &mut Vec<DroppedPacket>) {}

    fn pop(&mut self, now: Time, _: &mut Vec<DroppedPacket>) -> Option<Packet> {
        Some(Packet { sent: now, queued: now, ..Packet::opaque(self.mss) })
    }

    fn packets(&self) -> usize {
        1
    }

    fn bytes(&self) -> u64 {
        self.mss.into()
    }
}

/// Returns the first time from `time` on at which the link transmits. It skips a schedule's
/// outages, in which a packet would wait for its first bit. Returns `time` if the link never
/// transmits again.
fn running(capacity: &Capacity, time: Time) -> Time {
    let Capacity::Schedule { steps, period } = capacity else { return time };
    let into = match period {
        Some(period) if !period.is_zero() => Span::from_nanos(time.as_nanos() % period.as_nanos()),
        _ => time.since(Time::ZERO),
    };
    let begin = time - into;
    let next = steps.partition_point(|(offset, _)| *offset <= into);
    let runs = |steps: &[(Span, paceline_cc::Rate)]| {
        steps.iter().find(|(_, rate)| rate.as_bps() > 0).map(|(offset, _)| *offset)
    };
    match steps.get(next.saturating_sub(1)..) {
        Some([(_, now), ..]) if now.as_bps() > 0 => time,
        Some(rest) if let Some(offset) = runs(rest) => begin + offset,
        _ => match (period, runs(steps)) {
            (Some(period), Some(offset)) => begin + *period + offset,
            _ => time,
        },
    }
}

#[cfg(test)]
mod tests {
    use paceline_cc::Rate;
    use paceline_trace::Trace;

    use super::*;

    const SECOND: Time = Time::from_secs(1);

    fn over(capacity: Capacity, from: Time, end: Time) -> Omniscient {
        let made = Omniscient::new(&LinkSpec::new("link", capacity), 1500, from, end, None);
        made.expect("builds").expect("a future that is known")
    }

    #[test]
    fn on_a_constant_rate_only_transmission_takes_time() {
        // 1 ms per packet: ages from 1 to 2 ms.
        let rate = Rate::from_mbps(12.0);
        for (from, end) in [(0, 1), (0, 60), (59, 60)] {
            let (from, end) = (Time::from_secs(from), Time::from_secs(end));
            let got = over(Capacity::Constant(rate), from, end);
            assert_eq!(got.age_p95(), Some(Span::from_micros(1950)), "{from:?} {end:?}");
            let delay = got.transmission.quantiles();
            assert_eq!((delay.p50, delay.max), (1.0, 1.0));
            // The packet in transmission at the end is not delivered.
            assert!(got.offered - got.delivered <= 1500, "{} {}", got.offered, got.delivered);
        }
    }

    #[test]
    fn each_opportunity_carries_a_packet_sent_just_then() {
        // Opportunities every 10 ms, with a gap of 100 ms in each second.
        let times = (1..=100).filter(|at| !(50..59).contains(at)).map(|at| at * 10);
        let trace = Trace::new("gap", times.collect()).expect("a trace");
        let got = over(Capacity::trace(trace), SECOND, Time::from_secs(11));
        assert_eq!(got.transmission.quantiles().max, 0.0);
        assert_eq!(got.delivered, got.offered);
        // In each second the age is below 10 ms for 910 ms, and above it for the rest of the gap;
        // the time above 50 ms is 50 ms.
        assert_eq!(got.age_p95(), Some(Span::from_millis(50)));
    }

    #[test]
    fn it_uses_every_opportunity_of_every_trace() {
        for name in paceline_trace::names() {
            let trace = paceline_trace::load(name).expect("built in");
            let got = over(Capacity::trace(trace.clone()), Time::ZERO, Time::from_secs(60));
            assert_eq!(got.delivered, got.offered, "{name}");
            assert_eq!(got.transmission.quantiles().max, 0.0, "{name}");
            // Packets that do not fit into an opportunity: all bytes are used except for those of
            // the packets in transmission at the beginning and at the end.
            let spec = LinkSpec::new("link", Capacity::trace(trace));
            let got = Omniscient::new(&spec, 1000, SECOND, Time::from_secs(60), None);
            let got = got.expect("builds").expect("a future that is known");
            assert!(got.offered.abs_diff(got.delivered) <= 1504, "{name}");
        }
    }

    #[test]
    fn nothing_is_sent_into_an_outage() {
        let (rate, none) = (Rate::from_mbps(12.0), Rate::from_mbps(0.0));
        let half = Span::from_millis(500);
        // In each second the age grows from 1 to 502 ms, from the last packet before the outage to
        // the first one after it; otherwise it is below 2 ms. There are ten such seconds minus the
        // first and the last millisecond, and nine and a half minus a millisecond.
        let (on, off) = ((10.0 * 502.0 - 1.0 - 499.95) / 10.0, 502.0 - 474.95 / 9.0);
        for (steps, expected) in [
            (vec![(Span::ZERO, rate), (half, none)], on),
            (vec![(Span::ZERO, none), (half, rate)], off),
        ] {
            let schedule = Capacity::Schedule { steps, period: Some(half * 2) };
            let got = over(schedule, Time::ZERO, Time::from_secs(10));
            assert_eq!(got.transmission.quantiles().max, 1.0);
            assert!(got.offered - got.delivered <= 1500);
            let age = got.age_p95().expect("an age").as_millis_f64();
            assert!((age - expected).abs() < 1e-3, "{age}, not {expected}");
        }
    }

    #[test]
    fn a_series_is_full_to_the_brim() {
        let (low, high) = (Rate::from_mbps(6.0), Rate::from_mbps(12.0));
        let half = Span::from_millis(500);
        let steps = vec![(Span::ZERO, low), (half, high)];
        let link = LinkSpec::new("l", Capacity::Schedule { steps, period: Some(half * 2) });
        let made = Omniscient::new(&link, 1500, SECOND, Time::from_secs(5), Some(half));
        let series = made.expect("builds").and_then(|made| made.series).expect("asked for");
        assert_eq!(series.capacity_mbps, [6.0, 12.0].repeat(5));
        for (used, all) in series.throughput_mbps.iter().zip(&series.capacity_mbps) {
            // One of the packets at the edges may be delivered before or after the measured time.
            assert!((used - all).abs() <= 0.024 + 1e-9, "{used} of {all}");
        }
        assert!(series.queue_delay_ms.iter().all(|delay| [1.0, 2.0].contains(delay)));
    }

    #[test]
    fn a_series_over_a_trace_has_every_opportunity_in_its_bin() {
        let trace = paceline_trace::load("lte-driving").expect("built in");
        let link = LinkSpec::new("l", Capacity::trace(trace));
        let bin = Some(Span::from_millis(10));
        let made = Omniscient::new(&link, 1500, Time::ZERO, Time::from_secs(5), bin);
        let series = made.expect("builds").and_then(|made| made.series).expect("asked for");
        assert_eq!(series.throughput_mbps, series.capacity_mbps);
    }

    #[test]
    fn nothing_comes_of_nothing() {
        let none = Capacity::Constant(Rate::ZERO);
        let got = over(none, Time::ZERO, SECOND);
        assert_eq!((got.age_p95(), got.delivered, got.offered), (None, 0, 0));
        let late = over(Capacity::Constant(Rate::from_mbps(1.0)), SECOND, SECOND);
        assert_eq!((late.age_p95(), late.delivered, late.offered), (None, 0, 0));
    }
}
