//! How figures draw a scheme. A line has a hue and a dash, a point a hue and a shape.

/// The colour of a scheme. The eight stay apart for colour-blind readers as far as eight can.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Hue {
    Vermilion,
    Blue,
    Green,
    Ochre,
    Pink,
    Violet,
    Slate,
    Teal,
}

impl Hue {
    /// All hues, in the order in which they are handed out.
    pub const ALL: [Hue; 8] = [
        Hue::Vermilion,
        Hue::Blue,
        Hue::Green,
        Hue::Ochre,
        Hue::Pink,
        Hue::Violet,
        Hue::Slate,
        Hue::Teal,
    ];
}

/// How a line is broken, and how a bar is filled.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Dash {
    /// An unbroken line; a filled bar.
    Solid,
    /// Dashes; stripes.
    Dashed,
    /// Dots; an outline.
    Dotted,
    /// Dashes and dots by turns; upright stripes. Left to variants of schemes.
    DashDot,
}

impl Dash {
    /// All dashes, in the order in which they are handed out.
    pub const ALL: [Dash; 4] = [Dash::Solid, Dash::Dashed, Dash::Dotted, Dash::DashDot];
}

/// The outline of a point.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Shape {
    Circle,
    Square,
    Diamond,
    Up,
    Down,
    Plus,
    Cross,
    Star,
}

impl Shape {
    /// All shapes, in the order in which they are handed out.
    pub const ALL: [Shape; 8] = [
        Shape::Circle,
        Shape::Square,
        Shape::Diamond,
        Shape::Up,
        Shape::Down,
        Shape::Plus,
        Shape::Cross,
        Shape::Star,
    ];
}

/// How figures draw a scheme, the same in each of them. No two built-in schemes have the same hue
/// and dash, the same hue and shape, or, for readers without colours, the same dash and shape.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct PlotStyle {
    /// The colour.
    pub hue: Hue,
    /// How lines are broken.
    pub dash: Dash,
    /// The outline of points.
    pub shape: Shape,
}

impl PlotStyle {
    /// A style of these three.
    pub const fn new(hue: Hue, dash: Dash, shape: Shape) -> PlotStyle {
        PlotStyle { hue, dash, shape }
    }
}
