//! Finds the nearest of a few names.

use paceline_cc::spec::edit_distance;

/// Largest length of a name, in bytes, for which a near one is searched.
const LONGEST: usize = 40;

/// Returns the candidate that differs from `name` in about a third of its letters or fewer, or that
/// starts with it; the first of equally near ones.
pub(super) fn nearest<'a>(name: &str, among: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if name.is_empty() || name.len() > LONGEST {
        return None;
    }
    let name = name.to_ascii_lowercase();
    among
        .map(|candidate| {
            let starts = candidate.starts_with(&name);
            (if starts { 1 } else { edit_distance(&name, candidate) }, candidate)
        })
        .filter(|&(near, candidate)| near <= candidate.len() / 3)
        .min_by_key(|&(near, _)| near)
        .map(|(_, candidate)| candidate)
}

/// Length to which names are shortened for messages, in characters.
const SHOWN: usize = 200;

/// Returns a name for a message: without control characters, and shortened to 200 characters with `…` at the end.
pub(super) fn shortened(name: &str) -> String {
    let mut letters = name.chars();
    let mut text: String = letters.by_ref().take(SHOWN).flat_map(char::escape_debug).collect();
    if letters.next().is_some() {
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_whole_or_with_an_ellipsis_at_the_end() {
        let path = "/home/me/recordings/of-the-tram/2026/ride.down";
        assert_eq!(shortened(path), path);
        assert_eq!(shortened(&"x".repeat(300)), "x".repeat(SHOWN) + "…");
    }

    #[test]
    fn finds_the_likely_name() {
        let near =
            |name: &str| nearest(name, ["lte-driving", "lte-walking", "nr-walking"].into_iter());
        assert_eq!(near("lte-drivng"), Some("lte-driving"));
        assert_eq!(near("LTE-walking"), Some("lte-walking"));
        assert_eq!(near("lte"), Some("lte-driving"));
        assert_eq!(near("traces/verizon.down"), None);
        assert_eq!(near(""), None);
        assert_eq!(near(&"x".repeat(10_000)), None);
    }
}
