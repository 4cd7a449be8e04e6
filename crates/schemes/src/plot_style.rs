//! How figures draw a scheme. A line has a hue and a dash, a point a hue and a shape.

/// Colour of a scheme. Colour-blind readers can tell the eight apart as well as eight colours
/// permit.
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
    /// All hues, in the order in which they are assigned.
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

/// Dash pattern of a line, and fill of a bar.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Dash {
    /// An unbroken line; a filled bar.
    Solid,
    /// Dashes; stripes.
    Dashed,
    /// Dots; an outline.
    Dotted,
    /// Long dashes; dense stripes.
    LongDashed,
    /// Alternating dashes and dots; upright stripes. Reserved for variants of schemes.
    DashDot,
}

impl Dash {
    /// All dashes, in the order in which they are assigned.
    pub const ALL: [Dash; 5] =
        [Dash::Solid, Dash::Dashed, Dash::Dotted, Dash::LongDashed, Dash::DashDot];
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
    /// All shapes, in the order in which they are assigned.
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

/// How all figures draw a scheme. No two built-in schemes have an equal pair of hue and dash, of
/// hue and shape, or, for readers who see no colours, of dash and shape.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct PlotStyle {
    /// The colour.
    pub hue: Hue,
    /// Dash pattern of lines.
    pub dash: Dash,
    /// The outline of points.
    pub shape: Shape,
}

impl PlotStyle {
    /// Returns a style of these three.
    pub const fn new(hue: Hue, dash: Dash, shape: Shape) -> PlotStyle {
        PlotStyle { hue, dash, shape }
    }
}
