//! The flows that come and go in the XCP-b paper (claims X08 and X12), with more seeds than the
//! claims have, and with uploads and downloads exchanged: `cargo run --release -p paceline-lab
//! --example come_and_go -- SCHEME SCALE SEEDS [exchange|down] [without-sack]`. SCHEME is `xcpb` or
//! the senders' scheme, such as `newreno[counts=acks]`; `without-sack` turns selective
//! acknowledgements off for all flows, as the claims do for NewReno. At scale 1 runs last 300 s,
//! otherwise 150 s. Megabytes are those of the whole run; rates count from 50 s on.

use std::io::Write as _;

use paceline_lab::wireless::{COUNTED, NetworkScheme, WirelessLoad, come_and_go, exchange};
use paceline_sim::Outcome;
use paceline_sim::cc::Span;
use paceline_sim::scenario::{FlowSpec, LossRecovery, RttSamples, Scenario};

type Failure = Box<dyn std::error::Error>;

/// Returns the throughput of the flows of a direction in Mbit/s, as ns-2 counts bytes.
fn rate(outcome: &Outcome, way: &str) -> f64 {
    let flows = outcome.flows.iter().filter(|flow| flow.name.starts_with(way));
    COUNTED * flows.map(|flow| flow.goodput_mbps).fold(0.0, |sum, rate| sum + rate)
}

/// Returns the sum of the durations of a direction's flows, in seconds.
fn offered(scenario: &Scenario, way: &str) -> f64 {
    let flows = scenario.flows.iter().filter(|flow| flow.name.starts_with(way));
    let end = |flow: &FlowSpec| flow.stop.unwrap_or(scenario.duration).min(scenario.duration);
    flows.map(|flow| (end(flow) - flow.start).as_secs_f64()).sum()
}

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [scheme, scale, seeds, rest @ ..] = words.as_slice() else {
        return Err("expected SCHEME SCALE SEEDS [exchange|down] [without-sack]".into());
    };
    let (scale, seeds): (u32, u64) = (scale.parse()?, seeds.parse()?);
    let has = |word: &str| rest.iter().any(|other| other == word);
    let buffer = 50 * u64::from(scale);
    let which = match scheme.as_str() {
        "xcpb" => NetworkScheme::xcpb(6, scale),
        sender => NetworkScheme { sender: sender.into(), ..NetworkScheme::newreno(buffer) },
    };
    let recovery = match has("without-sack") {
        true => LossRecovery::NewReno(RttSamples::One),
        false => LossRecovery::Sack,
    };
    let which = NetworkScheme { recovery, ..which };
    let mut out = std::io::stdout();
    for seed in 1..=seeds {
        let load = WirelessLoad { uploads: !has("down"), rtt_ms: 0, short: None };
        let mut scenario = come_and_go(&which, scale, load, seed)?;
        scenario.duration = Span::from_secs(if scale == 1 { 300 } else { 150 });
        scenario.digest = false;
        if has("exchange") {
            scenario.flows.iter_mut().for_each(exchange);
        }
        let whole = paceline_sim::run(&scenario)?;
        let megabytes = |way| rate(&whole, way) * scenario.duration.as_secs_f64() / 8.0;
        let (up, down) = (megabytes("up"), megabytes("down"));
        let asked = offered(&scenario, "up") / offered(&scenario, "down");
        scenario.warmup = Span::from_secs(50);
        let late = paceline_sim::run(&scenario)?;
        let carried = (rate(&late, "up") + rate(&late, "down")) / f64::from(scale);
        writeln!(
            out,
            "seed {seed}: {up:.1} MB up, {down:.1} MB down, ratio {:.3} of {asked:.3} asked for; \
             {carried:.3} Mbit/s over the scale",
            up / down
        )?;
    }
    Ok(())
}
