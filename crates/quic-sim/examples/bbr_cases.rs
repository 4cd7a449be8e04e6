//! The BBR draft's test cases on QUIC stacks and on schemes: the table of `docs/bbr-cases.md`.
//!
//! ```sh
//! cargo run --release -p paceline-quic-sim --example bbr_cases -- [RUNS] [NAME]... [keep=DIR] [only=ID]
//! ```
//! `keep` names a folder for the records of finished runs, which the next call continues from.
//!
//! Without names, the ends are Paceline's BBRs, Linux's, and those of noq, quinn and s2n-quic. `noq:own-bbr3`
//! and `quinn:own-bbr` are whole stacks with their own controllers; `noq:` and `quinn:` before another name are the
//! stacks with Paceline's scheme of that name (`noq:bbr3`). `s2n-bbr` is the controller of s2n-quic under the simulator's own sender.
//! `linux:bbr` needs a guest (`paceline linux build`).
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::error::Error;
use std::sync::Arc;

use paceline_evaluate::{Request, documents, evaluate, markdown};
use paceline_s2n_quic::halves;
use paceline_sim::Names;
use paceline_sim::schemes::SchemeEntry;
use paceline_tasks::{Progress, Store};
use s2n_quic_core::recovery::bbr;

/// Ends of the table.
const ENDS: [&str; 7] = [
    "bbr3",
    "bbr3[probe_rtt_interval=10s]",
    "noq:own-bbr3",
    "bbr",
    "linux:bbr",
    "quinn:own-bbr",
    "s2n-bbr",
];

fn main() -> Result<(), Box<dyn Error>> {
    let (options, words): (Vec<String>, Vec<String>) = std::env::args()
        .skip(1)
        .partition(|word| word.starts_with("keep=") || word.starts_with("only="));
    let option = |name: &str| options.iter().find_map(|option| option.strip_prefix(name));
    let mut words = words.into_iter();
    let runs = words.next().map_or(Ok(20), |text| text.parse())?;
    let mut schemes: Vec<String> = words.collect();
    if schemes.is_empty() {
        schemes = ENDS.map(String::from).to_vec();
    }
    let request = Request {
        schemes,
        documents: documents("bbr-draft")?,
        only: option("only=").into_iter().map(String::from).collect(),
        quick: false,
        runs: Some(runs),
        seed: 1,
    };
    let store =
        option("keep=").map_or(Ok(Store::disabled()), |folder| Store::open(folder.as_ref()))?;
    let done = evaluate(&request, &Arc::new(names()?), &store, &Quiet)?;
    for (run, problem) in &done.failures {
        eprintln!("{run}: {problem}");
    }
    println!("{}", markdown(&done, "cargo run --release -p paceline-quic-sim --example bbr_cases"));
    Ok(())
}

/// Returns the built-in schemes, and the stacks.
fn names() -> Result<Names, Box<dyn Error>> {
    let mut names = paceline_remy::names();
    names.schemes.add(SchemeEntry::new("s2n-bbr", |_| Ok(halves(bbr::Endpoint::default))))?;
    paceline_quic_sim::add_families(&mut names);
    names.transports.set(paceline_guest::FAMILY, |text| {
        paceline_guest::transport(text, || paceline_guest::find(None))
    });
    Ok(names)
}

/// Shows nothing while the work is done.
struct Quiet;

impl Progress for Quiet {
    fn begin(&self, _total: f64, _done: f64) {}
    fn done(&self, _task: &str, _cost: f64) {}
}
