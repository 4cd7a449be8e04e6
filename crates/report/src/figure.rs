//! A finished drawing, for a file or a page.

use crate::label::wrapped;
use crate::layout::{Colors, Layout};
use crate::markup::{Markup, escape};
use crate::number::{coordinate, trimmed};
use crate::style::{Paint, drawing_css, in_gray};

const FONT: &str =
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";

/// Most lines of a caption below a drawing.
const MOST_CAPTION_LINES: usize = 12;

/// Adds a description to an SVG file, behind its title.
pub fn with_description(svg: &str, text: &str) -> String {
    let end = "</title>";
    match text.is_empty() {
        true => svg.to_owned(),
        false => svg.replacen(end, &format!("{end}<desc>{}</desc>", escape(text)), 1),
    }
}

/// A finished drawing.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    width: f64,
    height: f64,
    label: String,
    /// How to read it, in sentences; may be empty.
    caption: String,
    /// Attributes of the root element for the page's script.
    data: String,
    body: String,
}

impl Figure {
    pub(crate) fn new(width: f64, height: f64, label: &str, body: Markup) -> Self {
        let body = body.finish();
        let (label, caption, data) = (label.to_owned(), String::new(), String::new());
        Self { width, height, label, caption, data, body }
    }

    /// Adds sentences that say how to read the drawing.
    #[must_use]
    pub fn with_caption(mut self, caption: &str) -> Self {
        caption.trim().clone_into(&mut self.caption);
        self
    }

    /// Returns a drawing with the text that there is no data.
    pub(crate) fn no_data(width: f64, height: f64, label: &str) -> Self {
        let mut body = Markup::default();
        body.el("text")
            .n("x", width / 2.0)
            .n("y", height / 2.0)
            .a("text-anchor", "middle")
            .fill(Paint::MUTED)
            .text("no data");
        Self::new(width, height, label, body)
    }

    /// Adds an attribute to the root element, for the page's script.
    pub(crate) fn with_data(mut self, name: &str, value: &str) -> Self {
        self.data.push_str(&format!(" data-{name}=\"{}\"", escape(value)));
        self
    }

    /// Returns a complete SVG file, with its own background and style.
    pub fn to_svg(&self) -> String {
        let title =
            format!("<title>{}</title><style>{}</style>", escape(&self.label), drawing_css());
        self.assemble(&self.size(1.0, ""), "", FONT, &title)
    }

    /// Returns the caption, followed by how the drawing was made.
    fn description(&self, made: &str) -> String {
        [self.caption.as_str(), made].map(str::trim).join(" ").trim().to_owned()
    }

    /// Returns the drawing with this text below it.
    fn above(&self, text: &str) -> Self {
        const LINE: f64 = 15.0;
        const MARGIN: f64 = 12.0;
        let lines = wrapped(text, 12.0, self.width - 2.0 * MARGIN, MOST_CAPTION_LINES);
        let mut m = Markup::default();
        for (at, line) in lines.iter().enumerate() {
            let y = self.height + MARGIN + LINE * at as f64;
            m.el("text").n("x", MARGIN).n("y", y).fill(Paint::INK).text(line);
        }
        let height = self.height + LINE * lines.len() as f64 + MARGIN;
        Self { height, body: self.body.clone() + &m.finish(), ..self.clone() }
    }

    /// Returns a complete SVG file of the layout's size, with its fonts and colours. Only
    /// [`Colors::Screen`] has a style sheet. Its description has the caption and `made`: how the drawing was made.
    /// With [`Layout::with_caption`] this text also stands below the drawing, whose height grows by it.
    pub fn to_file(&self, layout: &Layout, made: &str) -> String {
        let description = self.description(made);
        if layout.caption && !description.is_empty() {
            let layout = Layout { caption: false, ..layout.clone() };
            return self.above(&description).to_file(&layout, made);
        }
        let css = match layout.colors {
            Colors::Screen => format!("<style>{}</style>", drawing_css()),
            Colors::Print | Colors::Gray => String::new(),
        };
        let about =
            with_description(&format!("<title>{}</title>", escape(&self.label)), &description);
        let head = about + &css;
        let family = layout.family.as_ref().map_or_else(
            || FONT.to_owned(),
            |family| escape(&format!("'{}', sans-serif", family.replace('\'', ""))),
        );
        let svg = self.assemble(&self.size(layout.scale, "pt"), "", &family, &head);
        if layout.colors == Colors::Gray { in_gray(&svg) } else { svg }
    }

    /// Returns the width and the height as attributes.
    fn size(&self, scale: f64, unit: &str) -> String {
        let length = |units: f64| match unit {
            "" => coordinate(units),
            unit => trimmed(units * scale, 2) + unit,
        };
        format!("width=\"{}\" height=\"{}\"", length(self.width), length(self.height))
    }

    /// Returns the `svg` element for a page, which has the style already.
    pub(crate) fn to_inline(&self) -> String {
        self.assemble(&self.size(1.0, ""), &self.data, FONT, "")
    }

    /// Returns the height that the drawing has in this width, and the drawing as a part of a larger one.
    pub(crate) fn in_width(&self, width: f64) -> (f64, String) {
        let scale = width / self.width;
        let turned = format!("<g transform=\"scale({})\">{}</g>", trimmed(scale, 4), self.body);
        (self.height * scale, turned)
    }

    fn assemble(&self, size: &str, data: &str, family: &str, head: &str) -> String {
        let (w, h) = (coordinate(self.width), coordinate(self.height));
        let mut back = Markup::default();
        back.el("rect").n("width", self.width).n("height", self.height).fill(Paint::PAPER).end();
        let (label, back) = (escape(&self.label), back.finish());
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" {size} \
             font-family=\"{family}\" font-size=\"12\" role=\"img\" \
             aria-label=\"{label}\"{data}>{head}{back}{}</svg>\n",
            self.body
        )
    }
}
