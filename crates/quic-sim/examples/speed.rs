//! Prints how many seconds a minute of quinn at 20 Mbit/s takes to simulate; five runs.
//!
//! ```sh
//! cargo run --release -p paceline-quic-sim --example speed
//! ```
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use paceline_quic_sim::Quinn;
use paceline_sim::cc::{Rate, Span};
use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, Scenario};
use quinn_proto::congestion::CubicConfig;

fn main() -> Result<(), Box<dyn Error>> {
    let quinn = Quinn::new("quinn's Cubic", Arc::new(CubicConfig::default()));
    let mut scenario = Scenario::new("speed");
    scenario.links.push(LinkSpec::new("link", Capacity::Constant(Rate::from_mbps(20.0))));
    scenario.flows.push(FlowSpec::bulk(quinn.transport(), &["link"]));
    scenario.duration = Span::from_secs(60);
    for _ in 0..5 {
        let start = Instant::now();
        let outcome = paceline_sim::run(&scenario)?;
        let (taken, megabytes) =
            (start.elapsed().as_secs_f64(), outcome.flows[0].goodput_mbps * 60.0 / 8.0);
        println!("{taken:.2} s for {megabytes:.0} MB in {} packets", outcome.packets);
    }
    Ok(())
}
