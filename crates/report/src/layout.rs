//! Size, text and colours of a figure for a paper.

use paceline_schemes::{Dash, Shape};

use crate::palette::Palette;
use crate::style::Paint;

/// Height of the text of a figure in its own units; titles and labels are at most a little larger.
const TEXT: f64 = 12.0;
/// Least and largest size of a figure in its own units: below it, labels cover the plot.
const UNITS: (f64, f64) = (240.0, 20_000.0);

/// Colours of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Colors {
    /// Colours on white.
    #[default]
    Print,
    /// Colours on white, or on black if the reader's system is dark.
    Screen,
    /// Shades of grey; schemes differ by dashes and shapes.
    Gray,
}

/// Size, text and colours of a figure that stands alone. [`Layout::default`] is the one of pages,
/// 960 units wide.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    /// Width in the figure's own units, in which its text is 12 high.
    pub(crate) width: f64,
    /// Height in these units; `None` for the one that suits the figure.
    pub(crate) height: Option<f64>,
    pub(crate) colors: Colors,
    pub(crate) family: Option<String>,
    /// Points per unit.
    pub(crate) scale: f64,
    /// True if captions stand below the drawings.
    pub(crate) caption: bool,
}

impl Default for Layout {
    fn default() -> Self {
        Self {
            width: 960.0,
            height: None,
            colors: Colors::Screen,
            family: None,
            scale: 0.75,
            caption: false,
        }
    }
}

impl Layout {
    /// Returns a layout of this width, and height if there is one, with text of this size, all in
    /// points (1/72 inch), and a family of fonts.
    ///
    /// # Errors
    /// The size leaves no room for a plot between labels of this text size; with the remedy.
    pub fn new(
        width: f64,
        height: Option<f64>,
        font_size: f64,
        family: &str,
        colors: Colors,
    ) -> Result<Layout, String> {
        let scale = font_size / TEXT;
        let (least, most) = UNITS;
        for (side, length) in [("width", Some(width)), ("height", height)] {
            let Some(length) = length else { continue };
            // Heights may be smaller: only the text below and above the plot has to fit.
            let least = if side == "height" { 0.6 * least } else { least };
            let (least, most) = (least * scale, most * scale);
            if !(least..=most).contains(&length) {
                return Err(format!(
                    "a {side} of {length:.0} pt with text of {font_size} pt: expected {least:.0} to {most:.0} pt; choose \
                     another size or smaller text"
                ));
            }
        }
        let height = height.map(|height| height / scale);
        let (family, caption) = (Some(family.into()), false);
        Ok(Layout { width: width / scale, height, colors, family, scale, caption })
    }

    /// Puts captions below the drawings, which become higher.
    #[must_use]
    pub fn with_caption(self) -> Layout {
        Layout { caption: true, ..self }
    }

    /// Returns a number of ticks or letters that fits the width, if `on_page` fits a page.
    pub(crate) fn fitting(&self, on_page: usize) -> usize {
        let share = self.width / Layout::default().width;
        ((on_page as f64 * share).round() as usize).clamp(on_page.min(3), on_page.max(3))
    }

    /// Returns the styles of these schemes.
    pub(crate) fn palette<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Palette {
        match self.colors {
            Colors::Print | Colors::Screen => Palette::new(names),
            Colors::Gray => Palette::in_order(names, gray),
        }
    }
}

/// Returns a style in grey: twelve combinations of shade and dash, with eight shapes.
fn gray(at: usize) -> Paint {
    const SHADES: [Paint; 3] = [
        Paint { light: "#000000", ..Paint::INK },
        Paint { light: "#707070", ..Paint::INK },
        Paint { light: "#a0a0a0", ..Paint::INK },
    ];
    let (shade, dash) = (SHADES[at % SHADES.len()], Dash::ALL[at % Dash::ALL.len()]);
    Paint { dash, shape: Shape::ALL[at % Shape::ALL.len()], ..shade }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_in_points() {
        let column = Layout::new(252.0, None, 8.0, "x", Colors::Print).expect("a column");
        assert_eq!((column.width, column.height), (378.0, None));
        assert_eq!(column.fitting(10), 4);
        assert_eq!(Layout::default().fitting(10), 10);
        let error = Layout::new(50.0, None, 8.0, "x", Colors::Print).expect_err("too narrow");
        assert!(error.contains("160 to"), "{error}");
        assert!(Layout::new(252.0, Some(20.0), 8.0, "x", Colors::Print).is_err());
    }

    #[test]
    fn twelve_schemes_differ_in_grey() {
        let all: Vec<_> = (0..12).map(gray).map(|paint| (paint.light, paint.dash)).collect();
        for (at, one) in all.iter().enumerate() {
            assert!(!all[at + 1..].contains(one), "{one:?}");
        }
    }
}
