//! Several drawings as the pages of one PDF file.

use std::collections::HashMap;

use pdf_writer::{Content, Finish, Name, Pdf, Rect, Ref, TextStr};
use svg2pdf::ConversionOptions;

use crate::about::About;
use crate::{ExportError, Fonts, parse};

/// Converts SVG files to one PDF file, each to a page of its size. A unit of an SVG file is a point if it names
/// no other one.
///
/// # Errors
/// An SVG file is invalid, or has text that no font can show.
pub fn to_pdf_pages(sheets: &[String], title: &str, fonts: &Fonts) -> Result<Vec<u8>, ExportError> {
    write(sheets, &About { title: title.into(), ..About::default() }, fonts)
}

/// Converts SVG files to one PDF file with this title and subject.
pub(crate) fn write<S: AsRef<str>>(
    sheets: &[S],
    of: &About,
    fonts: &Fonts,
) -> Result<Vec<u8>, ExportError> {
    let mut pdf = Pdf::new();
    let mut next = Ref::new(1);
    let (catalog, tree, about) = (next.bump(), next.bump(), next.bump());
    pdf.catalog(catalog).pages(tree);
    let name = Name(b"Sheet");
    let mut pages = Vec::with_capacity(sheets.len());
    for sheet in sheets {
        let drawing = parse(sheet.as_ref(), fonts, 72.0)?;
        let options =
            ConversionOptions { compress: true, embed_text: true, ..ConversionOptions::default() };
        let (chunk, form) = svg2pdf::to_chunk(&drawing, options)
            .map_err(|error| ExportError::Convert(error.to_string()))?;
        // Each drawing numbers its objects from one on.
        let mut numbers: HashMap<Ref, Ref> = HashMap::new();
        let chunk = chunk.renumber(|old| *numbers.entry(old).or_insert_with(|| next.bump()));
        let form = numbers.get(&form).copied();
        let form = form.ok_or_else(|| ExportError::Convert("a page has no content".into()))?;
        let (page_number, content_number) = (next.bump(), next.bump());
        let (width, height) = (drawing.size().width(), drawing.size().height());
        let mut page = pdf.page(page_number);
        page.media_box(Rect::new(0.0, 0.0, width, height)).parent(tree).contents(content_number);
        page.resources().x_objects().pair(name, form);
        page.finish();
        // The form is a point wide and high.
        let mut content = Content::new();
        content.transform([width, 0.0, 0.0, height, 0.0, 0.0]).x_object(name);
        pdf.stream(content_number, &content.finish());
        pdf.extend(&chunk);
        pages.push(page_number);
    }
    let count = i32::try_from(pages.len())
        .map_err(|_| ExportError::Convert("a file cannot have that many pages".into()))?;
    pdf.pages(tree).count(count).kids(pages);
    let mut info = pdf.document_info(about);
    info.title(TextStr(&of.title));
    if !of.description.is_empty() {
        info.subject(TextStr(&of.description));
    }
    info.finish();
    Ok(pdf.finish())
}
