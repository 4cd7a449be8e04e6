//! Tests of PDF and PNG files: sizes, embedded fonts, and text that no font has.

use std::path::Path;

use resvg::tiny_skia::Pixmap;

use paceline_export::{ExportError, FAMILY, Fonts, Format, to_pdf, to_pdf_pages, to_png};

/// Returns a drawing of 100 by 50 points with this text.
fn svg(text: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100\" height=\"50\" font-family=\"{FAMILY}\" font-size=\"10\">\
         <rect width=\"100\" height=\"50\" fill=\"#ffffff\"/><text x=\"10\" y=\"30\">{text}</text></svg>"
    )
}

#[test]
fn a_pdf_has_the_size_of_the_drawing_and_the_font() {
    let pdf = to_pdf(&svg("≤ 95 % ↗"), &Fonts::built_in()).expect("a PDF");
    let text = String::from_utf8_lossy(&pdf);
    assert!(text.starts_with("%PDF-"), "{}", &text[..20]);
    assert!(text.contains("/MediaBox [0 0 100 50]"), "the page's size");
    assert!(text.contains("DejaVuSansCondensed") && text.contains("/FontFile2"), "the font");
    assert_eq!(pdf, to_pdf(&svg("≤ 95 % ↗"), &Fonts::built_in()).expect("a PDF"), "equal files");
}

#[test]
fn several_drawings_become_the_pages_of_one_pdf() {
    let sheets = [svg("first"), svg("second ≤"), svg("third")];
    let pdf = to_pdf_pages(&sheets, "A title", &Fonts::built_in()).expect("a PDF");
    let text = String::from_utf8_lossy(&pdf);
    assert!(text.starts_with("%PDF-") && text.contains("/Count 3") && text.contains("(A title)"));
    assert_eq!(text.matches("/MediaBox [0 0 100 50]").count(), 3);
    assert_eq!(pdf, to_pdf_pages(&sheets, "A title", &Fonts::built_in()).expect("equal files"));
    let bad = [svg("first"), "<svg".to_string()];
    assert!(matches!(to_pdf_pages(&bad, "", &Fonts::built_in()), Err(ExportError::Svg(_))));
}

#[test]
fn a_png_has_the_pixels_of_its_resolution_and_shows_the_text() {
    let png = |text: &str| to_png(&svg(text), &Fonts::built_in(), 144.0).expect("a PNG");
    let number =
        |png: &[u8], at: usize| u32::from_be_bytes(png[at..at + 4].try_into().expect("four bytes"));
    let picture = png("words");
    assert_eq!(&picture[..8], b"\x89PNG\r\n\x1a\n");
    assert_eq!((number(&picture, 16), number(&picture, 20)), (200, 100));
    assert!(picture.len() > png(" ").len(), "the text is not drawn");
}

/// 3.3 by 2.35 inches are 990 by 705 pixels at 300 dpi, and the drawing covers all of them.
#[test]
fn a_drawing_covers_all_pixels_of_its_png() {
    for (points, dpi, pixels) in
        [((237.6, 169.2), 300.0, (990, 705)), ((252.0, 180.4), 100.0, (350, 251))]
    {
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\">\
             <rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/></svg>",
            points.0, points.1
        );
        let png = to_png(&svg, &Fonts::built_in(), dpi).expect("a PNG");
        let picture = Pixmap::decode_png(&png).expect("a PNG");
        assert_eq!((picture.width(), picture.height()), pixels);
        let see_through = picture.pixels().iter().filter(|pixel| !pixel.is_opaque()).count();
        assert_eq!(see_through, 0, "{points:?}");
    }
}

#[test]
fn files_keep_title_and_description() {
    let svg =
        svg("words").replacen('>', "><title>A figure</title><desc>Made with: x &amp; y</desc>", 1);
    let pdf = to_pdf(&svg, &Fonts::built_in()).expect("a PDF");
    let text = String::from_utf8_lossy(&pdf);
    assert!(text.contains("/Title (A figure)") && text.contains("/Subject (Made with: x & y)"));
    let png = to_png(&svg, &Fonts::built_in(), 72.0).expect("a PNG");
    let text = String::from_utf8_lossy(&png);
    assert!(text.contains("Title\0\0\0\0\0A figure"), "the title");
    assert!(text.contains("Description\0\0\0\0\0Made with: x & y"), "the description");
}

#[test]
fn text_never_vanishes_in_silence() {
    // U+10FFFD is a private letter that no font has.
    let error = to_pdf(&svg("a\u{10FFFD}"), &Fonts::built_in_and_machine()).expect_err("no glyph");
    assert_eq!(error, ExportError::NoGlyph { letter: '\u{10FFFD}', family: FAMILY.into() });
    assert!(error.to_string().contains(FAMILY) && error.to_string().contains("install a font"));
    let error = Fonts::named("No Such Font").expect_err("no family").to_string();
    assert!(error.contains("No Such Font") && error.contains(FAMILY), "{error}");
    assert_eq!(Fonts::named("dejavu sans condensed").expect("built in").family(), FAMILY);
}

#[test]
fn bad_drawings_and_sizes_are_errors() {
    assert!(matches!(to_pdf("<svg", &Fonts::built_in()), Err(ExportError::Svg(_))));
    let error = to_png(&svg("a"), &Fonts::built_in(), 1e6).expect_err("too large");
    assert!(matches!(error, ExportError::TooLarge(_)), "{error}");
}

#[test]
fn the_extension_says_the_format() {
    let of = |name: &str| Format::of_name(Path::new(name));
    assert_eq!(of("a/fig.pdf"), Some(Format::Pdf));
    assert_eq!(of("FIG.PNG"), Some(Format::Png));
    assert_eq!(of("fig.svg"), Some(Format::Svg));
    assert_eq!((of("fig"), of("fig.eps")), (None, None));
}
