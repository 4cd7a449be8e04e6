//! SVG drawings as PDF and PNG files. Their text stays text: fonts are embedded in a PDF, and a
//! text that no font can show is an error.
//!
//! [`FAMILY`] is built in, so that a figure needs no fonts of the machine and is the same
//! everywhere.

mod about;
mod built_in;
mod error;
mod fonts;
mod pages;

use std::path::Path;

use resvg::tiny_skia::{Pixmap, Transform};
use svg2pdf::usvg::{Node, Options, Tree};

use about::About;
pub use built_in::FAMILY;
pub use error::ExportError;
pub use fonts::Fonts;
pub use pages::to_pdf_pages;

/// Most pixels of a side of a PNG file.
const MOST_PIXELS: u32 = 20_000;

/// A file format of drawings.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Format {
    /// Scalable Vector Graphics.
    Svg,
    /// Portable Document Format, one page of the size of the drawing.
    Pdf,
    /// Portable Network Graphics.
    Png,
}

impl Format {
    /// Returns the format that the extension of a file's name stands for, whatever its case.
    pub fn of_name(path: &Path) -> Option<Format> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "svg" => Some(Format::Svg),
            "pdf" => Some(Format::Pdf),
            "png" => Some(Format::Png),
            _ => None,
        }
    }
}

/// Converts an SVG file to a PDF file with one page. A unit of the SVG file is a point if it names
/// no other one. Its `<title>` and `<desc>` become the title and the subject of the PDF file.
///
/// # Errors
/// The SVG file is invalid, or has text that no font can show.
pub fn to_pdf(svg: &str, fonts: &Fonts) -> Result<Vec<u8>, ExportError> {
    pages::write(&[svg], &About::of(svg), fonts)
}

/// Converts an SVG file to a PNG file with `dpi` pixels in an inch. Its `<title>` and `<desc>` become the texts `Title`
/// and `Description` of the PNG file.
///
/// # Errors
/// The SVG file is invalid, has text that no font can show, or the picture would be too large.
pub fn to_png(svg: &str, fonts: &Fonts, dpi: f32) -> Result<Vec<u8>, ExportError> {
    let tree = parse(svg, fonts, 72.0)?;
    // The size is rounded once, in pixels, and the drawing fills all of them: a pixel that it covers
    // in part would be transparent in part.
    let points = [tree.size().width(), tree.size().height()];
    let [width, height] = points.map(|side| (side * dpi / 72.0).round().max(1.0));
    let most = MOST_PIXELS as f32;
    let pixmap = (width <= most && height <= most)
        .then(|| Pixmap::new(width as u32, height as u32))
        .flatten();
    let mut pixmap = pixmap.ok_or(ExportError::TooLarge(MOST_PIXELS))?;
    let scale = Transform::from_scale(width / points[0], height / points[1]);
    resvg::render(&tree, scale, &mut pixmap.as_mut());
    let png = pixmap.encode_png().map_err(|error| ExportError::Convert(error.to_string()))?;
    Ok(About::of(svg).in_png(png))
}

fn parse(svg: &str, fonts: &Fonts, dpi: f32) -> Result<Tree, ExportError> {
    let options = Options {
        dpi,
        font_family: fonts.family().into(),
        fontdb: fonts.database(),
        ..Options::default()
    };
    let tree =
        Tree::from_str(svg, &options).map_err(|error| ExportError::Svg(error.to_string()))?;
    let mut text = String::new();
    collect(tree.root().children(), &mut text);
    match fonts.missing(&text) {
        Some(letter) => Err(ExportError::NoGlyph { letter, family: fonts.family().into() }),
        None => Ok(tree),
    }
}

/// Adds the text of these nodes and of those below them.
fn collect(nodes: &[Node], text: &mut String) {
    for node in nodes {
        match node {
            Node::Group(group) => collect(group.children(), text),
            Node::Text(node) => node.chunks().iter().for_each(|chunk| text.push_str(chunk.text())),
            Node::Path(_) | Node::Image(_) => {}
        }
    }
}
