//! quinn's own congestion control and Paceline's under it, over one link, in virtual time.
//!
//! ```sh
//! cargo run --release -p paceline-quic-lab --example controllers -- [SECONDS] [TRACE]
//! ```
//! TRACE is the name of a built-in trace (`paceline trace list`) or a Mahimahi file. Without one
//! the link has 12 Mbit/s.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::sync::Arc;

use paceline_quic_lab::Quinn;
use paceline_quinn::Scheme;
use paceline_sim::cc::{Rate, Span};
use paceline_sim::path::BufferSize;
use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, Scenario, SchemeChoice};
use quinn_proto::congestion::{BbrConfig, CubicConfig, NewRenoConfig};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let seconds = arguments.first().map_or(Ok(30), |text| text.parse())?;
    let capacity = match arguments.get(1) {
        Some(trace) => Capacity::trace(paceline_sim::trace::load(trace)?),
        None => Capacity::Constant(Rate::from_mbps(12.0)),
    };
    println!(
        "{:<24} {:>11} {:>8} {:>8} {:>6}",
        "scheme", "utilisation", "mean ms", "p95 ms", "lost"
    );
    let own: [(&str, Arc<dyn quinn_proto::congestion::ControllerFactory + Send + Sync>); 3] = [
        ("cubic", Arc::new(CubicConfig::default())),
        ("newreno", Arc::new(NewRenoConfig::default())),
        ("bbr", Arc::new(BbrConfig::default())),
    ];
    for (name, factory) in own {
        let label = format!("quinn, its own {name}");
        show(Quinn::new(label, factory).transport().into(), &capacity, seconds)?;
    }
    for name in ["cubic", "newreno", "bbr", "bbr3", "copa", "c2tcp", "vegas", "vivace", "verus"] {
        let quinn = Quinn::new(format!("quinn, {name}"), Arc::new(Scheme::parse(name)?));
        show(quinn.transport().into(), &capacity, seconds)?;
        show(name.parse()?, &capacity, seconds)?;
    }
    Ok(())
}

/// Runs one flow and prints a line.
fn show(scheme: SchemeChoice, capacity: &Capacity, seconds: u64) -> Result<(), Box<dyn Error>> {
    let label = scheme.name().to_string();
    let mut scenario = Scenario::new("controllers");
    let mut link = LinkSpec::new("link", capacity.clone());
    link.buffer = BufferSize::Packets(250);
    scenario.links.push(link);
    let mut flow = FlowSpec::bulk(scheme, &["link"]);
    flow.rtt = Span::from_millis(100);
    scenario.flows.push(flow);
    scenario.duration = Span::from_secs(seconds);
    let outcome = paceline_sim::run(&scenario)?;
    let (link, flow) = (&outcome.links[0], &outcome.flows[0]);
    let delay = flow.one_way_delay_ms;
    println!(
        "{label:<24} {:>11.3} {:>8.1} {:>8.1} {:>6}",
        link.utilization, delay.mean, delay.p95, flow.sender.lost
    );
    Ok(())
}
