//! The head of every JSON document of Paceline.

use serde::Serialize;

/// The version of the names and meanings of fields in every JSON document that Paceline writes: its
/// `schema_version`. It counts up when a field is renamed or removed, or changes its meaning or unit;
/// new fields leave it as it is. `docs/json.md` has all fields.
pub const SCHEMA_VERSION: u32 = 2;

/// A JSON document: `schema_version`, and then the fields of an object.
#[derive(Clone, Debug, Serialize)]
pub struct Document<T> {
    schema_version: u32,
    #[serde(flatten)]
    fields: T,
}

impl<T: Serialize> Document<T> {
    /// Creates a document of these fields, which are those of an object.
    pub fn new(fields: T) -> Document<T> {
        Document { schema_version: SCHEMA_VERSION, fields }
    }
}
