//! Colours: each has a light and a dark form, written once here.

use std::fmt::Write as _;

/// A colour with its two forms. The light one is written into the drawing, the dark one only into
/// the style sheet, so that viewers without style sheets still show the plot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paint {
    /// The name, used in class names.
    pub name: &'static str,
    /// The colour on white.
    pub light: &'static str,
    /// The colour on a dark background.
    pub dark: &'static str,
}

impl Paint {
    const fn new(name: &'static str, light: &'static str, dark: &'static str) -> Self {
        Self { name, light, dark }
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

/// The hues for schemes. They stem from the palettes of Okabe and Ito and of Paul Tol, which stay
/// apart for colour-blind readers; pale ones are darkened until a thin line shows on white.
pub(crate) const HUES: [Paint; 18] = [
    Paint::BAD,
    Paint::new("blue", "#0072b2", "#4ba9e6"),
    Paint::new("sky", "#36a0dc", "#8ad0ff"),
    Paint::GOOD,
    Paint::new("pink", "#c7609a", "#ec9ac6"),
    Paint::FAIR,
    Paint::new("slate", "#4d5661", "#b5bfca"),
    Paint::new("violet", "#7a4fb0", "#b693ea"),
    Paint::new("teal", "#1b8a8f", "#52c7cb"),
    Paint::new("brown", "#8c5a3c", "#cf9a78"),
    Paint::new("wine", "#882255", "#dd6fa6"),
    Paint::new("purple", "#aa4499", "#dd83cf"),
    Paint::new("olive", "#858526", "#c4c45e"),
    Paint::new("indigo", "#332288", "#8f83e6"),
    Paint::new("forest", "#117733", "#58b877"),
    Paint::new("rose", "#c4566a", "#f0929f"),
    Paint::new("mint", "#3fa694", "#7fd6c6"),
    Paint::new("rust", "#a33a1f", "#e98465"),
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
