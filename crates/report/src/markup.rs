//! A writer for SVG and HTML that cannot produce an unbalanced or unescaped document.

use crate::number::coordinate;
use crate::style::Paint;

/// Escapes text for element content and for quoted attributes; control characters that XML does
/// not allow become spaces.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() || c == '\u{FFFE}' || c == '\u{FFFF}' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// A document under construction.
#[derive(Debug, Default)]
pub(crate) struct Markup {
    text: String,
    open: Vec<&'static str>,
}

impl Markup {
    /// Starts an element, which the caller completes with one of the ends of [`Element`].
    pub(crate) fn el(&mut self, tag: &'static str) -> Element<'_> {
        self.text.push('<');
        self.text.push_str(tag);
        Element { markup: self, tag, classes: String::new() }
    }

    /// Closes the innermost open element.
    pub(crate) fn close(&mut self) {
        if let Some(tag) = self.open.pop() {
            self.text.push_str("</");
            self.text.push_str(tag);
            self.text.push('>');
        }
    }

    /// Appends markup that is already complete.
    pub(crate) fn raw(&mut self, markup: &str) {
        self.text.push_str(markup);
    }

    /// Appends escaped text.
    pub(crate) fn say(&mut self, text: &str) {
        self.text.push_str(&escape(text));
    }

    /// Closes all open elements and returns the text.
    pub(crate) fn finish(mut self) -> String {
        while !self.open.is_empty() {
            self.close();
        }
        self.text
    }
}

/// An element whose start tag is being written.
#[must_use]
pub(crate) struct Element<'a> {
    markup: &'a mut Markup,
    tag: &'static str,
    classes: String,
}

impl Element<'_> {
    /// Adds a textual attribute.
    pub(crate) fn a(self, name: &str, value: &str) -> Self {
        let text = &mut self.markup.text;
        text.push(' ');
        text.push_str(name);
        text.push_str("=\"");
        text.push_str(&escape(value));
        text.push('"');
        self
    }

    /// Adds a coordinate or length as an attribute.
    pub(crate) fn n(self, name: &str, value: f64) -> Self {
        self.a(name, &coordinate(value))
    }

    /// Adds a class to those already given.
    pub(crate) fn class(mut self, name: &str) -> Self {
        if !self.classes.is_empty() {
            self.classes.push(' ');
        }
        self.classes.push_str(name);
        self
    }

    /// Adds the fill: an attribute for every viewer, and a class for the dark style.
    pub(crate) fn fill(self, paint: Paint) -> Self {
        self.a("fill", paint.light).class(&format!("f-{}", paint.name))
    }

    /// Adds the outline: an attribute for every viewer, and a class for the dark style.
    pub(crate) fn stroke(self, paint: Paint, width: f64) -> Self {
        self.a("stroke", paint.light).n("stroke-width", width).class(&format!("s-{}", paint.name))
    }

    /// Adds the strokes and gaps of a line in this paint.
    pub(crate) fn dashed(self, paint: Paint) -> Self {
        match paint.strokes() {
            Some(strokes) => self.a("stroke-dasharray", strokes),
            None => self,
        }
    }

    /// Ends the start tag; the element stays open.
    pub(crate) fn open(self) {
        let markup = self.head(">");
        markup.0.open.push(markup.1);
    }

    /// Ends the element, which has no content.
    pub(crate) fn end(self) {
        self.head("/>");
    }

    /// Ends the element, with text as its content.
    pub(crate) fn text(self, content: &str) {
        let (markup, tag) = self.head(">");
        markup.open.push(tag);
        markup.say(content);
        markup.close();
    }

    /// Ends the element, with a tooltip.
    pub(crate) fn titled(self, title: &str) {
        let (markup, tag) = self.head(">");
        markup.open.push(tag);
        markup.el("title").text(title);
        markup.close();
    }
}

impl<'a> Element<'a> {
    fn head(self, end: &str) -> (&'a mut Markup, &'static str) {
        let Element { markup, tag, classes } = self;
        if !classes.is_empty() {
            markup.text.push_str(" class=\"");
            markup.text.push_str(&escape(&classes));
            markup.text.push('"');
        }
        markup.text.push_str(end);
        (markup, tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_attributes_are_escaped() {
        let mut m = Markup::default();
        m.el("text").a("data-x", "a\"b").n("x", f64::NAN).text("<script> & 'co'\u{0}");
        assert_eq!(
            m.finish(),
            "<text data-x=\"a&quot;b\" x=\"0\">&lt;script&gt; &amp; &#39;co&#39; </text>"
        );
    }

    #[test]
    fn everything_open_is_closed() {
        let mut m = Markup::default();
        m.el("g").class("a").class("b").open();
        m.el("g").open();
        m.el("rect").titled("tip");
        let text = m.finish();
        assert_eq!(text, "<g class=\"a b\"><g><rect><title>tip</title></rect></g></g>");
    }
}
