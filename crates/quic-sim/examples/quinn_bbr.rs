//! State of quinn's own BBR over time, beside other implementations of BBR: the figures of
//! `docs/quinn-bbr.md`.
//!
//! ```sh
//! cargo run --release -p paceline-quic-sim --example quinn_bbr
//! ```
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::sync::Arc;

use paceline_quic_sim::{Noq, Quinn};
use paceline_sim::FlowSeries;
use paceline_sim::cc::{Rate, Span};
use paceline_sim::path::BufferSize;
use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, Record, Scenario, SchemeChoice};

fn main() -> Result<(), Box<dyn Error>> {
    let steps = |list: &[(u64, f64)]| Capacity::Schedule {
        steps: list
            .iter()
            .map(|&(at, mbps)| (Span::from_secs(at), Rate::from_mbps(mbps)))
            .collect(),
        period: None,
    };
    show("12 Mbit/s, RTT 100 ms (bandwidth-delay product 100 packets)", 100, &steps(&[(0, 12.0)]))?;
    let down = steps(&[(0, 20.0), (10, 5.0)]);
    show("20 Mbit/s, from 10 s on 5 Mbit/s, RTT 60 ms (product 100, then 25 packets)", 60, &down)
}

fn stacks() -> Result<Vec<SchemeChoice>, Box<dyn Error>> {
    let bbr = Arc::new(quinn_proto::congestion::BbrConfig::default());
    let bbr3 = Arc::new(noq_proto::congestion::Bbr3Config::default());
    let ours = Arc::new(paceline_quinn::Scheme::parse("bbr")?);
    Ok(vec![
        Quinn::new("quinn's own BBR", bbr).transport().into(),
        Quinn::new("quinn with Paceline's BBR v1", ours).transport().into(),
        Noq::new("noq's own BBR v3", bbr3).transport().into(),
    ])
}

/// Prints a line for every 3 s. The buffer has 1000 packets.
fn show(title: &str, rtt_ms: u64, capacity: &Capacity) -> Result<(), Box<dyn Error>> {
    println!("{title}, a buffer of 1000 packets");
    for scheme in stacks()? {
        println!(
            "{scheme}\n  {:>4} {:>14} {:>14} {:>8}",
            "s", "pacing Mbit/s", "cwnd packets", "RTT ms"
        );
        let mut scenario = Scenario::new("quinn's BBR");
        let mut link = LinkSpec::new("link", capacity.clone());
        link.buffer = BufferSize::Packets(1000);
        scenario.links.push(link);
        let mut flow = FlowSpec::bulk(scheme, &["link"]);
        flow.rtt = Span::from_millis(rtt_ms);
        scenario.flows.push(flow);
        scenario.duration = Span::from_secs(30);
        scenario.record = Record::Series(Span::from_secs(1));
        let outcome = paceline_sim::run(&scenario)?;
        let flow = &outcome.flows[0];
        if let Some(series) = &flow.series {
            for second in (2..30).step_by(3) {
                let state = |name| at(series, name, second);
                let (pacing, cwnd, rtt) = (state("pacing"), state("cwnd"), state("rtt"));
                println!("  {:>4} {pacing:>14.1} {cwnd:>14.0} {rtt:>8.0}", second + 1);
            }
        }
        println!("  {} of {} packets lost", flow.sender.lost, flow.sender.sent);
    }
    println!();
    Ok(())
}

/// Returns the state called `name` at the end of a second.
fn at(series: &FlowSeries, name: &str, second: usize) -> f64 {
    let values = series.state.iter().find(|(known, _)| *known == name);
    values.and_then(|(_, values)| values.get(second)).copied().unwrap_or(f64::NAN)
}
