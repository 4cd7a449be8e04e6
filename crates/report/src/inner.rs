//! Inner values of controllers over time, such as windows and gradients: a panel for each.

use crate::chart::{Chart, Panel};
use crate::series::{Fold, Series, Shade};
use crate::style::Paint;

/// Inner values of a controller: names, and for each the values at the end of the bins. NaN is a gap.
pub type InnerValues = Vec<(String, Vec<f64>)>;

/// Most values of a controller that are drawn.
const MOST_PANELS: usize = 12;

/// Explanation of such a figure.
pub(crate) const INNER_CAPTION: &str =
    "Inner values of the controller at the end of each bin, of the first flow in run 1.";

/// Returns the chart of a controller's inner values; `None` without any.
pub(crate) fn inner_chart(
    owner: &str,
    bin_s: f64,
    values: &InnerValues,
    paint: Paint,
) -> Option<Chart> {
    let panel = |(name, values): &(String, Vec<f64>)| Panel {
        title: name.clone(),
        height: 110.0,
        log: false,
        series: vec![Series {
            name: owner.to_owned(),
            quantity: name.clone(),
            unit: String::new(),
            bin_s,
            values: values.clone(),
            paint,
            shade: Shade::Line,
            fold: Fold::Mean,
            label: vec![name.clone()],
        }],
    };
    let panels: Vec<Panel> = values.iter().take(MOST_PANELS).map(panel).collect();
    let label = format!("Inner values of {owner} over time");
    (!panels.is_empty()).then_some(Chart { label, panels })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::assert_sound;

    #[test]
    fn each_value_has_a_panel() {
        let values = vec![
            ("gradient".to_owned(), vec![f64::NAN, -1.0, 2.0]),
            ("<base>".to_owned(), vec![f64::NAN; 3]),
        ];
        let chart = inner_chart("mine", 0.1, &values, Paint::INK).expect("a chart");
        let svg = chart.to_svg();
        assert_sound(&svg);
        assert!(
            svg.contains("gradient") && svg.contains("Inner values of mine over time"),
            "{svg}"
        );
        assert!(inner_chart("mine", 0.1, &Vec::new(), Paint::INK).is_none());
    }
}
