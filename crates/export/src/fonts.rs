//! The fonts of drawings: a built-in family, and those of the machine.

use std::sync::Arc;

use svg2pdf::usvg::fontdb::{Database, Family, Query};
use ttf_parser::Face;

use crate::built_in::{FAMILY, built_in};
use crate::error::ExportError;

/// Most families that an error lists.
const LISTED: usize = 12;

/// The fonts for a drawing: a family, and all others for letters that it lacks.
#[derive(Clone, Debug)]
pub struct Fonts {
    family: String,
    database: Arc<Database>,
}

impl Fonts {
    /// Returns the built-in family.
    pub fn built_in() -> Fonts {
        Fonts { family: FAMILY.into(), database: Arc::new(built_in()) }
    }

    /// Returns a family of this machine, or the built-in one by its name. Case does not matter.
    ///
    /// # Errors
    /// This machine has no such family.
    pub fn named(family: &str) -> Result<Fonts, ExportError> {
        let mut database = built_in();
        database.load_system_fonts();
        match exact(&database, family.trim()) {
            Some(family) => Ok(Fonts { family, database: Arc::new(database) }),
            None => {
                Err(ExportError::NoFamily { family: family.into(), known: families(&database) })
            }
        }
    }

    /// Returns the built-in family; letters that it lacks come from the fonts of this machine.
    pub fn built_in_and_machine() -> Fonts {
        let mut database = built_in();
        database.load_system_fonts();
        Fonts { family: FAMILY.into(), database: Arc::new(database) }
    }

    /// Converts with these fonts. If the built-in family lacks letters, tries again with the fonts of this machine
    /// beside it.
    ///
    /// # Errors
    /// Those of `convert`.
    pub fn convert<T>(
        &self,
        convert: impl Fn(&Fonts) -> Result<T, ExportError>,
    ) -> Result<T, ExportError> {
        match convert(self) {
            Err(ExportError::NoGlyph { .. }) if self.family == FAMILY => {
                convert(&Fonts::built_in_and_machine())
            }
            converted => converted,
        }
    }

    /// Returns the family's name.
    pub fn family(&self) -> &str {
        &self.family
    }

    pub(crate) fn database(&self) -> Arc<Database> {
        Arc::clone(&self.database)
    }

    /// Returns a letter of the text that no font has; `None` if all can be shown.
    pub fn missing(&self, text: &str) -> Option<char> {
        let mut letters: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
        letters.sort_unstable();
        letters.dedup();
        // Asks the family first: it has nearly all letters.
        let families = [Family::Name(&self.family)];
        let own = self.database.query(&Query { families: &families, ..Query::default() });
        let others = self.database.faces().map(|face| face.id);
        for id in own.into_iter().chain(others) {
            if letters.is_empty() {
                break;
            }
            self.database.with_face_data(id, |data, index| {
                if let Ok(face) = Face::parse(data, index) {
                    letters.retain(|letter| face.glyph_index(*letter).is_none());
                }
            });
        }
        letters.first().copied()
    }
}

/// Returns the family as the database spells it.
fn exact(database: &Database, family: &str) -> Option<String> {
    let families = database.faces().flat_map(|face| &face.families);
    families.map(|(name, _)| name).find(|name| name.eq_ignore_ascii_case(family)).cloned()
}

/// Returns the names of some families, in alphabetical order.
fn families(database: &Database) -> Vec<String> {
    let mut names: Vec<String> = database
        .faces()
        .filter_map(|face| face.families.first().map(|(name, _)| name.clone()))
        .collect();
    names.sort();
    names.dedup();
    if names.len() > LISTED {
        names.truncate(LISTED);
        names.push("others".into());
    }
    names
}
