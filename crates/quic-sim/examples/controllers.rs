//! Congestion control of QUIC stacks and of Paceline, side by side over one link: the figures of
//! `docs/quic.md`.
//!
//! ```sh
//! cargo run --release -p paceline-quic-sim --example controllers -- \
//!   [SECONDS] [TRACE]... [only=NAME] [start=MS]
//! ```
//! TRACE is the name of a built-in trace (`paceline trace list`) or a Mahimahi file; without one
//! the link has 12 Mbit/s. `only` selects rows by a part of their label, and the flow begins after
//! `start`. quinn's and noq's controllers run under their stacks, because only the stacks compute
//! the RTT estimates that these controllers need; those of s2n-quic run under the simulator's own
//! sender. Rows `as QUIC` are schemes under the simulator's sender with acknowledgements and bursts
//! like those of quinn and noq. They show how much of a difference comes from acknowledgements and
//! bursts.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::sync::Arc;

use paceline_quic_sim::{Noq, Quinn};
use paceline_requests::compare::Comparison;
use paceline_s2n_quic::halves;
use paceline_sim::scenario::{Capacity, CustomScheme, SchemeChoice};
use paceline_sim::{
    cc::{
        AckPolicy, Controller, Feedback, Halves, Outgoing, Plan, Rate, Signals, Span, Spec,
        SpecError, Time,
    },
    schemes::registry,
};
use s2n_quic_core::recovery::{bbr, cubic};

/// Acknowledgements of QUIC's receivers: every second packet, at most 25 ms late.
const QUIC_ACKS: AckPolicy = AckPolicy { every: 2, delay: Span::from_millis(25) };

/// Label of a row, its scheme, and its receiver's acknowledgement policy if it is not the scheme's.
type Row = (String, SchemeChoice, Option<AckPolicy>);

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let only = option(&mut arguments, "only=");
    let start = option(&mut arguments, "start=").map_or(Ok(0), |text| text.parse())?;
    let seconds = arguments.first().map_or(Ok(30), |text| text.parse())?;
    let mut links = Vec::new();
    for trace in arguments.iter().skip(1) {
        let name = trace.rsplit('/').next().unwrap_or(trace);
        links.push((name.to_string(), Capacity::trace(paceline_sim::trace::load(trace)?)));
    }
    if links.is_empty() {
        links.push(("12 Mbit/s".into(), Capacity::Constant(Rate::from_mbps(12.0))));
    }
    for (name, capacity) in links {
        println!("{name}, {seconds} s, RTT 100 ms, 250 packets");
        println!("{:<30} {:>11} {:>8} {:>8} {:>6}", "", "utilisation", "mean ms", "p95 ms", "lost");
        for (label, scheme, ack) in rows()? {
            if only.as_ref().is_some_and(|only| !label.contains(only.as_str())) {
                continue;
            }
            let duration = Span::from_secs(seconds);
            let comparison =
                Comparison { duration, ..Comparison::new(&name, capacity.clone(), scheme) };
            let mut scenario = comparison.scenario();
            scenario.flows[0].ack = ack;
            scenario.flows[0].start = Span::from_millis(start);
            let outcome = paceline_sim::run(&scenario)?;
            let row = comparison.row(&outcome);
            let delay = row.one_way_delay_ms;
            println!(
                "{label:<30} {:>11.3} {:>8.1} {:>8.1} {:>6}",
                row.utilization, delay.mean, delay.p95, outcome.flows[0].sender.lost
            );
        }
        println!();
    }
    Ok(())
}

/// Takes an argument that begins with `name` out of `arguments`.
fn option(arguments: &mut Vec<String>, name: &str) -> Option<String> {
    let at = arguments.iter().position(|text| text.starts_with(name))?;
    Some(arguments.remove(at).trim_start_matches(name).to_string())
}

fn rows() -> Result<Vec<Row>, Box<dyn Error>> {
    use noq_proto::congestion as noq;
    use quinn_proto::congestion as quinn;

    let own: Vec<SchemeChoice> = vec![
        Quinn::new("quinn, own cubic", Arc::new(quinn::CubicConfig::default())).transport().into(),
        Quinn::new("quinn, own newreno", Arc::new(quinn::NewRenoConfig::default()))
            .transport()
            .into(),
        Quinn::new("quinn, own bbr", Arc::new(quinn::BbrConfig::default())).transport().into(),
        Noq::new("noq, own cubic", Arc::new(noq::CubicConfig::default())).transport().into(),
        Noq::new("noq, own newreno", Arc::new(noq::NewRenoConfig::default())).transport().into(),
        Noq::new("noq, own bbr3", Arc::new(noq::Bbr3Config::default())).transport().into(),
        CustomScheme::new("s2n-quic's cubic", halves(cubic::Endpoint::default)).into(),
        CustomScheme::new("s2n-quic's bbr", halves(bbr::Endpoint::default)).into(),
    ];
    let mut rows: Vec<Row> =
        own.into_iter().map(|scheme| (scheme.name().to_string(), scheme, None)).collect();
    let names = [
        "cubic",
        "newreno",
        "bbr",
        "bbr3",
        "copa",
        "copa[mode=default]",
        "c2tcp",
        "vegas",
        "vivace",
        "verus",
    ];
    for name in names {
        let quinn = Arc::new(paceline_quinn::Scheme::parse(name)?);
        let label = format!("quinn, {name}");
        rows.push((label.clone(), Quinn::new(label, quinn).transport().into(), None));
        let noq = Arc::new(paceline_noq::Scheme::parse(name)?);
        let label = format!("noq, {name}");
        rows.push((label.clone(), Noq::new(label, noq).transport().into(), None));
        rows.push((format!("simulator, {name}"), name.parse()?, None));
        let label = format!("simulator, {name}, as QUIC");
        rows.push((label.clone(), in_bursts(label, name)?.into(), Some(QUIC_ACKS)));
    }
    Ok(rows)
}

/// Returns the scheme called `name` with a pacer that sends bursts of ten packets, as quinn's and
/// noq's do.
fn in_bursts(label: String, name: &str) -> Result<CustomScheme, SpecError> {
    let halves = registry::build(&Spec::parse(name)?)?;
    Ok(CustomScheme::new(
        label,
        Halves::sender(move |setup| InBursts((halves.controller)(setup), setup.mss)),
    ))
}

struct InBursts(Box<dyn Controller>, u32);

impl Controller for InBursts {
    fn needs(&self) -> Signals {
        self.0.needs()
    }
    fn on_send(&mut self, now: Time, packet: &mut Outgoing) -> u64 {
        self.0.on_send(now, packet)
    }
    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        self.0.on_feedback(feedback);
    }
    fn on_timer(&mut self, now: Time) {
        self.0.on_timer(now);
    }
    fn on_idle(&mut self, now: Time, idle: Span, rto: Span) {
        self.0.on_idle(now, idle, rto);
    }
    fn plan(&self) -> Plan {
        let plan = self.0.plan();
        match plan.pacing {
            Some(rate) => plan.paced(rate, plan.burst.max(10 * self.1)),
            None => plan,
        }
    }
}
