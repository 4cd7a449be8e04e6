//! Mistakes in files, shown with the line of text that has them, as compilers show theirs.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use crate::output::Error;

/// A mistake in a file.
pub(crate) struct Mistake<'a> {
    /// The file's name.
    pub(crate) file: &'a str,
    /// The whole text of the file.
    pub(crate) text: &'a str,
    /// Place of the mistake in the text, in bytes.
    pub(crate) span: Range<usize>,
    /// The error message.
    pub(crate) message: &'a str,
    /// A remedy.
    pub(crate) help: Option<&'a str>,
}

impl Mistake<'_> {
    /// Returns the error that shows this mistake.
    pub(crate) fn error(&self) -> Error {
        let start = self.text.floor_char_boundary(self.span.start);
        let end = self.text.ceil_char_boundary(self.span.end.max(start + 1));
        let mut group = Group::with_title(Level::ERROR.primary_title(self.message)).element(
            Snippet::source(self.text)
                .path(self.file)
                .annotation(AnnotationKind::Primary.span(start..end.min(self.text.len()))),
        );
        // Do not repeat a remedy that the message already names.
        if let Some(help) = self.help.filter(|help| !self.message.contains(help)) {
            group = group.element(Level::HELP.message(help));
        }
        Error::Diagnostic(Renderer::styled().render(&[group]).to_string())
    }
}
