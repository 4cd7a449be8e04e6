//! The head of every JSON document of Paceline.

use serde::Serialize;

/// Version of the names and meanings of fields in every JSON document that Paceline writes: its
/// `schema_version`. It increases when a field is renamed or removed, or changes its meaning or
/// unit, but not with new fields. `docs/json.md` lists all fields.
pub const SCHEMA_VERSION: u32 = 2;

/// A JSON document: `schema_version`, followed by the fields of an object.
#[derive(Clone, Debug, Serialize)]
pub struct Document<T> {
    schema_version: u32,
    #[serde(flatten)]
    fields: T,
}

impl<T: Serialize> Document<T> {
    /// Returns a document with these fields, which must serialize as an object.
    pub fn new(fields: T) -> Document<T> {
        Document { schema_version: SCHEMA_VERSION, fields }
    }
}
