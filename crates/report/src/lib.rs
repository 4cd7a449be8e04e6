//! Plots and pages: SVG charts and self-contained HTML reports.
//!
//! There are two layers. The charts ([`Chart`], [`Scatter`], [`Bars`], [`Tiles`]) draw axes, labels
//! and colours and have no notion of congestion control. The views ([`time_series_svg`],
//! [`scatter_svg`], [`bars_svg`], [`compare_page`]) turn measured runs ([`RunView`]) into plots
//! about congestion control.
//!
//! Properties of all output:
//! - It depends on the input alone: no clock, no hash order, fixed number formats.
//! - Unusable data (NaN, infinite, empty) is left out. It is never printed and never causes a
//!   panic.
//! - A scheme's name selects its colour, dash and shape ([`Palette`]), so that plots can be
//!   compared.
//! - An SVG file is complete (opaque background, presentation attributes that every viewer
//!   supports) and follows the reader's dark mode where style sheets work.
//!
//! [`Document`] is the head of every JSON document of the program, and [`junit()`] writes test results.
//!
//! To see everything with made-up data: `cargo run -p paceline-report --example specimen -- DIR`.
//!
//! ```
//! use paceline_report::{PageInfo, RunView, TimeSeries, compare_page};
//!
//! let run = RunView {
//!     trace: "lte".into(),
//!     scheme: "abc".into(),
//!     capacity_mbps: 10.0,
//!     throughput_mbps: 9.0,
//!     utilization: 0.9,
//!     series: TimeSeries {
//!         bin_s: 0.1,
//!         capacity_mbps: vec![9.0, 11.0],
//!         throughput_mbps: vec![8.0, 10.0],
//!         queue_delay_ms: vec![12.0, f64::NAN],
//!         window_packets: None,
//!     },
//!     ..RunView::default()
//! };
//! let info = PageInfo { title: "ABC over LTE".into(), ..PageInfo::default() };
//! assert!(compare_page(&info, &[run]).starts_with("<!DOCTYPE html>"));
//! ```

mod agreement;
mod axis;
mod bars;
mod chart;
mod compare;
mod document;
mod figure;
mod figures;
mod inner;
mod intervals;
mod junit;
mod label;
mod layout;
mod markup;
mod number;
mod page;
mod palette;
mod paper;
mod pareto;
mod region;
mod run;
mod scale;
mod scatter;
mod scenario;
mod series;
mod style;
mod summary;
mod sweep;
mod table;
mod tiles;
mod timeline;
mod tradeoff;
mod transfer;

#[cfg(test)]
mod check;

pub use agreement::Agreement;
pub use bars::{BarPanel, Bars};
pub use chart::{Chart, Panel};
pub use compare::{PageInfo, compare_page};
pub use document::{Document, SCHEMA_VERSION};
pub use figure::{Figure, with_description};
pub use figures::{NamedFigures, compare_figures, scenario_figures};
pub use inner::InnerValues;
pub use intervals::{Interval, Intervals};
pub use junit::{TestCase, TestFailure, junit};
pub use layout::{Colors, Layout};
pub use paceline_schemes::Shape;
pub use page::Page;
pub use palette::Palette;
pub use paper::Paper;
pub use pareto::front;
pub use region::Region;
pub use run::{Band, Quantiles, RunPoint, RunSetting, RunView, RunsView, TableFigure, TimeSeries};
pub use scale::{Scale, Tick};
pub use scatter::{Dot, Marker, Scatter};
pub use scenario::{FlowRanges, FlowView, scenario_page};
pub use series::{Fold, Series, Shade, bins_drawn_as_one};
pub use style::Paint;
pub use summary::{bars_figure, bars_svg, summary_table, table_of};
pub use sweep::sweep_figure;
pub use table::{Cell, Table};
pub use tiles::{Tile, Tiles};
pub use timeline::{capacity_figure, capacity_svg, time_series_figure, time_series_svg};
pub use tradeoff::{scatter_figure, scatter_svg};
pub use transfer::{Line, Lines, TransferView, transfer_page, transfer_svg};
