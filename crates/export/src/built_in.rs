//! The built-in font.

use svg2pdf::usvg::fontdb::Database;

/// The family that is built in: DejaVu Sans Condensed with the letters of Latin, Greek and Cyrillic
/// scripts (`fonts/README.md`).
pub const FAMILY: &str = "DejaVu Sans Condensed";

const REGULAR: &[u8] = include_bytes!("../fonts/DejaVuSansCondensed.ttf");
const BOLD: &[u8] = include_bytes!("../fonts/DejaVuSansCondensed-Bold.ttf");

/// Returns a database with the built-in family alone.
pub(crate) fn built_in() -> Database {
    let mut database = Database::new();
    database.load_font_data(REGULAR.to_vec());
    database.load_font_data(BOLD.to_vec());
    database.set_sans_serif_family(FAMILY);
    database
}
