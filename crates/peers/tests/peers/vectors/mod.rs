//! Figures of peers' own tests, by peer.

use paceline_peers::vector::{Vector, surprises};

/// All vectors, in the order of the page.
pub(crate) fn all() -> Vec<Vector> {
    Vec::new()
}

#[test]
fn figures_of_peers_are_as_declared() {
    let found = surprises(&all());
    assert!(found.is_empty(), "{} surprises:\n{}", found.len(), found.join("\n"));
}
