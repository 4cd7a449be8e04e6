//! Why a drawing cannot be converted.

use thiserror::Error;

use crate::built_in::FAMILY;

/// Why a drawing cannot be converted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ExportError {
    /// This machine has no font of the family.
    #[error(
        "{family}: this machine has no font of this family; it has {}. Install it, or leave it out for {FAMILY}, which is \
         built in",
        if known.is_empty() { "no fonts".to_string() } else { known.join(", ") }
    )]
    NoFamily {
        /// The family as asked for.
        family: String,
        /// Some of the families that exist.
        known: Vec<String>,
    },
    /// No font has a letter of the drawing's text.
    #[error(
        "neither the font {family} nor another one has the letter `{letter}`, so that it would be missing in the figure: install \
         a font that has it, for example Noto, or change the name that contains it"
    )]
    NoGlyph {
        /// The letter.
        letter: char,
        /// The family of the drawing.
        family: String,
    },
    /// The SVG file is invalid.
    #[error("the drawing is no valid SVG: {0}")]
    Svg(String),
    /// The picture would have too many pixels.
    #[error(
        "the picture would have more than {0} pixels in width or height: choose a smaller size"
    )]
    TooLarge(u32),
    /// The conversion failed.
    #[error("the drawing cannot be converted: {0}")]
    Convert(String),
}
