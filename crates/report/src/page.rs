//! A report: one HTML file without external resources.

use crate::figure::Figure;
use crate::markup::Markup;
use crate::style::{drawing_css, swatch_css};
use crate::table::Table;

const CSS: &str = include_str!("../assets/page.css");
const SCRIPT: &str = include_str!("../assets/page.js");

/// A report under construction. Its parts appear in the order in which they are added.
#[derive(Debug)]
pub struct Page {
    title: String,
    body: Markup,
    sections: Vec<String>,
    footer: Vec<(String, String)>,
    figures: usize,
}

impl Page {
    /// Returns an empty page with a title.
    pub fn new(title: &str) -> Self {
        Self {
            title: title.to_owned(),
            body: Markup::default(),
            sections: Vec::new(),
            footer: Vec::new(),
            figures: 0,
        }
    }

    /// Adds a section's heading, which is also listed at the top of the page.
    pub fn heading(&mut self, text: &str) {
        self.sections.push(text.to_owned());
        let id = format!("s{}", self.sections.len());
        self.body.el("h2").a("id", &id).text(text);
    }

    /// Adds a heading inside a section; `id` is the target of links to it.
    pub fn subheading(&mut self, id: &str, text: &str) {
        self.body.el("h3").a("id", id).text(text);
    }

    /// Adds a paragraph.
    pub fn paragraph(&mut self, text: &str) {
        if !text.is_empty() {
            self.body.el("p").text(text);
        }
    }

    /// Adds a numbered figure with its caption.
    pub fn figure(&mut self, figure: &Figure, caption: &str) {
        self.figures += 1;
        let number = format!("Figure {}. ", self.figures);
        self.body.el("figure").a("data-file", &format!("figure-{}", self.figures)).open();
        self.body.el("div").class("drawing").open();
        self.body.raw(&figure.to_inline());
        self.body.close();
        self.body.el("figcaption").open();
        self.body.el("b").text(&number);
        self.body.say(caption);
        self.body.close();
        self.body.close();
    }

    /// Adds a table.
    pub fn table(&mut self, table: &Table) {
        self.body.raw(&table.to_html());
    }

    /// Adds a fact to the footer about how the page was made.
    pub fn footer(&mut self, name: &str, value: &str) {
        self.footer.push((name.to_owned(), value.to_owned()));
    }

    /// Returns the page as HTML.
    pub fn to_html(self) -> String {
        let mut m = Markup::default();
        m.raw("<!DOCTYPE html>\n");
        m.el("html").a("lang", "en").open();
        m.el("head").open();
        m.el("meta").a("charset", "utf-8").end();
        let view = "width=device-width, initial-scale=1";
        m.el("meta").a("name", "viewport").a("content", view).end();
        m.el("meta").a("name", "color-scheme").a("content", "light dark").end();
        m.el("title").text(&self.title);
        m.raw(&format!("\n<style>\n{CSS}{}{}\n</style>\n", swatch_css(), drawing_css()));
        m.close();
        m.el("body").open();
        m.el("main").open();
        m.el("h1").text(&self.title);
        if self.sections.len() > 2 {
            m.el("nav").open();
            for (i, name) in self.sections.iter().enumerate() {
                m.el("a").a("href", &format!("#s{}", i + 1)).text(name);
                m.say(" ");
            }
            m.close();
        }
        m.raw(&self.body.finish());
        m.close();
        if !self.footer.is_empty() {
            m.el("footer").open();
            m.el("dl").open();
            for (name, value) in &self.footer {
                m.el("dt").text(name);
                m.el("dd").open();
                m.el("code").text(value);
                m.close();
            }
            m.close();
            m.close();
        }
        m.raw(&format!("\n<script>\n{SCRIPT}</script>\n"));
        m.finish() + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::assert_sound;

    #[test]
    fn a_page_needs_nothing_else() {
        let mut page = Page::new("<title> & more");
        page.heading("One");
        page.paragraph("a < b");
        page.figure(&Figure::no_data(10.0, 10.0, "nothing"), "A \"caption\".");
        page.table(&Table::default());
        page.footer("command", "paceline compare 'x'");
        let html = page.to_html();
        assert_sound(&html);
        assert!(html.contains("&lt;title&gt; &amp; more") && html.contains("a &lt; b"));
        for outside in ["src=", "url(", "@import", "<link", "https:"] {
            assert!(!html.contains(outside), "{outside}");
        }
    }

    #[test]
    fn the_script_is_small() {
        assert!(SCRIPT.lines().count() < 150);
        assert!(!SCRIPT.contains("</script") && !CSS.contains("</style"));
    }
}
