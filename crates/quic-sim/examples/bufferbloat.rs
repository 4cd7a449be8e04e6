//! Bufferbloat as users of Media over QUIC test it: a source of 10 Mbit/s on a link of 5 Mbit/s
//! with an RTT of 100 ms and a queue of 500 ms. Prints the goodput of each controller, and its
//! packets' delays.
//!
//! ```sh
//! cargo run --release -p paceline-quic-sim --example bufferbloat
//! ```
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::sync::Arc;

use paceline_quic_sim::{Noq, Quinn};
use paceline_sim::cc::{Rate, Span};
use paceline_sim::flow::Workload;
use paceline_sim::path::BufferSize;
use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, Scenario, SchemeChoice};

fn main() -> Result<(), Box<dyn Error>> {
    use noq_proto::congestion as noq;
    use quinn_proto::congestion as quinn;

    println!("{:<22} {:>9} {:>8} {:>8} {:>7}", "", "Mbit/s", "mean ms", "p95 ms", "lost %");
    show(Quinn::new("quinn, own cubic", Arc::new(quinn::CubicConfig::default())).transport())?;
    show(Quinn::new("quinn, own newreno", Arc::new(quinn::NewRenoConfig::default())).transport())?;
    show(Quinn::new("quinn, own bbr", Arc::new(quinn::BbrConfig::default())).transport())?;
    show(Noq::new("noq, own cubic", Arc::new(noq::CubicConfig::default())).transport())?;
    show(Noq::new("noq, own newreno", Arc::new(noq::NewRenoConfig::default())).transport())?;
    show(Noq::new("noq, own bbr3", Arc::new(noq::Bbr3Config::default())).transport())?;
    let names =
        ["cubic", "newreno", "bbr3", "copa", "copa[mode=default]", "c2tcp[target=200ms]", "vegas"];
    for name in names {
        let scheme = Arc::new(paceline_quinn::Scheme::parse(name)?);
        show(Quinn::new(format!("quinn, {name}"), scheme).transport())?;
        let scheme = Arc::new(paceline_noq::Scheme::parse(name)?);
        show(Noq::new(format!("noq, {name}"), scheme).transport())?;
    }
    Ok(())
}

/// Runs a minute of it, and measures from the sixth second on.
fn show(scheme: impl Into<SchemeChoice>) -> Result<(), Box<dyn Error>> {
    let mut scenario = Scenario::new("bufferbloat");
    let rate = Rate::from_mbps(5.0);
    let mut link = LinkSpec::new("link", Capacity::Constant(rate));
    link.buffer = BufferSize::Bytes(rate.bytes_in(Span::from_millis(500)));
    scenario.links.push(link);
    let mut flow = FlowSpec::bulk(scheme, &["link"]);
    flow.rtt = Span::from_millis(100);
    // 30 messages per second, as the frames of a video.
    flow.workload = Workload::Limited { rate: Rate::from_mbps(10.0), message: 41_667 };
    scenario.flows.push(flow);
    (scenario.warmup, scenario.duration) = (Span::from_secs(5), Span::from_secs(60));
    let outcome = paceline_sim::run(&scenario)?;
    let flow = &outcome.flows[0];
    let (delay, sender) = (flow.one_way_delay_ms, flow.sender);
    println!(
        "{:<28} {:>7.2} {:>8.1} {:>8.1} {:>7.2}",
        flow.scheme,
        flow.goodput_mbps,
        delay.mean,
        delay.p95,
        100.0 * sender.lost as f64 / sender.sent.max(1) as f64
    );
    Ok(())
}
