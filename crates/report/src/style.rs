//! Colours, each with a light and a dark form that are defined only here.

use std::fmt::Write as _;

use paceline_schemes::{Dash, Hue, PlotStyle, Shape};

/// A colour in two forms, and the dash and shape that distinguish lines, bars and points of one
/// colour. The light form is written into the drawing, the dark one only into the style sheet, so
/// that viewers without style sheets still show the plot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paint {
    /// Name for class names.
    pub name: &'static str,
    /// Colour on white.
    pub light: &'static str,
    /// Colour on a dark background.
    pub dark: &'static str,
    /// Dashes of lines and filling of bars.
    pub dash: Dash,
    /// Outline of points.
    pub shape: Shape,
}

impl Paint {
    const fn new(name: &'static str, light: &'static str, dark: &'static str) -> Self {
        Self { name, light, dark, dash: Dash::Solid, shape: Shape::Circle }
    }

    /// Returns the paint of a style of the registry.
    pub fn of(style: PlotStyle) -> Self {
        let hue = Hue::ALL.iter().position(|hue| *hue == style.hue).unwrap_or(0);
        Self { dash: style.dash, shape: style.shape, ..HUES[hue] }
    }

    /// Returns the lengths of strokes and gaps of its lines; `None` for an unbroken line.
    pub(crate) fn strokes(self) -> Option<&'static str> {
        match self.dash {
            Dash::Solid => None,
            Dash::Dashed => Some("7 4"),
            Dash::Dotted => Some("0.5 4"),
            Dash::LongDashed => Some("16 4"),
            Dash::DashDot => Some("8 4 0.5 4"),
        }
    }

    /// Returns the opacity of its bars' filling; bars that are not fully opaque have an outline.
    pub(crate) fn filling(self) -> f64 {
        match self.dash {
            Dash::Solid => 1.0,
            Dash::Dashed => 0.4,
            Dash::Dotted => 0.0,
            Dash::LongDashed => 0.7,
            Dash::DashDot => 0.2,
        }
    }

    /// The background.
    pub const PAPER: Self = Self::new("paper", "#ffffff", "#14181d");
    /// Main text.
    pub const INK: Self = Self::new("ink", "#1c2126", "#e8ecf0");
    /// Axis text and notes.
    pub const MUTED: Self = Self::new("muted", "#59636e", "#9aa5b1");
    /// Grid lines.
    pub const GRID: Self = Self::new("grid", "#e6e9ec", "#272e36");
    /// Axis lines.
    pub const RULE: Self = Self::new("rule", "#aab2bb", "#56606b");
    /// The area of the link's capacity.
    pub const AREA: Self = Self::new("area", "#e3e8ee", "#2a323b");
    /// The upper edge of that area.
    pub const EDGE: Self = Self::new("edge", "#b4bec9", "#4d5864");
    /// Marks a good value.
    pub const GOOD: Self = Self::new("green", "#009e73", "#2fcb9f");
    /// Marks a partly good value.
    pub const FAIR: Self = Self::new("ochre", "#b08500", "#e3bd3f");
    /// Marks a bad value.
    pub const BAD: Self = Self::new("vermilion", "#d55e00", "#ff8a3d");
}

/// The neutral paints.
const NEUTRAL: [Paint; 7] =
    [Paint::PAPER, Paint::INK, Paint::MUTED, Paint::GRID, Paint::RULE, Paint::AREA, Paint::EDGE];

/// The hues for schemes, in the order of [`Hue::ALL`]. They come from the palettes of Okabe and Ito
/// and of Paul Tol, which colour-blind readers can distinguish; pale hues are darkened until a thin
/// line is visible on white.
pub(crate) const HUES: [Paint; 8] = [
    Paint::BAD,
    Paint::new("blue", "#0072b2", "#4ba9e6"),
    Paint::GOOD,
    Paint::FAIR,
    Paint::new("pink", "#c7609a", "#ec9ac6"),
    Paint::new("violet", "#6a3fa8", "#b693ea"),
    Paint::new("slate", "#4d5661", "#b5bfca"),
    Paint::new("teal", "#0f8fa3", "#5fd0de"),
];

/// Returns the style sheet for a drawing: the dark forms. It applies only to screens, so that a
/// page prints in light colours.
pub(crate) fn drawing_css() -> String {
    let mut css = String::from("@media screen and (prefers-color-scheme:dark){");
    for paint in NEUTRAL.iter().chain(&HUES) {
        let Paint { name, dark, .. } = paint;
        let _ = write!(css, ".f-{name}{{fill:{dark}}}.s-{name}{{stroke:{dark}}}");
    }
    css.push('}');
    css
}

/// Returns a drawing with its colours replaced by greys of equal lightness.
pub(crate) fn in_gray(svg: &str) -> String {
    NEUTRAL.iter().chain(&HUES).fold(svg.to_owned(), |svg, paint| {
        svg.replace(&format!("\"{}\"", paint.light), &format!("\"{}\"", gray(paint.light)))
    })
}

/// Returns the grey of a colour `#rrggbb`: its luma by ITU-R BT.601.
fn gray(color: &str) -> String {
    let part = |at: usize| {
        let digits = color.get(at..at + 2).unwrap_or_default();
        f64::from(u8::from_str_radix(digits, 16).unwrap_or(0))
    };
    let luma = (0.299 * part(1) + 0.587 * part(3) + 0.114 * part(5)).round() as u8;
    format!("#{luma:02x}{luma:02x}{luma:02x}")
}

/// Returns the style sheet for colour swatches in HTML.
pub(crate) fn swatch_css() -> String {
    let mut css = String::new();
    for Paint { name, light, .. } in &HUES {
        let _ = write!(css, ".b-{name}{{background:{light}}}");
    }
    css.push_str("@media screen and (prefers-color-scheme:dark){");
    for Paint { name, dark, .. } in &HUES {
        let _ = write!(css, ".b-{name}{{background:{dark}}}");
    }
    css.push('}');
    css
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greys_are_as_light_as_their_colours() {
        assert_eq!((gray("#ffffff"), gray("#000000")), ("#ffffff".into(), "#000000".into()));
        assert_eq!(in_gray("fill=\"#0072b2\""), "fill=\"#575757\"");
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = NEUTRAL.iter().chain(&HUES).map(|p| p.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), NEUTRAL.len() + HUES.len());
    }
}
