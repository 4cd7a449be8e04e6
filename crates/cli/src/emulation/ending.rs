//! Output of an emulator when it ends: packet counts, and the files that it wrote.

use std::path::PathBuf;

use paceline_emulator::output::{DirectionReport, EmulationReport, FlowFigures};
use paceline_emulator::{DirectionSummary, Summary};
use paceline_requests::numbers::fixed;

use super::{DirectionSetup, Emulation};

/// Returns a line with the packet counts and rates of both directions: those of the first link, which the report has
/// after the warm-up, or without a link those of the whole run.
pub(super) fn passed(summary: &Summary, report: Option<&EmulationReport>) -> String {
    let seconds = summary.duration.as_secs_f64();
    let way = |way: &DirectionSummary, report: Option<&DirectionReport>| {
        report.and_then(of_link).unwrap_or_else(|| direction(way, seconds))
    };
    let warmup_s = report.map_or(0.0, |report| report.warmup_s);
    let has_link = report.is_some_and(|it| it.up.link.is_some() || it.down.link.is_some());
    let warmup = match has_link && warmup_s > 0.0 {
        true => format!(", links counted from {warmup_s} s on"),
        false => String::new(),
    };
    format!(
        "up {}; down {}; {seconds:.1} s{warmup}",
        way(&summary.up, report.map(|report| &report.up)),
        way(&summary.down, report.map(|report| &report.down))
    )
}

/// Returns what passed a direction's first link, and the packets that any element has dropped, both after the warm-up.
fn of_link(way: &DirectionReport) -> Option<String> {
    let link = way.link.as_ref()?;
    Some(counts(link.packets, link.throughput_mbps, way.measured.dropped))
}

fn direction(way: &DirectionSummary, seconds: f64) -> String {
    let mbps = if seconds > 0.0 { way.sent_bytes as f64 * 8e-6 / seconds } else { 0.0 };
    counts(way.sent_packets, mbps, lost(way))
}

fn counts(packets: u64, mbps: f64, lost: u64) -> String {
    let plural = if packets == 1 { "" } else { "s" };
    format!("{packets} packet{plural} at {mbps:.3} Mbit/s, {lost} lost")
}

/// Returns the number of packets that queues, pipes and interruptions have dropped.
pub(super) fn lost(way: &DirectionSummary) -> u64 {
    way.stages.iter().map(|stage| stage.counters.dropped_packets()).sum::<u64>() + way.no_memory
}

/// Largest number of flows of a link that have lines of their own at the end of a run.
const SHOWN_FLOWS: usize = 5;

/// Returns a line for each of the largest flows of each link, and one for a link's other flows together.
pub(super) fn flows(report: &EmulationReport) -> Vec<String> {
    let mut lines = Vec::new();
    for (way, direction) in [("up", &report.up), ("down", &report.down)] {
        for link in direction.link.iter().chain(&direction.more_links) {
            let shown = link.flows.iter().take(SHOWN_FLOWS);
            lines.extend(shown.map(|flow| {
                let name = format!("{} {} > {}", flow.protocol, flow.from, flow.to);
                flow_line(way, &name, &flow.figures)
            }));
            let rest = link.flows.iter().skip(SHOWN_FLOWS).map(|flow| &flow.figures);
            let mut others = FlowFigures::default();
            for figures in rest.chain(&link.other_flows) {
                others.throughput_mbps += figures.throughput_mbps;
                others.drops += figures.drops;
                others.packets += figures.packets;
                let p95 = &mut others.queue_delay_ms.p95;
                *p95 = p95.max(figures.queue_delay_ms.p95);
            }
            if others.packets + others.drops > 0 {
                lines.push(flow_line(way, "others", &others));
            }
        }
    }
    lines
}

fn flow_line(way: &str, name: &str, figures: &FlowFigures) -> String {
    let FlowFigures { throughput_mbps, queue_delay_ms, drops, .. } = figures;
    let p95 = fixed(queue_delay_ms.p95, 1);
    format!("{way} {name}: {throughput_mbps:.3} Mbit/s, p95 {p95} ms, {drops} dropped")
}

/// Returns the paths of the files that an emulation writes.
pub(super) fn files(
    options: &Emulation,
    up: &DirectionSetup,
    down: &DirectionSetup,
) -> Vec<String> {
    let page = options.output.as_ref().map(|folder| folder.join("emulation.html"));
    let single = [&options.summary, &options.pcap, &options.releases, &up.log, &down.log];
    let all = page.into_iter().chain(single.into_iter().flatten().cloned());
    all.map(|path: PathBuf| path.display().to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulation::condition::tests::{link, way};

    #[test]
    fn a_direction_says_packets_rate_and_losses() {
        let mut way = DirectionSummary { sent_packets: 1, ..DirectionSummary::default() };
        assert_eq!(direction(&way, 0.0), "1 packet at 0.000 Mbit/s, 0 lost");
        (way.sent_packets, way.sent_bytes, way.no_memory) = (1000, 1_500_000, 2);
        assert_eq!(direction(&way, 6.0), "1000 packets at 2.000 Mbit/s, 2 lost");
    }

    #[test]
    fn a_direction_with_a_link_says_the_figures_of_the_report() {
        // Packets of the whole run that have left the last element: with those of the warm-up, and without those
        // still in a delay behind the link.
        let mut up = way(vec![link("12Mbps", 989, 1.0)]);
        (up.sent_packets, up.measured.dropped) = (743, 3);
        assert_eq!(of_link(&up).as_deref(), Some("989 packets at 5.000 Mbit/s, 3 lost"));
        assert_eq!(of_link(&way(vec![])), None);
    }

    #[test]
    fn a_flow_says_rate_delay_and_drops() {
        let mut figures = FlowFigures { throughput_mbps: 1.25, drops: 3, ..FlowFigures::default() };
        figures.queue_delay_ms.p95 = 40.04;
        assert_eq!(
            flow_line("up", "udp 10.0.0.1:5 > 10.0.0.2:6", &figures),
            "up udp 10.0.0.1:5 > 10.0.0.2:6: 1.250 Mbit/s, p95 40.0 ms, 3 dropped"
        );
        figures.queue_delay_ms.p95 = f64::NAN;
        let nothing_passed = flow_line("up", "others", &figures);
        assert_eq!(nothing_passed, "up others: 1.250 Mbit/s, p95 - ms, 3 dropped");
    }

    #[test]
    fn files_are_those_that_were_asked_for() {
        let options = Emulation {
            output: Some("out".into()),
            summary: Some("s.json".into()),
            ..Emulation::default()
        };
        let up = DirectionSetup { log: Some("run.up".into()), ..DirectionSetup::default() };
        let written = files(&options, &up, &DirectionSetup::default());
        assert_eq!(written, ["out/emulation.html", "s.json", "run.up"]);
    }
}
