//! Colours: each has a light and a dark form, written once here.

use std::fmt::Write as _;

use paceline_schemes::{Dash, Hue, PlotStyle, Shape};

/// A colour with its two forms, and what tells lines, bars and points of the same colour apart. The
/// light form is written into the drawing, the dark one only into the style sheet, so that viewers
/// without style sheets still show the plot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paint {
    /// The name, used in class names.
    pub name: &'static str,
    /// The colour on white.
    pub light: &'static str,
    /// The colour on a dark background.
    pub dark: &'static str,
    /// How lines are broken and bars are filled.
    pub dash: Dash,
    /// The outline of points.
    pub shape: Shape,
}

impl Paint {
    const fn new(name: &'static str, light: &'static str, dark: &'static str) -> Self {
        Self { name, light, dark, dash: Dash::Solid, shape: Shape::Circle }
    }

    /// The paint of a style of the registry.
    pub fn of(style: PlotStyle) -> Self {
        let hue = Hue::ALL.iter().position(|hue| *hue == style.hue).unwrap_or(0);
        Self { dash: style.dash, shape: style.shape, ..HUES[hue] }
    }

    /// The lengths of strokes and gaps of its lines; nothing for an unbroken line.
    pub(crate) fn strokes(self) -> Option<&'static str> {
        match self.dash {
            Dash::Solid => None,
            Dash::Dashed => Some("7 4"),
            Dash::Dotted => Some("0.5 4"),
            Dash::DashDot => Some("8 4 0.5 4"),
        }
    }

    /// How opaque its bars are filled; those that are not fully filled have an outline.
    pub(crate) fn filling(self) -> f64 {
        match self.dash {
            Dash::Solid => 1.0,
            Dash::Dashed => 0.4,
            Dash::Dotted => 0.0,
            Dash::DashDot => 0.2,
        }
    }

    /// The background.
    pub const PAPER: Self = Self::new("paper", "#ffffff", "#14181d");
    /// Text that is read first.
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
    /// What is as it should be.
    pub const GOOD: Self = Self::new("green", "#009e73", "#2fcb9f");
    /// What is so in part.
    pub const FAIR: Self = Self::new("ochre", "#b08500", "#e3bd3f");
    /// What is not.
    pub const BAD: Self = Self::new("vermilion", "#d55e00", "#ff8a3d");
}

/// The neutral paints.
const NEUTRAL: [Paint; 7] =
    [Paint::PAPER, Paint::INK, Paint::MUTED, Paint::GRID, Paint::RULE, Paint::AREA, Paint::EDGE];

/// The hues for schemes, in the order of [`Hue::ALL`]. They stem from the palettes of Okabe and Ito
/// and of Paul Tol, which stay apart for colour-blind readers; pale ones are darkened until a thin
/// line shows on white.
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

/// The style sheet for a drawing: the dark forms. It restricts itself to screens, so that a page
/// prints light.
pub(crate) fn drawing_css() -> String {
    let mut css = String::from("@media screen and (prefers-color-scheme:dark){");
    for paint in NEUTRAL.iter().chain(&HUES) {
        let Paint { name, dark, .. } = paint;
        let _ = write!(css, ".f-{name}{{fill:{dark}}}.s-{name}{{stroke:{dark}}}");
    }
    css.push('}');
    css
}

/// The style sheet for colour swatches in HTML.
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
    fn names_are_unique() {
        let mut names: Vec<_> = NEUTRAL.iter().chain(&HUES).map(|p| p.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), NEUTRAL.len() + HUES.len());
    }
}
