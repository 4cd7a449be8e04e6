//! `paceline tunnel status`: shows the running tunnels of this machine.

use std::thread;
use std::time::Duration;

use clap::Args;
use paceline_report::Document;
use paceline_requests::numbers::figure;
use paceline_transfer::tunnel::setup::device_of;
use paceline_transfer::tunnel::{PeerStatus, RunningTunnel, TunnelStatus};
use paceline_wire::printable;
use serde::Serialize;

use super::config;
use crate::output::{self, Error};
use crate::table::Grid;

/// Time between two tables with `--watch`.
const INTERVAL: Duration = Duration::from_secs(1);

/// Show running tunnels: clients, round-trip times, rates, losses, queues
///
/// Asks all tunnels of this machine that this user may ask; root may ask all. Figures are current
/// ones; see docs/tunnel.md.
#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline tunnel status
  paceline tunnel status office
  paceline tunnel status paceline0 --watch
  paceline tunnel status --json")]
pub(crate) struct Status {
    /// Show only the tunnel that `tunnel up` has brought up by this name or file, or the tunnel of
    /// this device
    #[arg(value_name = "NAME|FILE|DEVICE")]
    name: Option<String>,
    /// Print JSON; with --watch one line each time
    #[arg(long)]
    json: bool,
    /// Show the tunnels each second, until Ctrl-C
    #[arg(long)]
    watch: bool,
}

/// Document of `--json`.
#[derive(Serialize)]
struct Tunnels<'a> {
    tunnels: Vec<&'a TunnelStatus>,
}

/// Returns all running tunnels, or one: the tunnel that is up by this name or file, or else the
/// tunnel of this device.
///
/// # Errors
/// No such tunnel is running.
pub(super) fn running(name: Option<&str>) -> Result<Vec<RunningTunnel>, Error> {
    let mut running = RunningTunnel::all();
    if let Some(name) = name {
        // The name may be a device's that no tunnel can have.
        let up = config::find(name).ok().and_then(|(_, name)| device_of(&name));
        let (device, network) = match up {
            Some(up) => (up.device, Some(up.network)),
            None => (name.to_string(), None),
        };
        running.retain(|one| one.status.device == device);
        // Several networks may have a device of this name. Without a record, prefers the one that
        // comes first: this network's, if it has one.
        let network = network.or_else(|| running.first().map(|one| one.status.network.clone()));
        running.retain(|one| Some(&one.status.network) == network.as_ref());
    }
    if running.is_empty() {
        let which = name.map_or(String::new(), |name| format!(" of device {name}"));
        let nor = if name.is_some() { ", and none of this name is up" } else { "" };
        return Err(Error::Message(format!(
            "no tunnel{which} answers{nor}: `paceline tunnel server`, `client` and `up` answer while they run, to root and to \
             the user who has started them"
        )));
    }
    Ok(running)
}

impl Status {
    pub(crate) fn run(&self) -> Result<(), Error> {
        loop {
            let running = running(self.name.as_deref())?;
            let tunnels: Vec<&TunnelStatus> = running.iter().map(|one| &one.status).collect();
            match (self.json, self.watch) {
                (true, false) => return output::print_json(&Tunnels { tunnels }),
                (true, true) => {
                    let line = serde_json::to_string(&Document::new(&Tunnels { tunnels }));
                    let line = line.map_err(|error| Error::Message(error.to_string()))?;
                    output::print(&format!("{line}\n"))?;
                }
                (false, watch) => {
                    let text: Vec<String> = tunnels.iter().map(|one| table(one)).collect();
                    let text = text.join("\n");
                    if !watch {
                        return output::print(&text);
                    }
                    // Moves the cursor to the top left and clears the screen below it.
                    output::print(&format!("\x1b[H\x1b[J{text}"))?;
                }
            }
            thread::sleep(INTERVAL);
        }
    }
}

/// Returns three digits without zeros at the end: `5`, `12.3`.
fn short(value: f64) -> String {
    let text = figure(value);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}

/// Returns a time in a unit that suits its size: `850 ms`, `12.3 s`, `5 min`, `3.2 h`, `12 d`.
pub(super) fn span(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => format!("{:.0} ms", s * 1e3),
        s if s < 120.0 => format!("{} s", short(s)),
        s if s < 7200.0 => format!("{} min", short(s / 60.0)),
        s if s < 172_800.0 => format!("{} h", short(s / 3600.0)),
        s => format!("{} d", short(s / 86_400.0)),
    }
}

fn bytes(count: u64) -> String {
    match count as f64 {
        b if b < 1e3 => format!("{count} B"),
        b if b < 1e6 => format!("{} kB", short(b / 1e3)),
        b if b < 1e9 => format!("{} MB", short(b / 1e6)),
        b => format!("{} GB", short(b / 1e9)),
    }
}

fn dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".into())
}

fn table(status: &TunnelStatus) -> String {
    let TunnelStatus { role, device, pid, at, .. } = status;
    let verb = if role == "server" { "listens at" } else { "to" };
    let mut text = format!(
        "{role} {verb} {}, device {} (process {pid}), running for {}\n  inside: {}; MTU {}\n",
        printable(at),
        printable(device),
        span(status.uptime_s),
        printable(&status.addresses.join(", ")),
        status.mtu_bytes
    );
    if let Some(why) = &status.waiting {
        text += &format!("  not connected: {}\n", printable(why));
    }
    if role == "server" {
        text += &format!(
            "  {} handshakes answered, {} turned away; {} datagrams ignored; {} packets for addresses of no connected client\n",
            status.accepted, status.turned_away, status.ignored, status.without_owner
        );
        if status.handover_dropped > 0 {
            text += &format!("  {} packets dropped between event loops\n", status.handover_dropped);
        }
    }
    let mut grid = Grid::after(
        3,
        &[
            "peer",
            "from",
            "inside",
            "connected",
            "heard",
            "RTT (min) ms",
            "out Mbit/s",
            "in Mbit/s",
            "lost",
            "window",
            "queue",
            "sojourn",
            "dropped",
            "too long",
            "not allowed",
            "MTU",
        ],
    );
    status.peers.iter().for_each(|peer| grid.row(row(peer)));
    if !status.peers.is_empty() {
        text += &grid.text();
    }
    text
}

fn row(peer: &PeerStatus) -> Vec<String> {
    let key = peer.key.as_ref().map(|key| key.chars().take(12).collect::<String>());
    let name = peer.name.clone().or(key);
    let named = vec![
        printable(&dash(name)),
        printable(&dash(peer.remote.clone())),
        printable(&peer.addresses.join(" ")),
    ];
    if !peer.connected {
        return [named, vec!["no".into()]].concat();
    }
    let rtt = match (peer.srtt_ms, peer.min_rtt_ms) {
        (Some(smoothed), Some(least)) => Some(format!("{} ({})", figure(smoothed), figure(least))),
        _ => None,
    };
    let lost = if peer.sent == 0 { 0.0 } else { peer.lost as f64 / peer.sent as f64 };
    let figures = vec![
        dash(peer.connected_s.map(span)),
        dash(peer.heard_s.map(|heard| format!("{} ago", span(heard)))),
        dash(rtt),
        figure(peer.sent_mbps),
        figure(peer.received_mbps),
        format!("{} %", figure(lost * 100.0)),
        dash(peer.deliverable_bytes.map(bytes)),
        bytes(peer.queue_bytes),
        format!("{} ms", figure(peer.sojourn_ms)),
        peer.dropped.to_string(),
        peer.refused.to_string(),
        peer.not_allowed.to_string(),
        dash(peer.mtu_bytes.map(|mtu| mtu.to_string())),
    ];
    [named, figures].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_are_short() {
        for (seconds, text) in [
            (0.0, "0 ms"),
            (0.85, "850 ms"),
            (12.34, "12.3 s"),
            (300.0, "5 min"),
            (864_000.0, "10 d"),
        ] {
            assert_eq!(span(seconds), text);
        }
        for (count, text) in
            [(0, "0 B"), (999, "999 B"), (14_400, "14.4 kB"), (3_000_000_000, "3 GB")]
        {
            assert_eq!(bytes(count), text);
        }
    }

    #[test]
    fn what_a_peer_says_cannot_change_the_terminal() {
        let peers = vec![PeerStatus { name: Some("\u{1b}[2J".into()), ..PeerStatus::default() }];
        let status = TunnelStatus { role: "server".into(), peers, ..TunnelStatus::default() };
        assert!(!table(&status).contains('\u{1b}'));
    }
}
