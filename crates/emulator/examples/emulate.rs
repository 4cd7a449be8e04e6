//! Runs a program behind a delay and a link, and tells how exact the emulation was:
//! `emulate [offload] [delay=MS] [rate=MBPS | trace=FILE] [packets=N] [lead=US] -- PROGRAM...`
#![allow(clippy::print_stderr, missing_docs)]

use std::os::fd::AsFd;

use paceline_cc::{Rate, Span};
use paceline_emulator::shell::{Shell, ShellOptions};
use paceline_emulator::{Chain, Control, Element, Emulator, EmulatorOptions};
use paceline_path::{Limit, Link, OpportunityOptions, Pipe, Service, queue::Fifo};
use paceline_trace::Trace;

type Failure = Box<dyn std::error::Error>;

fn service(word: &str) -> Result<Option<Service>, Failure> {
    if let Some(rate) = word.strip_prefix("rate=") {
        return Ok(Some(Service::constant(Rate::from_mbps(rate.parse()?))));
    }
    let Some(path) = word.strip_prefix("trace=") else { return Ok(None) };
    let text = std::fs::read_to_string(path)?;
    let times = text.lines().map(str::parse).collect::<Result<Vec<u32>, _>>()?;
    Ok(Some(Service::trace(Trace::new(path, times)?, OpportunityOptions::default())?))
}

fn number(words: &[String], name: &str) -> Option<f64> {
    words.iter().find_map(|word| word.strip_prefix(name)?.parse().ok())
}

fn chain(words: &[String]) -> Result<Chain, Failure> {
    let mut elements = Vec::new();
    if let Some(ms) = number(words, "delay=") {
        elements.push(Element::Pipe(Box::new(Pipe::new(Span::from_secs_f64(ms / 1e3)))));
    }
    for word in words {
        if let Some(service) = service(word)? {
            let limit = number(words, "packets=").map_or(Limit::NONE, |n| Limit::packets(n as u64));
            elements.push(Element::Link(Box::new(Link::new(Box::new(Fifo::new(limit)), service))));
        }
    }
    Ok(Chain::new(elements))
}

fn main() -> Result<(), Failure> {
    let args: Vec<_> = std::env::args().skip(1).collect();
    let mut halves = args.splitn(2, |word| word == "--");
    let words = halves.next().unwrap_or_default();
    let command = halves.next().unwrap_or_default().iter().map(Into::into).collect();
    let mut options = EmulatorOptions::default();
    if let Some(us) = number(words, "lead=") {
        options.lead = Span::from_secs_f64(us / 1e6);
    }
    let mut shell_options = ShellOptions::new("link", command);
    shell_options.offload = words.iter().any(|word| word == "offload");
    let (shell, mut devices) = Shell::start(&shell_options)?;
    let ended = shell.ended().try_clone_to_owned()?;
    let (up, down) = (chain(words)?, chain(words)?);
    let emulator = Emulator::new(&mut devices.inner, &mut devices.outer, up, down, options);
    let summary = emulator.run(&[ended.as_fd()], &mut |_| Control::Stop)?;
    let secs = summary.duration.as_secs_f64();
    let cpu = summary.cpu.as_secs_f64();
    for (name, way) in [("up", &summary.up), ("down", &summary.down)] {
        let rate = way.sent_bytes as f64 * 8e-6 / secs;
        eprintln!("{name}: {rate:.2} Mbit/s; {way:?}");
    }
    let gbit = (summary.up.sent_bytes + summary.down.sent_bytes) as f64 * 8e-9;
    eprintln!(
        "{:?} late: {}; CPU {:.3} of a core, {:.3} core per Gbit/s",
        summary.lateness,
        summary.late,
        cpu / secs,
        cpu / gbit,
    );
    std::process::exit(shell.finish()?.status);
}
