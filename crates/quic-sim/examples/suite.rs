//! Runs the maintainers' suite on quinn and noq, with their own congestion control and with
//! Paceline's.
//!
//! ```sh
//! cargo run --release -p paceline-quic-sim --example suite -- [NAME]...
//! ```
//! NAMEs select congestion controls by a part of their label, such as `own` or `bbr3`.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::sync::Arc;

use paceline_quic_sim::suite::{Aim, Suite};
use paceline_quic_sim::{Noq, Quinn};
use paceline_sim::CustomTransport;

fn main() -> Result<(), Box<dyn Error>> {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let mut verdicts = Vec::new();
    for (transport, aim) in stacks()? {
        let chosen = names.is_empty() || names.iter().any(|name| transport.label().contains(name));
        if !chosen {
            continue;
        }
        let report = Suite::standard().run(&transport.into(), aim)?;
        println!("{report}");
        let failed = report.cases.iter().filter(|case| !case.holds()).map(|case| case.name);
        verdicts.push((report.scheme.clone(), failed.collect::<Vec<_>>().join(", ")));
    }
    for (scheme, failed) in verdicts {
        println!("{scheme:<24} {}", if failed.is_empty() { "passes" } else { &failed });
    }
    Ok(())
}

fn stacks() -> Result<Vec<(CustomTransport, Aim)>, Box<dyn Error>> {
    use Aim::{FillsBuffers, LimitsDelay};
    use noq_proto::congestion as noq;
    use quinn_proto::congestion as quinn;

    let mut all = vec![
        (
            Quinn::new("quinn, own cubic", Arc::new(quinn::CubicConfig::default())).transport(),
            FillsBuffers,
        ),
        (
            Quinn::new("quinn, own newreno", Arc::new(quinn::NewRenoConfig::default())).transport(),
            FillsBuffers,
        ),
        (
            Quinn::new("quinn, own bbr", Arc::new(quinn::BbrConfig::default())).transport(),
            LimitsDelay,
        ),
        (
            Noq::new("noq, own cubic", Arc::new(noq::CubicConfig::default())).transport(),
            FillsBuffers,
        ),
        (
            Noq::new("noq, own newreno", Arc::new(noq::NewRenoConfig::default())).transport(),
            FillsBuffers,
        ),
        (Noq::new("noq, own bbr3", Arc::new(noq::Bbr3Config::default())).transport(), LimitsDelay),
    ];
    for (spec, aim) in [
        ("cubic", FillsBuffers),
        ("newreno", FillsBuffers),
        ("bbr3", LimitsDelay),
        ("copa", LimitsDelay),
    ] {
        let quinn = Arc::new(paceline_quinn::Scheme::parse(spec)?);
        all.push((Quinn::new(format!("quinn, {spec}"), quinn).transport(), aim));
        let noq = Arc::new(paceline_noq::Scheme::parse(spec)?);
        all.push((Noq::new(format!("noq, {spec}"), noq).transport(), aim));
    }
    Ok(all)
}
