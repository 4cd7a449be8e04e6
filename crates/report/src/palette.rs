//! Which scheme has which colour.

use crate::style::{HUES, Paint};

/// Schemes with a colour of their own, as indices into [`HUES`].
const KNOWN: [(&str, usize); 24] = [
    ("abc", 0),
    ("cubic", 1),
    ("cubic+codel", 2),
    ("bbr", 3),
    ("copa", 4),
    ("vegas", 5),
    ("newreno", 6),
    ("reno", 6),
    ("sprout", 7),
    ("verus", 8),
    ("pcc", 9),
    ("xcp", 10),
    ("xcpw", 11),
    ("vcp", 12),
    ("c2tcp", 13),
    ("remy", 14),
    ("cubic+pie", 15),
    ("rcp", 16),
    ("ledbat", 17),
    ("cubic+fq_codel", 8),
    ("bbr2", 14),
    ("dctcp", 12),
    ("prague", 11),
    ("westwood", 17),
];

/// The colours of a set of schemes, all different as long as there are enough hues.
///
/// A known scheme has the same colour in every plot. Parameters do not matter to it (`abc[dt=60ms]`
/// is `abc`), but a second variant in the same set gets another colour. Unknown names, and known
/// ones whose colour is taken, get the first free colour in the order given.
#[derive(Debug, Clone, Default)]
pub struct Palette {
    entries: Vec<(String, Paint)>,
}

impl Palette {
    /// Assigns colours to names; a repeated name counts once.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut distinct: Vec<&str> = Vec::new();
        for name in names {
            if !distinct.contains(&name) {
                distinct.push(name);
            }
        }
        let mut given: Vec<Option<usize>> = vec![None; distinct.len()];
        let mut used = [0_usize; HUES.len()];
        // A bare name has the first claim on its colour, a variant with parameters the second.
        for exact in [true, false] {
            for (slot, name) in given.iter_mut().zip(&distinct) {
                let known = known(name).filter(|&hue| used[hue] == 0);
                if let (None, Some(hue)) = (*slot, known)
                    && (!exact || plain(name) == name.trim())
                {
                    *slot = Some(hue);
                    used[hue] += 1;
                }
            }
        }
        for slot in given.iter_mut().filter(|slot| slot.is_none()) {
            let least = used.iter().copied().min().unwrap_or(0);
            let hue = used.iter().position(|&count| count == least).unwrap_or(0);
            *slot = Some(hue);
            used[hue] += 1;
        }
        let paints = given.into_iter().map(|hue| HUES[hue.unwrap_or(0)]);
        Self { entries: distinct.into_iter().map(str::to_owned).zip(paints).collect() }
    }

    /// The colour of a scheme; of one that is not in the set, its usual colour.
    pub fn paint(&self, name: &str) -> Paint {
        match self.entries.iter().find(|(known, _)| known == name) {
            Some((_, paint)) => *paint,
            None => HUES[known(name).unwrap_or(6)],
        }
    }

    /// The names with their colours, in the order given.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Paint)> {
        self.entries.iter().map(|(name, paint)| (name.as_str(), *paint))
    }
}

/// The usual hue of a scheme, if it has one.
fn known(name: &str) -> Option<usize> {
    let plain = plain(name).to_lowercase();
    KNOWN.iter().find(|(known, _)| *known == plain).map(|&(_, hue)| hue)
}

/// The name without its parameters.
fn plain(name: &str) -> String {
    let mut depth = 0_usize;
    let mut plain = String::new();
    for c in name.trim().chars() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            c if depth == 0 => plain.push(c),
            _ => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_scheme_keeps_its_colour() {
        let alone = Palette::new(["abc"]);
        let crowd = Palette::new(["mine", "cubic", "yours", "abc", "abc"]);
        assert_eq!(alone.paint("abc"), crowd.paint("abc"));
        assert_eq!(alone.paint("cubic"), crowd.paint("cubic"));
        assert_eq!(Palette::new(["abc[dt=60ms]"]).paint("abc[dt=60ms]"), alone.paint("abc"));
        assert_eq!(crowd.iter().count(), 4);
    }

    #[test]
    fn colours_differ_within_a_set() {
        let names = ["abc[dt=20ms]", "abc", "abc[dt=60ms]", "x", "y", "reno", "newreno", "rcp"];
        let palette = Palette::new(names);
        let mut seen: Vec<_> = palette.iter().map(|(_, paint)| paint.name).collect();
        assert_eq!(palette.paint("abc"), HUES[0]);
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), names.len());
    }

    #[test]
    fn many_names_reuse_colours() {
        let names: Vec<String> = (0..50).map(|i| format!("scheme{i}")).collect();
        assert_eq!(Palette::new(names.iter().map(String::as_str)).iter().count(), 50);
    }
}
