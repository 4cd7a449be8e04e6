//! Maps of a table's actions over two signals of the memory, for pages.

use paceline_remy::usage::RuleUse;
use paceline_remy::{PACKET, words};
use paceline_report::{Page, Paint, Tile, Tiles};
use paceline_schemes::remy::{Action, ActionBasis, Domain, Memory, RuleTable, Signal};

/// Horizontal and vertical signal of each pair of maps.
const AXES: [(Signal, Signal); 2] =
    [(Signal::RecEwma, Signal::RttRatio), (Signal::SendEwma, Signal::RecEwma)];
/// Horizontal and vertical signal of each pair of maps, for tables whose rules act on the delivery
/// rate.
const RATE_AXES: [(Signal, Signal); 2] =
    [(Signal::QueueEwma, Signal::RttTrend), (Signal::MinRtt, Signal::QueueEwma)];
/// Minimum RTT in ms for which the shade of a window is computed that depends on it.
const SHADE_RTT_MS: f64 = 50.0;
/// Quantiles of the memories at which a map begins and ends.
const SHOWN: (f64, f64) = (0.01, 0.98);
/// Most memories that are drawn as dots.
const POINTS: usize = 400;
/// Window in packets whose shade stands for windows that grow without a limit.
const GROWS: f64 = 1000.0;

/// Adds maps of a table to a page: its rules' actions on the window and on the pacing, over the
/// range of the memories in `uses`. Tables with the same `uses` get the same axes.
pub(super) fn add(page: &mut Page, name: &str, table: &RuleTable, uses: &[RuleUse]) {
    let memories: Vec<&Memory> = uses.iter().flat_map(RuleUse::samples).collect();
    let axes = match table.basis() {
        ActionBasis::Window => AXES,
        ActionBasis::Rate => RATE_AXES,
    };
    for (across, up) in axes {
        let active = table.tree().domain().active;
        if !active[across.index()] || !active[up.index()] {
            continue;
        }
        for what in [MapQuantity::Window, MapQuantity::Pace] {
            let tiles = map(table, &memories, (across, up), what);
            let caption = format!(
                "{name}: {} with each acknowledgement, by {} and {}; the other signals are at their \
                 medians. Dots are memories of the trial run.",
                what.words(),
                about(across),
                about(up),
            );
            page.figure(&tiles.figure(), &caption);
        }
    }
}

/// The quantity that a map shows.
#[derive(Copy, Clone, PartialEq)]
enum MapQuantity {
    Window,
    Pace,
}

impl MapQuantity {
    fn words(self) -> &'static str {
        match self {
            MapQuantity::Window => {
                "where the window goes (packets; the stronger the colour, the larger)"
            }
            MapQuantity::Pace => {
                "how fast packets may follow each other (the stronger the colour, the faster)"
            }
        }
    }

    /// Returns the value of an action that decides its tile's shade; NaN if the action leaves the
    /// window or has no pacing.
    fn value(self, action: &Action) -> f64 {
        let Action { multiple, increment, intersend_ms, queue_ms, basis } = *action;
        if basis == ActionBasis::Rate {
            return match self {
                MapQuantity::Window => (multiple + queue_ms / SHADE_RTT_MS).max(0.01),
                MapQuantity::Pace if intersend_ms > 0.0 => intersend_ms,
                MapQuantity::Pace => f64::NAN,
            };
        }
        match self {
            MapQuantity::Pace if intersend_ms > 0.0 => 1.0 / intersend_ms,
            MapQuantity::Pace => f64::NAN,
            MapQuantity::Window if multiple < 1.0 => {
                (f64::from(increment.max(0)) / (1.0 - multiple)).clamp(1.0, GROWS)
            }
            MapQuantity::Window if multiple == 1.0 && increment == 0 => f64::NAN,
            MapQuantity::Window if multiple == 1.0 && increment < 0 => 1.0,
            MapQuantity::Window => GROWS,
        }
    }

    /// Returns the action in words that fit into a tile.
    fn text(self, action: &Action) -> String {
        let Action { multiple, increment, intersend_ms, queue_ms, basis } = *action;
        if basis == ActionBasis::Rate {
            return match self {
                MapQuantity::Window => {
                    format!("rate × ({multiple} RTT {queue_ms:+} ms) {increment:+}")
                }
                MapQuantity::Pace if intersend_ms > 0.0 => format!("{intersend_ms} × rate"),
                MapQuantity::Pace => "no pacing".into(),
            };
        }
        match self {
            MapQuantity::Pace if intersend_ms > 0.0 => {
                let mbps = f64::from(PACKET) * 8.0 / 1e3 / intersend_ms;
                format!("{intersend_ms:.3} ms = {mbps:.1} Mbit/s")
            }
            MapQuantity::Pace => "no pacing".into(),
            MapQuantity::Window if multiple < 1.0 => {
                let target = f64::from(increment.max(0)) / (1.0 - multiple);
                format!("{:.1} % to {target:.0}", 100.0 * (1.0 - multiple))
            }
            MapQuantity::Window if multiple == 1.0 && increment == 0 => "stays".into(),
            MapQuantity::Window if multiple == 1.0 => format!("{increment:+}"),
            MapQuantity::Window => format!("× {multiple} {increment:+}"),
        }
    }
}

/// Returns a signal with its unit, as the title of an axis.
fn titled(signal: Signal) -> String {
    match signal {
        Signal::RttRatio => "rtt_ratio".into(),
        other => about(other),
    }
}

/// Returns a signal with its unit or an explanation.
fn about(signal: Signal) -> String {
    match signal {
        Signal::RttRatio => "rtt_ratio (latest RTT over the smallest)".into(),
        other if other.unit().is_empty() => other.name().into(),
        other => format!("{} ({})", other.name(), other.unit()),
    }
}

fn map(
    table: &RuleTable,
    memories: &[&Memory],
    (across, up): (Signal, Signal),
    what: MapQuantity,
) -> Tiles {
    let medians = Memory { values: Signal::ALL.map(|signal| quantile(memories, signal, 0.5)) };
    let within = |domain: &Domain| {
        let others = Signal::ALL.into_iter().filter(|signal| ![across, up].contains(signal));
        others.filter(|signal| domain.active[signal.index()]).all(|signal| {
            let value = medians.get(signal);
            (domain.lower[signal.index()]..domain.upper[signal.index()]).contains(&value)
        })
    };
    let tile = |(number, domain, action): (usize, &Domain, &Action)| Tile {
        x: reach(domain, across),
        y: reach(domain, up),
        value: what.value(action),
        text: vec![what.text(action), format!("rule {number}")],
        tooltip: format!("rule {number}: {}", words::action(action)),
    };
    let rules = table.rules().iter().enumerate();
    let rules = rules.map(|(number, rule)| (number, &rule.domain, &rule.action));
    let points = memories.iter().step_by(memories.len().div_ceil(POINTS).max(1));
    Tiles {
        label: format!("{} over {} and {}", what.words(), across.name(), up.name()),
        x_title: titled(across),
        y_title: titled(up),
        x: shown(memories, across),
        y: shown(memories, up),
        paint: if what == MapQuantity::Window { Paint::GOOD } else { Paint::BAD },
        log: true,
        tiles: rules.filter(|(_, domain, _)| within(domain)).map(tile).collect(),
        points: points.map(|memory| (memory.get(across), memory.get(up))).collect(),
    }
}

/// Returns the lower and upper end of a box on an axis. The lower end is infinite if it is 0, and
/// both are if the table does not use the signal.
fn reach(domain: &Domain, signal: Signal) -> [f64; 2] {
    let (lower, upper) = (domain.lower[signal.index()], domain.upper[signal.index()]);
    let active = domain.active[signal.index()];
    let lower = if active && lower > 0.0 { lower } else { f64::NEG_INFINITY };
    [lower, if active { upper } else { f64::INFINITY }]
}

/// Returns the range of an axis: it has most of the memories, and a margin.
fn shown(memories: &[&Memory], signal: Signal) -> [f64; 2] {
    let (from, to) = (quantile(memories, signal, SHOWN.0), quantile(memories, signal, SHOWN.1));
    let air = ((to - from) * 0.08).max(0.02 * to.abs()).max(1e-6);
    [(from - air).max(0.0), to + air]
}

fn quantile(memories: &[&Memory], signal: Signal, share: f64) -> f64 {
    let mut values: Vec<f64> = memories.iter().map(|memory| memory.get(signal)).collect();
    values.sort_by(f64::total_cmp);
    let at = (share * values.len() as f64) as usize;
    values.get(at.min(values.len().saturating_sub(1))).copied().unwrap_or(0.0)
}
