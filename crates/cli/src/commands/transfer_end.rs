//! What `send`, `recv` and other ends of connections over UDP have in common: how addresses and times are written,
//! warnings, capabilities and priority.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::mpsc;

use paceline_cc::Span;
use paceline_os::{capability, priority};
use paceline_transfer::udp::{MOST_LOOPS, connect_to};

use crate::args;
use crate::output;

/// Reads the address and port at which an end listens.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    connect_to(text).map_err(|error| error.to_string())
}

/// Reads the number of event loops.
pub(super) fn loops(text: &str) -> Result<NonZeroUsize, String> {
    let number = text.parse().ok().filter(|&number: &NonZeroUsize| number.get() <= MOST_LOOPS);
    number.ok_or_else(|| format!("give a number from 1 to {MOST_LOOPS}"))
}

/// Returns the number of processors that this program may use, which is the default number of
/// loops.
pub(super) fn processors() -> NonZeroUsize {
    let number = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    NonZeroUsize::new(MOST_LOOPS).map_or(number, |most| number.min(most))
}

/// Warning of both ends about plain text.
pub(super) const PLAINTEXT: &str = "WARNING: --plaintext: packets are not encrypted, and only \
    their first bytes are authenticated; anybody on the way can read them, and change what they carry. For \
    measurements in a laboratory only.";

/// Drops the capabilities that an ordinary user has from the program's file (`setcap`), except
/// those that `--realtime` and a port below 1024 need, so that this process reads network data with
/// no more than the user's rights. Root keeps its capabilities, with which it writes into other
/// users' folders.
pub(super) fn give_up_capabilities(realtime: bool, listens: Option<SocketAddr>) {
    if capability::user() == 0 {
        return;
    }
    let mut kept = Vec::new();
    if realtime {
        kept.extend([capability::SYS_NICE, capability::IPC_LOCK]);
    }
    if listens.is_some_and(|at| (1..1024).contains(&at.port())) {
        kept.push(capability::NET_BIND_SERVICE);
    }
    if let Err(error) = capability::retain(&kept) {
        output::note(&format!("warning: this process keeps its capabilities: {error}"));
    }
}

/// Puts this process ahead of all ordinary ones. If the system refuses, says so and goes on.
pub(super) fn run_ahead() {
    if let Err(error) = priority::real_time(priority::RealTime::End) {
        output::note(&format!("{error}; it goes on as an ordinary program"));
    }
}

/// Reads the time without arrivals after which a transfer is given up: up to a week; 0, with or
/// without a unit, for never.
pub(super) fn patience(text: &str) -> Result<Span, String> {
    match text.trim() {
        "0" => Ok(Span::ZERO),
        text if args::span(text).is_ok_and(Span::is_zero) => Ok(Span::ZERO),
        text => args::length(text),
    }
}

/// Starts a thread that writes events to standard error. Send it their texts.
pub(super) fn print_events() -> mpsc::Sender<String> {
    let (events, messages) = mpsc::channel::<String>();
    std::thread::spawn(move || messages.into_iter().for_each(|text| output::note(&text)));
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_patience_is_written_with_a_unit_or_without() {
        for text in ["0", "0s", " 0ms "] {
            assert_eq!(patience(text), Ok(Span::ZERO), "{text}");
        }
        assert_eq!(patience("90s"), Ok(Span::from_secs(90)));
        assert!(patience("200h").is_err() && patience("-1s").is_err() && patience("").is_err());
    }
}
