//! Converts a parsed TOML document to the structs of its sections, which `keys!` declares.
//!
//! Sections have no derived readers of serde: the TOML library would have each of them compiled three times (for tables, for
//! positions and for dates), which was half of the time in which this crate is compiled.

use std::collections::BTreeMap;
use std::ops::Range;

use paceline_cc::ParamValue;
use serde::de::{DeserializeOwned, Error as _};
use toml::Spanned;
use toml::de::{DeTable, DeValue, Error, ValueDeserializer};

use super::reader::At;
use super::station::FileSnr;
use super::value::{Buffer, Setting, Text, Word, Words};
use super::wifi::FileMcs;

/// A value of the document, with its position.
pub(super) type Node<'a> = Spanned<DeValue<'a>>;

/// A value of another form than its key has, or an unknown or missing key.
#[derive(Debug)]
pub(super) struct FormError {
    /// The mistake, in the words of the TOML library.
    pub(super) message: String,
    /// Its position in bytes, if known.
    pub(super) span: Option<Range<usize>>,
}

impl FormError {
    fn at(span: Range<usize>, error: &Error) -> FormError {
        FormError { message: error.message().to_string(), span: error.span().or(Some(span)) }
    }
}

/// A form of values in files.
pub(super) trait FromNode: Sized {
    /// Converts a value of the document.
    ///
    /// # Errors
    /// The value has another form, or a key of a table is unknown or missing.
    fn from_node(node: Node<'_>) -> Result<Self, FormError>;
}

/// The struct of a section, filled key by key.
pub(super) trait FileTable: Default {
    /// Its keys and tables.
    const KEYS: &'static [&'static str];
    /// Stores the value of the key with number `index` in `KEYS`.
    fn put(&mut self, index: usize, node: Node<'_>) -> Result<(), FormError>;
    /// Returns the first required key that has no value.
    fn missing(&self) -> Option<&'static str>;
}

/// Parses a whole file.
///
/// # Errors
/// The text is not TOML, or a value has a wrong form.
pub(super) fn parse<T: FileTable>(text: &str) -> Result<T, FormError> {
    let root = DeTable::parse(text)
        .map_err(|error| FormError { message: error.message().to_string(), span: error.span() })?;
    let span = root.span();
    fill(root.into_inner(), span)
}

/// Returns the section that a table of the document describes; `span` is the table's position.
fn fill<T: FileTable>(table: DeTable<'_>, span: Range<usize>) -> Result<T, FormError> {
    let mut file = T::default();
    for (key, node) in table {
        let Some(index) = T::KEYS.iter().position(|known| *known == key.get_ref().as_ref()) else {
            return Err(FormError::at(key.span(), &Error::unknown_field(key.get_ref(), T::KEYS)));
        };
        file.put(index, node)?;
    }
    match file.missing() {
        Some(key) => Err(FormError::at(span, &Error::missing_field(key))),
        None => Ok(file),
    }
}

/// Returns the error for a value where `expected`, such as "a table", should stand.
fn wrong_form(node: Node<'_>, expected: &str) -> FormError {
    let span = node.span();
    // The unit type accepts no value of TOML; its error describes the value that was found.
    let message = by_serde::<()>(node).err().map_or_else(String::new, |error| error.message);
    let message = message.replace("expected unit", &format!("expected {expected}"));
    FormError { message, span: Some(span) }
}

/// Converts a value by its type's serde reader.
fn by_serde<T: DeserializeOwned>(node: Node<'_>) -> Result<T, FormError> {
    let span = node.span();
    T::deserialize(ValueDeserializer::from(node)).map_err(|error| FormError::at(span, &error))
}

macro_rules! by_serde {
    ($($type:ty),+) => { $(
        impl FromNode for $type {
            fn from_node(node: Node<'_>) -> Result<$type, FormError> {
                by_serde(node)
            }
        }
    )+ };
}
by_serde!(bool, u8, u16, u32, u64, f64, String, Buffer, FileSnr, FileMcs, BTreeMap<String, Setting>);

impl<T: ParamValue> FromNode for Text<T> {
    fn from_node(node: Node<'_>) -> Result<Text<T>, FormError> {
        by_serde(node)
    }
}

impl<T: FileTable> FromNode for T {
    fn from_node(node: Node<'_>) -> Result<T, FormError> {
        let span = node.span();
        match node.into_inner() {
            DeValue::Table(table) => fill(table, span),
            other => Err(wrong_form(Spanned::new(span, other), "a table")),
        }
    }
}

impl<T: FromNode> FromNode for At<T> {
    fn from_node(node: Node<'_>) -> Result<At<T>, FormError> {
        let span = node.span();
        Ok(At { value: T::from_node(node)?, span })
    }
}

impl<T: FromNode> FromNode for Vec<T> {
    fn from_node(node: Node<'_>) -> Result<Vec<T>, FormError> {
        let span = node.span();
        match node.into_inner() {
            DeValue::Array(nodes) => nodes.into_iter().map(T::from_node).collect(),
            other => Err(wrong_form(Spanned::new(span, other), "a sequence")),
        }
    }
}

impl<T: Words> FromNode for Word<T> {
    fn from_node(node: Node<'_>) -> Result<Word<T>, FormError> {
        let span = node.span();
        let text = String::from_node(node)?;
        let unknown = || FormError::at(span, &Error::unknown_variant(&text, T::WORDS));
        Word::named(&text).ok_or_else(unknown)
    }
}
