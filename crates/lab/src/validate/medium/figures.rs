//! Rows of `figures.txt`.

use paceline_wifi::{Phy, Preamble, SaturatedSenders};

/// Physical layer of a row.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Standard {
    /// 802.11a.
    A,
    /// 802.11b with long preambles.
    B,
}

impl Standard {
    pub(super) fn phy(self) -> Phy {
        match self {
            Standard::A => Phy::ofdm(),
            Standard::B => Phy::dsss(Preamble::Long),
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Standard::A => "802.11a",
            Standard::B => "802.11b",
        }
    }
}

/// Figures of saturated stations.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct SaturationRow {
    pub(super) standard: Standard,
    pub(super) mbps: f64,
    pub(super) stations: u32,
    pub(super) load: SaturatedSenders,
    /// Mbit/s of packets.
    pub(super) throughput: f64,
    /// Frames that collided over frames transmitted.
    pub(super) collisions: f64,
}

impl SaturationRow {
    /// Reads a line; `None` if it is no row.
    fn read(line: &str) -> Option<SaturationRow> {
        let mut words = line.split(' ');
        let mut word = || words.next();
        let standard = match word()? {
            "802.11a" => Standard::A,
            "802.11b" => Standard::B,
            _ => return None,
        };
        let (mbps, stations) = (word()?.parse().ok()?, word()?.parse().ok()?);
        let load = match word()? {
            "up" => SaturatedSenders::Up,
            "down" => SaturatedSenders::Down,
            "both" => SaturatedSenders::Both,
            _ => return None,
        };
        let (throughput, collisions) = (word()?.parse().ok()?, word()?.parse().ok()?);
        Some(SaturationRow { standard, mbps, stations, load, throughput, collisions })
    }
}

const FIGURES: &str = include_str!("figures.txt");

/// Returns the rows of a section: `ns2`, `ns2-check`, `ns3`, `ns3-ack`, `bianchi-ns2`,
/// `bianchi-standard` or `echo`.
pub(super) fn rows(section: &str) -> Vec<SaturationRow> {
    let head = format!("[{section}]");
    let lines = FIGURES.lines().skip_while(|line| *line != head).skip(1);
    lines.take_while(|line| !line.starts_with('[')).filter_map(SaturationRow::read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_row_of_a_section() {
        let is_data = |line: &&str| !line.is_empty() && !line.starts_with(['#', '[']);
        let counts =
            ["ns2", "ns2-check", "ns3", "ns3-ack", "bianchi-ns2", "bianchi-standard", "echo"]
                .map(|section| rows(section).len());
        assert_eq!(counts, [45, 6, 60, 3, 40, 70, 16]);
        assert_eq!(counts.iter().sum::<usize>(), FIGURES.lines().filter(is_data).count());
        let first = SaturationRow {
            standard: Standard::B,
            mbps: 1.0,
            stations: 1,
            load: SaturatedSenders::Both,
            throughput: 0.8817,
            collisions: 0.0645,
        };
        assert_eq!(rows("ns2")[0], first);
    }
}
