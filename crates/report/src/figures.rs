//! The figures of results one by one, for files.

use crate::compare::{BARS_CAPTION, region_caption, scatter_caption, sweep_caption, time_caption};
use crate::figure::Figure;
use crate::layout::Layout;
use crate::run::{RunView, distinct};
use crate::scenario::{FlowView, LINK_CAPTION, flow_charts};
use crate::summary::bars;
use crate::sweep::sweep;
use crate::timeline::time_series;
use crate::tradeoff::scatter;

/// Figures with their names, such as `tradeoff`.
pub type NamedFigures = Vec<(String, Figure)>;

/// Returns the figures of a comparison: `sweep` of several RTTs or buffers; `tradeoff`; with several traces `bars`; and `series`, or
/// `series TRACE` for each of several traces, if the runs have series.
pub fn compare_figures(runs: &[RunView], layout: &Layout) -> NamedFigures {
    let palette = layout.palette(runs.iter().map(|run| run.scheme.as_str()));
    let traces = distinct(runs, |run| &run.trace);
    let mut figures = NamedFigures::new();
    let sweep = sweep(runs, &palette);
    figures.extend(sweep.iter().map(|sweep| {
        let figure = sweep.figure_in(layout).with_caption(&sweep_caption(runs));
        ("sweep".to_string(), figure)
    }));
    let caption = scatter_caption(traces.len() > 1, sweep.is_some()) + region_caption(runs);
    let tradeoff = scatter(runs, &palette).figure_in(layout).with_caption(&caption);
    figures.push(("tradeoff".into(), tradeoff));
    if traces.len() > 1 && sweep.is_none() {
        let bars = bars(runs, &palette).figure_in(layout).with_caption(BARS_CAPTION);
        figures.push(("bars".into(), bars));
    }
    for trace in &traces {
        let own: Vec<RunView> = runs.iter().filter(|run| run.trace == *trace).cloned().collect();
        if own.iter().any(has_series) {
            let name =
                if traces.len() > 1 { format!("series {trace}") } else { "series".to_string() };
            let chart = time_series(&own, &palette).figure_in(layout);
            figures.push((name, chart.with_caption(&time_caption(&own))));
        }
    }
    figures
}

/// Returns the figures of a scenario: `link NAME` for each link that has series, `tradeoff` of the
/// flows, and `flows` over time if they have series.
pub fn scenario_figures(links: &[RunView], flows: &[FlowView], layout: &Layout) -> NamedFigures {
    let palette = layout.palette(links.iter().map(|link| link.scheme.as_str()));
    let mut figures: NamedFigures = links
        .iter()
        .filter(|link| has_series(link))
        .map(|link| {
            let chart = time_series(std::slice::from_ref(link), &palette);
            let figure = chart.figure_in(layout).with_caption(LINK_CAPTION);
            (format!("link {}", link.trace), figure)
        })
        .collect();
    figures.extend(flow_charts(flows, layout));
    figures
}

fn has_series(run: &RunView) -> bool {
    !run.series.throughput_mbps.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{assert_sound, run};
    use crate::layout::Colors;

    #[test]
    fn every_figure_of_a_page_can_be_had_alone_in_any_size() {
        let runs = [run("lte", "abc", 40.0), run("lte", "cubic", 800.0), run("5g", "abc", 60.0)];
        for (width, height, colors) in [
            (252.0, None, Colors::Print),
            (504.0, Some(200.0), Colors::Gray),
            (170.0, Some(220.0), Colors::Screen),
        ] {
            let layout = Layout::new(width, height, 8.0, "DejaVu Sans", colors).expect("a layout");
            let figures = compare_figures(&runs, &layout);
            let names: Vec<&str> = figures.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, ["tradeoff", "bars", "series lte", "series 5g"]);
            for (name, figure) in figures {
                let svg = figure.to_file(&layout, "Made with: x.");
                assert!(svg.contains(" Made with: x.</desc>"), "{name}: {svg}");
                let tall = figure.to_file(&layout.clone().with_caption(), "Made with: x.");
                assert_sound(&tall);
                let texts = |svg: &str| svg.matches("<text").count();
                assert!(texts(&tall) > texts(&svg), "{name}: {tall}");
                assert_sound(&svg);
                assert!(svg.contains(&format!("width=\"{width}pt\"")), "{name}: {svg}");
                if let Some(height) = height {
                    assert!(svg.contains(&format!("height=\"{height}pt\"")), "{name}: {svg}");
                }
                assert_eq!(svg.contains("<style>"), colors == Colors::Screen, "{name}");
                // Vermilion is ABC's.
                assert_eq!(svg.contains("#d55e00"), colors != Colors::Gray, "{name}");
            }
        }
    }
}
