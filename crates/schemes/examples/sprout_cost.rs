//! Measures the cost of Sprout's inference: `cargo run --release -p paceline-schemes --example
//! sprout_cost`.

#![allow(clippy::print_stdout, reason = "figures for the reader")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use paceline_schemes::sprout::{Inference, Model, SproutParams, Tables, Ticks};

fn main() {
    for (name, ticks, proper) in [
        ("independent, as written", Ticks::Independent, false),
        ("independent, normalised", Ticks::Independent, true),
        ("joint, normalised", Ticks::Joint, true),
    ] {
        let start = Instant::now();
        black_box(Tables::new(ticks, proper));
        println!("tables, {name}: {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    }
    let params = SproutParams::default();
    let mut model = Inference::new(&params, Arc::new(params.tables()));
    for (name, packets) in [("empty", 0.0), ("10 packets", 10.0), ("25 packets", 25.0)] {
        let ticks = 20_000;
        let start = Instant::now();
        for _ in 0..ticks {
            model.evolve();
            model.observe(black_box(packets));
            black_box(model.forecast());
        }
        let each = start.elapsed().as_secs_f64() / f64::from(ticks);
        println!("tick with observation and forecast, {name}: {:.1} us", each * 1e6);
    }
}
