//! `docs/scenarios.md` names every key that the parser knows.

#[path = "support/keys.rs"]
mod keys;

use std::path::Path;

#[test]
fn every_key_is_documented() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scenarios.md");
    let text = std::fs::read_to_string(path).expect("docs/scenarios.md");
    for key in keys::all() {
        if key == "link" || key == "flow" {
            continue;
        }
        // In code, alone or inside an example.
        let shown = text.split('`').skip(1).step_by(2).any(|code| {
            code.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| word == key)
        });
        assert!(shown, "docs/scenarios.md does not name `{key}`");
    }
}
